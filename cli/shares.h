// SPDX-License-Identifier: GPL-2.0-or-later
//
// Shares: one capture in several threads, with the results of one (--jobs). The thread that reads makes fabric events
// as ever and numbers them; each connection falls to one of the shares, each of which has a Session and observers of
// its own; and what these find is handed on, in the reading thread, in order of the events that it came of.
//
//     Decoder ── Event ──┬─ share 0: Session ── observers ── results ─┬── handed on in order
//                        └─ share 1: ...                              ┘
//
// Connections between the same two addresses fall to the same share, because checks go by what such connections did
// before. Events go round by round: each share has a batch of the round, and a round is handed on when all have done
// theirs; a few rounds are under way at a time, so memory is bounded. Any thread takes the oldest batch whose share no
// other thread works on; the reading thread does so too when it is a few rounds ahead, so that no thread waits while
// there is work. The memory cap is divided among the shares.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/analysis.h"
#include "session/fabric/event_batch.h"

namespace stag::cli {

// What becomes of some of the connections: by one thread at a time, not always the same. See ShareOf.
class Share {
 public:
  static constexpr size_t kRounds = 8;  // under way at a time

  virtual ~Share() = default;
  // Of this share's Session; called once, in the reading thread.
  virtual std::vector<session::Observer*> Observers() = 0;

  // In the reading thread, of a round that is done: how many results, of which event each came, and what becomes of it.
  virtual size_t Count(size_t round) const = 0;
  virtual uint64_t NumberOf(size_t round, size_t index) const = 0;
  virtual void HandOn(size_t round, size_t index) = 0;
  virtual void Clear(size_t round) = 0;

 protected:
  // For its observers: the frame being processed, the event's number and its round.
  const Clock& clock() const { return clock_; }
  uint64_t number() const { return number_; }
  size_t round() const { return round_; }

 private:
  friend class Shares;
  Clock clock_;
  uint64_t number_ = 0;
  size_t round_ = 0;
};

// A share whose results are Results. Their storage is used again.
template <typename Result>
class ShareOf : public Share {
 public:
  size_t Count(size_t round) const final { return used_[round]; }
  uint64_t NumberOf(size_t round, size_t index) const final { return results_[round][index].number; }
  void HandOn(size_t round, size_t index) final { Give(results_[round][index].result); }
  void Clear(size_t round) final { used_[round] = 0; }

 protected:
  // A result of the event being processed, to be filled. It still holds what it held before.
  Result& Add() {
    std::vector<Numbered>& results = results_[round()];
    if (used_[round()] == results.size()) results.emplace_back();
    Numbered& added = results[used_[round()]++];
    added.number = number();
    return added.result;
  }
  // The reading thread.
  virtual void Give(Result& result) = 0;

 private:
  struct Numbered {
    uint64_t number = 0;
    Result result;
  };
  std::array<std::vector<Numbered>, kRounds> results_;
  std::array<size_t, kRounds> used_{};
};

// Takes the events of a Decoder, in the thread that reads.
class Shares final : public fabric::Sink {
 public:
  // `options` are for all shares together; `shares` must outlive this. At least one; as many threads work on them, with
  // the one that reads.
  Shares(const session::SessionOptions& options, std::vector<Share*> shares);
  ~Shares() override;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // Before what comes of a frame, which is looked at until the next. Its memory, if any, stays its producer's.
  void OnFrame(const Frame& frame, const FrameMemory& memory) {
    if (memory_ == &none_) first_time_ns_ = frame.ref.time_ns;
    frame_ = &frame;
    memory_ = &memory;
  }
  void OnEvent(const fabric::Event& event) override;
  void OnAside(const fabric::Aside& aside) override;
  // Whether it goes to every share: a host that refuses NFS over TCP may serve connections of any. Others go to the
  // first.
  static bool IsForAll(const fabric::Aside& aside) { return aside.kind == fabric::Aside::Kind::kRefused; }
  // End of capture, after Decoder::Finish: returns when all results are handed on.
  void Finish();
  // After Finish: of all shares together.
  session::SessionStats stats() const;

 private:
  struct Part {
    Share* share = nullptr;
    std::unique_ptr<session::Session> session;
    std::array<fabric::EventBatch, Share::kRounds> batches;
    uint64_t next = 0;     // round to work on
    bool in_work = false;  // a thread works on it
  };
  // The two addresses of a connection, the smaller first.
  using Pair = std::array<Address, 2>;
  struct PairHash {
    size_t operator()(const Pair& pair) const;
  };

  size_t ShareOfConnection(const fabric::ConnectionInfo& info);
  void Help();
  Part* Ready();
  bool WorkOnOldest(std::unique_lock<std::mutex>& lock);
  void Work(Part& part, bool last);
  void CountIn(size_t copied);
  void Seal(bool last);
  void HandOnOldest();
  bool Done(uint64_t round) const { return left_[round % Share::kRounds] == 0; }

  int64_t first_time_ns_ = 0;
  const Frame* frame_ = nullptr;
  const FrameMemory none_{};
  const FrameMemory* memory_ = &none_;  // of frame_; none_ before the first
  std::vector<Part> parts_;             // one for each share
  std::vector<std::thread> helpers_;
  std::unordered_map<Pair, size_t, PairHash> pairs_;
  std::unordered_map<fabric::ConnectionId, size_t> connections_;
  uint64_t next_number_ = 0;
  size_t round_events_ = 0;
  uint64_t round_bytes_ = 0;
  const std::byte* counted_ = nullptr;  // memory of frames that is part of round_bytes_
  uint64_t handed_on_ = 0;              // rounds

  std::mutex mutex_;  // of what follows, and of Part::next and in_work
  std::condition_variable sealed_one_, done_one_;
  uint64_t sealed_ = 0;                        // rounds that the shares may work on
  bool last_ = false;                          // the newest of them is the last
  std::array<size_t, Share::kRounds> left_{};  // shares that still work on the round
};

}  // namespace stag::cli
