// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbOriginals: the last requests and RDMA Read Responses of all connections, as far as it takes to tell whether one of
// them is sent again with other bytes. The ICRC stands for the bytes: CRCs are linear, so what the two packets have
// different by right (IPv4 identification, UDP source port, bits of the BTH, the AETH) is taken out of the difference
// of their ICRCs. Nothing is computed of a packet that has an ICRC until its PSN comes again.
#pragma once

#include <array>
#include <bit>
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
  // So many are remembered, a power of two.
  explicit IbOriginals(size_t remembered) : mask_(remembered - 1) { STAG_CHECK(std::has_single_bit(remembered)); }
  // Once before the others are called; costs something the first time only.
  void Prepare() { originals_.resize(mask_ + 1); }
  // Whether a packet whose headers are right (ParseTransport) can be remembered: it was captured whole.
  static bool IsWhole(const link::Packet& wire) {
    return wire.payload.size() == wire.wire_length && wire.icrc_headers.size() >= IbOriginal::kBefore;
  }
  // The requests of a sender, or its responses.
  struct Stream {
    uint64_t key = 0;    // of PSN 0
    uint64_t place = 0;  // likewise; of PSN n, n behind it
    uint64_t KeyOf(uint32_t psn) const { return key | psn; }
  };
  static Stream StreamOf(ConnectionId connection, Side from, bool responses) {
    const uint64_t number = uint64_t{connection} << 2 | uint64_t{from} << 1 | uint64_t{responses};
    return {number << 24, number * 0x9e3779b97f4a7c15u};
  }
  // Where a packet is remembered; another one may be there.
  IbOriginal& At(const Stream& stream, uint32_t psn) { return originals_[(stream.place + psn) & mask_]; }
  // The packet is whole.
  static void Remember(uint64_t key, const RcPacket& p, IbOriginal& original) {
    const uint32_t icrc = IcrcOf(*p.wire);
    Write(key, p, original, icrc != 0 ? icrc : CheckOf(*p.wire), icrc != 0);
    original.verified = p.verified;
  }
  // The same, for a packet that was not verified. False: it has no ICRC, and is not remembered.
  static bool RememberPlain(uint64_t key, const RcPacket& p, IbOriginal& original) {
    const uint32_t icrc = IcrcOf(*p.wire);
    if (icrc == 0) return false;
    Write(key, p, original, icrc, true);
    original.verified = false;
    return true;
  }

 private:
  static uint32_t CheckOf(const link::Packet& wire);
  // As it stands.
  static uint32_t IcrcOf(const link::Packet& wire) {
    return LoadLe32(wire.payload.data() + wire.payload.size() - ib::kIcrcLength);
  }
  static void Write(uint64_t key, const RcPacket& p, IbOriginal& original, uint32_t check, bool has_icrc) {
    const std::byte* bth = p.wire->payload.data();
    const size_t length = p.wire->payload.size(), before = p.wire->icrc_headers.size();
    original.key = key;
    original.frame = p.frame.number;
    std::memcpy(original.headers.data(), bth - IbOriginal::kBefore, original.headers.size());
    std::memcpy(&original.identification, bth - before + 4, sizeof original.identification);
    original.check = check;
    original.length = static_cast<uint32_t>(length);
    original.before = static_cast<uint8_t>(before);
    original.has_icrc = has_icrc;
  }

  const size_t mask_;
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
