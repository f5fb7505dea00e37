// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ladder: what happened on a connection around a finding, as entries between client and server. Runs of equal RDMA
// operations are folded as they come, so that a ladder stays short whatever the transaction moved.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "conformance/report/diagram_event.h"

namespace stag::conformance {

enum class Mark : uint8_t {
  kNone,
  kRelated,    // one of the finding's related frames
  kOffending,  // what breaks the rule
  kProof,      // where that became provable, when it is another entry
};

struct DiagramRow {
  DiagramEvent event;  // of a fold: the last
  Mark mark = Mark::kNone;
  uint64_t folded = 0;        // operations of a fold; 0: a single entry
  uint64_t folded_bytes = 0;  // that they moved
  uint64_t folded_from = 0;   // the frame of the first
};

class Ladder {
 public:
  // Appends; or folds, when it continues a run; or counts, when there is no room.
  void Add(const DiagramEvent& entry, Mark mark);
  // More is known of the entry: another packet, or what a Call holds.
  void Update(const DiagramEvent& entry);

  const std::vector<DiagramRow>& rows() const { return rows_; }
  uint64_t left_out() const { return left_out_; }  // entries that there was no room for

  // The history begins before what was remembered, or the capture does not have its beginning.
  enum class Beginning : uint8_t { kWhole, kForgotten, kNotCaptured };
  Beginning beginning = Beginning::kWhole;

  Ladder() = default;
  // One that was made by another process.
  Ladder(std::vector<DiagramRow> rows, uint64_t left_out, Beginning how)
      : beginning(how), rows_(std::move(rows)), left_out_(left_out) {}

 private:
  std::vector<DiagramRow> rows_;
  uint64_t left_out_ = 0;
};

}  // namespace stag::conformance
