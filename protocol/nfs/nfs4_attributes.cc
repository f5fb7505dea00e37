// SPDX-License-Identifier: GPL-2.0-or-later
//
// fattr4: a bitmap of attribute numbers, and their values in the order of the numbers (RFC 7530 section 5, RFC 8881
// section 5, RFC 7862 section 12, RFC 8275, RFC 8276, RFC 9754).
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "protocol/nfs/stream.h"

namespace stag::nfs {
namespace {

// The layout of each attribute's value, by number: letters of Stream::Fields; and of arrays: W words, E nfsace4, P
// pathname4, L fs_locations4, M threshold_item4, D times, H hypers; T is a settime4. "?": not followed further.
// clang-format off
constexpr const char* kLayouts[] = {
    "m", "w", "w", "y", "U", "b", "b", "b", "UU", "b",  // from 0 on
    "w", "w", "E", "w", "b", "b", "b", "b", "b", "n",  // from 10 on
    "U", "U", "U", "U", "L", "b", "b", "h", "w", "w",  // from 20 on
    "h", "h", "N", "w", "b", "w", "N", "N", "U", "U",  // from 30 on
    "U", "uu", "U", "U", "U", "U", "b", "t", "T", "t",  // from 40 on
    "t", "t", "t", "t", "T", "U", "t", "t", "wE", "wE",  // from 50 on
    "yy", "bwNNwt", "W", "wo", "W", "w", "w", "?", "M", "hD",  // from 60 on
    "bH", "hD", "bH", "h", "ww", "m", "w", "w", "U", "w",  // from 70 on
    "wwo", "ww", "b", "b", "t", "t", "mmmmm",  // from 80 on
};
// clang-format on
static_assert(std::size(kLayouts) == 87);

template <typename Fn>
void Array(Stream& s, Fn element) {
  const uint32_t count = s.Count(4);
  for (uint32_t i = 0; i < count && s.ok(); ++i) element();
}

void Path(Stream& s) {
  Array(s, [&] { s.Name(); });
}

void Attribute(Stream& s, char letter) {
  constexpr uint32_t kSetToClientTime = 1;
  switch (letter) {
    case 'W': return s.SkipArray(4, "w");
    case 'E': return Array(s, [&] { s.Fields("wwwN"); });
    case 'L':
      Path(s);
      return Array(s, [&] {
        Path(s);  // servers
        Path(s);
      });
    case 'M': return Array(s, [&] { s.Fields("wmo"); });
    case 'D': return Array(s, [&] { s.Fields("t"); });
    case 'H': return Array(s, [&] { s.Fields("h"); });
    case 'T':
      if (s.U32() == kSetToClientTime) s.Fields("t");
      return;
    default: {
      const std::array<char, 2> row = {letter, 0};
      return s.Fields(row.data());
    }
  }
}

// Hands on the fields of a part of a stream that begins at `origin`.
class Shifted final : public Visitor {
 public:
  Shifted(Visitor& visitor, uint64_t origin) : visitor_(visitor), origin_(origin) {}
  bool WantsFields() const override { return true; }
  void OnField(FieldKind kind, uint64_t offset, uint64_t length) override {
    visitor_.OnField(kind, origin_ + offset, length);
  }

 private:
  Visitor& visitor_;
  const uint64_t origin_;
};

}  // namespace

// What is not followed stays what all of it is marked as at first: opaque.
void Stream::AttributeValues() {
  if (!wants_fields_) {
    SkipWords();
    Opaque();
    return;
  }
  std::array<uint32_t, 3> bitmap{};
  const uint32_t words = Count(4);
  const uint32_t known = std::min<uint32_t>(words, bitmap.size());
  for (uint32_t i = 0; i < known; ++i) bitmap[i] = U32();
  cursor_.Skip(uint64_t{words - known} * 4);
  const uint64_t at = cursor_.offset() + 4;
  const Bytes values = Opaque();
  if (!ok()) return;
  Shifted shifted(visitor, at);
  Stream inner(values, values.size(), 0, shifted);
  for (uint32_t number = 0; number < 32 * bitmap.size() && inner.ok(); ++number) {
    if (!(bitmap[number / 32] >> number % 32 & 1)) continue;
    if (number >= std::size(kLayouts)) return;
    for (const char* letter = kLayouts[number]; *letter != 0 && inner.ok(); ++letter) {
      if (*letter == '?') return;
      Attribute(inner, *letter);
    }
  }
}

void Stream::Attributes(Bytes name) {
  constexpr uint32_t kFileHandle = 19;  // RFC 8881 section 5.8: attributes stand in the order of their numbers
  // Of those before it, supported_attrs and acl have any length, change, size and fsid more than one word.
  constexpr uint32_t kAnyLength = 1u << 0 | 1u << 12;
  if (wants_fields_) return AttributeValues();
  const uint32_t words = Count(4);
  const uint32_t first = words > 0 ? U32() : 0;
  if (words > 0) Skip(uint64_t{words - 1} * 4);
  const uint64_t at = cursor_.offset() + 4;
  const Bytes values = Opaque();
  if (!ok() || !(first >> kFileHandle & 1)) return;
  Cursor value(values);
  uint32_t before = first & ((1u << kFileHandle) - 1);
  if ((before & kAnyLength) == 0) {
    const uint32_t more = (before >> 3 & 1) + (before >> 4 & 1) + 3 * (before >> 8 & 1);
    value.Skip(4 * (static_cast<uint64_t>(std::popcount(before)) + more));
    before = 0;
  }
  for (; before != 0; before &= before - 1) {
    switch (std::countr_zero(before)) {
      case 0: value.Skip(uint64_t{value.U32()} * 4); break;  // supported_attrs
      case 3:                                                // change
      case 4: value.Skip(8); break;                          // size
      case 8: value.Skip(16); break;                         // fsid
      case 12:                                               // acl
        for (uint32_t entries = value.U32(); entries > 0 && value.ok(); --entries) {
          value.Skip(12);
          value.Skip(RoundUp4(value.U32()));
        }
        break;
      default: value.Skip(4); break;  // enumerations, booleans, lease_time, rdattr_error
    }
  }
  const uint64_t handle_at = at + value.offset() + 4;
  const Bytes handle = value.Take(value.U32());
  if (value.ok()) Report(ValueKind::kHandle, handle_at, handle.size(), name);
}

}  // namespace stag::nfs
