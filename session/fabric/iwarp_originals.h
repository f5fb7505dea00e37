// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpOriginals: the last FPDUs of all streams, as far as it takes to tell whether one of them is sent again with
// other bytes. Its CRC stands for the bytes. Where the peers use none, it is read again where it is in a file, else a
// CRC of ours stands for it.
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "protocol/base/check.h"
#include "protocol/base/lasting.h"

namespace stag::fabric {

struct IwarpOriginal {
  uint64_t stream = 0;  // connection and direction; 0: there is none
  uint64_t begin = 0;   // position in the TCP stream
  uint64_t frame = 0;   // number of the one with its last byte
  uint32_t size = 0;
  enum class What : uint8_t { kBytes, kCrc, kOurCrc } what = What::kBytes;  // what there is of it
  uint32_t crc = 0;                                                         // kCrc: the CRC field, which is right
  uint64_t place = 0;                                                       // kBytes: where they are in the file
};

enum class FpduRepeat : uint8_t {
  kSame,  // or damaged, or too long ago
  kChanged,
  kUnverified,  // changed, or damaged on the way: there are no CRCs
};

class IwarpOriginals {
 public:
  // `lasting`: DecoderOptions::lasting. So many are `remembered`, a power of two.
  IwarpOriginals(const Lasting* lasting, size_t remembered)
      : shift_(64 - std::countr_zero(remembered)), lasting_(lasting) {
    STAG_CHECK(std::has_single_bit(remembered) && remembered > 1);
  }

  // Once before the others are called; costs something the first time only.
  void Prepare() { originals_.resize(size_t{1} << (64 - shift_)); }
  // An FPDU that was captured whole. `crc`: its CRC field, nullopt: it has none.
  void Remember(uint64_t stream, uint64_t begin, Bytes fpdu, const std::optional<uint32_t>& crc, uint64_t frame) {
    IwarpOriginal& original = originals_[SlotOf(stream, begin)];
    original.stream = stream;
    original.begin = begin;
    original.frame = frame;
    original.size = static_cast<uint32_t>(fpdu.size());
    const std::optional<uint64_t> place = crc ? std::nullopt : PlaceOf(lasting_, fpdu);
    if (!place) return RememberCrc(original, fpdu, crc);
    original.what = IwarpOriginal::What::kBytes;
    original.place = *place;
  }
  // Null: not remembered.
  const IwarpOriginal* Find(uint64_t stream, uint64_t begin) const {
    const IwarpOriginal& original = originals_[SlotOf(stream, begin)];
    return original.stream == stream && original.begin == begin ? &original : nullptr;
  }
  // How an FPDU of the same size repeats `before`.
  FpduRepeat HoldAgainst(const IwarpOriginal& before, Bytes fpdu) const;

 private:
  size_t SlotOf(uint64_t stream, uint64_t begin) const {
    return static_cast<size_t>((begin ^ stream << 40) * 0x9e3779b97f4a7c15u >> shift_);
  }
  static void RememberCrc(IwarpOriginal& original, Bytes fpdu, const std::optional<uint32_t>& crc);

  const int shift_;
  std::vector<IwarpOriginal> originals_;
  const Lasting* const lasting_;
};

}  // namespace stag::fabric
