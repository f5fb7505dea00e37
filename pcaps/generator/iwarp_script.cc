// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/iwarp_script.h"

#include <algorithm>

#include "pcaps/generator/ip_frames.h"
#include "pcaps/generator/require.h"

namespace stag::evidence {

namespace {

constexpr uint8_t kPush = 0x08;

fabric::test::Options OptionsOf(uint32_t number) {
  fabric::test::Options options;
  options.crc = true;
  options.client_port = static_cast<uint16_t>(40000 + number);
  options.initial = {100'000 * number, 500'000 * number};
  return options;
}

// RFC 5040 section 4.8 and RFC 5041 section 8.
iwarp::Terminate ErrorOf(fabric::NakKind kind, bool tagged) {
  iwarp::Terminate t;
  switch (kind) {
    case fabric::NakKind::kRnr: t.layer = 1, t.type = 2, t.code = 2; break;             // no buffer available
    case fabric::NakKind::kInvalidRequest: t.layer = 1, t.type = 2, t.code = 5; break;  // message too long
    case fabric::NakKind::kRemoteAccess: t.layer = tagged ? 1 : 0, t.type = 1; break;   // invalid STag
    default: t.type = 2, t.code = 7;                                                    // catastrophic error
  }
  return t;
}

}  // namespace

IwarpScript::IwarpScript(Capture& capture, uint32_t number)
    : WireScript(capture),
      number_(number),
      conversation_(OptionsOf(number)),
      next_sequence_{conversation_.options().initial[0] + 1, conversation_.options().initial[1] + 1},
      last_sequence_(next_sequence_) {}

void IwarpScript::Segment(Side from, uint8_t flags, Bytes payload) {
  const auto to = Side(1 - from);
  const bool syn = (flags & link::kTcpSyn) != 0;
  const std::array<uint16_t, 2> ports{conversation_.options().client_port, setup.port};
  const TcpFields fields{next_sequence_[from] - (syn ? 1 : 0), (flags & link::kTcpAck) != 0 ? next_sequence_[to] : 0,
                         flags};
  next_sequence_[from] += static_cast<uint32_t>(payload.size()) + ((flags & link::kTcpFin) != 0 ? 1 : 0);
  capture_.Add(TcpFrame(from, {ports[from], ports[to]}, fields, payload));
}

void IwarpScript::Rewind(Side from) {
  Settle();
  capture_.WaitForTimer();
  next_sequence_[from] = last_sequence_[from];
}

void IwarpScript::SendDamaged(Side from, const Buffer& bytes) {
  Begin();
  conversation_.Send(from, bytes);
  conversation_.Damage(iwarp::kUlpduLengthSize + iwarp::kUntaggedHeaderSize + bytes.size() - 1);  // the last byte
  Flush();
  End();
}

void IwarpScript::Flush() {
  for (const auto& written : conversation_.Take())
    Segment(static_cast<Side>(written.from), link::kTcpAck | kPush, written.bytes);
}

void IwarpScript::Settle() {
  Flush();
  if (next_) next_->Settle();
}

void IwarpScript::Handshake() {
  if (connected_) return;
  connected_ = true;
  Segment(0, link::kTcpSyn, {});
  Segment(1, link::kTcpSyn | link::kTcpAck, {});
  Segment(0, link::kTcpAck, {});
}

void IwarpScript::Before(Side from, const Buffer& bytes) {
  Begin();
  Handshake();
  conversation_.Put(from, bytes);
  Flush();
  End();
}

void IwarpScript::OpenWith(const Buffer& client, const Buffer& server) {
  Begin();
  Handshake();
  conversation_.Mpa(0, client);
  conversation_.Mpa(1, server);
  Flush();
  End();
}

void IwarpScript::Reject(const Buffer& client, const Buffer& server) {
  Begin();
  Handshake();
  conversation_.Mpa(0, client);
  conversation_.Mpa(1, server, true);
  Flush();
  End();
}

void IwarpScript::CloseFor(fabric::CloseReason reason) {
  Begin();
  if (reason == fabric::CloseReason::kReset) {
    Segment(0, link::kTcpRst | link::kTcpAck, {});
  } else {
    Require(reason == fabric::CloseReason::kDisconnect, "iWARP connections end by disconnecting or a reset");
    Segment(0, link::kTcpFin | link::kTcpAck, {});
    Segment(1, link::kTcpFin | link::kTcpAck, {});
    Segment(0, link::kTcpAck, {});
  }
  End();
}

WireScript& IwarpScript::Another() {
  next_ = std::make_unique<IwarpScript>(capture_, number_ + 1);
  return *next_;
}

void IwarpScript::SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) {
  Begin();
  last_sequence_[from] = next_sequence_[from];
  conversation_.Send(from, bytes, invalidated ? iwarp::Opcode::kSendInvalidate : iwarp::Opcode::kSend,
                     invalidated.value_or(0));
  Flush();
  End();
}

void IwarpScript::Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Begin();
  last_sequence_[from] = next_sequence_[from];
  conversation_.Tagged(from, iwarp::Opcode::kWrite, handle, offset, bytes);
  Flush();
  End();
}

void IwarpScript::ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) {
  Begin();
  const auto sink = static_cast<uint32_t>(0x5000 + reads_[from].size());
  reads_[from].push_back({sink, 0, length, handle, offset});
  conversation_.ReadRequest(from, reads_[from].back());
  Flush();
  End();
}

void IwarpScript::ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Begin();
  const auto& reads = reads_[1 - from];
  // The latest: the same memory may be read again.
  const auto read = std::find_if(reads.rbegin(), reads.rend(), [&](const iwarp::ReadRequest& r) {
    return r.source_stag == handle && r.source_offset == offset;
  });
  Require(read != reads.rend(), "a Read Response without its request");
  conversation_.Tagged(from, iwarp::Opcode::kReadResponse, read->sink_stag, read->sink_offset, bytes);
  Flush();
  End();
}

void IwarpScript::Nak(Side from, fabric::NakKind kind) {
  Begin();
  const auto& refused = conversation_.last(1 - from);
  iwarp::Terminate terminate = ErrorOf(kind, refused.header.tagged);
  terminate.segment_length = refused.length;
  terminate.ddp = refused.header;
  if (refused.header.opcode == iwarp::Opcode::kReadRequest) terminate.read_request = reads_[1 - from].back();
  conversation_.Terminate(from, terminate);
  Flush();
  End();
}

}  // namespace stag::evidence
