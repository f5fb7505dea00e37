// SPDX-License-Identifier: GPL-2.0-or-later
//
// The two checksums of RDMA fabrics. Both are running: start with 0, hand the result of one piece on to the next.
// Neither owns or keeps bytes; neither can fail.
#pragma once

#include "protocol/base/bytes.h"

namespace stag {

// CRC-32 of IEEE 802.3, reflected, initial and final complement: the polynomial of the InfiniBand ICRC
// (InfiniBand Architecture volume 1, section 7.8.1). Check value of "123456789": 0xcbf43926.
uint32_t Crc32(uint32_t crc, Bytes bytes);

// CRC32C (Castagnoli), reflected, initial and final complement: the checksum of MPA FPDUs (RFC 5044 section 4.4; RFC
// 3720 section 12.1). Check value of "123456789": 0xe3069283. On the wire its bytes stand least significant first.
uint32_t Crc32c(uint32_t crc, Bytes bytes);

}  // namespace stag
