// SPDX-License-Identifier: GPL-2.0-or-later
//
// Capture: the frames of one generated capture, at fixed times, and what must be found in them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/catalogue/rule.h"
#include "tests/support/messages.h"

namespace stag::evidence {

using conformance::Severity;
using test::Buffer;

// A finding: the frame that breaks the rule, and the one that proves it. `see_also`: rules that the same event breaks
// and that are named with it.
struct Expected {
  uint64_t proven = 0, frame = 0;
  std::string rule;
  Severity severity = Severity::kError;
  std::vector<std::string> see_also = {};
  bool presumed = false;  // the end of the capture hides the proof
  friend auto operator<=>(const Expected&, const Expected&) = default;
};

class Capture {
 public:
  // An Ethernet frame, 10 microseconds after the one before it.
  void Add(Buffer bytes);
  // The bytes of the last frame.
  Buffer& Last() { return frames_.back().bytes; }
  // The number of the last frame.
  uint64_t size() const { return frames_.size(); }

  // Frames are captured to at most `length` bytes from now on.
  void Snap(size_t length) { snap_length_ = length; }
  // While false, frames pass without being captured.
  void set_listening(bool listening) { listening_ = listening; }
  // The frames `first` to `last` come once more, when a timer has run out.
  void Repeat(uint64_t first, uint64_t last);
  // What is sent next is sent again, when a timer has run out.
  void WaitForTimer();
  // The last frame is missing from the capture.
  void DropLast() { frames_.pop_back(); }
  // The last two frames change places.
  void SwapLast();
  // The frames of two actions take turns, one by one.
  void Interleave(const std::function<void()>& a, const std::function<void()>& b);

  void Expect(Expected finding) { expected_.push_back(std::move(finding)); }
  // In the order of their proof.
  std::vector<Expected> expected() const;

  // The capture as a pcap file.
  Buffer File() const;

 private:
  struct Frame {
    int64_t time_ns = 0;
    Buffer bytes;
    uint32_t wire_length = 0;
  };
  std::vector<Frame> frames_;
  std::vector<Expected> expected_;
  int64_t time_ns_ = 1'735'689'600'000'000'000;  // 2025-01-01 00:00:00 UTC
  size_t snap_length_ = SIZE_MAX;
  bool listening_ = true;
};

}  // namespace stag::evidence
