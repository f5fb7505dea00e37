// SPDX-License-Identifier: GPL-2.0-or-later
//
// SliceRow: what `stag slice` took of a capture.
#pragma once

#include <vector>

#include "cli/slice/slice_writer.h"
#include "results/record.h"

namespace stag::cli {

struct SliceRow {
  explicit SliceRow(const SliceSource& source)
      : frames(source.sliced.read),
        written(source.written),
        transactions(source.sliced.rpcs),
        findings(source.sliced.findings),
        without_gaps(source.sliced.stretched),
        whole(source.sliced.whole) {}
  uint64_t frames = 0, written = 0, transactions = 0, findings = 0;
  std::vector<uint32_t> without_gaps, whole;
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::SliceRow> : Of<cli::SliceRow> {
  static constexpr std::string_view kType = "slice", kDoc = "The part of a capture that was taken.";
  static constexpr std::array kMembers = {
      Member<&Row::frames>("frames", "Frames of the capture."),
      Member<&Row::written>("written", "Frames that were taken."),
      Member<&Row::transactions>("transactions", "RPCs that were asked for and found."),
      Member<&Row::findings>("findings", "Findings that were asked for and found."),
      Member<&Row::without_gaps>("without_gaps",
                                 "Connections taken without gaps: less does not show all that was asked for."),
      Member<&Row::whole>("whole", "Connections taken whole: less does not show all that was asked for."),
  };
};

}  // namespace stag::results
