// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/packet_synthesizer.h"

#include <optional>

namespace stag::record {
namespace {

// Of ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2).
constexpr std::array<std::byte, 12> kMappedPrefix = [] {
  std::array<std::byte, 12> prefix{};
  prefix[10] = prefix[11] = std::byte{0xff};
  return prefix;
}();

std::optional<Address> AsIpv4(const Address& a, fabric::Side side) {
  const auto v4 = [](std::byte b0, std::byte b1, std::byte b2, std::byte b3) {
    return link::Ipv4Address(static_cast<uint8_t>(b0), static_cast<uint8_t>(b1), static_cast<uint8_t>(b2),
                             static_cast<uint8_t>(b3));
  };
  switch (a.kind) {
    case Address::Kind::kIpv4: return a;
    case Address::Kind::kLid: return v4(std::byte{169}, std::byte{254}, a.bytes[0], a.bytes[1]);
    case Address::Kind::kNone: return link::Ipv4Address(192, 0, 2, static_cast<uint8_t>(side + 1));
    default: break;
  }
  if (!std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), a.bytes.begin())) return std::nullopt;
  return v4(a.bytes[12], a.bytes[13], a.bytes[14], a.bytes[15]);
}

Address AsIpv6(const Address& a, const std::optional<Address>& v4) {
  Address out;
  out.kind = Address::Kind::kIpv6;
  out.bytes = a.bytes;
  if (v4) {
    std::ranges::copy(kMappedPrefix, out.bytes.begin());
    std::copy_n(v4->bytes.begin(), 4, out.bytes.begin() + 12);
  }
  return out;
}

// Locally administered; the rest is the end of the address.
link::Mac MacOf(const Address& a) {
  const size_t at = a.kind == Address::Kind::kIpv4 ? 0 : 12;
  return {std::byte{2}, {}, a.bytes[at], a.bytes[at + 1], a.bytes[at + 2], a.bytes[at + 3]};
}

}  // namespace

std::array<link::Host, 2> HostsOf(const fabric::ConnectionInfo& info) {
  const Address &a = info.endpoint[0].address, &b = info.endpoint[1].address;
  const auto a4 = AsIpv4(a, 0), b4 = AsIpv4(b, 1);
  const bool v4 = a4 && b4;
  std::array<link::Host, 2> hosts;
  hosts[0].address = v4 ? *a4 : AsIpv6(a, a4);
  hosts[1].address = v4 ? *b4 : AsIpv6(b, b4);
  for (link::Host& host : hosts) host.mac = MacOf(host.address);
  return hosts;
}

PayloadPart PartOf(Bytes bytes, uint64_t at, size_t size, std::vector<std::byte>& scratch) {
  if (at + size <= bytes.size()) return {bytes.subspan(static_cast<size_t>(at), size), 0};
  const Bytes known = at < bytes.size() ? bytes.subspan(static_cast<size_t>(at)) : Bytes{};
  scratch.assign(known.begin(), known.end());
  scratch.resize(size);
  return {scratch, size - known.size()};
}

}  // namespace stag::record
