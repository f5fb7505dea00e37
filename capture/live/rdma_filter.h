// SPDX-License-Identifier: GPL-2.0-or-later
//
// The filter of `stag capture --rdma`: what may carry RPC-over-RDMA or its connection set-up.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stag::capture {

// In libpcap's language: RoCEv2 (UDP port 4791), RoCEv1 (ethertype 0x8915), iWARP (the TCP ports), rpcbind (port 111).
// `tagged`: each with an 802.1Q tag, too; not for Linux's device "any", which libpcap has no such filter for.
std::string RdmaFilter(std::span<const uint16_t> tcp_ports, bool tagged);

}  // namespace stag::capture
