// SPDX-License-Identifier: GPL-2.0-or-later
//
// The types every decoder and encoder shares: a view of bytes, the verdict of a parse, and loads and stores: big-endian
// ones, and little-endian ones, as an ICRC and the CRC of an FPDU stand.
// A `Bytes` never owns; it is valid as long as whoever handed it over says so (for frames: until the next frame).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stag {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Whether all of `part` lies in `whole`. An empty part lies where it points to.
inline bool Contains(Bytes whole, Bytes part) {
  const auto begin = reinterpret_cast<uintptr_t>(whole.data()), at = reinterpret_cast<uintptr_t>(part.data());
  return at >= begin && at - begin <= whole.size() && part.size() <= whole.size() - (at - begin);
}

// What a parser found. "Truncated by the capture" (the wire had the bytes, the file does not) is never "malformed".
enum class ParseStatus : uint8_t { kOk, kTruncatedByCapture, kMalformed, kUnsupported };

inline uint16_t LoadBe16(const std::byte* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? __builtin_bswap16(v) : v;
}
inline uint32_t LoadBe32(const std::byte* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? __builtin_bswap32(v) : v;
}
inline uint64_t LoadBe64(const std::byte* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? __builtin_bswap64(v) : v;
}
inline uint32_t LoadLe32(const std::byte* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return std::endian::native == std::endian::little ? v : __builtin_bswap32(v);
}
inline void StoreBe16(std::byte* p, uint16_t v) {
  v = std::endian::native == std::endian::little ? __builtin_bswap16(v) : v;
  std::memcpy(p, &v, sizeof v);
}
inline void StoreBe32(std::byte* p, uint32_t v) {
  v = std::endian::native == std::endian::little ? __builtin_bswap32(v) : v;
  std::memcpy(p, &v, sizeof v);
}
inline void StoreBe64(std::byte* p, uint64_t v) {
  v = std::endian::native == std::endian::little ? __builtin_bswap64(v) : v;
  std::memcpy(p, &v, sizeof v);
}
inline void StoreLe32(std::byte* p, uint32_t v) {
  v = std::endian::native == std::endian::little ? v : __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof v);
}

// XDR rounds every opaque up to four bytes (RFC 4506 section 3). 64-bit, so that no length from the wire can wrap.
constexpr uint64_t RoundUp4(uint64_t n) { return (n + 3) & ~uint64_t{3}; }

}  // namespace stag
