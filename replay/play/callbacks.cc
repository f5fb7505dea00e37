// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/play/callbacks.h"

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/nfs/walk.h"

namespace stag::replay {

namespace {

// RFC 8881 section 20.
enum CallbackOp : uint32_t {
  kGetattr = 3,
  kRecall = 4,
  kLayoutRecall = 5,
  kNotify = 6,
  kRecallAny = 8,
  kRecallSlot = 10,
  kSequence = 11,
  kNotifyLock = 13
};
enum Status : uint32_t { kOk = 0, kBadHandle = 10001, kNotSupported = 10004, kNoMatchingLayout = 10060 };

uint32_t Default(uint32_t op) {
  switch (op) {
    case kRecall:
    case kNotify:
    case kRecallAny:
    case kRecallSlot:
    case kSequence:
    case kNotifyLock: return kOk;
    case kGetattr: return kBadHandle;
    case kLayoutRecall: return kNoMatchingLayout;
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

Callbacks::Callbacks(std::span<const RecordedRpc* const> backward) {
  for (const RecordedRpc* rpc : backward) {
    const Bytes call = rpc->call.bytes, reply = rpc->reply.bytes;
    if (call.empty() || reply.empty() || rpc->procedure != 1) continue;
    Operations operations;
    nfs::WalkReply(rpc::DecodeCall(call, call.size()), rpc::DecodeReply(reply, reply.size()), reply, reply.size(),
                   operations);
    for (const auto& [op, status] : operations.results) recorded_[op].push_back(status);
  }
}

uint32_t Callbacks::NextStatus(uint32_t op) {
  const auto it = recorded_.find(op);
  // CB_SEQUENCE and CB_GETATTR have results that only a client with the state can make.
  if (op == kSequence || op == kGetattr || it == recorded_.end() || it->second.empty()) return Default(op);
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
  const Bytes sequence = first == kSequence ? arguments.Take(28) : Bytes{};

  std::vector<std::byte> results;
  Writer out(results);
  uint32_t status = kOk, count = 0;
  for (const uint32_t op : operations.ops) {
    // What cannot be followed, or comes where it must not, ends it.
    const bool misplaced = op == kSequence && (count > 0 || sequence.size() < 28);
    status = misplaced ? kNotSupported : NextStatus(op);
    out.U32(op);
    out.U32(status);
    ++count;
    if (op == kSequence && status == kOk) {
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
