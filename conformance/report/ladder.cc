// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/ladder.h"

namespace stag::conformance {

namespace {

using Kind = DiagramEvent::Kind;

constexpr size_t kMaxRows = 64;
constexpr size_t kMaxMarked = 16;  // for which there is room beyond that

bool IsRead(Kind kind) { return kind == Kind::kReadRequest || kind == Kind::kReadResponse; }

// How many rows of a run stand before its fold: one RDMA Write; the request and response of one RDMA Read.
size_t Shown(Kind kind) { return IsRead(kind) ? 2 : 1; }

// Whether both are RDMA Writes, or both of RDMA Reads, for the same transaction.
bool SameRun(const DiagramRow& row, const DiagramEvent& b) {
  const DiagramEvent& a = row.event;
  if (row.mark != Mark::kNone || a.xid != b.xid || a.backward != b.backward) return false;
  if (a.kind == Kind::kWrite || b.kind == Kind::kWrite)
    return a.kind == b.kind && a.client_to_server == b.client_to_server;
  return IsRead(a.kind) && IsRead(b.kind);
}

void Fold(DiagramRow& into, const DiagramEvent& entry) {
  if (into.folded_from == 0) into.folded_from = entry.first_frame;
  if (entry.kind != Kind::kReadResponse) ++into.folded;
  if (entry.kind != Kind::kReadRequest) into.folded_bytes += entry.length;
  into.event = entry;
}

}  // namespace

void Ladder::Add(const DiagramEvent& entry, Mark mark) {
  if (mark == Mark::kNone && !rows_.empty()) {
    if (rows_.back().folded_from != 0 && SameRun(rows_.back(), entry)) return Fold(rows_.back(), entry);
    // As many of a run as are shown, and twice that: what comes after the first is folded.
    size_t run = 0;
    while (run < rows_.size() && rows_[rows_.size() - 1 - run].folded_from == 0 &&
           SameRun(rows_[rows_.size() - 1 - run], entry))
      ++run;
    const size_t shown = Shown(entry.kind);
    if (run >= 3 * shown) {
      DiagramRow fold;
      for (size_t i = rows_.size() - run + shown; i < rows_.size(); ++i) Fold(fold, rows_[i].event);
      Fold(fold, entry);
      rows_.resize(rows_.size() - run + shown);
      rows_.push_back(std::move(fold));
      return;
    }
  }
  if (rows_.size() >= kMaxRows + (mark == Mark::kNone ? 0 : kMaxMarked)) {
    ++left_out_;
    return;
  }
  rows_.push_back({entry, mark, 0, 0, 0});
}

void Ladder::Update(const DiagramEvent& entry) {
  for (DiagramRow& row : rows_) {
    if (row.event.serial != entry.serial) continue;
    if (row.folded_from != 0 && entry.kind != Kind::kReadRequest) row.folded_bytes += entry.length - row.event.length;
    row.event = entry;
  }
}

}  // namespace stag::conformance
