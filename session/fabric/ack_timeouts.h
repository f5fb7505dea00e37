// SPDX-License-Identifier: GPL-2.0-or-later
//
// AckTimeouts: how long the requesters of two hosts wait at least for an acknowledgement before they send again. The CM
// REQ says it (IBA sections 12.7.34 and 9.7.6.1.3): 4.096 us times two to the power of its Local ACK Timeout.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "protocol/base/address.h"
#include "protocol/base/bytes.h"

namespace stag::fabric {

class AckTimeouts {
 public:
  static constexpr int64_t kShortest = 500'000;  // ns: where no REQ was captured; nobody sets less

  // Returns the time that a Local ACK Timeout of 5 bits stands for; 0: the REQ says nothing.
  static int64_t Nanoseconds(uint8_t exponent) { return exponent == 0 ? 0 : int64_t{4096} << (exponent & 31); }

  // A REQ between these hosts has this Local ACK Timeout, of 5 bits; 0 says nothing. Of several the shortest counts:
  // nothing tells yet which packets are of which.
  void Note(const Address& a, const Address& b, uint8_t exponent) {
    if (exponent == 0) return;
    const uint64_t hosts = HostsOf(a, b);
    Entry& entry = entries_[hosts >> kShift];
    const int64_t ns = Nanoseconds(exponent);
    entry = {hosts, entry.hosts == hosts ? std::min(entry.ns, ns) : ns};
  }
  int64_t Of(const Address& a, const Address& b) const {
    const uint64_t hosts = HostsOf(a, b);
    const Entry& entry = entries_[hosts >> kShift];
    return entry.hosts == hosts ? entry.ns : kShortest;
  }

 private:
  // Two hosts, in the place that their hash says; others may take it.
  struct Entry {
    uint64_t hosts = 0;
    int64_t ns = 0;
  };
  static constexpr unsigned kShift = 64 - 8;
  static uint64_t HashOf(const Address& a) {
    return (LoadBe64(a.bytes.data()) ^ LoadBe64(a.bytes.data() + 8)) * 0x9e3779b97f4a7c15;
  }
  static uint64_t HostsOf(const Address& a, const Address& b) { return (HashOf(a) + HashOf(b)) * 0x9e3779b97f4a7c15; }

  std::array<Entry, size_t{1} << (64 - kShift)> entries_{};
};

}  // namespace stag::fabric
