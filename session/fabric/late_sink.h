// SPDX-License-Identifier: GPL-2.0-or-later
//
// LateSink: a Sink that looks at events after OnEvent has returned, on another thread, in their order. It copies the
// bytes of an event, unless their owner can leave them as they are so long.
#pragma once

#include <cstdint>

#include "session/fabric/fabric_event.h"

namespace stag::fabric {

class LateSink : public Sink {
 public:
  // As OnEvent, but the event's bytes stay where they are, unchanged, until Passed(the mark that this returns). Marks
  // grow, and are never 0.
  virtual uint64_t OnStayingEvent(const Event& event) = 0;
  // Whether all events up to that mark have been looked at. On any thread, as the next.
  virtual bool Passed(uint64_t mark) const = 0;
  // Waits for that, at most so many microseconds.
  virtual void WaitFor(uint64_t mark, uint32_t most_us) = 0;
};

}  // namespace stag::fabric
