// SPDX-License-Identifier: GPL-2.0-or-later
//
// Writer: appends big-endian fields to a byte vector that the caller owns. The counterpart of Cursor for every encoder.
#pragma once

#include <vector>

#include "protocol/base/bytes.h"

namespace stag {

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}

  void U8(uint8_t v) { out_.push_back(std::byte{v}); }
  void U16(uint16_t v) { StoreBe16(Grow(2), v); }
  void U24(uint32_t v) {
    U8(static_cast<uint8_t>(v >> 16));
    U16(static_cast<uint16_t>(v));
  }
  void U32(uint32_t v) { StoreBe32(Grow(4), v); }
  void U64(uint64_t v) { StoreBe64(Grow(8), v); }
  void Put(Bytes b) { out_.insert(out_.end(), b.begin(), b.end()); }
  void Zeros(size_t n) { out_.resize(out_.size() + n); }
  // XDR variable-length opaque: count, bytes, zero padding to four bytes (RFC 4506 section 4.10).
  void Opaque(Bytes b) {
    U32(static_cast<uint32_t>(b.size()));
    Put(b);
    Zeros(static_cast<size_t>(RoundUp4(b.size()) - b.size()));
  }
  // Bytes in the vector, those before this Writer included.
  size_t size() const { return out_.size(); }

 private:
  std::byte* Grow(size_t n) {
    out_.resize(out_.size() + n);
    return out_.data() + out_.size() - n;
  }
  std::vector<std::byte>& out_;
};

}  // namespace stag
