// SPDX-License-Identifier: GPL-2.0-or-later
//
// ShardedAnalysis: the analysis of one capture by several threads, with the results of one (--jobs). The reading thread
// decodes frames to events and numbers the events. Each connection belongs to one of the shards; each shard has a
// Session and observers of its own. The reading thread delivers the results of all shards in order of the events.
//
//     Decoder ── Event ──┬─ shard 0: Session ── observers ── results ─┬── delivered in order
//                        └─ shard 1: ...                              ┘
//
// Connections between the same two addresses belong to the same shard, because checks go by what such connections did
// before. Events go round by round: each shard has a batch of the round, and the results of a round are delivered when
// all shards have processed their batches; a few rounds are under way at a time, so memory is bounded. A thread that is
// free takes the oldest batch whose shard no other thread works on; the reading thread does so too when it is a few
// rounds ahead, so that no thread waits while there is work. The memory cap is divided among the shards.
//
// Threads pay where an event takes longer to analyse than to hand over, and where a processor is free for them. Whether
// they do is measured, period by period. The reading thread analyses the events of the first two, and finds how much of
// the time that takes; while it is less than half, threads are not tried. Else the events of a period are handed over,
// and further ones go the way that took less time. Now and then the other way is tried again. The first events that go
// another way than those before, a period of them, are not measured: caches and memory are new to the thread.
//
// An exception in any thread ends the analysis: the reading thread gets it from OnEvent, OnAside, OnRecovery or Finish.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/analysis/shard.h"
#include "session/fabric/event_batch.h"

namespace stag::cli {

// Takes the events of a Decoder, in the reading thread.
class ShardedAnalysis final : public fabric::Sink {
 public:
  // `options` are for all shards together; `shards` must outlive this. At least one; there are at most as many threads,
  // the reading thread among them. `now_ns`: a clock in nanoseconds.
  enum class HandOver : uint8_t { kWhereItPays, kAlways };
  ShardedAnalysis(const session::SessionOptions& options, std::vector<Shard*> shards,
                  HandOver when = HandOver::kWhereItPays, std::function<int64_t()> now_ns = SteadyNow);
  ShardedAnalysis(const ShardedAnalysis&) = delete;
  ShardedAnalysis& operator=(const ShardedAnalysis&) = delete;

  // Before what comes of a frame, which is looked at until the next. Its memory, if any, stays its producer's.
  void OnFrame(const Frame& frame, const FrameMemory& memory) {
    if (memory_ == &none_) first_time_ns_ = frame.ref.time_ns;
    frame_ = &frame;
    memory_ = &memory;
  }
  void OnEvent(const fabric::Event& event) override;
  void OnAside(const fabric::Aside& aside) override;
  void OnRecovery(const fabric::Recovery& recovery) override;
  void OnSighting(const fabric::Sighting& sighting) override;
  // The last frame was read: what comes now is Decoder::Finish, and ends what is open (Clock::over).
  void EndOfCapture() { over_from_ = next_number_; }
  // Whether it goes to every shard: a host that refuses NFS over TCP may serve connections of any. Others go to the
  // first.
  static bool IsForAll(const fabric::Aside& aside) { return aside.kind == fabric::Aside::Kind::kRefused; }
  // End of capture, after Decoder::Finish: returns when all results are delivered.
  void Finish();
  // Whether threads work on the events that come now.
  bool handing_over() const { return handing_over_; }
  // After Finish: of all shards together.
  session::SessionStats stats() const;
  bool wants_deliveries() const { return parts_.front().session->wants_deliveries(); }
  static int64_t SteadyNow();
  static constexpr size_t kPeriodEvents = 16'384;
  // Of the events that the reading thread analyses, every so many is timed. Not a power of two, as the number of
  // packets of an RDMA operation often is.
  static constexpr uint64_t kTimedEvery = 31;

 private:
  struct Part {
    Shard* shard = nullptr;
    std::unique_ptr<session::Session> session;
    std::array<fabric::EventBatch, Shard::kRounds> batches;
    uint64_t next = 0;     // round to work on
    bool in_work = false;  // a thread works on it
  };
  // The two addresses of a connection, the smaller first.
  using Pair = std::array<Address, 2>;
  struct PairHash {
    size_t operator()(const Pair& pair) const;
  };

  template <typename Told>
  void Pass(const Told& told, void (session::Session::*give)(const Told&));
  size_t ShardOf(const fabric::ConnectionInfo& info);
  void EndPeriod();
  bool Measure();
  void BeginHandingOver();
  void Drain();
  void Help(const std::stop_token& stop);
  Part* Ready();
  bool WorkOnOldest(std::unique_lock<std::mutex>& lock);
  void Work(Part& part, bool last);
  void CountIn(size_t copied);
  void Seal(bool last);
  void DeliverOldest();
  bool Done(uint64_t round) const { return left_[round % Shard::kRounds] == 0; }

  const HandOver when_;
  int64_t first_time_ns_ = 0;
  const Frame* frame_ = nullptr;
  const FrameMemory none_{};
  const FrameMemory* memory_ = &none_;  // of frame_; none_ before the first
  std::vector<Part> parts_;             // one for each shard
  std::unordered_map<Pair, size_t, PairHash> pairs_;
  std::unordered_map<fabric::ConnectionId, size_t> connections_;
  fabric::ConnectionId last_connection_ = 0;  // of ShardOf, and what it returned
  size_t last_shard_ = 0;
  bool handing_over_ = false;  // events go to batches; else to the Sessions, in the reading thread
  const std::function<int64_t()> now_ns_;
  bool settling_ = true;  // this period is not measured
  size_t period_events_ = 0;
  unsigned periods_ = 0;
  bool analysis_was_half_ = false;  // of the time, in the last period that was not handed over
  int64_t period_began_ns_;
  int64_t timed_ns_ = 0;  // that the events took that were timed in this period
  // Of kPeriodEvents events, by the last period that was not handed over, and that was; 0: not known.
  std::array<int64_t, 2> cost_ns_{};
  uint64_t next_number_ = 0;
  std::atomic<uint64_t> over_from_ = UINT64_MAX;  // the number of the first event after the last frame
  size_t round_events_ = 0;
  uint64_t round_bytes_ = 0;
  const std::byte* counted_ = nullptr;  // memory of frames that is part of round_bytes_
  uint64_t delivered_ = 0;              // rounds

  std::mutex mutex_;  // of what follows, and of Part::next and in_work
  std::condition_variable_any sealed_one_;
  std::condition_variable done_one_;
  uint64_t sealed_ = 0;                        // rounds that the shards may work on
  bool last_ = false;                          // the newest of them is the last
  std::array<size_t, Shard::kRounds> left_{};  // shards that still work on the round
  std::exception_ptr error_;                   // the first that a thread met: nobody works any more

  std::vector<std::jthread> helpers_;  // the last member: they stop before anything of this goes
};

}  // namespace stag::cli
