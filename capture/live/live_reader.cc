// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/live_reader.h"

#include <poll.h>

#include <stdexcept>
#include <system_error>

namespace stag::capture {
namespace {

constexpr std::chrono::milliseconds kReceiveWait{50};
constexpr std::chrono::milliseconds kIdle{100};
constexpr uint64_t kLookEvery = 256;  // frames between two looks at the limits

}  // namespace

LiveReader::LiveReader(PacketSource& source, const LiveOptions& options, std::function<void(const Frame&)> after,
                       std::function<void()> idle)
    : source_(source),
      options_(options),
      after_(std::move(after)),
      idle_(std::move(idle)),
      queue_(options.queue),
      begin_(std::chrono::steady_clock::now()) {
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
    queue_.Pop();
    if (frames_ % kLookEvery == 0 && Over()) End();
  }
  if (options_.packets && frames_ >= *options_.packets) {
    Finish();
    return Next::kEnd;
  }
  if (const auto packet = queue_.Front(kIdle)) {
    ++frames_;
    bytes_ += packet->wire_length;
    current_ = Frame{{frames_, packet->time_ns}, packet->link, packet->bytes, packet->wire_length};
    frame = *current_;
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
