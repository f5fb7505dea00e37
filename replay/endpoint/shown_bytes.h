// SPDX-License-Identifier: GPL-2.0-or-later
//
// ShownBytes: the memory of an endpoint that its events show, as long as a LateSink has not looked at them. It must not
// change until then. That costs the traffic nothing while it has other things to do; where all of it waits for the
// sink, as with one Call at a time, copies cost less, and are made for a while. Used by the thread that uses the
// endpoint.
#pragma once

#include <cstddef>

#include "replay/endpoint/event_log.h"
#include "replay/endpoint/ring.h"

namespace stag::endpoint {

class ShownBytes {
 public:
  // `log` must outlive this.
  explicit ShownBytes(EventLog& log) : log_(log), sink_(log.late()), ranges_(sink_ ? kMost : 0) {}

  // EventLog::InFrame, of events that may show `bytes`, which lie in memory of the endpoint: without a copy, if they
  // may stay.
  template <typename Report>
  void InFrame(Bytes bytes, Report report) {
    const Bytes staying = Staying(bytes);
    Add(staying, log_.InFrame(report, staying));
  }
  // Of what was shown last; 0: nothing was.
  uint64_t newest() const { return newest_; }
  bool Passed(uint64_t mark) const { return mark == 0 || sink_->Passed(mark); }
  // Returns once no event shows any of `bytes`; waits for the sink, if need be.
  void Vacate(Bytes bytes);
  void VacateAll() { Await(newest_); }
  // Waits for Passed(mark), at most so many microseconds.
  void WaitFor(uint64_t mark, uint32_t most_us) { sink_->WaitFor(mark, most_us); }
  // The endpoint has waited so, and nothing else came meanwhile.
  void Idled();

 private:
  static constexpr size_t kMost = 256;
  static constexpr ptrdiff_t kWhole = 1 << 20;
  static constexpr uint32_t kFewCopies = 16, kManyCopies = 4096;
  struct Range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    uint64_t mark = 0;
  };
  Bytes Staying(Bytes bytes);
  void Add(Bytes staying, uint64_t mark);
  void Forget();
  void Await(uint64_t mark);

  EventLog& log_;
  fabric::LateSink* const sink_;  // of log_
  Ring<Range> ranges_;            // in the order of their marks
  uint64_t newest_ = 0;
  uint32_t copies_ = 0;                // that are to be made
  uint32_t next_copies_ = kFewCopies;  // the next time: more each time, less with all that goes well
};

}  // namespace stag::endpoint
