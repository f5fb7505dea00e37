// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReadQueue: the RDMA Reads that one side has issued and that are not answered to their end. A provider answers them in
// the order of their requests (IBA section 9.5, RFC 5040 section 5.5), so an answer to one shows that all before it are
// done, seen or not: what the capture lost makes the queue shorter, never longer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "session/fabric/fabric_event.h"

namespace stag::conformance {

class ReadQueue {
 public:
  // In the order of the events. RDMA Reads of nothing do not count: iWARP shows no answer to them. Of more than `most`
  // the oldest is forgotten.
  void OnRequest(const fabric::Event& request, size_t most);
  void OnResponse(const fabric::Event& response);
  void Clear() { *this = {}; }

  // With the response that came last: how many Reads were in flight at once, when that is more than was told since at
  // most one was; else 0. A Read whose response ends with this packet is not counted: captures may show the request
  // that follows it a moment too early.
  uint32_t in_flight() const { return in_flight_; }
  // The frame of the newest request.
  const FrameRef& newest_frame() const { return last_frame_; }
  uint64_t storage() const { return reads_ ? reads_->size() * sizeof(Read) : 0; }  // bytes

 private:
  struct Read {
    uint32_t handle = 0;
    uint64_t offset = 0, length = 0;
    FrameRef frame;
  };
  std::optional<std::deque<Read>> reads_;  // nullopt before the first: an empty one has memory, too
  uint32_t peak_ = 0, in_flight_ = 0;
  FrameRef last_frame_;
};

}  // namespace stag::conformance
