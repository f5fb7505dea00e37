// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cursor: the one way to read bytes from the wire. Big-endian, bounds-checked, with sticky failure: after the first
// short read every later read returns zero or an empty view and `status()` says why, so callers read a whole structure
// and test once. It knows two lengths: what was captured and what was on the wire. Running past the first but not past
// the second is kTruncatedByCapture; running past both is kMalformed. It owns nothing and allocates nothing.
#pragma once

#include "protocol/base/bytes.h"

namespace stag {

class Cursor {
 public:
  // `wire_length`: how many bytes the structure had on the wire, at least `captured.size()`.
  Cursor(Bytes captured, uint64_t wire_length)
      : data_(captured), wire_length_(wire_length < captured.size() ? captured.size() : wire_length) {}
  explicit Cursor(Bytes captured) : Cursor(captured, captured.size()) {}

  bool ok() const { return status_ == ParseStatus::kOk; }
  ParseStatus status() const { return status_; }
  // Bytes consumed so far; after a failure, the offset of the read that failed.
  size_t offset() const { return offset_; }
  // Captured bytes left (0 after a failure).
  size_t remaining() const { return ok() ? data_.size() - offset_ : 0; }
  // Bytes left on the wire (0 after a failure).
  uint64_t wire_remaining() const { return ok() ? wire_length_ - offset_ : 0; }

  uint8_t U8() {
    const std::byte* p = Need(1);
    return p ? std::to_integer<uint8_t>(*p) : uint8_t{0};
  }
  uint16_t U16() {
    const std::byte* p = Need(2);
    return p ? LoadBe16(p) : uint16_t{0};
  }
  uint32_t U24() {
    const std::byte* p = Need(3);
    return p ? (std::to_integer<uint32_t>(p[0]) << 16 | std::to_integer<uint32_t>(p[1]) << 8 |
                std::to_integer<uint32_t>(p[2]))
             : 0;
  }
  uint32_t U32() {
    const std::byte* p = Need(4);
    return p ? LoadBe32(p) : 0;
  }
  uint64_t U64() {
    const std::byte* p = Need(8);
    return p ? LoadBe64(p) : 0;
  }
  // A view of the next `n` bytes; empty on failure.
  Bytes Take(uint64_t n) {
    const std::byte* p = Need(n);
    return p ? Bytes(p, static_cast<size_t>(n)) : Bytes{};
  }
  void Skip(uint64_t n) { (void)Need(n); }
  // Marks the structure as malformed or unsupported at the current offset (e.g. a bad discriminator).
  void Fail(ParseStatus why) {
    if (ok()) status_ = why;
  }
  // The rest that was captured, without consuming it.
  Bytes Rest() const { return ok() ? data_.subspan(offset_) : Bytes{}; }

 private:
  const std::byte* Need(uint64_t n) {
    if (!ok()) return nullptr;
    if (n > data_.size() - offset_) {
      status_ = n > wire_length_ - offset_ ? ParseStatus::kMalformed : ParseStatus::kTruncatedByCapture;
      return nullptr;
    }
    const std::byte* p = data_.data() + offset_;
    offset_ += static_cast<size_t>(n);
    return p;
  }

  Bytes data_;
  uint64_t wire_length_;
  size_t offset_ = 0;
  ParseStatus status_ = ParseStatus::kOk;
};

}  // namespace stag
