// SPDX-License-Identifier: GPL-2.0-or-later
//
// LiveReader: a live capture as a Reader, so that whatever analyses files analyses live traffic. A thread of its own
// takes packets from the source to a bounded queue; ReadFrame gives them in order, numbered from 1.
//
// Once the time of a packet goes back, packets wait until the newest is 100 ms later, or none came for so long, or the
// wait takes as many bytes as the queue; those that wait go by their times. Behind a longer step back a clock was set.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "capture/file/reader.h"
#include "capture/file/turn.h"
#include "capture/live/packet_queue.h"
#include "capture/live/source.h"

namespace stag::capture {

struct LiveOptions {
  size_t queue = 64u << 20;                          // bytes
  std::optional<uint64_t> packets;                   // the capture ends after so many
  std::optional<std::chrono::nanoseconds> duration;  // or after this time
  int stop = -1;                                     // or once this descriptor is readable; -1: none
  Order order = Order::kAuto;                        // of packets whose times go back: as they come, or by time
};

// What became of the packets.
struct LiveCounts {
  SourceStats source;
  uint64_t queue_dropped = 0, queue_dropped_bytes = 0;  // for lack of room in the queue
  uint64_t queue_high_water = 0;                        // bytes
  uint64_t frames = 0;                                  // that ReadFrame gave
  uint64_t bytes = 0;                                   // of them, on the wire
};

class LiveReader final : public Reader {
 public:
  // Begins to capture. `source` must outlive this and belongs to its thread. `after`: called with each frame at the
  // next ReadFrame, when whoever reads is done with it. `idle`: called about ten times a second while nothing comes.
  LiveReader(PacketSource& source, const LiveOptions& options, std::function<void(const Frame&)> after,
             std::function<void()> idle);
  ~LiveReader() override;

  // Waits for a packet. kEnd: the limits of the options, or End(); what was in the queue then still came. kDamaged: the
  // device failed.
  Next ReadFrame(Frame& frame) override;
  // The same, but waits for about 100 ms at most: nullopt, nothing came.
  std::optional<Next> Poll(Frame& frame);
  const FrameMemory& memory() const override { return memory_; }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return 0; }
  uint64_t size() const override { return 0; }

  // The capture ends: no more packets are received, what is in the queue still comes.
  void End();
  // Of the source only once ReadFrame gave the end.
  LiveCounts counts() const;

 private:
  void Receive();
  bool Over() const;
  void Finish();
  // A packet that waits, with its bytes; what is used again.
  struct Held {
    Frame frame;
    std::vector<std::byte> bytes;
  };
  void Hold(const Packet& packet);
  bool IsDue() const;
  Frame Give(const Frame& frame);

  PacketSource& source_;
  LiveOptions options_;
  std::function<void(const Frame&)> after_;
  std::function<void()> idle_;
  PacketQueue queue_;
  std::atomic<bool> stop_{false};
  const FrameMemory memory_{};  // none: packets leave the queue
  std::string source_error_;    // of the thread; read once it ended
  std::thread thread_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<Frame> current_;
  std::optional<uint32_t> current_slot_;  // that it waited in; nullopt: it is in the queue
  bool holding_;
  bool silent_ = false;  // no packet came for a while: those that wait go
  int64_t newest_ns_ = INT64_MIN;
  uint64_t era_ = 0, arrivals_ = 0, held_bytes_ = 0;
  uint16_t clock_ = 0;
  std::vector<Held> held_;
  std::vector<uint32_t> free_;
  std::vector<Turn> waiting_;  // a heap, the next one on top; numbers are those of arrivals
  uint64_t frames_ = 0, bytes_ = 0;
  std::optional<SourceStats> final_stats_;
  std::string error_;
};

}  // namespace stag::capture
