// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpOriginals: the last FPDUs of all streams, as far as it takes to tell whether one of them is sent again with
// other bytes. Its CRC stands for the bytes; where the peers use none, a CRC of ours does.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::fabric {

struct IwarpOriginal {
  uint64_t stream = 0;  // connection and direction; 0: there is none
  uint64_t begin = 0;   // position in the TCP stream
  uint64_t frame = 0;   // number of the one with its last byte
  uint32_t size = 0;
  uint32_t check = 0;    // the CRC field, which is right; else ours
  bool has_crc = false;  // the CRC field is one
};

class IwarpOriginals {
 public:
  IwarpOriginals() : originals_(kRemembered) {}

  // An FPDU that was captured whole. `crc`: its CRC field, nullopt: it has none.
  void Remember(uint64_t stream, uint64_t begin, Bytes fpdu, std::optional<uint32_t> crc, uint64_t frame);
  // Null: not remembered.
  const IwarpOriginal* Find(uint64_t stream, uint64_t begin) const {
    const IwarpOriginal& original = originals_[PlaceOf(stream, begin)];
    return original.stream == stream && original.begin == begin ? &original : nullptr;
  }

 private:
  static constexpr size_t kRemembered = 4096;
  static size_t PlaceOf(uint64_t stream, uint64_t begin) {
    return static_cast<size_t>((begin ^ stream << 40) * 0x9e3779b97f4a7c15u >> 52);
  }
  static_assert(kRemembered == size_t{1} << (64 - 52));

  std::vector<IwarpOriginal> originals_;
};

enum class FpduRepeat : uint8_t {
  kSame,  // or damaged
  kChanged,
  kUnverified,  // changed, or damaged on the way: there are no CRCs
};

// How an FPDU of the same size repeats `before`.
FpduRepeat HoldAgainst(const IwarpOriginal& before, Bytes fpdu);

}  // namespace stag::fabric
