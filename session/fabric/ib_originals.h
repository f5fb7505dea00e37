// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbOriginals: the last requests and RDMA Read Responses of all connections, as far as it takes to tell whether one of
// them is sent again with other bytes. The ICRC stands for the bytes: CRCs are linear, so what the two packets have
// different by right (IPv4 identification, UDP source port, bits of the BTH, the AETH) is taken out of the difference
// of their ICRCs. Nothing is computed of a packet that has an ICRC until its PSN comes again.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "session/fabric/ib_packet.h"

namespace stag::fabric {

struct alignas(64) IbOriginal {
  static constexpr size_t kBefore = 8, kBehind = 4;  // bytes of `headers` around the BTH

  uint64_t key = 0;    // connection, sender, request or response, PSN; 0: there is none
  uint64_t frame = 0;  // number
  std::array<std::byte, kBefore + ib::kBthLength + kBehind> headers{};  // UDP (RoCEv2), BTH, AETH, as they stand
  uint32_t identification = 0;                                          // IPv4: identification, flags and offset
  uint32_t check = 0;   // the ICRC as it stands; where that is 0, no ICRC, a CRC of what it would cover
  uint32_t length = 0;  // bytes from the BTH to the end of the ICRC
  uint8_t before = 0;   // bytes in front of the BTH that the ICRC covers
  bool has_icrc = false;
  bool verified = false;  // the ICRC is right
};

class IbOriginals {
 public:
  IbOriginals() : originals_(kRemembered) {}

  // Whether a packet can be remembered: it was captured whole.
  static bool IsWhole(const link::Packet& wire) {
    return wire.payload.size() == wire.wire_length && wire.payload.size() >= ib::kBthLength + ib::kIcrcLength &&
           wire.icrc_headers.size() >= IbOriginal::kBefore &&
           wire.icrc_headers.data() + wire.icrc_headers.size() == wire.payload.data();
  }
  static uint64_t KeyOf(ConnectionId connection, const RcPacket& p) {
    return uint64_t{connection} << 26 | uint64_t{p.from} << 25 | uint64_t{p.info->response} << 24 | p.psn();
  }
  // Where a packet is remembered; another one may be there.
  IbOriginal& At(uint64_t key) {
    return originals_[((key >> 24) * 0x9e3779b97f4a7c15u + (key & ib::kPsnMask)) % kRemembered];
  }
  // The packet is whole.
  static void Remember(uint64_t key, const RcPacket& p, IbOriginal& original) {
    const link::Packet& wire = *p.wire;
    const std::byte* bth = wire.payload.data();
    original.key = key;
    original.frame = p.frame.number;
    original.verified = p.verified;
    std::memcpy(original.headers.data(), bth - IbOriginal::kBefore, original.headers.size());
    std::memcpy(&original.identification, wire.icrc_headers.data() + 4, sizeof original.identification);
    std::memcpy(&original.check, bth + wire.payload.size() - ib::kIcrcLength, sizeof original.check);
    original.length = static_cast<uint32_t>(wire.payload.size());
    original.before = static_cast<uint8_t>(wire.icrc_headers.size());
    original.has_icrc = original.check != 0;
    if (!original.has_icrc) original.check = CheckOf(wire);
  }

 private:
  static constexpr size_t kRemembered = 4096;
  static uint32_t CheckOf(const link::Packet& wire);

  std::vector<IbOriginal> originals_;
};

enum class Repeat : uint8_t {
  kSame,
  kChanged,
  kUnverified,  // changed, or damaged on the way
  kUnknown,     // what came first was damaged, it seems, or cannot be compared
};

// How a packet repeats `before`, which has its key. Where it has an ICRC that is right.
Repeat HoldAgainst(const IbOriginal& before, const RcPacket& now);

}  // namespace stag::fabric
