// SPDX-License-Identifier: GPL-2.0-or-later
//
// ScrubbedReader: a live capture without its secrets, as a Reader: whatever reads it sees scrubbed frames only. Frames
// come late: ScrubbedWindow says by how much.
#pragma once

#include <chrono>
#include <functional>

#include "analysis/scrub/scrubbed_window.h"
#include "analysis/scrub/scrubber.h"
#include "capture/live/live_reader.h"

namespace stag::scrub {

class ScrubbedReader final : public capture::Reader {
 public:
  // `after`: called with each frame at the next ReadFrame, when whoever reads is done with it. The references must
  // outlive this.
  ScrubbedReader(capture::LiveReader& live, Pseudonyms& pseudonyms, Replaced& replaced, const ScrubOptions& options,
                 std::function<void(const Frame&)> after)
      : live_(live),
        after_(std::move(after)),
        window_(options.tunnel_ports),
        scrubber_(window_, pseudonyms, replaced, options) {}

  Next ReadFrame(Frame& frame) override;
  const FrameMemory& memory() const override { return memory_; }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return 0; }
  uint64_t size() const override { return 0; }

 private:
  void Take();

  capture::LiveReader& live_;
  std::function<void(const Frame&)> after_;
  ScrubbedWindow window_;
  Scrubber scrubber_;
  const FrameMemory memory_{};  // none: frames leave the window
  std::optional<Frame> current_;
  std::optional<Next> end_;
  std::string error_;
  std::chrono::steady_clock::time_point last_{};  // when a packet came
};

}  // namespace stag::scrub
