// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/not_recorded.h"

#include <array>

#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walk.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::serve {
namespace {

constexpr uint32_t kNotSupported = 10004;  // NFS3ERR_NOTSUPP, NFS4ERR_NOTSUPP
constexpr uint32_t kCompound = 1, kMaxTag = 1024, kMaxHandleSize = 64;

// Words of zeros (no attributes) behind the status of a failure, by procedure (RFC 1813 section 3.3).
constexpr std::array<uint8_t, 22> kNfs3Failure{0, 0, 2, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 4, 3, 1, 1, 1, 1, 1, 2};

// COMPOUND4res of a failure in the first operation, or behind a SEQUENCE that succeeds: otherwise clients would take
// their sessions for lost (RFC 8881 section 18.46.3).
rpc::AcceptStat Compound(Cursor& in, Writer out) {
  const uint32_t tag = in.U32();
  if (tag > kMaxTag) return rpc::kGarbageArgs;
  const Bytes text = in.Take(tag);
  in.Skip(RoundUp4(tag) - tag);
  in.Skip(4);  // minor version
  uint32_t count = in.U32(), op = count > 0 ? in.U32() : 0;
  Bytes session, slot;
  if (op == nfs::kOpSequence) {
    session = in.Take(16);
    slot = in.Take(12);
    in.Skip(4);
    --count;
    op = count > 0 ? in.U32() : 0;
  }
  if (!in.ok()) return rpc::kGarbageArgs;
  const bool sequence = !session.empty(), refused = count > 0;
  out.U32(refused ? kNotSupported : 0);
  out.Opaque(text);
  out.U32((sequence ? 1u : 0u) + (refused ? 1u : 0u));
  if (sequence) {
    out.U32(nfs::kOpSequence);
    out.U32(0);
    out.Put(session);
    out.Put(slot);                // sequence, slot, and the highest slot that is used
    out.Put(slot.subspan(8, 4));  // the highest that may be
    out.U32(0);                   // status flags
  }
  if (refused) {
    out.U32(op);
    out.U32(kNotSupported);
    if (op == nfs::kOpSetattr) out.U32(0);  // no attribute was set
  }
  return rpc::kSuccess;
}

}  // namespace

rpc::AcceptStat NotRecordedProgram::OnProcedure(const rpc::CallHeader& call, Cursor& arguments,
                                                rpcrdma::ServiceReply& reply) {
  Writer out(reply.message);
  if (call.program != nfs::kNfsProgram) return rpc::kProcUnavail;
  if (call.version == 4 && call.procedure == kCompound) return Compound(arguments, out);
  if (call.version != 3 || call.procedure >= kNfs3Failure.size()) return rpc::kProcUnavail;
  (void)rpcrdma::GetOpaque(arguments, kMaxHandleSize);  // all of them begin with one
  if (!arguments.ok()) return rpc::kGarbageArgs;
  out.U32(kNotSupported);
  out.Zeros(size_t{4} * kNfs3Failure[call.procedure]);
  return rpc::kSuccess;
}

}  // namespace stag::serve
