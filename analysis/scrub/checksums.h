// SPDX-License-Identifier: GPL-2.0-or-later
//
// The checksums of a frame: IPv4, UDP, TCP, ICMP, IGMP, ICRC. A scrubbed frame has each in the state in which the
// original had it.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/link/packet.h"

namespace stag::scrub {

class Checksums {
 public:
  explicit Checksums(const link::TunnelPorts& ports = link::kTunnelPorts) : ports_(ports) {}
  // The states of the checksums of a frame as it was captured: right, wrong, zero, or not to be told because the
  // capture cut what they cover.
  uint32_t Judge(const Frame& frame);
  // Stores the checksums in a frame of `link` that was `wire_length` bytes long and has zeros in their place: right,
  // wrong or zero, as Judge said of the original; zero where that could not be told.
  void Store(MutableBytes bytes, LinkType link, uint32_t wire_length, uint32_t states);

 private:
  enum class State : uint8_t { kZero, kRight, kWrong };
  // Calls fn(place, size, right value) for each checksum that can be computed, inner ones first. Place: in the frame.
  // Values are as they stand on the wire, the field taken for zero.
  template <typename Fn>
  void ForEach(const Frame& frame, Fn fn);

  link::TunnelPorts ports_;
  link::Packet packet_;
  std::vector<link::Header> headers_;
};

}  // namespace stag::scrub
