// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS version 3, RFC 1813 section 3.3.
#include "protocol/nfs/procedures.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

using enum nfs3::Procedure;

struct Layout {
  uint64_t bytes;
  const char* fields;
};
constexpr Layout kAttributes{84, "wwwuuUUuuUUddd"};  // fattr3
constexpr Layout kWccAttributes{24, "Udd"};          // wcc_attr
constexpr Layout kWord{4, "w"}, kUser{4, "u"}, kSize{8, "U"}, kTimeOfFile{8, "d"};
enum CreateMode : uint32_t { kUnchecked = 0, kGuarded = 1, kExclusive = 2 };
enum FileType : uint32_t { kBlock = 3, kCharacter = 4, kSocket = 6, kFifo = 7 };

Bytes Handle(Stream& s) { return s.OpaqueValue(ValueKind::kHandle, kNfs3HandleMax); }

void DirectoryEntry(Stream& s) {
  Handle(s);
  s.Name();
}

// diropargs3 of something whose handle the reply may give.
void NamedTarget(Stream& s) {
  const Bytes directory = Handle(s);
  const Bytes name = s.Name();
  if (s.ok()) s.visitor.OnName(0, directory, name);
}

void Optional(Stream& s, const Layout& layout) {
  if (s.Bool()) s.Skip(layout.bytes, layout.fields);
}

void SetTime(Stream& s) {
  constexpr uint32_t kSetToClientTime = 2;
  const uint32_t how = s.U32();
  if (how > kSetToClientTime) s.Malformed();
  if (how == kSetToClientTime) s.Skip(FieldKind::kTime, 8);
}

// sattr3: mode, uid, gid, size, atime, mtime
void SetAttributes(Stream& s) {
  Optional(s, kWord);
  Optional(s, kUser);
  Optional(s, kUser);
  Optional(s, kSize);
  SetTime(s);
  SetTime(s);
}

void CreateHow(Stream& s) {
  const uint32_t mode = s.U32();
  if (mode == kExclusive) return s.Skip(FieldKind::kOpaque, 8);
  if (mode > kExclusive) return s.Malformed();
  SetAttributes(s);
}

void MknodData(Stream& s) {
  const uint32_t type = s.U32();
  if (type == kBlock || type == kCharacter) {
    SetAttributes(s);
    s.Fields("uu");
  } else if (type == kSocket || type == kFifo) {
    SetAttributes(s);
  }
}

void WccData(Stream& s) {
  Optional(s, kWccAttributes);
  SkipPostOpAttributes(s);
}

// What follows a status that is not NFS3_OK.
void FailureBody(uint32_t procedure, Stream& s) {
  switch (procedure) {
    case kGetattr: return;
    case kSetattr:
    case kWrite:
    case kCreate:
    case kMkdir:
    case kSymlink:
    case kMknod:
    case kRemove:
    case kRmdir:
    case kCommit: return WccData(s);
    case kRename: WccData(s); return WccData(s);
    case kLink: SkipPostOpAttributes(s); return WccData(s);
    default: return SkipPostOpAttributes(s);
  }
}

void CreatedObject(Stream& s) {
  if (s.Bool()) {
    const Bytes handle = Handle(s);
    if (s.ok()) s.visitor.OnHandle(0, handle);
  }
  SkipPostOpAttributes(s);
  WccData(s);
}

void Directory(Stream& s, bool plus) {
  SkipPostOpAttributes(s);
  s.Value(ValueKind::kCookieVerifier, 8);
  while (s.Bool()) {
    s.Skip(FieldKind::kNumber, 8);
    const Bytes name = s.Name();
    const uint64_t cookie_at = s.offset();
    s.Skip(FieldKind::kOpaque, 8);
    s.Report(ValueKind::kCookie, cookie_at, 8, name);
    if (!plus) continue;
    SkipPostOpAttributes(s);
    if (!s.Bool()) continue;
    const uint64_t handle_at = s.offset() + 4;
    const Bytes handle = s.Opaque(kNfs3HandleMax);
    s.Report(ValueKind::kHandle, handle_at, handle.size(), name);
    if (s.ok()) s.visitor.OnEntry(name, handle);
  }
  s.Bool();  // eof
}

}  // namespace

void SkipPostOpAttributes(Stream& s) { Optional(s, kAttributes); }

void WalkNfs3Call(uint32_t procedure, Stream& s) {
  switch (procedure) {
    case kNull: return;
    case kGetattr:
    case kReadlink:
    case kFsstat:
    case kFsinfo:
    case kPathconf: Handle(s); return;
    case kSetattr:
      Handle(s);
      SetAttributes(s);
      return Optional(s, kTimeOfFile);  // guard
    case kLookup: return NamedTarget(s);
    case kAccess: Handle(s); return s.Skip(4);
    case kRead: {
      const Bytes handle = Handle(s);
      const uint64_t offset = s.U64();
      const uint32_t count = s.U32();
      if (s.ok()) s.visitor.OnRead(0, handle, offset, count);
      return;
    }
    case kWrite: {
      const Bytes handle = Handle(s);
      const uint64_t offset = s.U64();
      const uint32_t count = s.U32();
      if (s.ok()) s.visitor.OnWrite(0, handle, offset, count);
      s.Skip(4);  // stable
      return s.Item(ItemKind::kWriteData);
    }
    case kCreate: NamedTarget(s); return CreateHow(s);
    case kMkdir: NamedTarget(s); return SetAttributes(s);
    case kSymlink:
      NamedTarget(s);
      SetAttributes(s);
      return s.Item(ItemKind::kLinkText);
    case kMknod: NamedTarget(s); return MknodData(s);
    case kRemove:
    case kRmdir: return DirectoryEntry(s);
    case kRename: DirectoryEntry(s); return DirectoryEntry(s);
    case kLink: Handle(s); return DirectoryEntry(s);
    case kReaddir:
    case kReaddirplus: {
      Handle(s);
      s.CookieAndVerifier();
      if (procedure == kReaddirplus) s.Skip(4);  // dircount
      const uint32_t limit = s.U32();
      if (s.ok()) s.visitor.OnReplyLimit(0, procedure, limit);
      return;
    }
    case kCommit: Handle(s); return s.Skip(12);
    default: return s.Unsupported();
  }
}

void WalkNfs3Reply(uint32_t procedure, Stream& s) {
  if (procedure > kCommit) return s.Unsupported();
  if (procedure == kNull) return;
  if (s.Status() != 0) return FailureBody(procedure, s);
  switch (procedure) {
    case kGetattr: return s.Skip(kAttributes.bytes, kAttributes.fields);
    case kLookup: {
      const Bytes handle = Handle(s);
      if (s.ok()) s.visitor.OnHandle(0, handle);
      SkipPostOpAttributes(s);
      return SkipPostOpAttributes(s);
    }
    case kAccess: SkipPostOpAttributes(s); return s.Skip(4);
    case kReadlink: SkipPostOpAttributes(s); return s.Item(ItemKind::kLinkText);
    case kRead: {
      SkipPostOpAttributes(s);
      s.Skip(4);  // count: the same as the data's
      const bool eof = s.Bool();
      return s.Item(ItemKind::kReadData, [&](uint32_t count) { s.visitor.OnReadResult(0, count, eof); });
    }
    case kWrite: WccData(s); return s.Fields("wwy");  // count, committed, verifier
    case kCreate:
    case kMkdir:
    case kSymlink:
    case kMknod: return CreatedObject(s);
    case kReaddir:
    case kReaddirplus: return Directory(s, procedure == kReaddirplus);
    case kFsstat: SkipPostOpAttributes(s); return s.Skip(52, "UUUUUUw");
    case kFsinfo: SkipPostOpAttributes(s); return s.Skip(48);
    case kPathconf: SkipPostOpAttributes(s); return s.Skip(24);
    case kCommit: WccData(s); return s.Skip(FieldKind::kOpaque, 8);
    default:  // SETATTR, REMOVE, RMDIR, RENAME, LINK: the same as after a failure
      return FailureBody(procedure, s);
  }
}

}  // namespace stag::nfs
