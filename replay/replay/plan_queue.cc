// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace stag::replay {

// Lives as long as any planned Call: each gives its bytes back when it goes, on whichever thread.
struct PlanQueue::Room {
  std::mutex mutex;
  std::condition_variable more;
  uint64_t used = 0, limit = 0;
  bool waiting = false, cancelled = false;

  bool Full() {
    const std::scoped_lock lock(mutex);
    return used > limit && !cancelled;
  }
  // Until half of it is free: not for each Call that goes.
  void Wait() {
    std::unique_lock lock(mutex);
    waiting = true;
    more.wait(lock, [this] { return used <= limit / 2 || cancelled; });
    waiting = false;
  }
  void Take(uint64_t bytes) {
    const std::scoped_lock lock(mutex);
    used += bytes;
  }
  void Give(uint64_t bytes) {
    const std::scoped_lock lock(mutex);
    used -= bytes;
    if (waiting && used <= limit / 2) more.notify_all();
  }
  void Cancel() {
    const std::scoped_lock lock(mutex);
    cancelled = true;
    more.notify_all();
  }
};

PlanQueue::PlanQueue(uint32_t readers, Limits limits)
    : limits_(std::move(limits)),
      room_(std::make_shared<Room>()),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      readers_(readers) {
  room_->limit = limits_.ahead;
  if (limits_.keep > 0) kept_ = std::make_shared<Whole>();
}
PlanQueue::PlanQueue(uint32_t readers, std::shared_ptr<const Whole> whole)
    : room_(std::make_shared<Room>()), fixed_(std::move(whole)), readers_(readers), ended_(true) {}
PlanQueue::~PlanQueue() = default;

void PlanQueue::OnPlanned(PlannedCallPtr planned) {
  if (planned->what == PlannedCall::What::kRefused || planned->what == PlannedCall::What::kNotSelected) return;
  const uint64_t bytes = planned->bytes();
  if (std::unique_lock lock(mutex_); !kept_ && room_->Full()) {
    full_ = true;
    changed_.notify_all();
    lock.unlock();
    room_->Wait();
  }
  room_->Take(bytes);
  const auto shared = PlannedCallPtr(planned.get(), [room = room_, bytes, owner = planned](const PlannedCall*) mutable {
    owner.reset();
    room->Give(bytes);
  });
  planned.reset();
  const std::scoped_lock lock(mutex_);
  if (readers_ == 0 || !error_.empty()) return;
  waiting_.push_back({shared, readers_});
  const bool first = !calls_ && shared->what == PlannedCall::What::kCall;
  calls_ |= first;
  root_ |= !shared->root.empty();
  if (first || !shared->root.empty()) changed_.notify_all();
  if (kept_) {
    kept_->push_back(shared);
    kept_bytes_ += bytes;
    if (kept_bytes_ > limits_.keep) {
      kept_.reset();
      error_ = limits_.unless_kept;
    }
  }
  if (std::exchange(wanted_, false)) (void)::eventfd_write(event_.get(), 1);
}

bool PlanQueue::cancelled() const {
  const std::scoped_lock lock(mutex_);
  return readers_ == 0 || !error_.empty();
}

void PlanQueue::End(const std::string& error) {
  const std::scoped_lock lock(mutex_);
  if (error_.empty()) error_ = error;
  ended_ = true;
  changed_.notify_all();
  if (std::exchange(wanted_, false)) (void)::eventfd_write(event_.get(), 1);
}

PlanQueue::Next PlanQueue::Take(uint64_t& position, PlannedCallPtr& planned) {
  if (fixed_) {
    if (position == fixed_->size()) return Next::kEnd;
    planned = (*fixed_)[position++];
    return Next::kPlanned;
  }
  const std::scoped_lock lock(mutex_);
  if (!error_.empty()) return Next::kEnd;
  if (position - first_ == waiting_.size()) {
    wanted_ = !ended_;
    return ended_ ? Next::kEnd : Next::kLater;
  }
  Waiting& next = waiting_[position++ - first_];
  planned = next.planned;
  --next.readers;
  Trim();
  return Next::kPlanned;
}

void PlanQueue::Leave(uint64_t position) {
  const std::scoped_lock lock(mutex_);
  for (uint64_t i = position - first_; !fixed_ && i < waiting_.size(); ++i) --waiting_[i].readers;
  Trim();
  if (--readers_ == 0) room_->Cancel();
}

void PlanQueue::Cancel() {
  const std::scoped_lock lock(mutex_);
  readers_ = 0;
  waiting_.clear();
  room_->Cancel();
}

void PlanQueue::Trim() {
  for (; !waiting_.empty() && waiting_.front().readers == 0; ++first_) waiting_.pop_front();
}

void PlanQueue::ClearDescriptor() {
  eventfd_t ignored = 0;
  if (event_) (void)::eventfd_read(event_.get(), &ignored);
}

bool PlanQueue::WaitForCall() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || calls_; });
  return calls_;
}

bool PlanQueue::WaitForRoot() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || root_ || full_; });
  return root_ || !ended_;
}

bool PlanQueue::over() const {
  const std::scoped_lock lock(mutex_);
  return ended_ || readers_ == 0;
}

std::shared_ptr<const PlanQueue::Whole> PlanQueue::whole() const {
  const std::scoped_lock lock(mutex_);
  return fixed_ ? fixed_ : ended_ ? kept_ : nullptr;
}

std::string PlanQueue::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace stag::replay
