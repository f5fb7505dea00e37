// SPDX-License-Identifier: GPL-2.0-or-later
//
// AlignedReader: a Reader over another one, which gives the frames of a capture one clock, where it has two
// (session/clocks/clock_finder.h). It copies the frames by which that is told, and delivers them then.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "capture/file/reader_around.h"
#include "session/clocks/clock_finder.h"

namespace stag::capture {

class AlignedReader final : public ReaderAround {
 public:
  // `reader` must outlive this. `memory`: bytes that copies of frames may take.
  AlignedReader(Reader& reader, clocks::Policy policy, const link::TunnelPorts& ports = link::kTunnelPorts,
                uint64_t memory = clocks::ClockFinder::kMaxBytes)
      : ReaderAround(reader),
        max_bytes_(std::min<uint64_t>(memory, clocks::ClockFinder::kMaxBytes)),
        finder_(policy, ports, max_bytes_) {}

  Next ReadFrame(Frame& frame) override;
  const FrameMemory& memory() const override { return copied_ ? none_ : reader_.memory(); }
  const Lasting* lasting() const override { return reader_.lasting(); }
  std::string comment() const override { return copied_ ? held_[next_held_ - 1].comment : reader_.comment(); }

  const clocks::TwoClocks& two_clocks() const { return finder_.two_clocks(); }
  uint64_t of_second_clock() const { return of_second_clock_; }  // frames, delivered

 private:
  struct Held {
    Frame frame;
    size_t at = 0;  // of its bytes
    unsigned clock = 0;
    std::string comment;
  };

  void Hold(const Frame& first, unsigned clock);
  void ForgetHeld();
  void Stamp(Frame& frame, unsigned clock);

  const size_t max_bytes_;
  clocks::ClockFinder finder_;
  const FrameMemory none_{};
  bool copied_ = false;  // the frame that was read last is a copy
  std::vector<Held> held_;
  std::vector<std::byte> bytes_;
  size_t next_held_ = 0;
  std::optional<int64_t> last_known_;  // the newest time of the first clock
  uint64_t of_second_clock_ = 0;
};

}  // namespace stag::capture
