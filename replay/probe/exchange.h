// SPDX-License-Identifier: GPL-2.0-or-later
//
// Exchange: several Calls under way at once, and their answers, which come in any order, one to each; and Grant: how
// many may be.
#pragma once

#include <functional>

#include "replay/probe/bench.h"

namespace stag::probe {

struct Window {
  size_t calls = 0;        // in all
  size_t under_way = 0;    // of them, at most, at once
  bool may_break = false;  // refusals, silence and the end of the connection are no failures
};

// Sends what `make` makes, given how many Calls it made before, and has `expect` judge each answer. Ends the probe when
// a Call has no answer, or more than one.
void Exchange(Bench& bench, Link& link, const Window& window, const std::function<Call(size_t)>& make,
              const std::function<void(const Call&, const Message&)>& expect);

// What a NULL that requests `credits` is granted. Ends the probe when that is nothing.
uint32_t Grant(Bench& bench, Link& link, uint32_t credits);

}  // namespace stag::probe
