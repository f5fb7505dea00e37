// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packet: one captured packet on its way from a device to a file, before it has a frame number.
#pragma once

#include <cstdint>

#include "protocol/base/bytes.h"
#include "protocol/base/frame.h"

namespace stag::capture {

struct Packet {
  int64_t time_ns = 0;  // since 1970 (UTC)
  LinkType link = LinkType::kUnsupported;
  Bytes bytes;               // as captured
  uint32_t wire_length = 0;  // bytes on the wire, at least bytes.size()
};

// Takes packets as they come; views are valid during the call.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void OnPacket(const Packet& packet) = 0;
};

}  // namespace stag::capture
