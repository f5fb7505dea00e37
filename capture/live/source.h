// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketSource: where the packets of a live capture come from: a network device (network.h) or an RDMA device
// (rdma_sniffer.h). Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capture/live/packet.h"
#include "protocol/base/result.h"

namespace stag::capture {

struct SourceStats {
  uint64_t received = 0;                    // packets handed over
  std::optional<uint64_t> dropped;          // for lack of room before us: kernel, receive queue; nullopt: nobody knows
  std::optional<uint64_t> dropped_on_wire;  // by the network device or its driver
};

class PacketSource {
 public:
  virtual ~PacketSource() = default;
  virtual const std::string& name() const = 0;  // of the device
  virtual LinkType link() const = 0;
  virtual uint32_t snaplen() const = 0;  // bytes that are kept of a packet
  // Hands over what has come; waits for the first up to about `wait`. How many packets. The error: nothing more can
  // come, the device went down or away.
  virtual Result<size_t> Receive(PacketSink& sink, std::chrono::milliseconds wait) = 0;
  // Since the beginning of the capture.
  virtual SourceStats stats() = 0;
};

}  // namespace stag::capture
