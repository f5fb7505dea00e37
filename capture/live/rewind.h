// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rewind: the packets of the last seconds, in memory, for a capture that writes only once something has happened. A
// ring of bytes of a fixed size: when it is full the oldest go first, and that is said.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/frame.h"

namespace stag::capture {

class Rewind {
 public:
  // `size`: bytes of packets, at least 1 MiB.
  Rewind(std::chrono::nanoseconds span, size_t size);

  // Copies the frame; older ones than `span` before it go. `comment` is kept with it.
  void Put(const Frame& frame, std::string_view comment);
  // Hands all frames over, oldest first, and forgets them.
  template <typename Fn>
  void Drain(Fn fn) {
    for (const Entry& entry : entries_) {
      fn(Frame{entry.ref, entry.link, Bytes(&ring_[entry.at], entry.captured), entry.wire_length}, entry.comment);
    }
    Clear();
  }
  void Clear();

  size_t frames() const { return entries_.size(); }
  // The time of the oldest, if there is one.
  std::optional<int64_t> first_ns() const {
    return entries_.empty() ? std::nullopt : std::optional(entries_.front().ref.time_ns);
  }
  // Whether frames younger than the span had to go for lack of room since the beginning or the last Clear.
  bool short_of_room() const { return short_of_room_; }

 private:
  struct Entry {
    FrameRef ref;
    LinkType link = LinkType::kUnsupported;
    uint32_t captured = 0, wire_length = 0;
    size_t at = 0;
    std::string comment;
  };
  void Forget();

  int64_t span_ns_;
  std::vector<std::byte> ring_;
  std::deque<Entry> entries_;
  size_t end_ = 0;  // of the youngest in the ring
  bool short_of_room_ = false;
};

}  // namespace stag::capture
