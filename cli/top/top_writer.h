// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopWriter: the blocks of stag top, as text or as rows.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/base/output.h"
#include "cli/base/row_output.h"
#include "cli/top/top_observer.h"

namespace stag::cli {

enum class TopSort : uint8_t { kCalls, kBytes, kP50, kP99, kOutstanding, kErrors, kKey };

struct TopView {
  analysis::LatencyKey by = analysis::LatencyKey::kProcedure;
  TopSort sort = TopSort::kCalls;
  std::optional<size_t> rows;  // at most; nullopt: what fits (text), all (rows)
  uint64_t blocks = 0;         // then output.Stop(); 0: all
  bool only_whole = false;     // not the intervals
  bool refresh = false;        // each block in the place of the one before, on a terminal
};

class TopWriter final : public TopSink {
 public:
  // `output` and `rows` must outlive this.
  TopWriter(Output& output, RowOutput& rows, const TopView& view) : output_(output), rows_(rows), view_(view) {}

  void OnBlock(TopBlock&& block) override;

 private:
  size_t RowsOf(const TopBlock& block) const;
  void PutText(const TopBlock& block);
  void PutRows(const TopBlock& block);

  Output& output_;
  RowOutput& rows_;
  const TopView view_;
  uint64_t blocks_ = 0;
  bool any_ = false;
};

}  // namespace stag::cli
