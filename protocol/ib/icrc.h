// SPDX-License-Identifier: GPL-2.0-or-later
//
// The invariant CRC (IBA section 7.8.1; RoCE annex A16 and RoCEv2 annex A17): a CRC-32 over all that does not change on
// the way, with the fields that may change replaced by ones.
#pragma once

#include <vector>

#include "protocol/link/packet.h"

namespace stag::ib {

enum class IcrcStatus : uint8_t {
  kGood,
  kBad,
  kAbsent,  // not captured (cut by the snap length), or no room for one on the wire
};

// The ICRC as a number; on the wire its bytes stand least significant first. `headers`: what link::Packet::icrc_headers
// names for this carrier; `transport`: from the BTH up to, not including, the ICRC. Copies the headers to mask them
// (bounded), allocates nothing. A transport shorter than a BTH gives 0.
uint32_t ComputeIcrc(link::Carrier carrier, Bytes headers, Bytes transport);

// Checks the ICRC of a packet whose carrier is RoCE or InfiniBand.
IcrcStatus CheckIcrc(const link::Packet& packet);

// Computes the ICRC of the packet that ends at the end of `out` and appends it. `headers_offset` and `bth_offset`:
// where the IP header, GRH or LRH and where the BTH begin. Length fields of the headers must already count the ICRC.
void AppendIcrc(std::vector<std::byte>& out, link::Carrier carrier, size_t headers_offset, size_t bth_offset);

}  // namespace stag::ib
