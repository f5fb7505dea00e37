// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS version 2, RFC 1094 section 2.2. File handles are 32 bytes without a count; READ and WRITE carry data, READLINK
// and SYMLINK a path.
#include "protocol/nfs/procedures.h"
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

using enum nfs2::Procedure;

constexpr uint32_t kMaxName = 255;

Bytes Handle(Stream& s) { return s.Value(ValueKind::kHandle, kNfs2HandleBytes); }

// diropargs of something whose handle the reply may give.
void NamedTarget(Stream& s) {
  const Bytes directory = Handle(s);
  const Bytes name = s.Name(kMaxName);
  if (s.ok()) s.visitor.OnName(0, directory, name);
}

void DirectoryEntry(Stream& s) {
  Handle(s);
  s.Name(kMaxName);
}

void SetAttributes(Stream& s) { s.Skip(32, "wuuudd"); }  // sattr

}  // namespace

void SkipNfs2Attributes(Stream& s) { s.Skip(68, "wwwuuuwuuuuddd"); }

void WalkNfs2Call(uint32_t procedure, Stream& s) {
  switch (procedure) {
    case kNull:
    case kRoot:
    case kWritecache: return;
    case kGetattr:
    case kReadlink:
    case kStatfs: Handle(s); return;
    case kSetattr: Handle(s); return SetAttributes(s);
    case kLookup: return NamedTarget(s);
    case kRead: {
      const Bytes handle = Handle(s);
      const uint32_t offset = s.U32();
      const uint32_t count = s.U32();
      if (s.ok()) s.visitor.OnRead(0, handle, offset, count);
      return s.Skip(4);  // totalcount, unused
    }
    case kWrite: {
      const Bytes handle = Handle(s);
      s.Skip(4);  // beginoffset, unused
      const uint32_t offset = s.U32();
      s.Skip(4);  // totalcount, unused
      return s.Item(ItemKind::kWriteData, [&](uint32_t count) { s.visitor.OnWrite(0, handle, offset, count); });
    }
    case kCreate:
    case kMkdir: NamedTarget(s); return SetAttributes(s);
    case kRemove:
    case kRmdir: return DirectoryEntry(s);
    case kRename: DirectoryEntry(s); return DirectoryEntry(s);
    case kLink: Handle(s); return DirectoryEntry(s);
    case kSymlink:
      DirectoryEntry(s);
      s.Item(ItemKind::kLinkText);
      return SetAttributes(s);
    case kReaddir: {
      Handle(s);
      const uint64_t at = s.offset();
      if (s.U32() != 0) s.Report(ValueKind::kCookie, at, 4);
      const uint32_t count = s.U32();
      if (s.ok()) s.visitor.OnReplyLimit(0, kReaddir, count);
      return;
    }
    default: return s.Unsupported();
  }
}

void WalkNfs2Reply(uint32_t procedure, Stream& s) {
  if (procedure > kStatfs) return s.Unsupported();
  if (procedure == kNull || procedure == kRoot || procedure == kWritecache) return;
  if (s.Status() != 0) return;
  switch (procedure) {
    case kGetattr:
    case kSetattr:
    case kWrite: return SkipNfs2Attributes(s);
    case kLookup:
    case kCreate:
    case kMkdir: {
      const Bytes handle = Handle(s);
      if (s.ok()) s.visitor.OnHandle(0, handle);
      return SkipNfs2Attributes(s);
    }
    case kReadlink: return s.Item(ItemKind::kLinkText);
    case kRead:
      SkipNfs2Attributes(s);
      return s.Item(ItemKind::kReadData, [&](uint32_t count) { s.visitor.OnReadResult(0, count, false); });
    case kReaddir:
      while (s.Bool()) {
        s.Skip(FieldKind::kNumber, 4);
        const Bytes name = s.Name(kMaxName);
        const uint64_t at = s.offset();
        s.Skip(FieldKind::kOpaque, 4);
        s.Report(ValueKind::kCookie, at, 4, name);
      }
      s.Bool();  // eof
      return;
    case kStatfs: return s.Skip(20, "wwuuu");
    default: return;  // a status alone
  }
}

}  // namespace stag::nfs
