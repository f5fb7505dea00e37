// SPDX-License-Identifier: GPL-2.0-or-later
//
// JudgedRow: how much of a capture could be judged, what kept the rest from it, and what to capture instead.
#pragma once

#include <optional>
#include <string>

#include "results/record.h"
#include "session/rpcrdma/judged.h"

namespace stag::analysis {

// "453 of 707 RPCs could not be judged: 453 cut short. Capture whole frames ..."; empty: all could.
std::string NotJudgedText(const session::Judged& judged);
// Says what to capture instead; empty: nothing is missing.
std::string CaptureAdvice(const session::Judged& judged);

struct JudgedRow {
  JudgedRow() = default;
  explicit JudgedRow(const session::Judged& counts)
      : rpcs(counts.rpcs),
        judged(counts.judged()),
        cut(counts.cut),
        missing(counts.missing),
        one_direction(counts.one_direction),
        sampled(counts.sampled),
        foreign(counts.foreign),
        dropped(counts.dropped),
        advice(CaptureAdvice(counts)) {}

  uint64_t rpcs = 0, judged = 0, cut = 0, missing = 0, one_direction = 0, sampled = 0, foreign = 0, dropped = 0;
  std::string advice;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::JudgedRow> : Part<analysis::JudgedRow> {
  static constexpr std::array kMembers = {
      Member<&Row::rpcs>("rpcs", "RPCs whose Call was captured; of a sample, or of one direction, its Reply, too."),
      Member<&Row::judged>("judged", "RPCs that could be judged; each of the others is counted once below."),
      Member<&Row::cut>("cut", "Frames are cut so short that nothing can be read from them."),
      Member<&Row::missing>("missing", "Packets of it are missing from the capture."),
      Member<&Row::one_direction>("one_direction", "The capture has one direction of the connection alone."),
      Member<&Row::sampled>("sampled", "The capture has a sample of the connection's packets."),
      Member<&Row::foreign>("foreign", "Others that borrow the header, and do not keep its rules."),
      Member<&Row::dropped>("dropped", "There was not memory enough."),
      TextOrNull<&Row::advice>("advice", "Says what to capture instead."),
  };
};

}  // namespace stag::results
