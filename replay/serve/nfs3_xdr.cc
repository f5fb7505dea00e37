// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/nfs3_xdr.h"

namespace stag::serve {

using Node = MemoryFs::Node;

namespace {

// set_atime, set_mtime.
void GetTime(Cursor& in, std::optional<FileTime>& time, bool& now) {
  enum : uint32_t { kDontChange = 0, kServerTime = 1, kClientTime = 2 };
  const uint32_t how = in.U32();
  if (how > kClientTime) in.Fail(ParseStatus::kMalformed);
  now = how == kServerTime;
  if (how != kClientTime) return;
  FileTime& given = time.emplace();
  given.seconds = in.U32();
  given.nanoseconds = in.U32();
}

}  // namespace

NewAttributes GetNewAttributes(Cursor& in) {
  NewAttributes a;
  if (rpcrdma::GetBool(in)) a.mode = in.U32();
  if (rpcrdma::GetBool(in)) a.uid = in.U32();
  if (rpcrdma::GetBool(in)) a.gid = in.U32();
  if (rpcrdma::GetBool(in)) a.size = in.U64();
  GetTime(in, a.atime, a.atime_now);
  GetTime(in, a.mtime, a.mtime_now);
  return a;
}

void PutStatus(Writer& out, NfsStatus status) { out.U32(static_cast<uint32_t>(status)); }
void PutTime(Writer& out, FileTime time) {
  out.U32(time.seconds);
  out.U32(time.nanoseconds);
}

void PutAttributes(Writer& out, const MemoryFs& fs, const Node& node) {
  for (const uint32_t word : {static_cast<uint32_t>(node.type), node.mode, node.links, node.uid, node.gid})
    out.U32(word);
  out.U64(node.size);
  out.U64(node.used);
  out.U32(node.device_major);
  out.U32(node.device_minor);
  out.U64(fs.instance());
  out.U64(node.id);
  for (const FileTime& time : {node.atime.load(), node.mtime, node.ctime}) PutTime(out, time);
}

void PutPostAttributes(Writer& out, const MemoryFs& fs, const Node* node) {
  rpcrdma::PutBool(out, node != nullptr);
  if (node) PutAttributes(out, fs, *node);
}

Wcc::Wcc(const Node* before) : known_(before != nullptr) {
  if (!before) return;
  size_ = before->size;
  mtime_ = before->mtime;
  ctime_ = before->ctime;
}

void Wcc::Put(Writer& out, const MemoryFs& fs, const Node* after) const {
  rpcrdma::PutBool(out, known_);
  if (known_) {
    out.U64(size_);
    PutTime(out, mtime_);
    PutTime(out, ctime_);
  }
  PutPostAttributes(out, fs, after);
}

void PutHandle(Writer& out, const MemoryFs& fs, const Node& node) {
  out.U32(kHandleSize);
  for (const uint64_t part : {fs.instance(), node.id, node.generation}) out.U64(part);
}

NfsStatus Resolve(MemoryFs& fs, Bytes handle, Node*& node) {
  node = nullptr;
  if (handle.size() != kHandleSize) return NfsStatus::kBadHandle;
  if (LoadBe64(handle.data()) != fs.instance()) return NfsStatus::kStale;
  Node* const found = fs.Find(LoadBe64(handle.data() + 8));
  if (!found || found->generation != LoadBe64(handle.data() + 16)) return NfsStatus::kStale;
  node = found;
  return NfsStatus::kOk;
}

}  // namespace stag::serve
