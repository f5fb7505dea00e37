// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/live_reader.h"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace stag::capture {
namespace {

constexpr std::chrono::milliseconds kReceiveWait{50};
constexpr std::chrono::milliseconds kIdle{100};
constexpr int64_t kWindowNs = 100'000'000;
constexpr uint64_t kLookEvery = 256;  // frames between two looks at the limits

}  // namespace

LiveReader::LiveReader(PacketSource& source, const LiveOptions& options, std::function<void(const Frame&)> after,
                       std::function<void()> idle)
    : source_(source),
      options_(options),
      after_(std::move(after)),
      idle_(std::move(idle)),
      queue_(options.queue),
      begin_(std::chrono::steady_clock::now()),
      holding_(options.order == Order::kTime) {
  try {
    thread_ = std::thread([this] { Receive(); });
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("there is no thread to receive packets: ") + error.what());
  }
}

LiveReader::~LiveReader() { Finish(); }

void LiveReader::Receive() {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (const auto got = source_.Receive(queue_, kReceiveWait); !got) {
      source_error_ = got.error().message;
      break;
    }
  }
  queue_.Close();
}

bool LiveReader::Over() const {
  if (options_.duration && std::chrono::steady_clock::now() - begin_ >= *options_.duration) return true;
  if (options_.stop < 0) return false;
  pollfd one{options_.stop, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

Reader::Next LiveReader::ReadFrame(Frame& frame) {
  for (;;)
    if (const auto next = Poll(frame)) return *next;
}

std::optional<Reader::Next> LiveReader::Poll(Frame& frame) {
  if (current_) {
    after_(*current_);
    current_.reset();
    if (current_slot_) {
      held_bytes_ -= held_[*current_slot_].frame.bytes.size();
      free_.push_back(*std::exchange(current_slot_, std::nullopt));
    } else {
      queue_.Pop();
    }
    if (frames_ % kLookEvery == 0 && Over()) End();
  }
  if (options_.packets && frames_ >= *options_.packets) {
    Finish();
    return Next::kEnd;
  }
  while (!IsDue()) {
    const auto packet = queue_.Front(kIdle);
    if (!packet) {
      silent_ = true;
      break;
    }
    if (packet->time_ns < newest_ns_) {
      holding_ |= options_.order != Order::kFile;
      if (newest_ns_ - packet->time_ns > kWindowNs && options_.order == Order::kAuto) {
        ++era_;
        ++clock_;
        newest_ns_ = packet->time_ns;
      }
    }
    newest_ns_ = std::max(newest_ns_, packet->time_ns);
    if (!holding_) {
      frame = Give({{0, packet->time_ns}, packet->link, packet->bytes, packet->wire_length});
      return Next::kFrame;
    }
    Hold(*packet);
    queue_.Pop();
  }
  if (!waiting_.empty()) {
    std::ranges::pop_heap(waiting_, std::greater{});
    current_slot_ = waiting_.back().slot;
    waiting_.pop_back();
    silent_ = silent_ && !waiting_.empty();
    frame = Give(held_[*current_slot_].frame);
    return Next::kFrame;
  }
  if (!queue_.finished()) {
    if (Over()) End();
    idle_();
    return std::nullopt;
  }
  Finish();
  error_ = source_error_;
  return error_.empty() ? Next::kEnd : Next::kDamaged;
}

void LiveReader::Hold(const Packet& packet) {
  uint32_t slot = static_cast<uint32_t>(held_.size());
  if (free_.empty()) {
    held_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Held& held = held_[slot];
  held.bytes.assign(packet.bytes.begin(), packet.bytes.end());
  held.frame = {{0, packet.time_ns}, packet.link, held.bytes, packet.wire_length};
  held.frame.ref.clock = clock_;
  held_bytes_ += held.bytes.size();
  waiting_.push_back({era_, ++arrivals_, packet.time_ns, slot});
  std::ranges::push_heap(waiting_, std::greater{});
}

// A packet waits, and need not wait any longer.
bool LiveReader::IsDue() const {
  if (waiting_.empty()) return false;
  const Turn& first = waiting_.front();
  return silent_ || first.era < era_ || newest_ns_ - first.time_ns >= kWindowNs || held_bytes_ > options_.queue;
}

// The next frame.
Frame LiveReader::Give(const Frame& frame) {
  current_ = frame;
  current_->ref.number = ++frames_;
  current_->ref.clock = frame.ref.clock;
  bytes_ += frame.wire_length;
  return *current_;
}

void LiveReader::End() { stop_.store(true, std::memory_order_relaxed); }

void LiveReader::Finish() {
  End();
  if (!thread_.joinable()) return;
  thread_.join();
  final_stats_ = source_.stats();
}

LiveCounts LiveReader::counts() const {
  LiveCounts counts;
  if (final_stats_) counts.source = *final_stats_;
  counts.queue_dropped = queue_.dropped();
  counts.queue_dropped_bytes = queue_.dropped_bytes();
  counts.queue_high_water = queue_.high_water();
  counts.frames = frames_;
  counts.bytes = bytes_;
  return counts;
}

}  // namespace stag::capture
