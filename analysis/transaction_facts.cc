// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/transaction_facts.h"

#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/procedures.h"
#include "text/put.h"

namespace stag::analysis {

using session::DataItem;
using session::Payload;
using session::Transaction;

namespace {

// Whether arguments or results can hold a DDP-eligible item (RFC 8267 sections 4.1 and 5.1).
struct Eligible {
  bool arguments = false, results = false;
};

Eligible MayHaveItems(const Transaction& t) {
  const rpc::CallHeader& call = t.call.rpc;
  Eligible e;
  if (!ProcedureKnown(t) || call.program != nfs::kNfsProgram) return e;
  if (call.version == 2) {
    e.arguments = call.procedure == nfs::nfs2::kWrite || call.procedure == nfs::nfs2::kSymlink;
    e.results = call.procedure == nfs::nfs2::kRead || call.procedure == nfs::nfs2::kReadlink;
  } else if (call.version == 3) {
    e.arguments = call.procedure == nfs::nfs3::kWrite || call.procedure == nfs::nfs3::kSymlink;
    e.results = call.procedure == nfs::nfs3::kRead || call.procedure == nfs::nfs3::kReadlink;
  } else if (IsCompound(t)) {
    const bool all_known = OperationsKnown(t);
    e.arguments = e.results = !all_known;
    for (const session::Operation& operation : t.operations) {
      e.arguments |= operation.op == nfs::kOpWrite || operation.op == nfs::kOpCreate;
      e.results |= operation.op == nfs::kOpRead || operation.op == nfs::kOpReadlink;
    }
  }
  return e;
}

bool AddItems(const Payload& payload, DataSummary& sum) {
  bool complete = true;
  for (const DataItem& item : payload.items) {
    sum.any = true;
    sum.bytes += item.item.length;
    complete &= item.complete;
  }
  return complete;
}

// The walk stopped where the capture did, so that items may have gone unseen.
bool WalkCut(const Payload& payload) {
  return !payload.present || payload.walk.status == ParseStatus::kTruncatedByCapture;
}

bool Feed(Sha256& sha, const Transaction& t, const Payload& payload, uint64_t offset, uint64_t length) {
  bool kept = true;
  const bool inside = t.ForEach(payload, offset, length, [&](Bytes bytes, uint64_t n) {
    kept &= bytes.size() == n;
    sha.Update(bytes);
  });
  return inside && kept;
}

}  // namespace

bool ProcedureKnown(const Transaction& t) {
  constexpr uint32_t kRpcVersion = 2;
  const rpc::CallHeader& call = t.call.rpc;
  if (call.words < 6) return false;
  return call.status == ParseStatus::kOk || (call.msg_type == rpc::kCall && call.rpc_version == kRpcVersion);
}

bool IsCompound(const Transaction& t) {
  const rpc::CallHeader& call = t.call.rpc;
  return ProcedureKnown(t) && call.procedure == 1 &&
         ((call.program == nfs::kNfsProgram && call.version == 4) || nfs::IsCallbackProgram(call.program));
}

bool OperationsKnown(const Transaction& t) {
  return IsCompound(t) && t.call.walk.status != ParseStatus::kTruncatedByCapture && !t.call.rpc.opaque_arguments();
}

void PutOperation(std::string& out, const Transaction& t, uint32_t op) {
  const char* name = t.call.rpc.program == nfs::kNfsProgram ? nfs::OperationName(op) : nfs::CallbackOperationName(op);
  if (name) {
    Put(out, std::string_view(name));
  } else {
    Put(out, "OP_{}", op);
  }
}

// Operations that prepare or end what a COMPOUND is about.
static bool IsHousekeeping(uint32_t op, bool callback) {
  constexpr uint32_t kOpCbSequence = 11;  // RFC 8881 section 20.9
  if (callback) return op == kOpCbSequence;
  switch (op) {
    case nfs::kOpSequence:
    case nfs::kOpPutfh:
    case nfs::kOpPutrootfh:
    case nfs::kOpPutpubfh:
    case nfs::kOpSavefh:
    case nfs::kOpRestorefh:
    case nfs::kOpGetfh:
    case nfs::kOpGetattr: return true;
    default: return false;
  }
}

void PutProgram(std::string& out, const rpc::CallHeader& call) {
  if (const char* program = rpc::ProgramName(call.program, call.version)) {
    Put(out, std::string_view(program));
    out.push_back('v');
    PutNumber(out, call.version);
    out.push_back(' ');
  } else {
    Put(out, "program {} v{} ", call.program, call.version);
  }
}

void PutSubject(std::string& out, const Transaction& t) {
  if (!ProcedureKnown(t)) return Put(out, "?");
  const rpc::CallHeader& call = t.call.rpc;
  PutProgram(out, call);
  if (IsCompound(t) && !t.operations.empty()) {
    const bool callback = call.program != nfs::kNfsProgram;
    uint32_t subject = t.operations.back().op;
    bool found = false;
    for (const session::Operation& operation : t.operations) {
      if (!IsHousekeeping(operation.op, callback)) {
        subject = operation.op;
        found = true;
        break;
      }
    }
    if (!found && !callback) {
      for (const session::Operation& operation : t.operations)
        if (operation.op == nfs::kOpGetattr) subject = operation.op;
    }
    return PutOperation(out, t, subject);
  }
  if (const char* name = rpc::ProcedureName(call.program, call.version, call.procedure)) {
    Put(out, std::string_view(name));
  } else {
    Put(out, "procedure {}", call.procedure);
  }
}

uint64_t ChunkBytes(const rpcrdma::Header& header, const rpcrdma::Chunk& chunk) {
  uint64_t sum = 0;
  for (const rpcrdma::Segment& segment : header.Of(chunk)) sum += segment.length;
  return sum;
}

Ending EndingOf(const Transaction& t) {
  if (t.reply.form == session::ReplyForm::kError)
    return {.answered = true, .error = true, .name = rpcrdma::ErrorName(t.reply.header.err)};
  if (t.reply.form == session::ReplyForm::kNone) return {};
  const rpc::ReplyHeader& reply = t.reply.rpc;
  if (reply.status == ParseStatus::kOk && !reply.success()) {
    constexpr std::string_view kAccept[] = {"SUCCESS",      "PROG_UNAVAIL", "PROG_MISMATCH",
                                            "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};
    const bool named = reply.reply_stat == rpc::kAccepted && reply.accept_stat < std::size(kAccept);
    return {.answered = true, .error = true, .name = named ? kAccept[reply.accept_stat] : "DENIED"};
  }
  Ending ending{.answered = true, .error = false, .name = {}};
  if (!t.reply.walk.has_status) return ending;
  ending.error = t.reply.walk.nfs_status != 0;
  if (t.call.rpc.program == nfs::kMountProgram) return ending;
  if (const char* name = nfs::StatusName(t.call.rpc.version, t.reply.walk.nfs_status)) ending.name = name;
  return ending;
}

std::optional<uint64_t> ReturnedInWriteChunk(const Transaction& t, size_t i) {
  const rpcrdma::Header& reply = t.reply.header;
  if (t.reply.frame.number == 0 || !reply.has_lists()) return std::nullopt;
  const bool whole = reply.status == ParseStatus::kOk;
  if (i < reply.write_chunks.size() && (whole || i + 1 < reply.write_chunks.size() || reply.reply_chunk)) {
    return ChunkBytes(reply, reply.write_chunks[i]);
  }
  return whole ? std::optional<uint64_t>(0) : std::nullopt;
}

std::optional<uint64_t> ReturnedInReplyChunk(const Transaction& t) {
  const rpcrdma::Header& reply = t.reply.header;
  if (t.reply.frame.number == 0 || !reply.has_lists() || reply.status != ParseStatus::kOk) return std::nullopt;
  return reply.reply_chunk ? ChunkBytes(reply, *reply.reply_chunk) : 0;
}

DataSummary SummarizeData(const Transaction& t) {
  DataSummary sum;
  sum.known = AddItems(t.call, sum);
  sum.known &= AddItems(t.reply, sum);
  if (sum.known) {
    const Eligible e = MayHaveItems(t);
    const bool hidden = t.call.rpc.opaque_arguments() && t.call.rpc.gss_proc == rpc::kGssData;
    if (e.arguments && (WalkCut(t.call) || hidden)) sum.known = false;
    if (e.results && t.reply.form != session::ReplyForm::kError && (WalkCut(t.reply) || hidden)) sum.known = false;
  }
  return sum;
}

std::optional<Sha256::Value> HashPayload(Sha256& sha, const Transaction& t, const Payload& payload) {
  if (!payload.complete) return std::nullopt;
  sha.Start();
  if (!Feed(sha, t, payload, 0, payload.length)) return std::nullopt;
  return sha.Finish();
}

std::optional<Sha256::Value> HashData(Sha256& sha, const Transaction& t) {
  sha.Start();
  for (const Payload* payload : t.messages()) {
    for (const DataItem& item : payload->items) {
      if (!item.complete || !Feed(sha, t, *payload, item.unreduced_offset, item.item.length)) return std::nullopt;
    }
  }
  return sha.Finish();
}

}  // namespace stag::analysis
