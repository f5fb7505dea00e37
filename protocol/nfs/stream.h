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
  Stream(Bytes stream, uint64_t length, uint32_t start, Visitor& v)
      : visitor(v), cursor_(stream, length), wants_fields_(v.WantsFields()) {
    cursor_.Skip(start);
  }

  bool ok() const { return cursor_.ok(); }
  void Fail(ParseStatus why) { cursor_.Fail(why); }
  void Malformed() { cursor_.Fail(ParseStatus::kMalformed); }
  // A procedure, operation or arm of a union that we do not know.
  void Unsupported() { cursor_.Fail(ParseStatus::kUnsupported); }

  // Plain fields.
  uint32_t U32() {
    const uint32_t value = cursor_.U32();
    Mark(FieldKind::kPlain, 4);
    return value;
  }
  uint64_t U64() {
    const uint64_t value = cursor_.U64();
    Mark(FieldKind::kPlain, 8);
    return value;
  }
  // `n` bytes of one field.
  void Skip(FieldKind kind, uint64_t n) {
    cursor_.Skip(n);
    Mark(kind, n);
  }
  // Plain fields of `n` bytes together.
  void Skip(uint64_t n) { Skip(FieldKind::kPlain, n); }
  // A structure of `n` bytes that is this row of fields.
  void Skip(uint64_t n, const char* layout) { wants_fields_ ? Fields(layout) : cursor_.Skip(n); }
  bool Bool() {
    const uint32_t value = U32();
    if (value > 1) Malformed();
    return ok() && value == 1;
  }
  // Variable-length opaque of at most `max` bytes, without its padding; and one that is a name or another string.
  Bytes Opaque(uint32_t max = 0xffffffffu, FieldKind kind = FieldKind::kOpaque);
  Bytes Name(uint32_t max = 0xffffffffu) { return Opaque(max, FieldKind::kName); }
  // The count of an array whose elements have at least `element_bytes` (not 0) bytes each. 0 when they cannot be there.
  uint32_t Count(uint64_t element_bytes, uint32_t max = 0xffffffffu);
  // An array of words, of which the first three are plain fields: more of a bitmap nobody knows. And an array whose
  // elements are each this row of fields.
  void SkipWords(uint32_t max = 0xffffffffu);
  void SkipArray(uint64_t element_bytes, const char* layout) {
    const uint32_t count = Count(element_bytes);
    if (!wants_fields_) return cursor_.Skip(count * element_bytes);
    for (uint32_t i = 0; i < count && ok(); ++i) Fields(layout);
  }

  uint64_t offset() const { return cursor_.offset(); }
  // Tells the visitor of the `size` bytes at `at`, which were read.
  void Report(ValueKind kind, uint64_t at, uint64_t size, Bytes name = {}) {
    if (!ok()) return;
    if (wants_fields_) MarkValue(kind, at, size);
    visitor.OnValue({kind, op_index, at, static_cast<uint32_t>(size), name});
  }
  // Takes `size` bytes, or an opaque, and reports them.
  Bytes Value(ValueKind kind, uint64_t size);
  Bytes OpaqueValue(ValueKind kind, uint32_t max = 0xffffffffu);
  // A stateid that is not reported.
  Bytes Stateid();

  // Of a READDIR call of version 3 or 4. A cookie of 0 begins the listing, whatever the verifier: not reported.
  void CookieAndVerifier();

  // fattr4; and one of a result, with the file handle that may be among the attributes. `name`: of the directory entry.
  void AttributeValues();
  void Attributes(Bytes name = {});

  // Skips one field per letter. Plain: w word (4 bytes), h hyper (8), m bitmap, b bool. Numbers: u word, U hyper.
  // Opaque: y 8 bytes, s sixteen (a device id, say), o of variable length, n file handle of version 4, S stateid.
  // Others: N name, t time (12 bytes), d time of versions 2 and 3 (8), A netaddr4, f fattr4, c change_info4. These are
  // reported, too: i stateid, k client id, v confirm verifier, x session id, q slot of SEQUENCE, a fattr4 of a result.
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
    cursor_.Skip(count);
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
  // The `n` bytes that were just read are a field.
  void Mark(FieldKind kind, uint64_t n) {
    if (wants_fields_ && ok()) visitor.OnField(kind, cursor_.offset() - n, n);
  }
  void MarkValue(ValueKind kind, uint64_t at, uint64_t size);

  Cursor cursor_;
  const bool wants_fields_;
  bool has_status_ = false;
  uint32_t nfs_status_ = 0;
  uint64_t nonzero_padding_ = 0;
};

}  // namespace stag::nfs
