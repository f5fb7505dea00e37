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
      : begin_(captured.data()),
        at_(captured.data()),
        end_(captured.data() + captured.size()),
        wire_length_(wire_length < captured.size() ? captured.size() : wire_length) {}
  explicit Cursor(Bytes captured) : Cursor(captured, captured.size()) {}

  bool ok() const { return status_ == ParseStatus::kOk; }
  ParseStatus status() const { return status_; }
  // Bytes consumed so far; after a failure, the offset of the read that failed.
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  // Captured bytes left (0 after a failure).
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  // Bytes left on the wire (0 after a failure).
  uint64_t wire_remaining() const { return ok() ? wire_length_ - offset() : 0; }

  uint8_t U8() { return Has(1) ? std::to_integer<uint8_t>(*Next(1)) : uint8_t{0}; }
  uint16_t U16() { return Has(2) ? LoadBe16(Next(2)) : uint16_t{0}; }
  uint32_t U24() {
    if (!Has(3)) return 0;
    const std::byte* p = Next(3);
    return std::to_integer<uint32_t>(p[0]) << 16 | std::to_integer<uint32_t>(p[1]) << 8 |
           std::to_integer<uint32_t>(p[2]);
  }
  uint32_t U32() { return Has(4) ? LoadBe32(Next(4)) : 0; }
  uint64_t U64() { return Has(8) ? LoadBe64(Next(8)) : 0; }
  // A view of the next `n` bytes; empty on failure.
  Bytes Take(uint64_t n) { return Has(n) ? Bytes(Next(n), static_cast<size_t>(n)) : Bytes{}; }
  void Skip(uint64_t n) {
    if (Has(n)) Next(n);
  }
  // Marks the structure as malformed or unsupported at the current offset (e.g. a bad discriminator).
  void Fail(ParseStatus why) {
    if (!ok()) return;
    status_ = why;
    end_ = at_;  // so every later read fails by its bounds alone
  }
  // The rest that was captured, without consuming it.
  Bytes Rest() const { return {at_, end_}; }

 private:
  bool Has(uint64_t n) {
    if (n <= remaining()) [[likely]]
      return true;
    Fail(n > wire_length_ - offset() ? ParseStatus::kMalformed : ParseStatus::kTruncatedByCapture);
    return false;
  }
  const std::byte* Next(uint64_t n) {
    const std::byte* p = at_;
    at_ += n;
    return p;
  }

  const std::byte *begin_, *at_, *end_;
  uint64_t wire_length_;
  ParseStatus status_ = ParseStatus::kOk;
};

}  // namespace stag
