// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/icrc.h"

#include <algorithm>
#include <array>

#include "protocol/base/crc.h"
#include "protocol/ib/transport.h"

namespace stag::ib {
namespace {

constexpr size_t kMaskedMax = 128;  // IPv4 with all options, or LRH + GRH, and UDP fit
constexpr std::byte kOnes{0xff};

// Traffic class, flow label and hop limit of an IPv6 header or GRH.
void MaskIpv6(std::span<std::byte> h) {
  h[0] |= std::byte{0x0f};
  h[1] = h[2] = h[3] = kOnes;
  h[7] = kOnes;
}

void Mask(link::Carrier carrier, std::span<std::byte> h) {
  if (carrier == link::Carrier::kInfiniBand) {
    if (h.size() >= 8) h[0] |= std::byte{0xf0};  // virtual lane
    if (h.size() >= 48) MaskIpv6(h.subspan(8));
    return;
  }
  if (h.size() >= 40 && (h[0] >> 4) == std::byte{6}) MaskIpv6(h);
  if (carrier != link::Carrier::kRoceV2) return;
  if (h.size() >= 20 && (h[0] >> 4) == std::byte{4}) h[1] = h[8] = h[10] = h[11] = kOnes;  // TOS, TTL, checksum
  if (h.size() >= 8) h[h.size() - 2] = h[h.size() - 1] = kOnes;                            // UDP checksum
}

}  // namespace

uint32_t ComputeIcrc(link::Carrier carrier, Bytes headers, Bytes transport) {
  std::array<std::byte, 8 + kMaskedMax + kBthLength> buffer;
  if (headers.size() > kMaskedMax || transport.size() < kBthLength) return 0;
  size_t at = 0;
  if (carrier != link::Carrier::kInfiniBand) {  // stands for the LRH that RoCE does not have
    std::fill_n(buffer.begin(), 8, kOnes);
    at = 8;
  }
  std::copy(headers.begin(), headers.end(), buffer.begin() + static_cast<ptrdiff_t>(at));
  Mask(carrier, std::span(buffer).subspan(at, headers.size()));
  at += headers.size();
  std::copy_n(transport.begin(), kBthLength, buffer.begin() + static_cast<ptrdiff_t>(at));
  buffer[at + 4] = kOnes;  // FECN, BECN, reserved
  at += kBthLength;
  return Crc32(Crc32(0, Bytes(buffer).first(at)), transport.subspan(kBthLength));
}

IcrcStatus CheckIcrc(const link::Packet& packet) {
  if (packet.payload.size() < packet.wire_length || packet.payload.size() < kBthLength + kIcrcLength)
    return IcrcStatus::kAbsent;
  Bytes transport = packet.payload.first(packet.payload.size() - kIcrcLength);
  const uint32_t field = LoadLe32(packet.payload.last(kIcrcLength).data());
  return ComputeIcrc(packet.carrier, packet.icrc_headers, transport) == field ? IcrcStatus::kGood : IcrcStatus::kBad;
}

void AppendIcrc(std::vector<std::byte>& out, link::Carrier carrier, size_t headers_offset, size_t bth_offset) {
  Bytes all(out);
  uint32_t icrc =
      ComputeIcrc(carrier, all.subspan(headers_offset, bth_offset - headers_offset), all.subspan(bth_offset));
  std::array<std::byte, kIcrcLength> bytes;
  StoreLe32(bytes.data(), icrc);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace stag::ib
