// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventQueue: takes fabric events on the threads that move messages, and gives them to a sink on a thread of its own,
// in order and with copies of their bytes, but for those that stay where they are. It is bounded: when the sink is
// slower than the traffic, OnEvent waits. No event is lost. The sink has each event within a millisecond, if it is not
// busy, and at once one whose bytes stay. To wake its thread costs the traffic more than to copy an event, so the
// thread looks by itself, often, until there has been nothing for a while.
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
#include "session/fabric/late_sink.h"

namespace stag::record {

class EventQueue final : public fabric::LateSink {
 public:
  static constexpr size_t kMostBytes = 32 << 20, kMostEvents = 65536;

  // `sink` must outlive this. At most `most_bytes` of payload (but one event more than that) and `most_events` are
  // held, twice: of the events that wait, and of those that the sink is being given.
  explicit EventQueue(fabric::Sink& sink, size_t most_bytes = kMostBytes, size_t most_events = kMostEvents);
  ~EventQueue() override;

  // Both by one thread at a time (endpoint::EventLog sees to that). The first event starts the thread.
  void OnEvent(const fabric::Event& event) override { (void)Take(event, false); }
  uint64_t OnStayingEvent(const fabric::Event& event) override { return Take(event, true); }
  bool Passed(uint64_t mark) const override { return passed_.load(std::memory_order_acquire) >= mark; }
  void WaitFor(uint64_t mark, uint32_t most_us) override;
  // Returns when the sink has had all events; throws what it threw, or why events could not be kept (no memory). No
  // event may come after. OnEvent never throws.
  void Finish();
  // How often OnEvent has waited for the sink, or waits now, and WaitFor in vain. For any thread.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  // And how long altogether. Once no thread calls them any more.
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
  uint64_t Take(const fabric::Event& event, bool stays);
  uint64_t Keep(const fabric::Event& event, bool stays, std::unique_lock<std::mutex>& lock);
  void Run();
  void LookOut() const;
  void Pass(uint64_t mark);
  bool Await(std::unique_lock<std::mutex>& lock);
  bool Full(size_t bytes) const;
  void Wake();

  WithConnections sink_;                            // of the thread
  std::chrono::steady_clock::time_point looked_{};  // likewise: when it last looked for events
  const size_t most_bytes_, most_events_;
  std::atomic<uint64_t> waits_ = 0;
  std::atomic<uint64_t> passed_ = 0;   // the mark of the last event that stayed and was given
  std::atomic<uint64_t> mark_ = 0;     // of the last that came, with mutex_
  std::atomic<bool> awaited_ = false;  // a thread is in WaitFor
  std::thread thread_;

  std::mutex mutex_;  // of all below
  std::condition_variable filled_, taken_, given_;
  std::chrono::nanoseconds waited_{0};
  fabric::EventBatch waiting_;
  enum class Thread : uint8_t { kBusy, kNapping, kIdle };
  Thread state_ = Thread::kBusy;  // kNapping: it will look by itself; kIdle: it waits for an event
  bool finishing_ = false;
  std::exception_ptr thrown_;
};

}  // namespace stag::record
