// SPDX-License-Identifier: GPL-2.0-or-later
//
// Address: who a packet is from or for, on any fabric. A small value, compared and hashed by content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stag {

struct Address {
  enum class Kind : uint8_t { kNone, kIpv4, kIpv6, kGid, kLid };
  Kind kind = Kind::kNone;
  std::array<std::byte, 16> bytes{};  // IPv4: the first four; LID: the first two; the rest is zero

  friend bool operator==(const Address& a, const Address& b) {
    return a.kind == b.kind && std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) == 0;
  }
};

struct Endpoint {
  Address address;
  uint32_t number = 0;  // TCP port, or queue pair number (24 bits)

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace stag
