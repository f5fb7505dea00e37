// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/callbacks.h"

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walk.h"

namespace stag::replay {

namespace {

constexpr size_t kMostStatuses = 4096;  // of one operation that wait for a live Call

enum Status : uint32_t { kOk = 0, kBadHandle = 10001, kNotSupported = 10004, kNoMatchingLayout = 10060 };

uint32_t Default(uint32_t op) {
  switch (op) {
    case nfs::kCbRecall:
    case nfs::kCbNotify:
    case nfs::kCbRecallAny:
    case nfs::kCbRecallSlot:
    case nfs::kCbSequence:
    case nfs::kCbNotifyLock: return kOk;
    case nfs::kCbGetattr: return kBadHandle;
    case nfs::kCbLayoutrecall: return kNoMatchingLayout;
    default: return kNotSupported;
  }
}

class Operations final : public nfs::Visitor {
 public:
  void OnOperation(uint32_t, uint32_t op) override { ops.push_back(op); }
  void OnOperationResult(uint32_t, uint32_t op, uint32_t status) override { results.emplace_back(op, status); }
  std::vector<uint32_t> ops;
  std::vector<std::pair<uint32_t, uint32_t>> results;
};

}  // namespace

void Callbacks::Add(const recording::RecordedRpc& backward) {
  const Bytes call = backward.call.bytes, reply = backward.reply.bytes;
  if (call.empty() || reply.empty() || backward.procedure != 1) return;
  Operations operations;
  nfs::WalkReply(rpc::DecodeCall(call, call.size()), rpc::DecodeReply(reply, reply.size()), reply, reply.size(),
                 operations);
  for (const auto& [op, status] : operations.results) {
    std::deque<uint32_t>& statuses = recorded_[op];
    if (statuses.size() == kMostStatuses) statuses.pop_front();
    statuses.push_back(status);
  }
}

uint32_t Callbacks::NextStatus(uint32_t op) {
  const auto it = recorded_.find(op);
  // CB_SEQUENCE and CB_GETATTR have results that only a client with the state can make.
  if (op == nfs::kCbSequence || op == nfs::kCbGetattr || it == recorded_.end() || it->second.empty())
    return Default(op);
  const uint32_t status = it->second.front();
  it->second.pop_front();
  return status;
}

void Callbacks::Answer(Bytes call, std::vector<std::byte>& reply) {
  reply.clear();
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  if (header.words < 2 || header.msg_type != rpc::kCall) return;
  rpc::ReplyHeader answer;
  answer.xid = header.xid;
  answer.msg_type = rpc::kReply;
  answer.reply_stat = rpc::kAccepted;
  answer.accept_stat = rpc::kSuccess;
  const bool plain = header.status == ParseStatus::kOk && !header.opaque_arguments();
  if (!plain || !nfs::IsCallbackProgram(header.program)) answer.accept_stat = rpc::kProgUnavail;
  if (plain && header.procedure > 1) answer.accept_stat = rpc::kProcUnavail;
  Operations operations;
  nfs::Walk walk;
  if (answer.accept_stat == rpc::kSuccess && header.procedure == 1) {
    walk = nfs::WalkCall(header, call, call.size(), operations);
    if (walk.status == ParseStatus::kMalformed) answer.accept_stat = rpc::kGarbageArgs;
  }
  rpc::Encode(answer, reply);
  if (answer.accept_stat != rpc::kSuccess || header.procedure == 0) return;

  // CB_COMPOUND4args: tag, minorversion, callback_ident, operations. CB_SEQUENCE's result repeats its session,
  // sequence, slot and highest slot, and adds a target: its 28 bytes of arguments and the highest slot once more.
  Cursor arguments(call.subspan(header.length));
  const Bytes tag = arguments.Take(arguments.U32());
  arguments.Skip(RoundUp4(tag.size()) - tag.size() + 12);
  const uint32_t first = arguments.U32();
  const Bytes sequence = first == nfs::kCbSequence ? arguments.Take(28) : Bytes{};

  std::vector<std::byte> results;
  Writer out(results);
  uint32_t status = kOk, count = 0;
  for (const uint32_t op : operations.ops) {
    // What cannot be followed, or comes where it must not, ends it.
    const bool misplaced = op == nfs::kCbSequence && (count > 0 || sequence.size() < 28);
    status = misplaced ? kNotSupported : NextStatus(op);
    out.U32(op);
    out.U32(status);
    ++count;
    if (op == nfs::kCbSequence && status == kOk) {
      out.Put(sequence);
      out.Put(sequence.subspan(24));
    }
    if (status != kOk) break;
  }
  Writer head(reply);
  head.U32(status);
  head.Opaque(tag);
  head.U32(count);
  head.Put(results);
}

}  // namespace stag::replay
