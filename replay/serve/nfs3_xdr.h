// SPDX-License-Identifier: GPL-2.0-or-later
//
// The XDR types that the procedures of NFSv3 share (RFC 1813 section 2), between Cursor, Writer and MemoryFs. A decoder
// that meets what the type does not allow fails the Cursor.
#pragma once

#include "replay/rpcrdma/xdr.h"
#include "replay/serve/memory_fs.h"

namespace stag::serve {

NewAttributes GetNewAttributes(Cursor& in);  // sattr3

void PutStatus(Writer& out, NfsStatus status);
void PutTime(Writer& out, FileTime time);
void PutAttributes(Writer& out, const MemoryFs& fs, const MemoryFs::Node& node);      // fattr3
void PutPostAttributes(Writer& out, const MemoryFs& fs, const MemoryFs::Node* node);  // post_op_attr
inline constexpr uint32_t kPostAttributesSize = 4 + 84;

// wcc_data: what a node was before an operation, and is after it. nullptr: not known.
class Wcc {
 public:
  explicit Wcc(const MemoryFs::Node* before);
  void Put(Writer& out, const MemoryFs& fs, const MemoryFs::Node* after) const;

 private:
  bool known_ = false;
  uint64_t size_ = 0;
  FileTime mtime_, ctime_;
};

// nfs_fh3: the file system's instance, the node's id, its generation; 64 bits each.
inline constexpr uint32_t kMaxHandle = 64, kHandleSize = 24;
inline Bytes GetHandle(Cursor& in) { return rpcrdma::GetOpaque(in, kMaxHandle); }
void PutHandle(Writer& out, const MemoryFs& fs, const MemoryFs::Node& node);
NfsStatus Resolve(MemoryFs& fs, Bytes handle, MemoryFs::Node*& node);

}  // namespace stag::serve
