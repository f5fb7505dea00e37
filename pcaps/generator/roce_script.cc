// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/roce_script.h"

#include <algorithm>
#include <utility>

#include "pcaps/generator/require.h"

namespace stag::evidence {

namespace {

// ::ffff:a.b.c.d
std::array<std::byte, 16> Mapped(const Address& address) {
  std::array<std::byte, 16> out{};
  out[10] = out[11] = std::byte{0xff};
  std::copy_n(address.bytes.begin(), 4, out.begin() + 12);
  return out;
}

uint8_t Syndrome(fabric::NakKind kind) {
  switch (kind) {
    case fabric::NakKind::kRnr: return 0x20 | 12;  // 0.64 ms
    case fabric::NakKind::kSequence: return 0x60 | ib::kNakSequence;
    case fabric::NakKind::kInvalidRequest: return 0x60 | ib::kNakInvalidRequest;
    case fabric::NakKind::kRemoteAccess: return 0x60 | ib::kNakRemoteAccess;
    case fabric::NakKind::kRemoteOperation: return 0x60 | ib::kNakRemoteOperation;
    case fabric::NakKind::kTerminate: break;
  }
  Require(false, "a Terminate is of iWARP");
  return 0;
}

}  // namespace

RoceScript::RoceScript(Capture& capture, uint32_t number, uint32_t path_mtu)
    : WireScript(capture),
      number_(number),
      path_mtu_(path_mtu),
      talk_(wire_, number, 1000 * number, 5000 * number, path_mtu) {}

void RoceScript::Flush() {
  for (test::WireFrame& frame : wire_.frames()) capture_.Add(std::move(frame.bytes));
  wire_.frames().clear();
}

void RoceScript::Settle() {
  for (Side requester : {Side{0}, Side{1}})
    if (std::exchange(unacknowledged_[requester], false)) talk_.Ack(requester);
  Flush();
  if (next_) next_->Settle();
}

ib::CmMessage RoceScript::Request(const Buffer& private_data) const {
  ib::CmMessage m = talk_.Request();
  m.ca_guid = 0x0200'00ff'fe00'0001;
  m.service_id = setup.service_id.value_or(ib::IpCmServiceId(setup.port));
  m.responder_resources = setup.responder_resources[0];
  m.initiator_depth = setup.initiator_depth[0];
  m.retry_count = m.rnr_retry_count = 7;
  m.partition = 0xffff;
  m.local_lid = m.remote_lid = 0xffff;
  m.local_gid = Mapped(wire_.Shown(0));
  m.remote_gid = Mapped(wire_.Shown(1));
  m.ip->source_port = static_cast<uint16_t>(40000 + number_);
  std::copy(m.local_gid.begin() + 12, m.local_gid.end(), m.ip->source.begin() + 12);
  std::copy(m.remote_gid.begin() + 12, m.remote_gid.end(), m.ip->destination.begin() + 12);
  m.private_data = private_data;
  return m;
}

void RoceScript::OpenWith(const Buffer& client, const Buffer& server) {
  Begin();
  wire_.Cm(0, Request(client));
  ib::CmMessage reply = talk_.Reply();
  reply.ca_guid = 0x0200'00ff'fe00'0002;
  reply.responder_resources = setup.responder_resources[1];
  reply.initiator_depth = setup.initiator_depth[1];
  reply.rnr_retry_count = 7;
  reply.private_data = server;
  wire_.Cm(1, reply);
  wire_.Cm(0, talk_.Other(ib::CmKind::kReadyToUse, 0));
  Flush();
  End();
}

void RoceScript::Reject(const Buffer& client, const Buffer& server) {
  Begin();
  wire_.Cm(0, Request(client));
  ib::CmMessage reject = talk_.Other(ib::CmKind::kReject, 1);
  reject.reject_reason = setup.reject_reason;
  reject.private_data = server;
  wire_.Cm(1, reject);
  Flush();
  End();
}

void RoceScript::CloseFor(fabric::CloseReason reason) {
  Require(reason == fabric::CloseReason::kDisconnect, "RoCE connections end by disconnecting");
  Begin();
  talk_.Disconnect();
  Flush();
  End();
}

WireScript& RoceScript::Another() {
  next_ = std::make_unique<RoceScript>(capture_, number_ + 1);
  return *next_;
}

void RoceScript::SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) {
  Begin();
  last_psn_[from] = talk_.psn(from);
  if (invalidated)
    talk_.SendInvalidate(from, bytes, *invalidated);
  else
    talk_.Send(from, bytes);
  Flush();
  unacknowledged_[from] = true;
  End();
}

void RoceScript::Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Begin();
  last_psn_[from] = talk_.psn(from);
  talk_.Write(from, handle, offset, bytes);
  Flush();
  End();
}

void RoceScript::ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) {
  Begin();
  last_psn_[from] = talk_.psn(from);
  reads_.push_back({from, handle, offset, length, talk_.ReadRequest(from, handle, offset, length)});
  Flush();
  End();
}

void RoceScript::ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Begin();
  const auto read = std::ranges::find_if(reads_, [&](const PendingRead& r) {
    return r.reader != from && r.handle == handle && r.offset <= offset && offset + bytes.size() <= r.offset + r.length;
  });
  Require(read != reads_.end(), "a Read Response without its request");
  // IbTalk takes the whole response and the packets that are wanted of it.
  Buffer whole(read->length);
  const auto before = static_cast<uint32_t>(offset - read->offset);
  std::ranges::copy(bytes, whole.begin() + before);
  talk_.ReadResponse(read->reader, read->psn, whole, before / path_mtu_, talk_.Packets(before + bytes.size()));
  if (before + bytes.size() == read->length) reads_.erase(read);
  Flush();
  End();
}

void RoceScript::Nak(Side from, fabric::NakKind kind) {
  const auto requester = Side(1 - from);
  unacknowledged_[requester] = false;
  Begin();
  talk_.Acknowledge(requester, last_psn_[requester], Syndrome(kind));
  Flush();
  End();
}

void RoceScript::Rewind(Side from) {
  Settle();
  capture_.WaitForTimer();
  talk_.Rewind(from, last_psn_[from]);
}

void RoceScript::WriteStating(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes, uint32_t stated) {
  Begin();
  last_psn_[from] = talk_.psn(from);
  const uint32_t count = talk_.Packets(bytes.size());
  for (uint32_t k = 0; k < count; ++k) {
    const size_t at = size_t{k} * path_mtu_;
    const Bytes part = Bytes(bytes).subspan(at, std::min<size_t>(path_mtu_, bytes.size() - at));
    const uint8_t opcode = ib::OpcodeOf(ib::MessageKind::kWrite, k == 0, k + 1 == count);
    wire_.Rc(from, talk_.qp(Side(1 - from)), opcode, talk_.psn(from), part, {offset, handle, stated});
    talk_.set_psn(from, ib::PsnAdd(talk_.psn(from), 1));
  }
  Flush();
  End();
}

void RoceScript::AcknowledgeAhead(Side from, uint32_t packets) {
  Begin();
  const auto requester = Side(1 - from);
  talk_.Acknowledge(requester, ib::PsnAdd(talk_.psn(requester), packets - 1), 0x1f);
  Flush();
  End();
}

void RoceScript::BreakIcrc() { capture_.Last().back() ^= std::byte{1}; }
void RoceScript::ClearIcrc() { std::fill_n(capture_.Last().rbegin(), ib::kIcrcLength, std::byte{0}); }

void RoceScript::Unreliable(Side from, uint8_t opcode, const Buffer& bytes) {
  Begin();
  ib::Transport t;
  t.bth.opcode = opcode;
  t.bth.destination_qp = 0x400;
  t.deth = {0x11111111, 0x400};
  t.data = bytes;
  wire_.Packet(from, t);
  Flush();
  End();
}

void RoceScript::Packet(Side from, uint8_t opcode, const Buffer& bytes) {
  Begin();
  last_psn_[from] = talk_.psn(from);
  wire_.Rc(from, talk_.qp(Side(1 - from)), opcode, last_psn_[from], bytes);
  talk_.set_psn(from, ib::PsnAdd(last_psn_[from], 1));
  Flush();
  End();
}

}  // namespace stag::evidence
