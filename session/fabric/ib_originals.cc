// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ib_originals.h"

#include <algorithm>
#include <bit>

#include "protocol/base/crc.h"

namespace stag::fabric {
namespace {

constexpr size_t kBth = IbOriginal::kBefore, kAeth = kBth + ib::kBthLength;
constexpr size_t kUdpSourcePort = 0, kIpIdentification = 4, kLrhPlace = 8, kMostHeaders = 120;
constexpr size_t kBurst = 16;  // neighbouring bits that are damaged at once
constexpr std::array<std::byte, 1024> kZeros{};

// What may differ by right, as it stands in both packets: the difference of its bits.
struct Differences {
  std::array<std::byte, sizeof IbOriginal::headers> headers{};
  uint32_t identification = 0;
};

bool HasUdp(const link::Packet& wire) { return wire.carrier == link::Carrier::kRoceV2; }
bool IsIpv4(const link::Packet& wire) {
  return HasUdp(wire) && std::to_integer<unsigned>(wire.icrc_headers[0]) >> 4 == 4;
}

// The CRC of what comes before, continued over `n` zeros.
uint32_t OverZeros(uint32_t crc, size_t n) {
  for (; n > kZeros.size(); n -= kZeros.size()) crc = Crc32(crc, kZeros);
  return Crc32(crc, Bytes(kZeros).first(n));
}

// By how much the ICRCs of two packets like `wire` differ whose headers have these differences and whose other bytes
// are the same (IBA section 7.8.1).
uint32_t IcrcDifference(const Differences& d, const link::Packet& wire) {
  std::array<std::byte, kLrhPlace + kMostHeaders + ib::kBthLength + IbOriginal::kBehind> bytes{};
  const size_t headers = wire.carrier == link::Carrier::kInfiniBand ? 0 : kLrhPlace;
  const size_t bth = headers + wire.icrc_headers.size();
  if (IsIpv4(wire)) std::memcpy(&bytes[headers + kIpIdentification], &d.identification, sizeof d.identification);
  if (HasUdp(wire)) std::copy_n(&d.headers[kUdpSourcePort], 2, &bytes[bth - IbOriginal::kBefore]);
  std::copy_n(&d.headers[kBth], ib::kBthLength + IbOriginal::kBehind, &bytes[bth]);
  bytes[bth + 4] = {};  // congestion marks: the ICRC does not cover them
  const size_t size = bth + ib::kBthLength + IbOriginal::kBehind;
  const size_t rest = wire.payload.size() - ib::kBthLength - IbOriginal::kBehind - ib::kIcrcLength;
  return OverZeros(Crc32(0, Bytes(bytes).first(size)), rest) ^ OverZeros(0, size + rest);
}

// Whether a difference of ICRCs that nothing explains is that of one damaged bit of the first copy's headers, or of a
// few neighbouring ones of its ICRC. Damage elsewhere leaves no difference: the ICRC stays as it was sent.
bool IsDamage(uint32_t difference, const link::Packet& wire) {
  if (static_cast<int>(std::bit_width(difference)) - std::countr_zero(difference) <= static_cast<int>(kBurst))
    return true;
  for (size_t bit = 0; bit < 8 * sizeof Differences::headers; ++bit) {
    Differences one;
    one.headers[bit / 8] = std::byte{1} << (bit % 8);
    if (IcrcDifference(one, wire) == difference) return true;
  }
  for (uint32_t bit = 1; bit != 0 && IsIpv4(wire); bit <<= 1)
    if (IcrcDifference({{}, bit}, wire) == difference) return true;
  return false;
}

}  // namespace

// What is behind the BTH and the AETH, which may differ.
uint32_t IbOriginals::CheckOf(const link::Packet& wire) {
  const size_t head =
      ib::kBthLength + (ib::LookUpOpcode(std::to_integer<uint8_t>(wire.payload[0])).aeth ? IbOriginal::kBehind : 0);
  const size_t end = wire.payload.size() - ib::kIcrcLength;
  return head < end ? Crc32c(0, wire.payload.subspan(head, end - head)) : 0;
}

Repeat HoldAgainst(const IbOriginal& before, const RcPacket& p) {
  const link::Packet& wire = *p.wire;
  IbOriginal now;
  IbOriginals::Remember(before.key, p, now);
  const bool same_opcode = before.headers[kBth] == now.headers[kBth];
  // A Read Response that begins elsewhere is cut otherwise.
  if (p.info->response && (before.length != now.length || !same_opcode)) return Repeat::kUnknown;
  if (before.has_icrc != now.has_icrc) return Repeat::kUnknown;
  const bool same_shape = before.length == now.length && same_opcode;
  if (!now.has_icrc) return same_shape && before.check == now.check ? Repeat::kSame : Repeat::kUnverified;
  if (before.length != now.length) return before.verified ? Repeat::kChanged : Repeat::kUnverified;
  if (before.before != now.before || wire.icrc_headers.size() > kMostHeaders ||
      wire.payload.size() < ib::kBthLength + IbOriginal::kBehind + ib::kIcrcLength)
    return Repeat::kUnknown;
  Differences d;
  d.identification = before.identification ^ now.identification;
  std::transform(before.headers.begin(), before.headers.end(), now.headers.begin(), d.headers.begin(),
                 [](std::byte a, std::byte b) { return a ^ b; });
  if (!p.info->aeth) std::fill(d.headers.begin() + kAeth, d.headers.end(), std::byte{});  // there are data
  const uint32_t difference = before.check ^ now.check;
  const uint32_t unexplained = LoadLe32(reinterpret_cast<const std::byte*>(&difference)) ^ IcrcDifference(d, wire);
  if (unexplained == 0) return same_opcode ? Repeat::kSame : Repeat::kChanged;
  return !before.verified && IsDamage(unexplained, wire) ? Repeat::kUnknown : Repeat::kChanged;
}

}  // namespace stag::fabric
