// SPDX-License-Identifier: GPL-2.0-or-later
//
// Lasting: a file that bytes are read from one after the other, and that can be asked for them again. Who may have to
// look at bytes again keeps their places, not a copy.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/base/bytes.h"

namespace stag {

class Lasting {
 public:
  virtual ~Lasting() = default;

  // Where in the file `bytes` are, which were read last or not at all; nullopt: they are not of the file.
  std::optional<uint64_t> PlaceOf(Bytes bytes) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(bytes.data()) - begin_;
    if (at >= size_) return std::nullopt;
    return place_ + at;
  }
  // `size` bytes from `place` on; fewer where the file has become shorter, or cannot be read. Valid until the next
  // call.
  virtual Bytes Again(uint64_t place, size_t size) const = 0;

 protected:
  // What was read last, and where it is in the file.
  void Set(Bytes read, uint64_t place) {
    begin_ = reinterpret_cast<uintptr_t>(read.data());
    size_ = read.size();
    place_ = place;
  }

 private:
  uintptr_t begin_ = 0;
  size_t size_ = 0;
  uint64_t place_ = 0;
};

// The same where there may be no such file.
inline std::optional<uint64_t> PlaceOf(const Lasting* lasting, Bytes bytes) {
  return lasting ? lasting->PlaceOf(bytes) : std::nullopt;
}

}  // namespace stag
