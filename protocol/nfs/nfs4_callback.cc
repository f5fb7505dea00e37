// SPDX-License-Identifier: GPL-2.0-or-later
//
// CB_COMPOUND: RFC 7530 section 16, RFC 8881 section 20, RFC 7862 section 16. Nothing in it is DDP-eligible.
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/nfs4_types.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

void LayoutRecall(Stream& s) {
  s.Fields("wwb");
  switch (s.U32()) {
    case kScopeFile: return s.Fields("nhhS");
    case kScopeFsid: return s.Fields("UU");
    case kScopeAll: return;
    default: return s.Unsupported();
  }
}

void Sequence(Stream& s) {
  s.Fields("swwwb");
  const uint32_t count = s.Count(20);  // referring_call_list4
  for (uint32_t i = 0; i < count && s.ok(); ++i) {
    s.Fields("s");
    s.SkipArray(8, "ww");
  }
}

void CalledState(uint32_t op, Stream& s) {
  const Bytes stateid = s.Stateid();
  if (s.ok()) s.visitor.OnState(s.op_index, op, stateid);
}

void Recall(Stream& s) {
  CalledState(kCbRecall, s);
  s.Fields("bn");
}

void Offload(Stream& s) {
  s.Fields("n");
  CalledState(kCbOffload, s);
  if (s.U32() == kNfs4Ok) {
    SkipWriteResponse(s);
  } else {
    s.Skip(8);
  }
}

void Arguments(uint32_t op, Stream& s) {
  switch (op) {
    case kCbRecall: return Recall(s);
    case kCbLayoutrecall: return LayoutRecall(s);
    case kCbNotify: s.Fields("Sn"); return SkipNotifications(s);
    case kCbPushDeleg: s.Fields("n"); return SkipOpenDelegation(s);
    case kCbSequence: return Sequence(s);
    case kCbNotifyDeviceid: return SkipNotifications(s);
    case kCbOffload: return Offload(s);
    default: return s.Unsupported();
  }
}

}  // namespace

void WalkCallbackCall(Stream& s) {
  s.Name();   // tag
  s.Skip(8);  // minorversion, callback_ident
  const uint32_t count = s.Count(4);
  for (s.op_index = 0; s.op_index < count; ++s.op_index) {
    const uint32_t op = s.U32();
    if (!s.ok()) return;
    s.visitor.OnOperation(s.op_index, op);
    const Operation* operation = FindCallbackOperation(op);
    if (!operation) return s.Unsupported();
    if (operation->arguments) {
      s.Fields(operation->arguments);
    } else {
      Arguments(op, s);
    }
  }
}

void WalkCallbackReply(Stream& s) {
  s.Status();
  s.Name();  // tag
  const uint32_t count = s.Count(8);
  for (s.op_index = 0; s.op_index < count; ++s.op_index) {
    const uint32_t op = s.U32();
    const uint32_t status = s.U32();
    if (!s.ok()) return;
    s.visitor.OnOperationResult(s.op_index, op, status);
    const Operation* operation = FindCallbackOperation(op);
    if (!operation) return s.Unsupported();
    if (status == kNfs4Ok) s.Fields(operation->results);
  }
}

}  // namespace stag::nfs
