// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/event_queue.h"

#include <algorithm>
#include <utility>

namespace stag::record {
namespace {

constexpr size_t kEnoughBytes = 256 << 10, kEnoughEvents = 4096;
constexpr std::chrono::milliseconds kGathers{1};

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

// Not only when it is full, lest the traffic wait.
bool EventQueue::Enough() const {
  return waiting_.bytes() >= std::min(kEnoughBytes, most_bytes_ / 2) ||
         waiting_.size() >= std::min(kEnoughEvents, most_events_ / 2);
}

void EventQueue::OnEvent(const fabric::Event& event) {
  const size_t bytes = SizeOf(event);
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    if (Full(bytes)) {
      state_ = Thread::kBusy;
      filled_.notify_one();
      waits_.fetch_add(1, std::memory_order_relaxed);
      const auto since = std::chrono::steady_clock::now();
      taken_.wait(lock, [&] { return !Full(bytes) || thrown_; });
      waited_ += std::chrono::steady_clock::now() - since;
    }
    if (thrown_) return;  // Finish throws it
    waiting_.Add(event, 0, {}, {});
    wake = state_ == Thread::kIdle || (state_ == Thread::kGathering && Enough());
    if (wake) state_ = Thread::kBusy;
  }
  if (wake) filled_.notify_one();
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

void EventQueue::Run() {
  fabric::EventBatch batch;
  try {
    for (;;) {
      batch.Clear();
      {
        std::unique_lock lock(mutex_);
        while (waiting_.size() == 0 && !finishing_) {
          state_ = Thread::kIdle;
          filled_.wait(lock);
        }
        state_ = Thread::kGathering;
        filled_.wait_for(lock, kGathers, [&] { return finishing_ || state_ == Thread::kBusy || Enough(); });
        state_ = Thread::kBusy;
        if (waiting_.size() == 0) return;
        std::swap(batch, waiting_);
      }
      taken_.notify_one();
      batch.Give(sink_, [](uint64_t, const FrameRef&) {});
    }
  } catch (...) {
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
