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

// The bin of that time; of an earlier one than the last, the last: events come in their order.
CreditPlot::Bin& CreditPlot::At(int64_t time_ns) {
  if (bins_.empty()) {
    start_ns_ = end_ns_ = time_ns;
    bins_.emplace_back();
  }
  end_ns_ = std::max(end_ns_, time_ns);
  uint64_t index = (static_cast<uint64_t>(end_ns_) - static_cast<uint64_t>(start_ns_)) / bin_ns_;
  while (index >= kBins) {
    for (size_t i = 0; i < bins_.size(); i += 2) {
      Bin bin = bins_[i];
      if (i + 1 < bins_.size()) {
        const Bin& later = bins_[i + 1];
        bin.requested.Append(later.requested);
        bin.granted.Append(later.granted);
        bin.outstanding.Append(later.outstanding);
        bin.overruns.Append(later.overruns);
        bin.rnr_naks.Append(later.rnr_naks);
        bin.zero_grants.Append(later.zero_grants);
        bin.gaps.Append(later.gaps);
        bin.lost.Append(later.lost);
      }
      bins_[i / 2] = bin;
    }
    bins_.resize((bins_.size() + 1) / 2);
    bin_ns_ *= 2;
    index /= 2;
  }
  if (index >= bins_.size()) bins_.resize(static_cast<size_t>(index) + 1);
  return bins_[static_cast<size_t>(index)];
}

void CreditPlot::Add(const CreditChange& change) {
  Bin& bin = At(change.frame.time_ns);
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
