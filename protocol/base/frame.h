// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frame: one captured packet, as a file, a live capture or Wireshark hands it over. The bytes belong to the producer
// and are valid until its next frame, or for as long as somebody holds the FrameMemory that they are in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "protocol/base/bytes.h"

namespace stag {

// Times are at most 146 years from 1970, so that the difference of two fits 64 bits, and the sum of a time and a
// duration that an option gives (at most 100 years). Whoever makes a time of what a file or a peer says keeps it there.
inline constexpr int64_t kFarthestTime = (int64_t{1} << 62) - 1;
constexpr int64_t ClampTime(__int128 ns) {
  return static_cast<int64_t>(ns < -kFarthestTime ? -kFarthestTime : ns > kFarthestTime ? kFarthestTime : ns);
}

// The number counts from 1 within a file, as Wireshark's does. The time is nanoseconds since 1970 (UTC).
struct FrameRef {
  uint64_t number = 0;
  int64_t time_ns = 0;
  // False: the frame was stamped by another clock than the capture's, and nobody knows when it was. `time_ns` is that
  // of the last frame before it whose time is known.
  bool timed = true;
  // Frames before and after a clock was set have other values here.
  uint16_t clock = 0;
  // How far behind its place in the file the frame was delivered, or, negative, before it.
  int32_t moved = 0;

  // Counts frames as they are delivered: the earlier of two has the lower one. Numbers are for people.
  uint64_t order() const { return number + static_cast<uint64_t>(static_cast<int64_t>(moved)); }
};

// Nanoseconds from one frame to a later one; nullopt: one of them is not there (number 0) or has no time, or the clock
// went back between them, or was set.
inline std::optional<int64_t> Elapsed(const FrameRef& from, const FrameRef& to) {
  if (from.number == 0 || to.number == 0 || !from.timed || !to.timed || to.time_ns < from.time_ns ||
      from.clock != to.clock)
    return std::nullopt;
  return to.time_ns - from.time_ns;
}

enum class LinkType : uint8_t {
  kUnsupported,
  kEthernet,       // DLT_EN10MB
  kLinuxSll,       // DLT_LINUX_SLL: "cooked" version 1
  kLinuxSll2,      // DLT_LINUX_SLL2
  kRawIp,          // DLT_RAW, DLT_IPV4, DLT_IPV6
  kErf,            // DLT_ERF: the ERF record header is part of the bytes
  kErfInfiniBand,  // the payload of an ERF InfiniBand record: starts with the LRH (Wireshark strips the record header)
  kErfEthernet,    // the payload of an ERF Ethernet record: two pad bytes, then Ethernet
  kInfiniBand,     // DLT_INFINIBAND: starts with the LRH
  kNull,           // DLT_NULL, DLT_LOOP: an address family, then IP
  kPpp,            // DLT_PPP, DLT_PPP_SERIAL
  kCiscoHdlc,      // DLT_C_HDLC
};

struct Frame {
  FrameRef ref;
  LinkType link = LinkType::kUnsupported;
  Bytes bytes;               // as captured
  uint32_t wire_length = 0;  // bytes on the wire, at least bytes.size()
  uint32_t interface = 0;    // of the capture file, in its section
};

// Memory of a producer that has frames. It does not change while there are other owners than the producer; they let go
// of it in the thread that reads. No owner: the producer's frames cannot be kept.
struct FrameMemory {
  std::shared_ptr<const std::byte[]> owner;
  size_t size = 0;  // bytes in use
};

}  // namespace stag
