// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventLog: where endpoints report their fabric events, numbered: connections count from 1, and so do frames. An event
// is a frame of its own, with the time of day (but two that one segment shows at once share a frame). Endpoints that
// share a log (several connections, or both ends of one in a test) have one count, and may be on different threads: the
// log is locked from the number of a frame to the last of its events, so that the sink gets events from one thread at a
// time, in the order of their frames. When the sink waits (record::EventQueue), all of them wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include "session/fabric/fabric_event.h"

namespace stag::endpoint {

class EventLog final : public fabric::Sink {
 public:
  // `sink` must outlive this.
  explicit EventLog(fabric::Sink& sink) : sink_(sink) {}

  void OpenConnection(fabric::ConnectionInfo& info) {
    const std::scoped_lock lock(mutex_);
    info.id = ++last_connection_;
    info.slot = slots_.Take();
  }
  // Calls `report` with the next frame. `report` gives the events of that frame to OnEvent; when there are none, the
  // number is used again.
  template <typename Report>
  void InFrame(Report report) {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    report(FrameRef{last_frame_ + 1, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
  }
  // Within InFrame only.
  void OnEvent(const fabric::Event& event) override {
    last_frame_ = std::max(last_frame_, event.now.number);
    sink_.OnEvent(event);
    if (event.kind() == fabric::EventKind::kClosed) slots_.Give(event.connection->slot);
  }

 private:
  fabric::Sink& sink_;
  std::mutex mutex_;  // of all below, and of calls of sink_
  uint64_t last_frame_ = 0;
  fabric::ConnectionId last_connection_ = 0;
  fabric::Slots slots_;
};

}  // namespace stag::endpoint
