// SPDX-License-Identifier: GPL-2.0-or-later
//
// Address: who a packet is from or for, on any fabric. A small value, compared, ordered and hashed by content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "protocol/base/bytes.h"
#include "protocol/base/hash.h"

namespace stag {

struct Address {
  enum class Kind : uint8_t { kNone, kIpv4, kIpv6, kGid, kLid };
  Kind kind = Kind::kNone;
  std::array<std::byte, 16> bytes{};  // IPv4: the first four; LID: the first two; the rest is zero

  friend bool operator==(const Address& a, const Address& b) {
    return a.kind == b.kind && LoadBe64(a.bytes.data()) == LoadBe64(b.bytes.data()) &&
           LoadBe64(a.bytes.data() + 8) == LoadBe64(b.bytes.data() + 8);
  }
  friend bool operator<(const Address& a, const Address& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    const uint64_t first = LoadBe64(a.bytes.data()), other = LoadBe64(b.bytes.data());
    return first != other ? first < other : LoadBe64(a.bytes.data() + 8) < LoadBe64(b.bytes.data() + 8);
  }
};

inline uint64_t MixHash(uint64_t hash, const Address& address) {
  return MixHash(MixHash(hash, LoadBe64(address.bytes.data())), LoadBe64(address.bytes.data() + 8));
}

struct Endpoint {
  Address address;
  uint32_t number = 0;  // TCP port, or queue pair number (24 bits)

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend bool operator<(const Endpoint& a, const Endpoint& b) {
    return a.address == b.address ? a.number < b.number : a.address < b.address;
  }
};

}  // namespace stag
