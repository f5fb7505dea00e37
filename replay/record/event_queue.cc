// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/event_queue.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace stag::record {
namespace {

constexpr std::chrono::microseconds kNap{250};  // from look to look
constexpr int kNaps = 40;                       // without any event, until one is waited for
constexpr std::chrono::microseconds kLookOut{50};

size_t SizeOf(const fabric::Event& event) {
  if (const auto* setup = std::get_if<fabric::Setup>(&event.what)) return setup->private_data.size();
  const fabric::Content* const content = event.content();
  return content ? content->bytes.size() : 0;
}

}  // namespace

EventQueue::EventQueue(fabric::Sink& sink, size_t most_bytes, size_t most_events)
    : sink_(sink), most_bytes_(most_bytes), most_events_(most_events) {}

EventQueue::~EventQueue() {
  try {
    Finish();
  } catch (...) {
    // Whoever wants to know calls Finish.
  }
}

bool EventQueue::Full(size_t bytes) const {
  return waiting_.size() > 0 && (waiting_.size() >= most_events_ || waiting_.bytes() + bytes > most_bytes_);
}

// The thread is to look now.
void EventQueue::Wake() {
  if (std::exchange(state_, Thread::kBusy) != Thread::kBusy) filled_.notify_one();
}

uint64_t EventQueue::Take(const fabric::Event& event, bool stays) {
  std::unique_lock lock(mutex_);
  try {
    return Keep(event, stays, lock);
  } catch (...) {  // no memory, or no thread: the traffic goes on, and Finish throws it
    if (!thrown_) thrown_ = std::current_exception();
    return 0;
  }
}

uint64_t EventQueue::Keep(const fabric::Event& event, bool stays, std::unique_lock<std::mutex>& lock) {
  if (thrown_) return 0;  // Finish throws it
  const size_t bytes = stays ? 0 : SizeOf(event);
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  if (Full(bytes)) {
    Wake();
    waits_.fetch_add(1, std::memory_order_relaxed);
    const auto since = std::chrono::steady_clock::now();
    taken_.wait(lock, [&] { return !Full(bytes) || thrown_; });
    waited_ += std::chrono::steady_clock::now() - since;
  }
  if (thrown_) return 0;
  const uint64_t mark = mark_ + (stays ? 1 : 0);
  if (stays) {
    waiting_.AddStaying(event, mark);
    mark_ = mark;
  } else {
    waiting_.Add(event, mark, {}, {});
  }
  if (stays || state_ == Thread::kIdle) Wake();
  return stays ? mark : 0;
}

void EventQueue::WaitFor(uint64_t mark, uint32_t most_us) {
  const std::chrono::microseconds most(most_us);
  std::unique_lock lock(mutex_);
  Wake();
  const bool passed = given_.wait_for(lock, most, [&] {
    awaited_ = true;  // before the look: Pass does both in the other order
    return passed_ >= mark;
  });
  if (passed) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  waited_ += most;
}

// Everything up to that mark was given.
void EventQueue::Pass(uint64_t mark) {
  if (mark == passed_.load(std::memory_order_relaxed)) return;
  passed_ = mark;
  if (!awaited_) return;
  const std::scoped_lock lock(mutex_);
  awaited_ = false;
  given_.notify_all();
}

void EventQueue::Finish() {
  {
    const std::scoped_lock lock(mutex_);
    finishing_ = true;
  }
  filled_.notify_one();
  if (thread_.joinable()) thread_.join();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

// Until there are events; false: there will be none any more.
bool EventQueue::Await(std::unique_lock<std::mutex>& lock) {
  const auto woken = [&] { return finishing_ || state_ == Thread::kBusy; };
  const bool at_once = mark_ > passed_;
  for (int naps = 0; !finishing_ && ((naps == 0 && !at_once) || waiting_.size() == 0); ++naps) {
    if (naps < kNaps) {
      state_ = Thread::kNapping;
      filled_.wait_until(lock, looked_ + kNap, woken);
    } else {
      state_ = Thread::kIdle;
      filled_.wait(lock, woken);
    }
    looked_ = std::chrono::steady_clock::now();
  }
  state_ = Thread::kBusy;
  return waiting_.size() > 0;
}

// More whose bytes stay may follow soon, and somebody wait for it: whoever brings it need not wake the thread then.
void EventQueue::LookOut() const {
  const auto end = std::chrono::steady_clock::now() + kLookOut;
  while (mark_ == passed_ && std::chrono::steady_clock::now() < end) ::sched_yield();
}

void EventQueue::Run() {
  fabric::EventBatch batch;
  try {
    for (;;) {
      batch.Clear();
      {
        std::unique_lock lock(mutex_);
        if (!Await(lock)) return;
        std::swap(batch, waiting_);
      }
      taken_.notify_one();
      const uint64_t before = passed_;
      uint64_t given = before;
      batch.Give(sink_, [&](uint64_t mark, const FrameRef&) { Pass(std::exchange(given, mark)); });
      Pass(given);
      if (given > before) LookOut();
    }
  } catch (...) {
    Pass(std::numeric_limits<uint64_t>::max());
    {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
    }
    taken_.notify_one();
  }
}

void EventQueue::WithConnections::OnEvent(const fabric::Event& event) {
  const fabric::ConnectionId id = event.connection->id;
  auto& connection = connections_[id];
  if (!connection) connection = std::make_unique<fabric::ConnectionInfo>();
  *connection = *event.connection;
  fabric::Event given = event;
  given.connection = connection.get();
  sink_.OnEvent(given);
  if (event.kind() == fabric::EventKind::kClosed) connections_.erase(id);
}

}  // namespace stag::record
