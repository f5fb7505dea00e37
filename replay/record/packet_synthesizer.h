// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketSynthesizer: makes the packets of one recorded connection, of a fabric, from its events.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "protocol/link/encode.h"
#include "replay/record/frame_writer.h"
#include "session/fabric/fabric_event.h"

namespace stag::record {

class PacketSynthesizer {
 public:
  virtual ~PacketSynthesizer() = default;
  // All of one connection.
  virtual void OnEvent(const fabric::Event& event) = 0;
  // The recording ends; the connection may go on.
  virtual void Finish() {}
};

// Software iWARP and other TCP: a TCP segment for each FPDU. RoCEv2 stands for whatever has queue pairs.
std::unique_ptr<PacketSynthesizer> MakeIwarpPackets(FrameWriter& writer, const fabric::ConnectionInfo& info);
std::unique_ptr<PacketSynthesizer> MakeRocePackets(FrameWriter& writer, const fabric::ConnectionInfo& info);

// The two ends of a connection on an Ethernet, both with IPv4 or both with IPv6 addresses: GIDs become IPv6 addresses,
// or IPv4 addresses when such are mapped; LIDs become 169.254.x.y; who has none gets one of 192.0.2.0/24.
std::array<link::Host, 2> HostsOf(const fabric::ConnectionInfo& info);

// What is known of the bytes from `at` to `at` + `size` of an event with `bytes`, and zeros for the rest: `data` is of
// that size. A view of the event or of `scratch`.
struct PayloadPart {
  Bytes data;
  size_t unknown = 0;  // at the end of `data`
};
PayloadPart PartOf(Bytes bytes, uint64_t at, size_t size, std::vector<std::byte>& scratch);

}  // namespace stag::record
