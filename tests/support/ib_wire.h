// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbWire: makes the frames of an InfiniBand or RoCE conversation, packet by packet. IbTalk: the same, operation by
// operation, for one connection. For tests and for generated captures.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/ib/cm.h"
#include "protocol/ib/icrc.h"
#include "protocol/ib/packets.h"
#include "session/fabric/fabric_event.h"
#include "tests/support/messages.h"

namespace stag::test {

struct WireFrame {
  Buffer bytes;
  int64_t time_ns = 0;
};

// A Send as RPC-over-RDMA would begin it: XID, version, credits.
inline Buffer Message(uint32_t xid, size_t size = 64) {
  Buffer b = Pattern(size, xid);
  StoreBe32(b.data(), xid);
  StoreBe32(b.data() + 4, 1);
  return b;
}

class IbWire {
 public:
  enum class Kind : uint8_t { kRoceV2, kRoceV2Ip6, kRoceV1, kInfiniBand, kInfiniBandGlobal };
  explicit IbWire(Kind kind = Kind::kRoceV2) : kind_(kind) {}

  LinkType link() const {
    return kind_ == Kind::kInfiniBand || kind_ == Kind::kInfiniBandGlobal ? LinkType::kInfiniBand : LinkType::kEthernet;
  }
  std::vector<WireFrame>& frames() { return frames_; }

  // A transport packet from host `from` (0 or 1) to the other.
  void Packet(fabric::Side from, const ib::Transport& t) {
    const auto to = static_cast<fabric::Side>(1 - from);
    Buffer out;
    if (link() == LinkType::kEthernet) {
      ib::AppendRoceFrame(out, {Mac(from), Shown(from)}, {Mac(to), Shown(to)}, 50000, t);
      return Add(std::move(out));
    }
    Buffer transport;
    ib::AppendTransport(transport, t);
    const size_t length = transport.size() + ib::kIcrcLength;
    const bool global = kind_ == Kind::kInfiniBandGlobal;
    link::AppendLrh(out, Shown(from, false), Shown(to, false), length + (global ? 40 : 0), global);
    if (global) link::AppendGrh(out, Shown(from), Shown(to), length);
    const size_t bth = out.size();
    out.insert(out.end(), transport.begin(), transport.end());
    ib::AppendIcrc(out, link::Carrier::kInfiniBand, 0, bth);
    out.resize(out.size() + 2);  // VCRC
    Add(std::move(out));
  }

  // `extra`: what the opcode has beside a RETH: immediate data, the invalidated R_Key, or the MSN.
  void Rc(fabric::Side from, uint32_t qp, uint8_t opcode, uint32_t psn, Bytes data = {}, ib::Reth reth = {},
          uint8_t syndrome = 0, uint32_t extra = 0) {
    ib::Transport t;
    t.bth.opcode = opcode;
    t.bth.destination_qp = qp;
    t.bth.psn = psn & ib::kPsnMask;
    t.reth = reth;
    t.bth.ack_request = !ib::LookUpOpcode(opcode).response && ib::LookUpOpcode(opcode).last;
    t.aeth.syndrome = syndrome;
    t.immediate = t.invalidated = t.aeth.msn = extra;
    t.data = data;
    Packet(from, t);
  }

  void Cm(fabric::Side from, const ib::CmMessage& m) {
    Buffer mad;
    ib::AppendCm(mad, m, 99);
    Packet(from, ib::ManagementPacket(mad));
  }

  void Add(Buffer bytes) {
    time_ns_ += 1000;
    frames_.push_back({std::move(bytes), time_ns_});
  }
  void Wait(int64_t ns) { time_ns_ += ns; }

  // `network`: with a GRH its GID, not the LID.
  Address Shown(fabric::Side side, bool network = true) const {
    if (link() == LinkType::kInfiniBand && (kind_ == Kind::kInfiniBand || !network))
      return link::LidAddress(static_cast<uint16_t>(side + 1));
    switch (kind_) {
      case Kind::kRoceV2: return Ip(side);
      case Kind::kRoceV2Ip6: return Long(Address::Kind::kIpv6, side);
      default: return Long(Address::Kind::kGid, side);
    }
  }

 private:
  // Locally administered.
  static link::Mac Mac(fabric::Side side) { return {std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(side + 1)}; }
  static Address Ip(fabric::Side side) { return link::Ipv4Address(192, 0, 2, static_cast<uint8_t>(side + 1)); }
  static Address Long(Address::Kind kind, fabric::Side side) {
    Address a;
    a.kind = kind;
    a.bytes[0] = std::byte{0xfd};
    a.bytes[15] = static_cast<std::byte>(side + 1);
    return a;
  }

  Kind kind_;
  std::vector<WireFrame> frames_;
  int64_t time_ns_ = 1'700'000'000'000'000'000;
};

// One connection on the wire: host 0 connects to host 1. Operations advance the PSN of the side that requests them.
class IbTalk {
 public:
  explicit IbTalk(IbWire& wire, uint32_t number = 1, uint32_t psn0 = 100, uint32_t psn1 = 5000, uint32_t mtu = 1024)
      : wire_(wire),
        id_{number * 16, number * 16 + 1},
        qp_{0x100 + number, 0x200 + number},
        psn_{psn0, psn1},
        mtu_(mtu) {}

  ib::CmMessage Request() const {
    ib::CmMessage m;
    m.kind = ib::CmKind::kRequest;
    m.local_id = id_[0];
    m.qp = qp_[0];
    m.starting_psn = psn_[1];
    m.responder_resources = 16;
    m.initiator_depth = 8;
    m.service_id = ib::IpCmServiceId(20049);
    m.path_mtu = mtu_;
    m.ip.emplace();
    m.private_data = private_data_;
    return m;
  }
  ib::CmMessage Reply() const {
    ib::CmMessage m;
    m.kind = ib::CmKind::kReply;
    m.local_id = id_[1];
    m.remote_id = id_[0];
    m.qp = qp_[1];
    m.starting_psn = psn_[0];
    m.responder_resources = 8;
    m.initiator_depth = 16;
    m.private_data = private_data_;
    return m;
  }
  ib::CmMessage Other(ib::CmKind kind, fabric::Side from) const {
    ib::CmMessage m;
    m.kind = kind;
    m.local_id = id_[from];
    m.remote_id = id_[1 - from];
    if (kind == ib::CmKind::kDisconnectRequest) m.qp = qp_[1 - from];
    if (kind == ib::CmKind::kReject) m.reject_reason = 28;
    return m;
  }
  void Connect() {
    wire_.Cm(0, Request());
    wire_.Cm(1, Reply());
    wire_.Cm(0, Other(ib::CmKind::kReadyToUse, 0));
  }
  void Disconnect() {
    wire_.Cm(0, Other(ib::CmKind::kDisconnectRequest, 0));
    wire_.Cm(1, Other(ib::CmKind::kDisconnectReply, 1));
  }

  void Send(fabric::Side from, const Buffer& data) { Message(from, data, ib::MessageKind::kSend, {}); }
  void SendInvalidate(fabric::Side from, const Buffer& data, uint32_t key) {
    Message(from, data, ib::MessageKind::kSendInvalidate, {}, key);
  }
  void Write(fabric::Side from, uint32_t key, uint64_t address, const Buffer& data) {
    Message(from, data, ib::MessageKind::kWrite, {address, key, static_cast<uint32_t>(data.size())});
  }
  // The request; returns its PSN.
  uint32_t ReadRequest(fabric::Side from, uint32_t key, uint64_t address, uint32_t length) {
    uint32_t psn = psn_[from];
    wire_.Rc(from, qp_[1 - from], ib::kReadRequest, psn, {}, {address, key, length});
    psn_[from] = ib::PsnAdd(psn, Packets(length));
    ++messages_[from];
    return psn;
  }
  // Packets `begin` to `end` - 1 of the answer to the Read at `psn`.
  void ReadResponse(fabric::Side reader, uint32_t psn, const Buffer& data, uint32_t begin, uint32_t end) {
    uint32_t count = Packets(data.size());
    for (uint32_t k = begin; k < end; ++k) {
      const uint8_t opcode = ib::OpcodeOf(ib::MessageKind::kReadResponse, k == begin, k + 1 == count);
      wire_.Rc(static_cast<fabric::Side>(1 - reader), qp_[reader], opcode, psn + k, Part(data, k), {}, 0x1f,
               messages_[reader]);
    }
  }
  void Read(fabric::Side from, uint32_t key, uint64_t address, const Buffer& data) {
    uint32_t psn = ReadRequest(from, key, address, static_cast<uint32_t>(data.size()));
    ReadResponse(from, psn, data, 0, Packets(data.size()));
  }
  // Acknowledges everything that `requester` sent so far.
  void Ack(fabric::Side requester) { Acknowledge(requester, ib::PsnAdd(psn_[requester], ib::kPsnMask), 0x1f); }
  void Acknowledge(fabric::Side requester, uint32_t psn, uint8_t syndrome) {
    const uint32_t msn = ib::KindOf(syndrome) == ib::AethKind::kAck ? messages_[requester] : messages_[requester] - 1;
    wire_.Rc(static_cast<fabric::Side>(1 - requester), qp_[requester], ib::kAcknowledge, psn, {}, {}, syndrome,
             msn & ib::kPsnMask);
  }

  uint32_t qp(fabric::Side side) const { return qp_[side]; }
  uint32_t psn(fabric::Side side) const { return psn_[side]; }
  // The last operation of that side, which began with `psn`, is going to be sent again.
  void Rewind(fabric::Side side, uint32_t psn) {
    psn_[side] = psn;
    --messages_[side];
  }
  void set_psn(fabric::Side side, uint32_t psn) { psn_[side] = psn; }
  uint32_t Packets(size_t length) const { return ib::PacketCount(length, mtu_); }

 private:
  Bytes Part(const Buffer& data, size_t k) const {
    size_t begin = std::min(data.size(), k * mtu_);
    return Bytes(data).subspan(begin, std::min<size_t>(mtu_, data.size() - begin));
  }
  void Message(fabric::Side from, const Buffer& data, ib::MessageKind kind, ib::Reth reth, uint32_t extra = 0) {
    uint32_t count = Packets(data.size());
    for (uint32_t k = 0; k < count; ++k) {
      const uint8_t opcode = ib::OpcodeOf(kind, k == 0, k + 1 == count);
      wire_.Rc(from, qp_[1 - from], opcode, psn_[from], Part(data, k), reth, 0, extra);
      psn_[from] = ib::PsnAdd(psn_[from], 1);
    }
    ++messages_[from];
  }

  IbWire& wire_;
  std::array<uint32_t, 2> id_, qp_, psn_;
  std::array<uint32_t, 2> messages_{};  // sent by each side as requester
  uint32_t mtu_;
  Buffer private_data_ = Pattern(8, 1);
};

}  // namespace stag::test
