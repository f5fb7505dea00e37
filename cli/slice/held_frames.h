// SPDX-License-Identifier: GPL-2.0-or-later
//
// HeldFrames: the last frames of a live capture, in memory, until the connections that they are of have shown how much
// of each is needed (PayloadCutter).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cli/slice/payload_cutter.h"

namespace stag::cli {

class HeldFrames {
 public:
  // A frame waits for so many to follow, or so long (ns).
  static constexpr size_t kMost = 4096;
  static constexpr int64_t kLongest = 1'000'000'000;

  // `cutter` must outlive this, and see the frames before they are put here.
  explicit HeldFrames(PayloadCutter& cutter) : cutter_(cutter) {}

  // Copies the frame. `fired`: a trigger had, when it came.
  void Put(const Frame& frame, std::string_view comment, bool fired);
  // Calls fn(frame, comment, fired) for each frame that has waited long enough at `now_ns`, oldest first, with what is
  // needed of it.
  template <typename Fn>
  void Release(int64_t now_ns, Fn fn) {
    while (!held_.empty() && (held_.size() > kMost || now_ns - held_.front().frame.ref.time_ns > kLongest)) Next(fn);
  }
  template <typename Fn>
  void ReleaseAll(Fn fn) {
    while (!held_.empty()) Next(fn);
  }

 private:
  struct Held {
    Frame frame;
    std::vector<std::byte> bytes;
    std::string comment;
    bool fired = false;
  };
  template <typename Fn>
  void Next(Fn fn) {
    Held& held = held_.front();
    Frame frame = held.frame;
    frame.bytes = Bytes(held.bytes);
    frame.bytes = frame.bytes.first(cutter_.Keep(frame));
    cutter_.Forget(frame.ref.number);
    fn(frame, std::string_view(held.comment), held.fired);
    Drop();
  }
  void Drop();

  PayloadCutter& cutter_;
  std::deque<Held> held_;
  std::vector<std::vector<std::byte>> spare_;  // storage of frames that went
};

}  // namespace stag::cli
