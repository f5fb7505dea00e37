// SPDX-License-Identifier: GPL-2.0-or-later
//
// COMPOUND results. A failed operation ends them, and has no body but where the XDR gives it one.
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/nfs4_types.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

void LockDenied(Stream& s) { s.Fields("hhwyo"); }

void Open(Stream& s) {
  s.Fields("icwm");
  SkipOpenDelegation(s);
}

void Read(Stream& s) {
  const bool eof = s.Bool();
  s.Item(ItemKind::kReadData, [&](uint32_t count) { s.visitor.OnReadResult(s.op_index, count, eof); });
}

void ReadDirectory(Stream& s) {
  s.Value(ValueKind::kCookieVerifier, 8);
  while (s.Bool()) {
    const uint64_t at = s.offset();
    s.Skip(FieldKind::kOpaque, 8);
    const Bytes name = s.Name();
    s.Report(ValueKind::kCookie, at, 8, name);
    s.Attributes(name);
  }
  s.Bool();  // eof
}

void SecurityInformation(Stream& s) {
  const uint32_t count = s.Count(4);
  for (uint32_t i = 0; i < count && s.ok(); ++i)
    if (s.U32() == rpc::kRpcsecGss) s.Fields("oww");
}

void ExchangeId(Stream& s) {
  s.Fields("k");
  s.Value(ValueKind::kClientSequence, 4);
  s.Skip(4);  // flags
  const uint32_t how = s.U32();
  if (how > kProtectSsv) s.Unsupported();
  if (how != kProtectNone) s.Fields("mm");
  if (how == kProtectSsv) {
    s.Fields("wwww");
    const uint32_t count = s.Count(4);  // GSS handles
    for (uint32_t i = 0; i < count && s.ok(); ++i) s.Opaque();
  }
  s.Fields("yoo");  // server owner and scope
  SkipImplementation(s);
}

void GetDirDelegation(Stream& s) {
  enum : uint32_t { kGranted = 0, kUnavailable = 1 };
  switch (s.U32()) {
    case kGranted: return s.Fields("yimmm");
    case kUnavailable: s.Bool(); return;
    default: return s.Unsupported();
  }
}

void GetDeviceList(Stream& s) {
  s.Fields("yy");
  s.SkipArray(16, "s");
  s.Bool();  // eof
}

void LayoutGet(Stream& s) {
  s.Fields("bi");
  const uint32_t count = s.Count(28);
  for (uint32_t i = 0; i < count && s.ok(); ++i) s.Fields("hhwwo");
}

void CopyNotify(Stream& s) {
  s.Fields("ti");
  SkipNetLocations(s);
}

// No part of it is DDP-eligible.
void ReadPlus(Stream& s) {
  enum : uint32_t { kData = 0, kHole = 1 };
  s.Bool();  // eof
  const uint32_t count = s.Count(16);
  for (uint32_t i = 0; i < count && s.ok(); ++i) {
    switch (s.U32()) {
      case kData: s.Fields("ho"); break;
      case kHole: s.Fields("hh"); break;
      default: s.Unsupported();
    }
  }
}

void ListExtendedAttributes(Stream& s) {
  s.Fields("y");  // cookie
  const uint32_t count = s.Count(4);
  for (uint32_t i = 0; i < count && s.ok(); ++i) s.Name();
  s.Bool();  // eof
}

void GetHandle(Stream& s) {
  const Bytes handle = s.OpaqueValue(ValueKind::kHandle, kNfs4HandleMax);
  if (s.ok()) s.visitor.OnHandle(s.op_index, handle);
}

// RFC 8881 sections 18.34 and 18.36: channel_dir_from_server4, and CREATE_SESSION4_FLAG_CONN_BACK_CHAN.
constexpr uint32_t kBackOrBoth = 2, kConnBackChan = 2;

void BindConnToSession(Stream& s) {
  s.Fields("s");
  const bool back = (s.U32() & kBackOrBoth) != 0;
  s.Fields("b");
  if (s.ok() && back) s.visitor.OnBackchannel(s.op_index);
}

void CreateSession(Stream& s) {
  s.Fields("xw");
  const bool back = (s.U32() & kConnBackChan) != 0;
  s.Fields("wwwww");  // of the fore channel: up to the number of operations
  s.Value(ValueKind::kSlotCount, 4);
  s.SkipWords(1);  // ca_rdma_ird<1>
  SkipChannelAttributes(s);
  if (s.ok() && back) s.visitor.OnBackchannel(s.op_index);
}

void SequenceResult(Stream& s) {
  s.Fields("swwww");
  const uint32_t flags = s.U32();
  if (s.ok()) s.visitor.OnStatusFlags(s.op_index, flags);
}

// What the server may go on with behind its reply.
void WriteResponse(uint32_t op, Stream& s) {
  const Bytes callback = SkipWriteResponse(s);
  if (s.ok() && !callback.empty()) s.visitor.OnState(s.op_index, op, callback);
}

void SuccessBody(uint32_t op, Stream& s) {
  switch (op) {
    case kOpBindConnToSession: return BindConnToSession(s);
    case kOpGetfh: return GetHandle(s);
    case kOpLock: return s.Fields("i");
    case kOpLockt: return;
    case kOpOpen: return Open(s);
    case kOpRead: return Read(s);
    case kOpReaddir: return ReadDirectory(s);
    case kOpReadlink: return s.Item(ItemKind::kLinkText);
    case kOpSecinfo:
    case kOpSecinfoNoName: return SecurityInformation(s);
    case kOpSequence: return SequenceResult(s);
    case kOpSetattr: return s.Fields("m");
    case kOpSetclientid: return s.Fields("kv");
    case kOpExchangeId: return ExchangeId(s);
    case kOpCreateSession: return CreateSession(s);
    case kOpGetDirDelegation: return GetDirDelegation(s);
    case kOpGetdeviceinfo: return s.Fields("wom");
    case kOpGetdevicelist: return GetDeviceList(s);
    case kOpLayoutcommit:
      if (s.Bool()) s.Fields("U");  // newsize4
      return;
    case kOpLayoutget: return LayoutGet(s);
    case kOpLayoutreturn:
      if (s.Bool()) s.Fields("i");  // layoutreturn_stateid
      return;
    case kOpTestStateid: return s.SkipArray(4, "w");
    case kOpWantDelegation: return SkipOpenDelegation(s);
    case kOpCopy: WriteResponse(op, s); return s.Fields("bb");
    case kOpCopyNotify: return CopyNotify(s);
    case kOpOffloadStatus: s.Skip(8); return s.SkipWords(1);
    case kOpReadPlus: return ReadPlus(s);
    case kOpWriteSame: return WriteResponse(op, s);
    case kOpListxattrs: return ListExtendedAttributes(s);
    default: return s.Unsupported();
  }
}

void FailureBody(uint32_t op, uint32_t status, Stream& s) {
  switch (op) {
    case kOpLock:
    case kOpLockt:
      if (status == kNfs4ErrDenied) LockDenied(s);
      return;
    case kOpSetattr: return s.Fields("m");  // attrsset stands in every result
    case kOpSetclientid:
      if (status == kNfs4ErrClidInUse) s.Fields("A");
      return;
    case kOpGetdeviceinfo:
      if (status == kNfs4ErrTooSmall) s.Skip(4);
      return;
    case kOpLayoutget:
      if (status == kNfs4ErrLayoutTryLater) s.Bool();
      return;
    case kOpCopy:
      if (status == kNfs4ErrOffloadNoReqs) s.Fields("bb");
      return;
    default: return;
  }
}

}  // namespace

void WalkCompoundReply(Stream& s) {
  s.Status();
  s.Name();  // tag
  const uint32_t count = s.Count(8);
  for (s.op_index = 0; s.op_index < count; ++s.op_index) {
    const uint32_t op = s.U32();
    const uint32_t status = s.U32();
    if (!s.ok()) return;
    s.visitor.OnOperationResult(s.op_index, op, status);
    const Operation* operation = FindOperation(op);
    if (!operation) return s.Unsupported();
    if (status != kNfs4Ok) {
      FailureBody(op, status, s);
    } else if (operation->results) {
      s.Fields(operation->results);
    } else {
      SuccessBody(op, s);
    }
  }
}

}  // namespace stag::nfs
