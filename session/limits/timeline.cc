// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/limits/timeline.h"

#include <algorithm>

namespace stag::session {
namespace {

constexpr size_t kMostPieces = 1 << 16, kMostChanges = 1 << 18;

}  // namespace

void Timeline::Add(int64_t begin, int64_t end, const Moment& what) {
  if (!pieces_.empty() && pieces_.back().end == begin && pieces_.back().what == what) {
    pieces_.back().end = end;
  } else {
    pieces_.push_back({begin, end, what});
  }
}

void Timeline::Learn(int64_t begin, int64_t end, const Learnt& what) {
  begin = std::max(begin, decided_);
  if (begin >= end || changes_.size() + 2 > kMostChanges) return;
  Push({begin, what});
  Push({end, {-what.open, -what.maybe, -what.moving, -what.waiting, -what.timed, -what.unacknowledged}});
}

void Timeline::Push(const Change& change) {
  changes_.push_back(change);
  std::push_heap(changes_.begin(), changes_.end());
}

Limit Timeline::WhatOf(const Moment& moment, int64_t open) const {
  if (moment.recovery || sum_.waiting > 0) return Limit::kRecovery;
  if (open <= 0) return sum_.unacknowledged > 0 ? Limit::kRecovery : sum_.maybe > 0 ? Limit::kUnknown : Limit::kIdle;
  if (open >= moment.limit) return Limit::kCreditLimited;
  return sum_.moving > 0 ? Limit::kMovingData : Limit::kServer;
}

void Timeline::Decide(int64_t until, std::array<int64_t, kLimits>& ns) {
  if (pieces_.size() > kMostPieces) until = std::max(until, pieces_[pieces_.size() - kMostPieces].begin);
  while (!pieces_.empty() && pieces_.front().begin < until) {
    Piece& piece = pieces_.front();
    int64_t end = std::min(piece.end, until);
    for (; !changes_.empty() && changes_.front().time <= piece.begin; changes_.pop_back()) {
      std::pop_heap(changes_.begin(), changes_.end());
      const Learnt& learnt = changes_.back().what;
      sum_.open += learnt.open;
      sum_.maybe += learnt.maybe;
      sum_.moving += learnt.moving;
      sum_.waiting += learnt.waiting;
      sum_.timed += learnt.timed;
      sum_.unacknowledged += learnt.unacknowledged;
    }
    if (!changes_.empty()) end = std::min(end, changes_.front().time);
    const int64_t open = int64_t{piece.what.open} + sum_.open;
    const Limit limit = WhatOf(piece.what, open);
    ns[static_cast<size_t>(limit)] += end - piece.begin;
    if (limit == Limit::kRecovery && !piece.what.recovery && sum_.waiting == sum_.timed) timed_ns_ += end - piece.begin;
    piece.begin = decided_ = end;
    if (piece.begin == piece.end) pieces_.pop_front();
  }
}

}  // namespace stag::session
