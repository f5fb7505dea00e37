// SPDX-License-Identifier: GPL-2.0-or-later
//
// Shard: the part of a command that observes the connections of a capture, or some of them. A command gives Analyze one
// shard or several. With one, results are delivered as they arise; with several, each runs on any thread, and results
// are delivered in the reading thread, in order of the events that they come of (sharded_analysis.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "session/rpcrdma/session.h"

namespace stag::cli {

// What the observers of a running analysis may ask.
struct Clock {
  uint64_t frame = 0;         // the frame being processed: its order
  int64_t first_time_ns = 0;  // of the first frame of the file
  bool over = false;          // the last frame was read: what comes now ends what is open
};

class Shard {
 public:
  static constexpr size_t kRounds = 8;  // under way at a time

  virtual ~Shard() = default;
  // Of this shard's Session; called once, in the reading thread.
  virtual std::vector<session::Observer*> Observers() = 0;

  // In the reading thread, of a round that is done: its results, the number of the event of each, and their delivery.
  virtual size_t Count(size_t round) const = 0;
  virtual uint64_t NumberOf(size_t round, size_t index) const = 0;
  virtual void DeliverAt(size_t round, size_t index) = 0;
  virtual void Clear(size_t round) = 0;

  Clock& mutable_clock() { return clock_; }  // for the analysis

 protected:
  // For its observers: the frame being processed, the event's number and its round.
  const Clock& clock() const { return clock_; }
  uint64_t number() const { return number_; }
  size_t round() const { return round_; }
  // It is the only one, and observes in the reading thread.
  bool alone() const { return alone_; }

 private:
  friend class ShardedAnalysis;
  Clock clock_;
  uint64_t number_ = 0;
  size_t round_ = 0;
  bool alone_ = true;
};

// A shard whose results are Results. Their storage is used again.
template <typename Result>
class ShardResults : public Shard {
 public:
  size_t Count(size_t round) const final { return used_[round]; }
  uint64_t NumberOf(size_t round, size_t index) const final { return results_[round][index].number; }
  void DeliverAt(size_t round, size_t index) final { Deliver(results_[round][index].result); }
  void Clear(size_t round) final { used_[round] = 0; }

 protected:
  // A result of the event being processed: `fill` gets one that still holds what it held before.
  template <typename Fn>
  void Emit(Fn fill) {
    std::vector<Numbered>& results = results_[round()];
    if (used_[round()] == results.size()) results.emplace_back();
    Numbered& added = results[used_[round()]];
    added.number = number();
    fill(added.result);
    if (alone()) {
      Deliver(added.result);
    } else {
      ++used_[round()];
    }
  }
  // In the reading thread, in order.
  virtual void Deliver(Result& result) = 0;

 private:
  struct Numbered {
    uint64_t number = 0;
    Result result;
  };
  std::array<std::vector<Numbered>, kRounds> results_;
  std::array<size_t, kRounds> used_{};
};

// A shard whose results are calls, of what takes them in the reading thread.
class CallingShard : public ShardResults<std::function<void()>> {
 protected:
  // Calls `fn` with `args`: with copies of them, in the reading thread and in order, unless this is that thread.
  template <typename Fn, typename... Args>
  void Tell(Fn fn, const Args&... args) {
    if (alone()) return fn(args...);
    Emit([&](std::function<void()>& call) { call = [fn, ... copies = args] { fn(copies...); }; });
  }

 private:
  void Deliver(std::function<void()>& call) final { call(); }
};

}  // namespace stag::cli
