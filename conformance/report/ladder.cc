// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/ladder.h"

namespace stag::conformance {

namespace {

using Kind = Arrow::Kind;

constexpr size_t kMaxRungs = 64;
constexpr size_t kMaxMarked = 16;  // for which there is room beyond that

bool IsRead(Kind kind) { return kind == Kind::kReadRequest || kind == Kind::kReadResponse; }

// How many rungs of a run stand before its fold: one RDMA Write; the request and response of one RDMA Read.
size_t Shown(Kind kind) { return IsRead(kind) ? 2 : 1; }

// Whether both are RDMA Writes, or both of RDMA Reads, for the same transaction.
bool SameRun(const Rung& rung, const Arrow& b) {
  const Arrow& a = rung.arrow;
  if (rung.mark != Mark::kNone || a.xid != b.xid || a.backward != b.backward) return false;
  if (a.kind == Kind::kWrite || b.kind == Kind::kWrite)
    return a.kind == b.kind && a.client_to_server == b.client_to_server;
  return IsRead(a.kind) && IsRead(b.kind);
}

void Fold(Rung& into, const Arrow& arrow) {
  if (into.folded_from == 0) into.folded_from = arrow.first_frame;
  if (arrow.kind != Kind::kReadResponse) ++into.folded;
  if (arrow.kind != Kind::kReadRequest) into.folded_bytes += arrow.length;
  into.arrow = arrow;
}

}  // namespace

void Ladder::Add(const Arrow& arrow, Mark mark) {
  if (mark == Mark::kNone && !rungs_.empty()) {
    if (rungs_.back().folded_from != 0 && SameRun(rungs_.back(), arrow)) return Fold(rungs_.back(), arrow);
    // As many of a run as are shown, and twice that: what comes after the first is folded.
    size_t run = 0;
    while (run < rungs_.size() && rungs_[rungs_.size() - 1 - run].folded_from == 0 &&
           SameRun(rungs_[rungs_.size() - 1 - run], arrow))
      ++run;
    const size_t shown = Shown(arrow.kind);
    if (run >= 3 * shown) {
      Rung fold;
      for (size_t i = rungs_.size() - run + shown; i < rungs_.size(); ++i) Fold(fold, rungs_[i].arrow);
      Fold(fold, arrow);
      rungs_.resize(rungs_.size() - run + shown);
      rungs_.push_back(std::move(fold));
      return;
    }
  }
  if (rungs_.size() >= kMaxRungs + (mark == Mark::kNone ? 0 : kMaxMarked)) {
    ++left_out_;
    return;
  }
  rungs_.push_back({arrow, mark, 0, 0, 0});
}

void Ladder::Update(const Arrow& arrow) {
  for (Rung& rung : rungs_) {
    if (rung.arrow.serial != arrow.serial) continue;
    if (rung.folded_from != 0 && arrow.kind != Kind::kReadRequest)
      rung.folded_bytes += arrow.length - rung.arrow.length;
    rung.arrow = arrow;
  }
}

}  // namespace stag::conformance
