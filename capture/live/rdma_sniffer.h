// SPDX-License-Identifier: GPL-2.0-or-later
//
// RdmaSniffer: all packets of an RDMA device's port, through a SnifferDevice. Completions are polled in batches and
// their buffers are given back in lists; times are the device's where it has a clock.
#pragma once

#include <vector>

#include "capture/live/device_clock.h"
#include "capture/live/sniffer_device.h"
#include "capture/live/source.h"

namespace stag::capture {

class RdmaSniffer final : public PacketSource {
 public:
  // Posts all buffers.
  static Result<std::unique_ptr<PacketSource>> Open(std::unique_ptr<SnifferDevice> device,
                                                    const SnifferOptions& options);

  const std::string& name() const override { return options_.device; }
  LinkType link() const override { return device_->link(); }
  uint32_t snaplen() const override { return options_.snaplen; }
  Result<size_t> Receive(PacketSink& sink, std::chrono::milliseconds wait) override;
  SourceStats stats() override;

 private:
  RdmaSniffer(std::unique_ptr<SnifferDevice> device, const SnifferOptions& options);
  int64_t TimeOf(const Arrival& arrival, int64_t now) const;
  void ReadClock(int64_t now);

  std::unique_ptr<SnifferDevice> device_;
  SnifferOptions options_;
  SnifferDevice::Clock clock_kind_;
  DeviceClock clock_;
  bool clock_set_ = false;
  int64_t next_reading_ns_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<uint32_t> free_;  // slots to give back
  uint64_t received_ = 0, failed_ = 0;
  std::optional<uint64_t> first_out_of_buffer_;
};

}  // namespace stag::capture
