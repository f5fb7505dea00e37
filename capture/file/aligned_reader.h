// SPDX-License-Identifier: GPL-2.0-or-later
//
// AlignedReader: a Reader over another one, which gives the frames of a capture one clock. Some devices stamp what they
// receive with one clock and what they send with another, so that a capture has the time of day in one direction and
// seconds since boot in the other.
//
// A frame whose time is over an hour from that of the frame before it makes the reader look ahead: it copies up to
// 4,096 frames or 8 MiB. Two clocks are known by their turns: times go from the one to the other and back. How far they
// are apart is bounded by cause and effect: a packet is captured before what acknowledges it (PSNs of InfiniBand, TCP's
// sequence numbers), in both directions. The middle of the bounds aligns the second clock to the first; packets behind
// the look-ahead that prove it wrong move it to where they allow.
#pragma once

#include <optional>
#include <vector>

#include "capture/file/reader.h"
#include "protocol/ib/transport.h"
#include "protocol/link/packet.h"

namespace stag::capture {

enum class Clocks : uint8_t {
  kAuto,   // aligned where the bounds are narrow: a millisecond at most
  kAlign,  // ... where there are bounds
  kNull,   // frames of the second clock have no time (FrameRef::timed)
};

// What was found in the frames that were read so far.
struct TwoClocks {
  bool found = false;
  bool bounded = false;        // causes and effects in both directions were seen, and agree
  bool aligned = false;        // else the frames of the second clock have no time
  uint64_t frames = 0;         // of the second clock, delivered
  int64_t offset_ns = 0;       // bounded: what is added to the times of the second clock ...
  int64_t uncertainty_ns = 0;  // ... and how far that may be from the truth
};

class AlignedReader final : public Reader {
 public:
  // `reader` must outlive this.
  AlignedReader(Reader& reader, Clocks clocks, const link::TunnelPorts& ports = link::kTunnelPorts)
      : reader_(reader), clocks_(clocks), ports_(ports) {}

  Next ReadFrame(Frame& frame) override;
  const FrameMemory& memory() const override { return copied_ ? none_ : reader_.memory(); }
  Bytes lasting() const override { return reader_.lasting(); }
  const std::string& error() const override { return reader_.error(); }
  uint64_t position() const override { return reader_.position(); }
  uint64_t size() const override { return reader_.size(); }

  const TwoClocks& two_clocks() const { return found_; }

 private:
  enum class Which : uint8_t { kFirst, kSecond };
  struct Held {
    Frame frame;
    size_t at = 0;  // of its bytes
    Which clock = Which::kFirst;
  };
  // A packet whose acknowledgement may come.
  struct Cause {
    uint64_t key = 0;
    uint32_t queue_pair = 0;  // that it is for
    bool doubtful = false;    // another queue pair's packet has the same key
    Which clock = Which::kFirst;
    int64_t time_ns = 0;
  };

  bool IsSuspicious(const Frame& frame) const;
  void LookAhead(const Frame& first);
  bool TellClocks();
  void Align();
  void Deliver(Frame& frame);
  void Stamp(Frame& frame, Which clock);
  Which Nearest(int64_t time_ns) const;
  void Observe(const Frame& frame, Which clock);
  void OnCause(uint64_t key, uint32_t queue_pair, int64_t time_ns, Which clock);
  void OnEffect(uint64_t key, int64_t time_ns, Which clock);

  Reader& reader_;
  const Clocks clocks_;
  const link::TunnelPorts ports_;
  const FrameMemory none_{};
  bool copied_ = false;  // the frame that was read last is a copy
  TwoClocks found_;
  std::optional<int64_t> last_;  // the time of the frame that was read last, while one clock is known

  std::vector<Held> held_;
  std::vector<std::byte> bytes_;
  size_t next_held_ = 0;

  int64_t last_of_[2] = {0, 0};  // by clock: the newest time, as it was captured
  int64_t last_known_ = 0;       // the newest time of the first clock
  std::vector<Cause> causes_;    // by key; a newer one takes the place of another
  // The offset is at least and at most; what the frames seen so far prove.
  std::optional<int64_t> at_least_, at_most_;
  link::Packet packet_;
  ib::Transport transport_;
};

}  // namespace stag::capture
