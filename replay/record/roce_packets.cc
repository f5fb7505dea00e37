// SPDX-License-Identifier: GPL-2.0-or-later
//
// A recorded connection as RoCEv2: CM messages on QP 1, one packet sequence for each side, path MTU 4096.
//
// What events do not say is made up and then kept to: packet sequence numbers, communication ids, queue pair numbers
// that are unknown. A Send is acknowledged when the next thing happens, unless that is a NAK, or the response to an
// RDMA Read before it is to come: a responder does things in their order. Parts of a Write that come as several events
// become Writes of their own, as the length of the whole is known too late.
#include <bit>
#include <optional>

#include "protocol/ib/cm.h"
#include "protocol/ib/packets.h"
#include "replay/record/packet_synthesizer.h"

namespace stag::record {
namespace {

using fabric::Event;
using fabric::EventKind;
using fabric::SetupMessage;
using fabric::Side;
using ib::CmKind;
using ib::CmMessage;

constexpr uint32_t kMtu = 4096;
constexpr size_t kInitiatorDepth = 256;                 // Reads outstanding of a side: the field has eight bits
constexpr size_t kRecentOperations = 16;                // operations of a side that a NAK can name
static_assert(std::has_single_bit(kRecentOperations));  // what counts them goes round

std::array<std::byte, 16> GidOf(const Address& address) {
  std::array<std::byte, 16> gid = address.bytes;
  if (address.kind == Address::Kind::kIpv4) {
    gid = {};
    gid[10] = gid[11] = std::byte{0xff};
    std::copy_n(address.bytes.begin(), 4, gid.begin() + 12);
  }
  return gid;
}

// AETH syndromes (IBA tables 44 and 45).
uint8_t SyndromeOf(fabric::NakKind kind) {
  switch (kind) {
    case fabric::NakKind::kRnr: return 0x20 | 12;  // 0.64 ms
    case fabric::NakKind::kSequence: return 0x60 | ib::kNakSequence;
    case fabric::NakKind::kRemoteAccess: return 0x60 | ib::kNakRemoteAccess;
    case fabric::NakKind::kRemoteOperation: return 0x60 | ib::kNakRemoteOperation;
    default: return 0x60 | ib::kNakInvalidRequest;
  }
}
constexpr uint8_t kAckSyndrome = 0x1f;  // no credit count

class RocePackets final : public PacketSynthesizer {
 public:
  RocePackets(FrameWriter& writer, const fabric::ConnectionInfo& info)
      : writer_(writer), hosts_(HostsOf(info)), info_(info) {
    for (const Side side : {Side{0}, Side{1}}) {
      End& end = end_[side];
      end.qp = (0x800000u + info.id * 2 + side) & 0xffffff;
      end.id = 0x10000 + info.id * 2 + side;
      end.first_psn = end.psn = (info.id * 0x1357 + side * 0x400000u) & ib::kPsnMask;
      end.tail.reserve(kMtu);
    }
  }

  void OnEvent(const Event& e) override {
    LearnNumbers(e);
    Settle(e.kind() == EventKind::kNak ? Side(1 - e.from) : Side{2});
    switch (e.kind()) {
      case EventKind::kSetup: return Setup(e);
      case EventKind::kOpened: return Ready();
      case EventKind::kClosed: return Close(e);
      case EventKind::kSend: return Send(e);
      case EventKind::kWrite: return Write(e);
      case EventKind::kReadRequest: return ReadRequest(e);
      case EventKind::kReadResponse: return ReadResponse(e);
      case EventKind::kNak: return Nak(e);
      case EventKind::kAnomaly: return;
      case EventKind::kGap:
        end_[e.from].psn = ib::PsnAdd(end_[e.from].psn, static_cast<uint32_t>(std::max<uint64_t>(e.gap().size, 1)));
        return;
    }
  }
  void Finish() override { Settle(Side{2}); }

 private:
  struct Read {
    uint32_t psn = 0, handle = 0, length = 0;
    uint64_t offset = 0;
    uint32_t messages = 0;                // of its end, before it
    uint64_t received = 0, answered = 0;  // bytes of the response in events, and of those in packets
  };
  struct Operation {  // that a NAK can name
    uint64_t frame = 0;
    uint32_t psn = 0, handle = 0;
    uint64_t offset = 0;
    // Endpoints on hardware do not know the frame, but which RDMA operation it was.
    bool IsRefusedBy(const fabric::Nak& nak) const {
      if (frame == 0) return false;
      return nak.handle != 0 ? nak.handle == handle && nak.offset == offset : nak.refused.number == frame;
    }
  };
  struct End {
    uint32_t qp = 0, id = 0, first_psn = 0, psn = 0;
    bool fixed = false;                      // `qp` is known, or in frames already
    uint32_t messages = 0;                   // as requester
    std::optional<uint32_t> unacknowledged;  // the last PSN of the newest Send that is
    std::vector<Read> reads;                 // of this end, in order
    std::vector<std::byte> tail;             // of the responses to them: less than a packet, so far
    std::array<Operation, kRecentOperations> recent;
    bool disconnected = false;
  };

  // Queue pair numbers, until one that was made up is in a frame: the passive side's may come with its reply.
  void LearnNumbers(const Event& e) {
    const bool request = e.kind() == EventKind::kSetup && e.setup().message == SetupMessage::kRequest;
    for (const Side side : {Side{0}, Side{1}}) {
      End& end = end_[side];
      const uint32_t number = e.connection->endpoint[side].number & 0xffffff;
      if (!end.fixed && number > ib::kGsiQp) end.qp = number;
      end.fixed = end.fixed || number > ib::kGsiQp || !request || side == e.from;
    }
  }

  // Acknowledges what was sent, except by `refused`, as far as it can have been done.
  void Settle(Side refused) {
    for (const Side requester : {Side{0}, Side{1}}) {
      End& end = end_[requester];
      if (!end.unacknowledged) continue;
      if (requester == refused) {
        end.unacknowledged.reset();
        continue;
      }
      const Read* const read = end.reads.empty() ? nullptr : &end.reads.front();
      const uint32_t next = read ? read->psn : end.psn;
      if (ib::PsnDistance(next, *end.unacknowledged) <= 0) continue;
      end.unacknowledged.reset();
      Acknowledge(requester, ib::PsnAdd(next, ib::kPsnMask), kAckSyndrome, read ? read->messages : end.messages);
    }
  }

  // `cut`: bytes at the end of the data that are not known; pad and ICRC behind them are not, either.
  void Packet(Side from, const ib::Transport& t, size_t cut = 0) {
    head_.clear();
    tail_.clear();
    const auto udp_source = static_cast<uint16_t>(0xc000 | (end_[from].qp & 0x3fff));
    ib::AppendRoceEnds(head_, tail_, hosts_[from], hosts_[1 - from], udp_source, t);
    const std::array<Bytes, 3> frame = {head_, t.data, tail_};
    writer_.Put(frame, cut == 0 ? 0 : cut + tail_.size());
  }
  ib::Transport Start(Side from, uint8_t opcode, uint32_t psn) const {
    ib::Transport t;
    t.bth.opcode = opcode;
    t.bth.destination_qp = end_[1 - from].qp;
    t.bth.psn = psn & ib::kPsnMask;
    return t;
  }

  void Cm(Side from, const CmMessage& m) {
    mad_.clear();
    ib::AppendCm(mad_, m, info_.id);
    Packet(from, ib::ManagementPacket(mad_));
  }
  CmMessage Message(CmKind kind, Side from, Bytes private_data = {}) const {
    CmMessage m;
    m.kind = kind;
    m.local_id = end_[from].id;
    m.remote_id = kind == CmKind::kRequest ? 0 : end_[1 - from].id;
    m.private_data = private_data;
    return m;
  }

  void Setup(const Event& e) {
    const fabric::Setup& setup = e.setup();
    switch (setup.message) {
      case SetupMessage::kRequest: return Cm(e.from, Request(e));
      case SetupMessage::kReply: return Cm(e.from, Reply(e));
      case SetupMessage::kReady: return Ready();
      case SetupMessage::kReject: return Reject(e.from, setup.reject_reason, setup.private_data);
      case SetupMessage::kDisconnectRequest: return Disconnect(e.from);
      case SetupMessage::kDisconnectReply: return Cm(e.from, Message(CmKind::kDisconnectReply, e.from));
    }
  }
  void SetReads(const Event& e, CmMessage& m) const {
    m.responder_resources = static_cast<uint8_t>(std::min<uint16_t>(e.setup().reads_served.value_or(0), 255));
    m.initiator_depth = static_cast<uint8_t>(std::min<uint16_t>(e.setup().reads_issued.value_or(0), 255));
    m.rnr_retry_count = 7;
    m.qp = end_[e.from].qp;
    m.starting_psn = end_[1 - e.from].first_psn;
    m.ca_guid = 0x0200'00ff'fe00'0000 + e.from;
  }
  CmMessage Request(const Event& e) const {
    CmMessage m = Message(CmKind::kRequest, e.from, e.setup().private_data);
    SetReads(e, m);
    m.service_id = info_.service_id != 0 ? info_.service_id : ib::IpCmServiceId(info_.service_port);
    m.path_mtu = kMtu;
    m.retry_count = 7;
    m.partition = 0xffff;
    m.local_lid = m.remote_lid = 0xffff;
    m.local_gid = GidOf(hosts_[e.from].address);
    m.remote_gid = GidOf(hosts_[1 - e.from].address);
    if (ib::IpCmPort(m.service_id) == 0) return m;
    ib::IpCmHeader& ip = m.ip.emplace();
    const bool v4 = hosts_[0].address.kind == Address::Kind::kIpv4;
    ip.ip_version = v4 ? 4 : 6;
    const ptrdiff_t at = v4 ? 12 : 0;
    std::copy(m.local_gid.begin() + at, m.local_gid.end(), ip.source.begin() + at);
    std::copy(m.remote_gid.begin() + at, m.remote_gid.end(), ip.destination.begin() + at);
    return m;
  }
  CmMessage Reply(const Event& e) {
    CmMessage m = Message(CmKind::kReply, e.from, e.setup().private_data);
    SetReads(e, m);
    replied_ = true;
    return m;
  }
  void Ready() {
    if (replied_ && !ready_) Cm(0, Message(CmKind::kReadyToUse, 0));
    ready_ = true;
  }
  void Reject(Side from, uint16_t reason, Bytes private_data) {
    CmMessage m = Message(CmKind::kReject, from, private_data);
    m.reject_reason = reason;
    if (!rejected_) Cm(from, m);
    rejected_ = true;
  }
  void Disconnect(Side from) {
    CmMessage m = Message(CmKind::kDisconnectRequest, from);
    m.qp = end_[1 - from].qp;
    Cm(from, m);
    end_[from].disconnected = true;
  }
  // Nothing on the wire says more of an end than DREQ and DREP.
  void Close(const Event& e) {
    switch (e.closed().reason) {
      case fabric::CloseReason::kRejected: return Reject(1, 0, {});
      case fabric::CloseReason::kDisconnect:
      case fabric::CloseReason::kReset: break;
      default: return;
    }
    if (end_[0].disconnected || end_[1].disconnected) return;
    Disconnect(e.from);
    Cm(Side(1 - e.from), Message(CmKind::kDisconnectReply, Side(1 - e.from)));
  }

  void Remember(const Event& e, uint32_t handle = 0, uint64_t offset = 0) {
    End& end = end_[e.from];
    end.recent[end.messages++ % kRecentOperations] = {e.frame.number, end.psn, handle, offset};
  }
  // `headers`: what its packets have beside their data and numbers.
  void Request(const Event& e, ib::MessageKind kind, bool solicited, const ib::Transport& headers) {
    End& end = end_[e.from];
    const fabric::Content& content = *e.content();
    const uint32_t count = ib::PacketCount(content.length, kMtu);
    for (uint32_t k = 0; k < count; ++k) {
      const bool last = k + 1 == count;
      const uint64_t at = uint64_t{k} * kMtu;
      const PayloadPart part =
          PartOf(content.bytes, at, static_cast<size_t>(std::min<uint64_t>(kMtu, content.length - at)), scratch_);
      ib::Transport t = Start(e.from, ib::OpcodeOf(kind, k == 0, last), end.psn);
      t.bth.ack_request = last;
      t.bth.solicited = last && solicited;
      t.reth = headers.reth;
      t.immediate = headers.immediate;
      t.invalidated = headers.invalidated;
      t.data = part.data;
      Packet(e.from, t, part.unknown);
      end.psn = ib::PsnAdd(end.psn, 1);
    }
  }
  void Send(const Event& e) {
    const fabric::Send& send = e.send();
    ib::Transport headers;
    headers.immediate = send.immediate.value_or(0);
    headers.invalidated = send.invalidated.value_or(0);
    Remember(e);
    Request(e,
            send.invalidated ? ib::MessageKind::kSendInvalidate
            : send.immediate ? ib::MessageKind::kSendImmediate
                             : ib::MessageKind::kSend,
            send.solicited, headers);
    end_[e.from].unacknowledged = ib::PsnAdd(end_[e.from].psn, ib::kPsnMask);
  }
  void Write(const Event& e) {
    const fabric::RdmaPacket& packet = e.rdma();
    ib::Transport headers;
    headers.immediate = packet.immediate.value_or(0);
    headers.reth = {packet.offset, packet.handle, static_cast<uint32_t>(packet.length)};
    Remember(e, packet.handle, packet.offset);
    Request(e, packet.immediate ? ib::MessageKind::kWriteImmediate : ib::MessageKind::kWrite, false, headers);
  }

  void ReadRequest(const Event& e) {
    End& end = end_[e.from];
    const fabric::RdmaPacket& packet = e.rdma();
    const uint32_t messages = end.messages;
    Remember(e, packet.handle, packet.offset);
    const auto length = static_cast<uint32_t>(packet.length);
    ib::Transport t = Start(e.from, ib::kReadRequest, end.psn);
    t.bth.ack_request = true;
    t.reth = {packet.offset, packet.handle, length};
    Packet(e.from, t);
    const Read read{end.psn, packet.handle, length, packet.offset, messages};
    end.psn = ib::PsnAdd(end.psn, ib::PacketCount(length, kMtu));
    if (end.reads.size() == kInitiatorDepth) end.reads.erase(end.reads.begin());
    end.reads.push_back(read);
  }
  void ReadResponse(const Event& e) {
    const fabric::RdmaPacket& packet = e.rdma();
    End& reader = end_[1 - e.from];
    const auto read = std::ranges::find_if(reader.reads, [&](const Read& r) {
      return r.handle == packet.handle && r.offset + r.received == packet.offset &&
             packet.length <= r.length - r.received;
    });
    if (read == reader.reads.end() || read->received - read->answered != reader.tail.size() ||
        packet.bytes.size() < packet.length)
      return writer_.Leave();
    read->received += packet.length;
    if (read->length == 0) Response(e.from, *read, {});
    for (Bytes rest = packet.bytes; !rest.empty();) {
      const auto want = static_cast<size_t>(std::min<uint64_t>(kMtu, read->length - read->answered));
      const size_t take = std::min(rest.size(), want - reader.tail.size());
      Bytes data = rest.first(take);
      rest = rest.subspan(take);
      if (take < want) {
        reader.tail.insert(reader.tail.end(), data.begin(), data.end());
        data = reader.tail;
      }
      if (data.size() < want) return;  // the rest of the packet comes with the next event
      Response(e.from, *read, data);
      reader.tail.clear();
      read->answered += want;
    }
    if (read->answered == read->length) reader.reads.erase(read);
  }
  void Response(Side from, const Read& read, Bytes data) {
    const bool last = read.answered + data.size() == read.length;
    ib::Transport t = Start(from, ib::OpcodeOf(ib::MessageKind::kReadResponse, read.answered == 0, last),
                            read.psn + static_cast<uint32_t>(read.answered / kMtu));
    t.aeth = {kAckSyndrome, end_[1 - from].messages & 0xffffff};
    t.data = data;
    Packet(from, t);
  }

  void Nak(const Event& e) {
    const auto requester = Side(1 - e.from);
    const End& end = end_[requester];
    // By default what was sent last.
    uint32_t psn = end.messages > 0 ? end.recent[(end.messages - 1) % kRecentOperations].psn : end.psn;
    for (const Operation& operation : end.recent)
      if (operation.IsRefusedBy(e.nak())) psn = operation.psn;
    Acknowledge(requester, psn, SyndromeOf(e.nak().kind), end.messages > 0 ? end.messages - 1 : 0);
  }
  void Acknowledge(Side requester, uint32_t psn, uint8_t syndrome, uint32_t messages) {
    const auto from = Side(1 - requester);
    ib::Transport t = Start(from, ib::kAcknowledge, psn);
    t.aeth = {syndrome, messages & 0xffffff};
    Packet(from, t);
  }

  FrameWriter& writer_;
  std::array<link::Host, 2> hosts_;
  const fabric::ConnectionInfo info_;
  std::array<End, 2> end_;
  bool replied_ = false, ready_ = false, rejected_ = false;
  std::vector<std::byte> head_, tail_, mad_, scratch_;
};

}  // namespace

std::unique_ptr<PacketSynthesizer> MakeRocePackets(FrameWriter& writer, const fabric::ConnectionInfo& info) {
  return std::make_unique<RocePackets>(writer, info);
}

}  // namespace stag::record
