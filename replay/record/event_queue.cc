// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/record/event_queue.h"

#include <utility>

namespace stag::record {
namespace {

// The view of an event; nullptr: its kind has none.
Bytes* ViewOf(fabric::Event& event) {
  if (auto* setup = std::get_if<fabric::Setup>(&event.what)) return &setup->private_data;
  if (fabric::Content* content = event.content()) return &content->bytes;
  return nullptr;
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
  return !waiting_.items.empty() &&
         (waiting_.items.size() >= most_events_ || waiting_.bytes.size() + bytes > most_bytes_);
}

void EventQueue::OnEvent(const fabric::Event& event) {
  Item item{event, *event.connection};
  const Bytes* const view = ViewOf(item.event);
  const Bytes bytes = view ? *view : Bytes{};
  bool wake = false;
  {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    if (Full(bytes.size())) {
      waits_.fetch_add(1, std::memory_order_relaxed);
      const auto since = std::chrono::steady_clock::now();
      taken_.wait(lock, [&] { return !Full(bytes.size()) || thrown_; });
      waited_ += std::chrono::steady_clock::now() - since;
    }
    if (thrown_) return;  // Finish throws it
    item.at = waiting_.bytes.size();
    item.size = bytes.size();
    waiting_.bytes.insert(waiting_.bytes.end(), bytes.begin(), bytes.end());
    waiting_.items.push_back(std::move(item));
    wake = std::exchange(idle_, false);
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
  Batch batch;
  try {
    for (;;) {
      batch.items.clear();
      batch.bytes.clear();
      {
        std::unique_lock lock(mutex_);
        while (waiting_.items.empty() && !finishing_) {
          idle_ = true;
          filled_.wait(lock);
        }
        idle_ = false;
        if (waiting_.items.empty()) return;
        std::swap(batch, waiting_);
      }
      taken_.notify_one();
      Give(batch);
    }
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
    }
    taken_.notify_one();
  }
}

void EventQueue::Give(Batch& batch) {
  for (Item& item : batch.items) {
    auto& connection = connections_[item.connection.id];
    if (!connection) connection = std::make_unique<fabric::ConnectionInfo>();
    *connection = item.connection;
    item.event.connection = connection.get();
    if (Bytes* const view = ViewOf(item.event)) *view = Bytes(batch.bytes).subspan(item.at, item.size);
    sink_.OnEvent(item.event);
    if (item.event.kind() == fabric::EventKind::kClosed) connections_.erase(item.connection.id);
  }
}

}  // namespace stag::record
