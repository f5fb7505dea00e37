// SPDX-License-Identifier: GPL-2.0-or-later
//
// COMPOUND arguments. Every operation must be skipped exactly, for a WRITE or a symbolic link's text may stand behind
// it.
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/nfs4_types.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

// The handles that PUTFH named, as far as this COMPOUND tells; empty: unknown.
struct Handles {
  Bytes current, saved;
};

void Create(Stream& s, Handles& handles) {
  enum : uint32_t { kBlock = 3, kCharacter = 4, kLink = 5 };
  const uint32_t type = s.U32();
  if (type == kLink) s.Item(ItemKind::kLinkText);
  if (type == kBlock || type == kCharacter) s.Fields("uu");
  const Bytes name = s.Name();
  if (s.ok()) s.visitor.OnName(s.op_index, handles.current, name);
  s.Fields("f");
  handles.current = {};
}

void Lock(Stream& s) {
  s.Fields("wbhh");
  const bool new_lock_owner = s.Bool();
  s.Fields(new_lock_owner ? "wiwko" : "iw");
}

void Lookup(Stream& s, Handles& handles) {
  const Bytes name = s.Name();
  if (s.ok()) s.visitor.OnName(s.op_index, handles.current, name);
  handles.current = {};
}

void OpenHow(Stream& s) {
  enum : uint32_t { kNoCreate = 0, kCreate = 1 };
  enum : uint32_t { kUnchecked = 0, kGuarded = 1, kExclusive = 2, kExclusive41 = 3 };
  const uint32_t type = s.U32();
  if (type > kCreate) s.Malformed();
  if (!s.ok() || type == kNoCreate) return;
  switch (s.U32()) {
    case kUnchecked:
    case kGuarded: return s.Fields("f");
    case kExclusive: return s.Fields("y");
    case kExclusive41: return s.Fields("yf");
    default: return s.Malformed();
  }
}

void Open(Stream& s, Handles& handles) {
  s.Fields("wwwko");
  OpenHow(s);
  const uint32_t claim = s.U32();
  switch (claim) {
    case kClaimNull:
    case kClaimDelegateCur:
    case kClaimDelegatePrev:
      if (claim == kClaimDelegateCur) s.Fields("i");
      return Lookup(s, handles);
    case kClaimPrevious: return s.Skip(4);
    case kClaimDelegCurFh: return s.Fields("i");
    case kClaimFh:
    case kClaimDelegPrevFh: return;
    default: return s.Unsupported();
  }
}

void PutHandle(Stream& s, Handles& handles) {
  handles.current = s.OpaqueValue(ValueKind::kHandle, kNfs4HandleMax);
  if (s.ok()) s.visitor.OnCurrentHandle(s.op_index, handles.current);
}

void Read(Stream& s, const Handles& handles) {
  s.Fields("i");
  const uint64_t offset = s.U64();
  const uint32_t count = s.U32();
  if (s.ok()) s.visitor.OnRead(s.op_index, handles.current, offset, count);
}

void ReadDirectory(Stream& s) {
  s.CookieAndVerifier();
  s.Skip(4);  // dircount
  const uint32_t limit = s.U32();
  if (s.ok()) s.visitor.OnReplyLimit(s.op_index, kOpReaddir, limit);
  s.Fields("m");
}

void Write(Stream& s, const Handles& handles) {
  s.Fields("i");
  const uint64_t offset = s.U64();
  s.Skip(4);  // stable
  s.Item(ItemKind::kWriteData, [&](uint32_t count) { s.visitor.OnWrite(s.op_index, handles.current, offset, count); });
}

// callback_sec_parms4<>
void SecurityParameters(Stream& s) {
  const uint32_t count = s.Count(4);
  for (uint32_t i = 0; i < count && s.ok(); ++i) {
    switch (s.U32()) {
      case rpc::kAuthNone: break;
      case rpc::kAuthSys:
        s.Fields("uNuu");
        s.SkipArray(4, "u");
        break;
      case rpc::kRpcsecGss: s.Fields("woo"); break;
      default: s.Unsupported();
    }
  }
}

// nfs_client_id4, client_owner4
void ClientName(Stream& s) {
  s.Value(ValueKind::kClientVerifier, 8);
  s.OpaqueValue(ValueKind::kClientOwner);
}

void ExchangeId(Stream& s) {
  ClientName(s);
  s.Skip(4);  // flags
  const uint32_t how = s.U32();
  if (how > kProtectSsv) s.Unsupported();
  if (how != kProtectNone) s.Fields("mm");
  if (how == kProtectSsv) {
    for (int list = 0; list < 2; ++list) {  // hash and encryption algorithms
      const uint32_t count = s.Count(4);
      for (uint32_t i = 0; i < count && s.ok(); ++i) s.Opaque();
    }
    s.Fields("ww");
  }
  SkipImplementation(s);
}

void CreateSession(Stream& s) {
  s.Fields("k");
  s.Value(ValueKind::kClientSequence, 4);
  s.Skip(4);  // flags
  SkipChannelAttributes(s);
  SkipChannelAttributes(s);
  s.Skip(4);  // callback program
  SecurityParameters(s);
}

void SetClientId(Stream& s) {
  ClientName(s);
  s.Skip(4);  // callback program
  const Bytes netid = s.Opaque(0xffffffffu, FieldKind::kNetId);
  const Bytes address = s.Opaque(0xffffffffu, FieldKind::kNetAddress);
  if (s.ok()) s.visitor.OnCallbackAddress(s.op_index, netid, address);
  s.Skip(4);
}

void LayoutCommit(Stream& s) {
  s.Fields("hhbi");
  if (s.Bool()) s.Fields("h");  // newoffset4
  if (s.Bool()) s.Fields("t");  // newtime4
  s.Fields("wo");               // layoutupdate4
}

void LayoutReturn(Stream& s) {
  s.Fields("bww");
  const uint32_t scope = s.U32();
  if (scope < kScopeFile || scope > kScopeAll) return s.Unsupported();
  if (scope == kScopeFile) s.Fields("hhio");
}

void TestStateid(Stream& s) {
  const uint32_t count = s.Count(16);
  for (uint32_t i = 0; i < count && s.ok(); ++i) s.Fields("i");
}

void WantDelegation(Stream& s) {
  s.Skip(4);
  const uint32_t claim = s.U32();
  if (claim == kClaimPrevious) return s.Skip(4);
  if (claim != kClaimFh && claim != kClaimDelegPrevFh) s.Unsupported();
}

void NamedState(uint32_t op, Stream& s) {
  const Bytes stateid = s.Value(ValueKind::kStateid, 16);
  if (s.ok()) s.visitor.OnState(s.op_index, op, stateid);
}

void Arguments(uint32_t op, Stream& s, Handles& handles) {
  switch (op) {
    case kOpDelegreturn:
    case kOpFreeStateid:
    case kOpOffloadCancel:
    case kOpOffloadStatus: return NamedState(op, s);
    case kOpCreate: return Create(s, handles);
    case kOpLock: return Lock(s);
    case kOpLookup: return Lookup(s, handles);
    case kOpOpen: return Open(s, handles);
    case kOpPutfh: return PutHandle(s, handles);
    case kOpRead: return Read(s, handles);
    case kOpReaddir: return ReadDirectory(s);
    case kOpWrite: return Write(s, handles);
    case kOpBackchannelCtl: s.Skip(4); return SecurityParameters(s);
    case kOpExchangeId: return ExchangeId(s);
    case kOpCreateSession: return CreateSession(s);
    case kOpSetclientid: return SetClientId(s);
    case kOpLayoutcommit: return LayoutCommit(s);
    case kOpLayoutreturn: return LayoutReturn(s);
    case kOpTestStateid: return TestStateid(s);
    case kOpWantDelegation: return WantDelegation(s);
    case kOpCopy: s.Fields("iihhhbb"); return SkipNetLocations(s);
    case kOpCopyNotify: s.Fields("i"); return SkipNetLocation(s);
    case kOpLayouterror: s.Fields("hhi"); return s.SkipArray(24, "sww");  // device_error4
    default: return s.Unsupported();
  }
}

// Operations without arguments to look into that change the current handle.
void MoveHandles(uint32_t op, Handles& handles) {
  switch (op) {
    case kOpSavefh: handles.saved = handles.current; break;
    case kOpRestorefh: handles.current = handles.saved; break;
    case kOpPutrootfh:
    case kOpPutpubfh:
    case kOpLookupp:
    case kOpOpenattr:
    case kOpSecinfo:  // RFC 8881 section 2.6.3.1.1.8: consumed
    case kOpSecinfoNoName: handles.current = {}; break;
    default: break;
  }
}

}  // namespace

void WalkCompoundCall(Stream& s) {
  s.Name();   // tag
  s.Skip(4);  // minorversion
  const uint32_t count = s.Count(4);
  Handles handles;
  for (s.op_index = 0; s.op_index < count; ++s.op_index) {
    const uint32_t op = s.U32();
    if (!s.ok()) return;
    s.visitor.OnOperation(s.op_index, op);
    const Operation* operation = FindOperation(op);
    if (!operation) return s.Unsupported();
    if (operation->arguments) {
      s.Fields(operation->arguments);
      MoveHandles(op, handles);
    } else {
      Arguments(op, s, handles);
    }
  }
}

}  // namespace stag::nfs
