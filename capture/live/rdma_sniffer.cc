// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/rdma_sniffer.h"

#include <algorithm>

namespace stag::capture {
namespace {

constexpr size_t kBatch = 64;                       // completions polled, and buffers given back, at once
constexpr int64_t kReadingEveryNs = 1'000'000'000;  // of both clocks

int64_t SystemNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

RdmaSniffer::RdmaSniffer(std::unique_ptr<SnifferDevice> device, const SnifferOptions& options)
    : device_(std::move(device)),
      options_(options),
      clock_kind_(device_->clock()),
      clock_(clock_kind_.hertz > 0 ? clock_kind_.hertz : 1e9, clock_kind_.mask),
      arrivals_(kBatch) {
  free_.reserve(std::max<size_t>(device_->slots(), kBatch));
}

Result<std::unique_ptr<PacketSource>> RdmaSniffer::Open(std::unique_ptr<SnifferDevice> device,
                                                        const SnifferOptions& options) {
  std::unique_ptr<RdmaSniffer> sniffer(new RdmaSniffer(std::move(device), options));
  sniffer->first_out_of_buffer_ = sniffer->device_->OutOfBuffer();
  for (uint32_t slot = 0; slot < sniffer->device_->slots(); ++slot) sniffer->free_.push_back(slot);
  if (auto posted = sniffer->device_->Post(sniffer->free_); !posted) return Fail(posted.error().message);
  sniffer->free_.clear();
  sniffer->ReadClock(SystemNow());
  return sniffer;
}

Result<size_t> RdmaSniffer::Receive(PacketSink& sink, std::chrono::milliseconds wait) {
  Result<size_t> got = device_->Poll(arrivals_);
  if (got && *got == 0 && wait.count() > 0) {
    if (auto waited = device_->Wait(wait); !waited) return Fail(waited.error().message);
    got = device_->Poll(arrivals_);
  }
  if (!got) return got;
  const int64_t now = SystemNow();
  ReadClock(now);
  size_t packets = 0;
  for (const Arrival& arrival : std::span(arrivals_).first(*got)) {
    free_.push_back(arrival.slot);
    if (arrival.failed) {
      ++failed_;
      continue;
    }
    const Bytes slot = device_->slot(arrival.slot);
    const size_t length = std::min<size_t>(arrival.length, slot.size());
    sink.OnPacket({TimeOf(arrival, now), device_->link(), slot.first(std::min<size_t>(length, options_.snaplen)),
                   static_cast<uint32_t>(length)});
    ++packets;
  }
  received_ += packets;
  if (!free_.empty()) {
    if (auto posted = device_->Post(free_); !posted) return Fail(posted.error().message);
    free_.clear();
  }
  return packets;
}

SourceStats RdmaSniffer::stats() {
  SourceStats stats;
  stats.received = received_;
  const auto count = device_->OutOfBuffer();
  if (count && first_out_of_buffer_) stats.dropped = *count - *first_out_of_buffer_ + failed_;
  return stats;
}

int64_t RdmaSniffer::TimeOf(const Arrival& arrival, int64_t now) const {
  if (!arrival.timestamp) return now;
  if (clock_kind_.wallclock) return static_cast<int64_t>(*arrival.timestamp);
  return clock_set_ ? clock_.Time(*arrival.timestamp) : now;
}

void RdmaSniffer::ReadClock(int64_t now) {
  if (clock_kind_.hertz <= 0 || clock_kind_.wallclock || now < next_reading_ns_) return;
  next_reading_ns_ = now + kReadingEveryNs;
  if (const auto reading = device_->ReadClock()) {
    clock_.Reading(reading->device, reading->system_ns);
    clock_set_ = true;
  }
}

}  // namespace stag::capture
