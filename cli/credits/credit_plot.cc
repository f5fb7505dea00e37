// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/credits/credit_plot.h"

#include <algorithm>

namespace stag::cli {

using session::CreditChange;
using Event = CreditChange::Event;

void CreditPlot::Course::Add(std::optional<uint32_t> value) {
  unknown = !value;
  if (!value) return;
  if (!any) min = max = first = *value;
  any = true;
  min = std::min(min, *value);
  max = std::max(max, *value);
  last = *value;
}

void CreditPlot::Course::Append(const Course& later) {
  if (!later.any) {
    unknown = unknown || later.unknown;
    return;
  }
  const Course before = *this;
  *this = later;
  if (!before.any) return;
  first = before.first;
  min = std::min(min, before.min);
  max = std::max(max, before.max);
}

void CreditPlot::Marks::Add(const FrameRef& at) {
  if (count++ > 0) return;
  frame = at.number;
  time_ns = at.time_ns;
}

void CreditPlot::Marks::Append(const Marks& later) {
  const uint32_t all = count + later.count;
  if (count == 0) *this = later;
  count = all;
}

void CreditPlot::Bin::Append(const Bin& later) {
  requested.Append(later.requested);
  granted.Append(later.granted);
  outstanding.Append(later.outstanding);
  overruns.Append(later.overruns);
  rnr_naks.Append(later.rnr_naks);
  zero_grants.Append(later.zero_grants);
  gaps.Append(later.gaps);
  lost.Append(later.lost);
}

void CreditPlot::Add(const CreditChange& change) {
  Bin& bin = bins_.At(change.frame.time_ns);
  bin.requested.Add(change.requested);
  bin.granted.Add(change.granted);
  bin.outstanding.Add(change.outstanding);
  if (change.overrun) bin.overruns.Add(change.frame);
  if (change.event == Event::kRnrNak) bin.rnr_naks.Add(change.frame);
  if (change.zero_grant) bin.zero_grants.Add(change.frame);
  if (change.event == Event::kGap) bin.gaps.Add(change.frame);
  if (change.lost) bin.lost.Add(change.frame);
}

}  // namespace stag::cli
