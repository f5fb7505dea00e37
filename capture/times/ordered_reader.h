// SPDX-License-Identifier: GPL-2.0-or-later
//
// OrderedReader: a Reader over another one, which gives frames in the order of their times where the file has them in
// another: several queues written one after the other, neighbours that changed places. Frames keep their numbers;
// FrameRef::moved says how far they went.
//
// A capture in order goes straight through. From the first step back of the times on, or from the beginning where
// somebody knows that there is one, frames wait in a window, in the memory that they were read into: until the newest
// time is a second ahead, or for kFrames frames, or as long as there is memory. A frame further back than a second
// keeps its place.
//
// A step back can also be a clock that was set: frames keep their order then, and a new count of FrameRef::clock
// begins. It is one where the window has no second step of its size, a flow of packets itself goes back, and the times
// go on from there. Steps of more than an hour, either way, are left to clocks::ClockFinder.
#pragma once

#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "capture/file/reader_around.h"
#include "capture/file/turn.h"
#include "protocol/link/packet.h"

namespace stag::capture {

// What was found in the frames that were delivered so far.
struct Disorder {
  uint64_t moved = 0;      // frames that were delivered in another place than the file's
  uint64_t late = 0;       // frames delivered behind later ones, of the same clock: they were too far back ...
  int64_t late_by_ns = 0;  // ... at most so far
  uint64_t clocks_set = 0;
  bool short_of_memory = false;  // frames left the window for want of memory
};

class OrderedReader final : public ReaderAround {
 public:
  static constexpr size_t kFrames = 65536;
  static constexpr int64_t kSpanNs = 1'000'000'000;

  // What is known of the first frames.
  enum class Start : uint8_t { kUnknown, kInOrder, kGoesBack };

  // `reader` must outlive this. `memory`: bytes that the window may take.
  OrderedReader(Reader& reader, Order order, uint64_t memory, Start start = Start::kUnknown,
                const link::TunnelPorts& ports = link::kTunnelPorts);

  // Whether times go back among the first frames of `reader`, which is of no other use then.
  static Start Look(Reader& reader);

  Next ReadFrame(Frame& frame) override {
    if (!straight_) return ReadHeld(frame);
    const Next next = reader_.ReadFrame(frame);
    if (next != Next::kFrame || order_ == Order::kFile) return next;
    if (frame.ref.time_ns < newest_ns_) [[unlikely]]
      return BeginToHold(frame);
    frame.ref.clock = clock_;
    newest_ns_ = frame.ref.time_ns;
    given_ = frame.ref.number;
    if (--until_look_ == 0) LookAt(frame);
    return next;
  }
  const FrameMemory& memory() const override { return held_now_ ? none_ : reader_.memory(); }
  const Lasting* lasting() const override { return reader_.lasting(); }
  std::string comment() const override { return held_now_ ? slots_[slot_now_].comment : reader_.comment(); }

  const Disorder& disorder() const { return disorder_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  struct Held {
    Frame frame;
    size_t memory = 0;       // of memory_
    uint64_t back_from = 0;  // the frame of its flow before it, if that is later; 0: it is not
    std::string comment;
  };
  // From a frame to the next, whose time is before it.
  struct Step {
    uint64_t number = 0;               // of the second one
    int64_t time_ns = 0, size_ns = 0;  // its time, and how far that is back
    int64_t newest_ns = 0;             // the newest time before it ...
    int64_t second_ns = 0;             // ... and the newest but that
    uint64_t frames = 0;               // from it on, up to one that is as new
    std::optional<int64_t> gap_ns;     // from the last of them to that one
    bool known = false;                // the flows of frames before it are known
    bool flow = false;                 // some flow has later frames before it
  };
  // The newest frame of a flow.
  struct Flow {
    uint64_t key = 0, number = 0;
    int64_t time_ns = 0;
  };
  // That frames wait in.
  struct Memory {
    FrameMemory memory;
    size_t users = 0;
  };

  // Frames that go straight through: of so many, the flow of one is remembered. No divisor of usual turns.
  static constexpr uint32_t kLookEvery = 61;
  void LookAt(const Frame& frame);
  Next BeginToHold(Frame& frame);
  Next ReadHeld(Frame& frame);
  void LetGo();
  bool Full() const;
  void Hold(const Frame& frame);
  size_t Pin();
  uint64_t BackFrom(const Frame& frame);
  void Place(uint32_t slot);
  void Measure(const Held& held);
  void Decide();
  bool WasSet(const Step& step) const;
  void BeginClock(const Step& step);
  void BeginEra();
  uint64_t UsedMemory() const { return bytes_ + slots_.size() * (sizeof(Held) + sizeof(Turn)); }

  const Order order_;
  const int64_t span_ns_;
  const uint64_t memory_limit_;
  const link::TunnelPorts ports_;
  const FrameMemory none_{};
  bool straight_ = false;
  bool disordered_ = false;  // frames go through the window, whatever comes
  bool draining_ = false;    // until the window is empty
  bool silent_ = false;      // who writes what is read was waited for
  Next end_ = Next::kFrame;  // how the reader ended
  bool squeezed_ = false;    // a frame left for want of memory
  Disorder disorder_;

  std::vector<Held> slots_;
  std::vector<uint32_t> free_;
  std::vector<Turn>
      waiting_;            // a heap, the next one on top; times are the frames' own, or of the place which one keeps
  bool held_now_ = false;  // the frame that was read last is in slot_now_
  uint32_t slot_now_ = 0;
  std::vector<Memory> memory_;
  size_t newest_memory_ = 0;
  uint64_t bytes_ = 0;  // of memory_

  // Of what was read.
  uint64_t era_ = 0;  // within one, times are compared
  uint16_t clock_ = 0;
  int64_t newest_ns_ = kNever, second_ns_ = kNever;  // of the era: the newest time, and the newest but that
  int64_t floor_ns_ = kNever;                        // frames whose time is before it go by it
  int64_t last_ns_ = kNever;                         // of the frame that was read last
  uint32_t until_look_ = kLookEvery;
  int64_t flows_to_ns_ = kNever;    // flows are known up to this time
  std::vector<Flow> flows_;         // by key
  std::deque<Step> steps_;          // not decided, oldest first
  std::vector<uint64_t> open_;      // numbers of those that go on
  std::array<Step, 64> decided_{};  // the latest that are decided
  size_t decided_count_ = 0;
  link::Packet packet_;

  // Of what was delivered.
  uint64_t given_ = 0;  // frames
  uint64_t given_era_ = 0;
  int64_t given_ns_ = kNever;  // the newest time of that era
};

}  // namespace stag::capture
