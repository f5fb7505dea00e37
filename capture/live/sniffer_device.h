// SPDX-License-Identifier: GPL-2.0-or-later
//
// SnifferDevice: the little that RdmaSniffer needs of an RDMA device: a raw packet queue pair that gets a copy of what
// the port sends and receives, offloaded traffic included. verbs_sniffer.cc has the real one; tests have one in memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "protocol/base/bytes.h"
#include "protocol/base/frame.h"
#include "protocol/base/result.h"

namespace stag::capture {

struct SnifferOptions {
  std::string device;  // "mlx5_0"
  uint8_t port = 1;
  uint32_t snaplen = 262144;    // bytes that are kept of a packet
  uint32_t buffer = 64u << 20;  // bytes of receive buffers; their number follows from their size
  bool hardware_time = true;    // where the device has such times
};

// A receive that completed.
struct Arrival {
  uint32_t slot = 0;
  uint32_t length = 0;                // bytes
  std::optional<uint64_t> timestamp;  // of the device's clock; nullopt: it has none
  bool failed = false;                // there is no packet in it
};

struct ClockReading {
  uint64_t device = 0;
  int64_t system_ns = 0;  // since 1970
};

class SnifferDevice {
 public:
  virtual ~SnifferDevice() = default;
  virtual LinkType link() const = 0;
  virtual uint32_t slots() const = 0;  // receive buffers, each as large as the largest packet of the link
  virtual Bytes slot(uint32_t index) const = 0;
  // Gives buffers to the device. The error: it takes none any more.
  virtual Result<void> Post(std::span<const uint32_t> slots) = 0;
  // Receives that completed, in order, at most out.size(); does not wait.
  virtual Result<size_t> Poll(std::span<Arrival> out) = 0;
  // Waits until Poll may give something, up to `wait`. The error: the device is gone.
  virtual Result<void> Wait(std::chrono::milliseconds wait) = 0;
  // Hertz of the device's clock, and the mask of its counter; 0: no timestamps. A clock that gives nanoseconds since
  // 1970 by itself says so by `wallclock`.
  struct Clock {
    double hertz = 0;
    uint64_t mask = 0;
    bool wallclock = false;
  };
  virtual Clock clock() const = 0;
  virtual std::optional<ClockReading> ReadClock() = 0;
  // The device's own count, ever rising, of packets that found no buffer; nullopt: it does not count them.
  virtual std::optional<uint64_t> OutOfBuffer() = 0;
};

// The error says what to do: no such device, no permission, memlock, a device that cannot be sniffed.
Result<std::unique_ptr<SnifferDevice>> OpenVerbsSniffer(const SnifferOptions& options);

// The RDMA devices of this machine and whether their packets can be sniffed, with the reason.
struct SniffableDevice {
  std::string name;
  uint8_t port = 1;
  std::string link;  // "Ethernet", "InfiniBand"
  bool active = false;
  bool usable = false;
  std::string reason;
};
std::vector<SniffableDevice> ListSniffableDevices();

}  // namespace stag::capture
