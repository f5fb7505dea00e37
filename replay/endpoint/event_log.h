// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventLog: where endpoints report their fabric events, numbered: connections count from 1, and so do frames. An event
// is a frame of its own, with the time of day (but two that one segment shows at once share a frame). Endpoints that
// share a log (several connections, or both ends of one in a test) have one count, and may be on different threads: the
// log is locked from the number of a frame to the last of its events, so that the sink gets events from one thread at a
// time, in the order of their frames. When the sink waits (record::EventQueue), all of them wait.
//
// For a LateSink long bytes are not copied: an endpoint leaves them as they are until the sink has looked (see
// ShownBytes).
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include "session/fabric/late_sink.h"

namespace stag::endpoint {

class EventLog final : public fabric::Sink {
 public:
  // Shorter bytes cost less copied than kept.
  static constexpr size_t kLong = size_t{16} << 10;

  // `sink` must outlive this.
  explicit EventLog(fabric::Sink& sink) : sink_(sink) {}
  // `long_bytes`: endpoints have fewer bytes copied. More than max_inline() of any endpoint, which lie in memory of its
  // own.
  explicit EventLog(fabric::LateSink& sink, size_t long_bytes = kLong)
      : sink_(sink), late_(&sink), long_bytes_(long_bytes) {}

  void OpenConnection(fabric::ConnectionInfo& info) {
    const std::scoped_lock lock(mutex_);
    info.id = ++last_connection_;
    info.slot = slots_.Take();
  }
  // Calls `report` with the next frame. `report` gives the events of that frame to OnEvent; when there are none, the
  // number is used again. `staying`: bytes that the caller can leave as they are until a late sink has looked at them.
  // Returns the mark after which they may change; 0: at once.
  template <typename Report>
  uint64_t InFrame(Report report, Bytes staying = {}) {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    staying_ = late_ ? staying : Bytes{};
    mark_ = 0;
    report(FrameRef{last_frame_ + 1, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
    return mark_;
  }
  // Within InFrame only.
  void OnEvent(const fabric::Event& event) override {
    last_frame_ = std::max(last_frame_, event.now.number);
    const fabric::Content* const content = staying_.empty() ? nullptr : event.content();
    if (content && !content->bytes.empty() && Contains(staying_, content->bytes)) {
      mark_ = late_->OnStayingEvent(event);
    } else {
      sink_.OnEvent(event);
    }
    if (event.kind() == fabric::EventKind::kClosed) slots_.Give(event.connection->slot);
  }
  // Of a mark, without the lock of the log. nullptr: there are no marks but 0.
  fabric::LateSink* late() const { return late_; }
  size_t long_bytes() const { return long_bytes_; }

 private:
  fabric::Sink& sink_;
  fabric::LateSink* const late_ = nullptr;  // sink_, when it is one
  const size_t long_bytes_ = kLong;
  std::mutex mutex_;  // of all below, and of calls of sink_
  Bytes staying_;     // of the frame that is reported
  uint64_t mark_ = 0;
  uint64_t last_frame_ = 0;
  fabric::ConnectionId last_connection_ = 0;
  fabric::Slots slots_;
};

}  // namespace stag::endpoint
