// SPDX-License-Identifier: GPL-2.0-or-later
//
// ClockFinder: whether a capture has two clocks, which of them stamped each frame, and how far they are apart.
//
// A frame whose time is over an hour from that of the frame before it makes it look: at up to 4,096 frames or 8 MiB.
// Two clocks are known by their turns: times go from the one to the other and back. How far they are apart is bounded
// by cause and effect: a packet is captured before what acknowledges it (PSNs of InfiniBand, TCP's sequence numbers),
// in both directions. The middle of the bounds aligns the second clock to the first; packets behind these frames that
// prove it wrong move it to where they allow.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/ib/transport.h"
#include "protocol/link/packet.h"

namespace stag::clocks {

enum class Policy : uint8_t {
  kAuto,   // aligned where the bounds are narrow: a millisecond at most
  kAlign,  // ... where there are bounds
  kNull,   // frames of the second clock have no time (FrameRef::timed)
};

// What was found in the frames that were taken so far.
struct TwoClocks {
  bool found = false;
  bool bounded = false;        // causes and effects in both directions were seen, and agree
  bool aligned = false;        // else the frames of the second clock have no time
  int64_t offset_ns = 0;       // bounded: what is added to the times of the second clock ...
  int64_t uncertainty_ns = 0;  // ... and how far that may be from the truth
};

class ClockFinder {
 public:
  static constexpr size_t kMaxBytes = size_t{8} << 20;

  // It looks at the frames of a file's beginning: until they have `max_bytes`, or there are very many.
  explicit ClockFinder(Policy policy, const link::TunnelPorts& ports = link::kTunnelPorts, size_t max_bytes = kMaxBytes)
      : policy_(policy), ports_(ports), max_bytes_(max_bytes) {}

  // A frame as it was captured, in order. Returns the clock that stamped it: 0, or 1, which is another than that of the
  // frames before. While it looks, that is not certain.
  unsigned Take(const Frame& frame);
  // There are no more frames: what was taken must do.
  void Decide();

  bool looking() const { return state_ == State::kLooking; }
  // While it looks: the times have gone from one clock to the other and back; and the clock of the newest frame.
  bool has_turned() const { return turns_ >= 2 && !failed_; }
  unsigned newest() const { return newest_; }

  // Once it does not look any more.
  const TwoClocks& two_clocks() const { return found_; }
  // Where two were found: the first clock, by which the capture goes ...
  unsigned reference() const { return reference_; }
  // ... and a time of the second one by the first.
  int64_t Align(int64_t time_ns) const;

 private:
  enum class State : uint8_t { kOne, kLooking, kTwo };
  // A packet whose acknowledgement may come.
  struct Cause {
    uint64_t key = 0;
    uint32_t queue_pair = 0;  // that it is for
    bool doubtful = false;    // another queue pair's packet has the same key
    unsigned clock = 0;
    int64_t time_ns = 0;
  };

  [[gnu::noinline]] unsigned TakeOdd(const Frame& frame);
  bool IsSuspicious(int64_t time_ns) const;
  void Begin(int64_t time_ns);
  unsigned Tell(const Frame& frame);
  void Bound();
  unsigned Nearest(int64_t time_ns) const;
  void SetOffset(int64_t offset_ns);
  void Observe(const Frame& frame, unsigned clock);
  void OnCause(uint64_t key, uint32_t queue_pair, int64_t time_ns, unsigned clock);
  void OnEffect(uint64_t key, int64_t time_ns, unsigned clock);

  const Policy policy_;
  const link::TunnelPorts ports_;
  const size_t max_bytes_;
  State state_ = State::kOne;
  TwoClocks found_;
  unsigned reference_ = 0;
  std::optional<int64_t> last_;  // the time of the frame before, while one clock is known

  // Of the frames that it looks at.
  size_t frames_ = 0, bytes_ = 0, turns_ = 0;
  bool both_ = false, failed_ = false;
  unsigned newest_ = 0;

  int64_t last_of_[2] = {0, 0};  // by clock: the newest time
  std::vector<Cause> causes_;    // by key; a newer one takes the place of another
  // What is added to times of clock 1 for those of clock 0: at least and at most, as the frames so far prove; and what
  // was chosen.
  std::optional<int64_t> at_least_, at_most_;
  int64_t offset_ = 0;
  link::Packet packet_;
  ib::Transport transport_;
};

}  // namespace stag::clocks
