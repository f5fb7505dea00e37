// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventQueue: takes fabric events on the threads that move messages, and gives them to a sink on a thread of its own,
// in order and with copies of their bytes. It is bounded: when the sink is slower than the traffic, OnEvent waits. No
// event is lost. The sink has each event within a millisecond, if it is not busy: its thread gathers so long, or until
// there is enough to do, because to wake it costs the traffic more than to copy an event.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "session/fabric/event_batch.h"

namespace stag::record {

class EventQueue final : public fabric::Sink {
 public:
  static constexpr size_t kMostBytes = 32 << 20, kMostEvents = 65536;

  // `sink` must outlive this. At most `most_bytes` of payload (but one event more than that) and `most_events` are
  // held, twice: of the events that wait, and of those that the sink is being given.
  explicit EventQueue(fabric::Sink& sink, size_t most_bytes = kMostBytes, size_t most_events = kMostEvents);
  ~EventQueue() override;

  // By one thread at a time (endpoint::EventLog sees to that). The first event starts the thread.
  void OnEvent(const fabric::Event& event) override;
  // Returns when the sink has had all events; throws what it threw. No event may come after.
  void Finish();
  // How often OnEvent has waited for the sink, or waits now. For any thread.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  // And how long altogether. Once no thread calls OnEvent any more.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  // Gives events on, with connections whose addresses stay until they are closed: the sink may keep them.
  class WithConnections final : public fabric::Sink {
   public:
    explicit WithConnections(fabric::Sink& sink) : sink_(sink) {}
    void OnEvent(const fabric::Event& event) override;

   private:
    fabric::Sink& sink_;
    std::unordered_map<fabric::ConnectionId, std::unique_ptr<fabric::ConnectionInfo>> connections_;
  };
  void Run();
  bool Full(size_t bytes) const;
  bool Enough() const;

  WithConnections sink_;  // of the thread
  const size_t most_bytes_, most_events_;
  std::atomic<uint64_t> waits_ = 0;
  std::chrono::nanoseconds waited_{0};
  std::thread thread_;

  std::mutex mutex_;  // of all below
  std::condition_variable filled_, taken_;
  fabric::EventBatch waiting_;
  enum class Thread : uint8_t { kBusy, kIdle, kGathering };
  Thread state_ = Thread::kBusy;  // kIdle: it waits for an event; kGathering: for Enough
  bool finishing_ = false;
  std::exception_ptr thrown_;
};

}  // namespace stag::record
