// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which walker a message needs.
#include "protocol/nfs/walk.h"

#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

enum class Protocol : uint8_t { kUnknown, kNfs2, kNfs3, kNfs4, kCallback, kMount, kNlm, kNsm, kNfsAcl };

Protocol ProtocolOf(const rpc::CallHeader& call) {
  const uint32_t version = call.version;
  if (IsCallbackProgram(call.program)) return Protocol::kCallback;
  switch (call.program) {
    case kNfsProgram:
      if (version == 2) return Protocol::kNfs2;
      if (version == 3) return Protocol::kNfs3;
      return version == 4 ? Protocol::kNfs4 : Protocol::kUnknown;
    case kMountProgram: return version >= 1 && version <= 3 ? Protocol::kMount : Protocol::kUnknown;
    case kNlmProgram: return version == 1 || version == 3 || version == 4 ? Protocol::kNlm : Protocol::kUnknown;
    case kNsmProgram: return version == 1 ? Protocol::kNsm : Protocol::kUnknown;
    case kNfsAclProgram: return version == 2 || version == 3 ? Protocol::kNfsAcl : Protocol::kUnknown;
    default: return Protocol::kUnknown;
  }
}

// NFSv4 and its callbacks have one procedure beside NULL.
bool IsCompound(const rpc::CallHeader& call, Stream& s) {
  if (call.procedure != 1) s.Unsupported();
  return call.procedure == 1;
}

void DispatchCall(const rpc::CallHeader& call, Stream& s) {
  switch (ProtocolOf(call)) {
    case Protocol::kNfs2: return WalkNfs2Call(call.procedure, s);
    case Protocol::kNfs3: return WalkNfs3Call(call.procedure, s);
    case Protocol::kNfs4: return IsCompound(call, s) ? WalkCompoundCall(s) : void();
    case Protocol::kCallback: return IsCompound(call, s) ? WalkCallbackCall(s) : void();
    case Protocol::kMount: return WalkMountCall(call.version, call.procedure, s);
    case Protocol::kNlm: return WalkNlmCall(call.version, call.procedure, s);
    case Protocol::kNsm: return WalkNsmCall(call.procedure, s);
    case Protocol::kNfsAcl: return WalkNfsAclCall(call.version, call.procedure, s);
    case Protocol::kUnknown: return s.Unsupported();
  }
}

void DispatchReply(const rpc::CallHeader& call, Stream& s) {
  switch (ProtocolOf(call)) {
    case Protocol::kNfs2: return WalkNfs2Reply(call.procedure, s);
    case Protocol::kNfs3: return WalkNfs3Reply(call.procedure, s);
    case Protocol::kNfs4: return IsCompound(call, s) ? WalkCompoundReply(s) : void();
    case Protocol::kCallback: return IsCompound(call, s) ? WalkCallbackReply(s) : void();
    case Protocol::kMount: return WalkMountReply(call.version, call.procedure, s);
    case Protocol::kNlm: return WalkNlmReply(call.version, call.procedure, s);
    case Protocol::kNsm: return WalkNsmReply(call.procedure, s);
    case Protocol::kNfsAcl: return WalkNfsAclReply(call.version, call.procedure, s);
    case Protocol::kUnknown: return s.Unsupported();
  }
}

// The procedure is known, and that nothing is wrapped: so much may be there of a call that the capture cut.
bool IsPlain(const rpc::CallHeader& call) {
  const bool known =
      call.status == ParseStatus::kOk || (call.status == ParseStatus::kTruncatedByCapture && call.has_flavor);
  return known && !call.opaque_arguments();
}

// Counts what a call has, and what its results can have; a Visitor that was given decides what is reduced.
class Counter final : public Visitor {
 public:
  explicit Counter(Visitor* reduced) : reduced_(reduced) {}
  bool IsReduced(const Item& item) override {
    ++items;
    return reduced_ && reduced_->IsReduced(item);
  }
  void OnOperation(uint32_t, uint32_t op) override { readers += HasEligibleResult(op); }

  uint32_t items = 0;
  uint32_t readers = 0;

 private:
  Visitor* reduced_;
};

}  // namespace

Walk WalkCall(const rpc::CallHeader& header, Bytes stream, uint64_t length, Visitor& visitor) {
  if (header.status != ParseStatus::kOk) return {header.status, 0, false, 0};
  Stream s(stream, length, header.length, visitor);
  if (header.opaque_arguments()) {
    s.Unsupported();
  } else if (header.procedure != 0) {  // procedure 0 has no arguments in any program (RFC 5531 section 12.1)
    DispatchCall(header, s);
  }
  return s.Result();
}

Walk WalkReply(const rpc::CallHeader& call, const rpc::ReplyHeader& header, Bytes stream, uint64_t length,
               Visitor& visitor) {
  if (header.status != ParseStatus::kOk) return {header.status, 0, false, 0};
  Stream s(stream, length, header.length, visitor);
  if (!header.success()) return s.Result();  // no results
  if (!IsPlain(call)) {
    s.Unsupported();
  } else if (call.procedure != 0) {
    DispatchReply(call, s);
  }
  return s.Result();
}

bool HasEligibleResult(uint32_t op) { return op == kOpRead || op == kOpReadlink; }

Eligibility EligibleItems(const rpc::CallHeader& header, const Walk& walk, uint32_t argument_items,
                          uint32_t result_items) {
  constexpr uint32_t kReadlinkProcedure = 5, kReadProcedure = 6, kWriteProcedure2 = 8, kWriteProcedure3 = 7,
                     kSymlinkProcedure2 = 13, kSymlinkProcedure3 = 10;
  Eligibility eligible;
  if (!IsPlain(header)) return eligible;
  const uint32_t procedure = header.procedure;
  switch (ProtocolOf(header)) {
    case Protocol::kUnknown: return eligible;
    case Protocol::kNfs2:
    case Protocol::kNfs3: {
      const bool v2 = header.version == 2;
      eligible.argument_items = procedure == (v2 ? kWriteProcedure2 : kWriteProcedure3) ||
                                procedure == (v2 ? kSymlinkProcedure2 : kSymlinkProcedure3);
      eligible.result_items = procedure == kReadProcedure || procedure == kReadlinkProcedure;
      break;
    }
    case Protocol::kNfs4: {
      if (walk.status != ParseStatus::kOk) return eligible;
      eligible.argument_items = argument_items;
      eligible.result_items = result_items;
      break;
    }
    default:  // nothing is eligible in the others
      break;
  }
  eligible.known = true;
  return eligible;
}

Eligibility EligibleItems(const rpc::CallHeader& header, Bytes stream, uint64_t length, Visitor* reduced) {
  Counter counter(reduced);
  Walk walk;
  if (IsPlain(header) && ProtocolOf(header) == Protocol::kNfs4) walk = WalkCall(header, stream, length, counter);
  return EligibleItems(header, walk, counter.items, counter.readers);
}

}  // namespace stag::nfs
