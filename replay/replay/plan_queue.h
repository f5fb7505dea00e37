// SPDX-License-Identifier: GPL-2.0-or-later
//
// PlanQueue: a plan on its way from the thread that reads the capture to the one that plays: every reader (a client)
// gets all of it, in order. It is bounded: the thread that reads waits while planned Calls that are not played yet take
// more than `ahead` bytes. A reader that is behind holds the others up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "replay/endpoint/system.h"
#include "replay/replay/plan.h"

namespace stag::replay {

class PlanQueue final : public PlanSink {
 public:
  // A plan as a whole.
  using Whole = std::vector<PlannedCallPtr>;
  struct Limits {
    uint64_t ahead = 32u << 20;  // bytes, but one Call more than that
    // A plan of at most so many bytes stays in memory, to be played again; 0: none does.
    uint64_t keep = 0;
    // Why one that does not stay is no use: the queue ends with this error then. Empty: it can be read again.
    std::string unless_kept;
  };
  // `readers`: how many there will be; each must Leave.
  PlanQueue(uint32_t readers, Limits limits);
  // All is there from the start.
  PlanQueue(uint32_t readers, std::shared_ptr<const Whole> whole);
  ~PlanQueue() override;

  // The thread that reads. Calls that are sent, those of the server and ends of connections are queued; it waits while
  // there is no room.
  void OnPlanned(PlannedCallPtr planned) override;
  // Nobody wants more: reading can end.
  bool cancelled() const;
  // `error`: why it is not the whole plan; empty: it is.
  void End(const std::string& error = {});

  // The thread that plays.
  enum class Next : uint8_t { kPlanned, kLater, kEnd };
  // The first that the reader has not had; `position` counts those, from 0.
  Next Take(uint64_t& position, PlannedCallPtr& planned);
  // A reader that had `position` wants no more.
  void Leave(uint64_t position);
  // As if all readers left.
  void Cancel();
  // Readable once there is more after kLater; ClearDescriptor makes it wait for the next time. -1: never.
  int descriptor() const { return event_.get(); }
  void ClearDescriptor();
  // Waits for the first Call. False: there is none.
  bool WaitForCall();
  // Waits for a Call with a root (PlannedCall::root). False: there is none. True as well when nothing more can be known
  // before Calls are played.
  bool WaitForRoot();
  bool over() const;  // it ended, or nobody wants more
  // After the end: all that was queued, if it stayed in memory.
  std::shared_ptr<const Whole> whole() const;
  // Empty, or why the queue ended too early.
  std::string error() const;

 private:
  struct Room;  // what planned Calls take that live, and who waits for it
  struct Waiting {
    PlannedCallPtr planned;
    uint32_t readers = 0;  // that have not had it
  };
  void Trim();

  const Limits limits_;
  const std::shared_ptr<Room> room_;
  endpoint::Descriptor event_;
  std::shared_ptr<const Whole> fixed_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  uint32_t readers_;
  uint64_t first_ = 0;  // the position of waiting_.front()
  std::deque<Waiting> waiting_;
  std::shared_ptr<Whole> kept_;
  uint64_t kept_bytes_ = 0;
  bool calls_ = false, root_ = false;  // were queued
  bool full_ = false;                  // the thread that reads had to wait
  bool ended_ = false, wanted_ = false;
  std::string error_;
};

// Where plans come from.
class PlanSource {
 public:
  virtual ~PlanSource() = default;
  // The recording from its start, once more each time.
  virtual std::shared_ptr<PlanQueue> Begin(uint32_t readers) = 0;
};

}  // namespace stag::replay
