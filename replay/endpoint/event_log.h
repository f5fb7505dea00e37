// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventLog: where endpoints report their fabric events, numbered: connections count from 1, and so do frames. An event
// is a frame of its own, with the time of day (but two that one segment shows at once share a frame). Endpoints that
// share a log (several connections, or both ends of one in a test) have one count. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>

#include "session/fabric/fabric_event.h"

namespace stag::endpoint {

class EventLog final : public fabric::Sink {
 public:
  // `sink` must outlive this.
  explicit EventLog(fabric::Sink& sink) : sink_(sink) {}

  void OpenConnection(fabric::ConnectionInfo& info) {
    info.id = ++last_connection_;
    info.slot = slots_.Take();
  }
  // What the next event will say of its frame.
  FrameRef NextFrame() const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {last_frame_ + 1, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
  }
  void OnEvent(const fabric::Event& event) override {
    last_frame_ = std::max(last_frame_, event.now.number);
    sink_.OnEvent(event);
    if (event.kind() == fabric::EventKind::kClosed) slots_.Give(event.connection->slot);
  }

 private:
  fabric::Sink& sink_;
  uint64_t last_frame_ = 0;
  fabric::ConnectionId last_connection_ = 0;
  fabric::Slots slots_;
};

}  // namespace stag::endpoint
