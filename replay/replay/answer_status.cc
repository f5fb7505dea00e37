// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/answer_status.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "protocol/base/cursor.h"
#include "protocol/nfs/nfs4_operations.h"

namespace stag::replay {

using Kind = AnswerStatus::Kind;

AnswerStatus StatusOf(const recording::RecordedRpc& rpc) {
  if (rpc.reply_form == session::ReplyForm::kError) return {Kind::kRdmaError, rpc.rdma_error};
  if (!rpc.replied) return {rpc.reply_frame.number == 0 ? Kind::kNone : Kind::kUnreadable, 0};
  if (rpc.denied) return {Kind::kDenied, 0};
  if (rpc.accept_stat != rpc::kSuccess) return {Kind::kAccepted, rpc.accept_stat};
  return {Kind::kStatus, rpc.has_status ? rpc.status : 0};
}

AnswerStatus StatusOf(const rpc::ReplyHeader& header, const nfs::Walk& walk) {
  if (header.status != ParseStatus::kOk) return {Kind::kUnreadable, 0};
  if (header.reply_stat == rpc::kDenied) return {Kind::kDenied, 0};
  if (header.accept_stat != rpc::kSuccess) return {Kind::kAccepted, header.accept_stat};
  return {Kind::kStatus, walk.has_status ? walk.nfs_status : 0};
}

bool PutOff(const AnswerStatus& live, const recording::RecordedRpc& rpc) {
  if (rpc.program != nfs::kNfsProgram || live.kind != Kind::kStatus || StatusOf(rpc) != AnswerStatus{Kind::kStatus, 0})
    return false;
  return rpc.version == 4 ? live.code == nfs::kErrDelay || live.code == nfs::kErrGrace
                          : rpc.version == 3 && live.code == nfs::kErrDelay;
}

std::string Describe(const AnswerStatus& status, const PlannedProcedure& of) {
  constexpr std::array<const char*, 6> kAccept = {"SUCCESS",      "PROG_UNAVAIL", "PROG_MISMATCH",
                                                  "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};
  switch (status.kind) {
    case Kind::kNone: return "no answer recorded";
    case Kind::kStatus: {
      if (of.procedure == 0) return "success";
      const bool nfs = of.program == nfs::kNfsProgram || of.program == nfs::kNfsAclProgram;
      const char* name = nfs ? nfs::StatusName(of.version, status.code) : nullptr;
      return name ? name : "status " + std::to_string(status.code);
    }
    case Kind::kAccepted:
      return status.code < kAccept.size() ? kAccept[status.code] : "accept_stat " + std::to_string(status.code);
    case Kind::kDenied: return "MSG_DENIED";
    case Kind::kRdmaError: return rpcrdma::ErrorName(status.code);
    case Kind::kUnreadable: return "an unreadable answer";
    case Kind::kLost: return "connection lost";
    case Kind::kTimeout: return "no answer in time";
    case Kind::kRefused: return "not sent";
  }
  return "?";
}

namespace {

// Where a COMPOUND's reply repeats sequence, slot and highest slot of its SEQUENCE (RFC 8881 section 18.46.2): kEcho
// bytes that go by the slot which the client chose. 0: nowhere.
constexpr size_t kEcho = 12;
size_t SequenceEcho(Bytes message) {
  constexpr uint32_t kMaxTag = 1024, kSessionBytes = 16;
  const rpc::ReplyHeader header = rpc::DecodeReply(message, message.size());
  if (!header.success()) return 0;
  Cursor cursor(message.subspan(header.length));
  (void)cursor.U32();  // status
  const uint32_t tag = cursor.U32();
  if (tag > kMaxTag) return 0;
  cursor.Skip(RoundUp4(tag));
  const uint32_t count = cursor.U32(), op = cursor.U32(), status = cursor.U32();
  cursor.Skip(kSessionBytes);
  const size_t at = header.length + cursor.offset();
  cursor.Skip(kEcho);
  return cursor.ok() && count > 0 && op == nfs::kOpSequence && status == 0 ? at : 0;
}

}  // namespace

bool IsRecordedReply(const recording::RecordedRpc& rpc, const Values& reply, Bytes message,
                     std::span<const Bytes> chunks) {
  const Bytes recorded = rpc.reply.bytes;
  constexpr size_t kXid = 4;
  if (recorded.size() < kXid || message.size() < kXid) return false;
  Bytes rest = recorded.subspan(kXid);
  const auto take = [&](Bytes bytes) {
    if (rest.size() < bytes.size() || !std::ranges::equal(bytes, rest.first(bytes.size()))) return false;
    rest = rest.subspan(bytes.size());
    return true;
  };
  size_t done = kXid;
  const bool compound = rpc.program == nfs::kNfsProgram && rpc.version == 4;
  if (const size_t echo = compound ? SequenceEcho(message) : 0; echo != 0 && echo == SequenceEcho(recorded)) {
    if (!take(message.subspan(done, echo - done))) return false;
    rest = rest.subspan(kEcho);
    done = echo + kEcho;
  }
  for (const FoundItem& item : reply.items()) {
    if (item.chunk == UINT32_MAX) continue;
    const Bytes data = chunks[item.chunk];
    // The chunk may bring the item's padding, too.
    if (data.size() < item.length || data.size() > RoundUp4(item.length)) return false;
    const size_t padding = static_cast<size_t>(RoundUp4(item.length)) - item.length;
    if (!take(message.subspan(done, static_cast<size_t>(item.offset) - done)) || !take(data.first(item.length)) ||
        rest.size() < padding)
      return false;
    rest = rest.subspan(padding);
    done = static_cast<size_t>(item.offset);
  }
  return take(message.subspan(done)) && rest.empty();
}

}  // namespace stag::replay
