// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopWriter: the blocks of stag top, as text or as JSON lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/base/output.h"
#include "cli/top/top_observer.h"

namespace stag::cli {

enum class TopSort : uint8_t { kCalls, kBytes, kP50, kP99, kOutstanding, kErrors, kKey };

struct TopView {
  std::string_view by;  // as --by names it
  TopSort sort = TopSort::kCalls;
  std::optional<size_t> rows;  // at most; nullopt: what fits (text), all (JSON lines)
  uint64_t blocks = 0;         // then output.Stop(); 0: all
  bool only_whole = false;     // not the intervals
  bool refresh = false;        // each block in the place of the one before, on a terminal
};

class TopWriter final : public TopSink {
 public:
  // `file`: its name, where there are several. `output` and what `view` points to must outlive this.
  TopWriter(Output& output, Format format, const TopView& view, std::optional<std::string> file)
      : output_(output), format_(format), view_(view), file_(std::move(file)) {}

  void OnBlock(TopBlock&& block) override;

 private:
  size_t RowsOf(const TopBlock& block) const;
  void PutText(const TopBlock& block);
  void PutLines(const TopBlock& block);

  Output& output_;
  const Format format_;
  const TopView view_;
  const std::optional<std::string> file_;
  uint64_t blocks_ = 0;
  bool any_ = false;
};

}  // namespace stag::cli
