// SPDX-License-Identifier: GPL-2.0-or-later
//
// Stream: the reduced RPC message as the walkers of this folder see it: XDR pieces read in order, with the state that
// they share. Internal to protocol/nfs. Failure is sticky, as in Cursor; counts are checked against what remains before
// a loop.
#pragma once

#include "protocol/base/cursor.h"
#include "protocol/nfs/walk.h"

namespace stag::nfs {

class Stream {
 public:
  // `start`: where the arguments or results begin.
  Stream(Bytes stream, uint64_t length, uint32_t start, Visitor& v) : visitor(v), cursor_(stream, length) {
    cursor_.Skip(start);
  }

  bool ok() const { return cursor_.ok(); }
  void Fail(ParseStatus why) { cursor_.Fail(why); }
  void Malformed() { cursor_.Fail(ParseStatus::kMalformed); }
  // A procedure, operation or arm of a union that we do not know.
  void Unsupported() { cursor_.Fail(ParseStatus::kUnsupported); }

  uint32_t U32() { return cursor_.U32(); }
  uint64_t U64() { return cursor_.U64(); }
  Bytes Take(uint64_t n) { return cursor_.Take(n); }
  void Skip(uint64_t n) { cursor_.Skip(n); }
  bool Bool() {
    const uint32_t value = U32();
    if (value > 1) Malformed();
    return ok() && value == 1;
  }
  // Variable-length opaque or string of at most `max` bytes, without its padding.
  Bytes Opaque(uint32_t max = 0xffffffffu);
  // The count of an array whose elements have at least `element_bytes` (not 0) bytes each. 0 when they cannot be there.
  uint32_t Count(uint64_t element_bytes, uint32_t max = 0xffffffffu);
  // An array of fixed-size elements.
  void SkipArray(uint64_t element_bytes, uint32_t max = 0xffffffffu) {
    Skip(Count(element_bytes, max) * element_bytes);
  }

  uint64_t offset() const { return cursor_.offset(); }
  // Tells the visitor of the `size` bytes at `at`, which were read.
  void Report(ValueKind kind, uint64_t at, uint64_t size, Bytes name = {}) {
    if (ok()) visitor.OnValue({kind, op_index, at, static_cast<uint32_t>(size), name});
  }
  // Takes `size` bytes, or an opaque, and reports them.
  Bytes Value(ValueKind kind, uint64_t size);
  Bytes OpaqueValue(ValueKind kind, uint32_t max = 0xffffffffu);

  // Of a READDIR call of version 3 or 4. A cookie of 0 begins the listing, whatever the verifier: not reported.
  void CookieAndVerifier();

  // fattr4 of a result, with the file handle that may be among the attributes. `name`: of the directory entry.
  void Attributes(Bytes name = {});

  // Skips one field per letter: w word (4 bytes), h hyper (8), s sixteen bytes (a device id, say), t time (12), o
  // opaque, m bitmap, f fattr4, c change_info4, b bool, n file handle of version 4. These are reported, too: i stateid,
  // k client id, v confirm verifier, x session id, q slot of SEQUENCE, a fattr4 of a result.
  void Fields(const char* layout);

  // The status that results begin with; the first one is the Walk's.
  uint32_t Status();

  // A DDP-eligible opaque (RFC 8267): its count word, and what follows it unless the visitor says that it was moved.
  // `announce(count)` is called between the two.
  template <typename Announce>
  void Item(ItemKind kind, Announce announce) {
    const uint32_t count = U32();
    if (!ok()) return;
    announce(count);
    const nfs::Item item{kind, cursor_.offset(), count, op_index};
    if (visitor.IsReduced(item)) return;
    Skip(count);
    Padding(count);
  }
  void Item(ItemKind kind) {
    Item(kind, [](uint32_t) {});
  }

  // How it ended.
  Walk Result() const { return {cursor_.status(), cursor_.offset(), has_status_, nfs_status_, nonzero_padding_}; }

  Visitor& visitor;
  uint32_t op_index = 0;

 private:
  // What follows an opaque of `size` bytes.
  void Padding(uint32_t size) {
    if (size % 4 != 0) PaddingOf(size);
  }
  void PaddingOf(uint32_t size);

  Cursor cursor_;
  bool has_status_ = false;
  uint32_t nfs_status_ = 0;
  uint64_t nonzero_padding_ = 0;
};

}  // namespace stag::nfs
