// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/shown_bytes.h"

#include <algorithm>
#include <functional>

namespace stag::endpoint {

// Drops what has been looked at.
void ShownBytes::Forget() {
  while (!ranges_.empty() && Passed(ranges_.front().mark)) (void)ranges_.Pop();
}

// `bytes`, if they may be shown without a copy; else nothing.
Bytes ShownBytes::Staying(Bytes bytes) {
  if (!sink_ || bytes.size() < log_.long_bytes()) return {};
  if (copies_ > 0) {
    --copies_;
    return {};
  }
  Forget();
  return ranges_.full() ? Bytes{} : bytes;
}

// `staying` is shown until Passed(mark); 0: it is not.
void ShownBytes::Add(Bytes staying, uint64_t mark) {
  if (mark == 0) return;
  newest_ = mark;
  if (next_copies_ > kFewCopies) --next_copies_;
  Range* const last = ranges_.empty() ? nullptr : &ranges_.back();
  if (last && last->end == staying.data() && last->end - last->begin < kWhole) {  // segments of one RDMA operation
    last->end += staying.size();
    last->mark = mark;
  } else {
    ranges_.Push({staying.data(), staying.data() + staying.size(), mark});
  }
}

void ShownBytes::Vacate(Bytes bytes) {
  if (ranges_.empty() || bytes.empty()) return;
  Forget();
  uint64_t last = 0;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    if (std::less<>()(range.begin, bytes.data() + bytes.size()) && std::less<>()(bytes.data(), range.end))
      last = range.mark;
  }
  Await(last);
}

void ShownBytes::Idled() {
  if (copies_ > 0) return;
  copies_ = next_copies_;
  next_copies_ = std::min(2 * next_copies_, kManyCopies);
}

void ShownBytes::Await(uint64_t mark) {
  while (!Passed(mark)) sink_->WaitFor(mark, 1'000'000);
}

}  // namespace stag::endpoint
