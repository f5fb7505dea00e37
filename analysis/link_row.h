// SPDX-License-Identifier: GPL-2.0-or-later
//
// LinkRow: how frames had to be unwrapped, and what was left out of them, of a whole capture.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/stop_text.h"
#include "results/record.h"
#include "session/fabric/decoder.h"

namespace stag::analysis {

struct LinkCounts {
  LinkCounts() = default;
  explicit LinkCounts(const fabric::DecoderStats& stats) : copies(stats.copies), bad_checksums(stats.bad_crc) {
    if (stats.unclear_copies > 0) unclear_copies = stats.unclear_copies;
    for (size_t kind = 0; kind < stats.tunnels.size(); ++kind) {
      if (stats.tunnels[kind] > 0) tunnels.emplace_back(link::kTunnelNames[kind].key, stats.tunnels[kind]);
    }
    std::vector<std::pair<std::string, uint64_t>> causes;
    for (const auto& [stop, frames] : stats.stopped.entries()) causes.emplace_back(TextOfStop(stop), frames);
    if (!causes.empty()) stopped = std::move(causes);
  }
  std::vector<std::pair<std::string_view, uint64_t>> tunnels;
  results::Omittable<std::vector<std::pair<std::string, uint64_t>>> stopped;
  results::Omittable<uint64_t> unclear_copies;
  uint64_t copies = 0, bad_checksums = 0;
};

struct LinkRow {
  LinkRow() = default;
  LinkRow(uint64_t frames_read, const fabric::DecoderStats& stats) : frames(frames_read), counts(stats) {}
  uint64_t frames = 0;
  LinkCounts counts;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::LinkCounts> : Part<analysis::LinkCounts> {
  static constexpr std::array kMembers = {
      Member<&Row::tunnels>("tunnels", "Frames by what they were wrapped in: vxlan, gre, erspan, ..."),
      Member<&Row::stopped>(
          "not_looked_into",
          "Frames that could not be looked into by what stopped that: \"GRE with protocol 0x1234\", ..."),
      Member<&Row::copies>("copies", "Packets left out that were captured before."),
      Member<&Row::unclear_copies>("unclear_copies",
                                   "Copies that may have been sent again instead: nothing tells which."),
      Member<&Row::bad_checksums>("bad_checksums",
                                  "Packets with a wrong checksum, left out unless the receiver acknowledged them."),
  };
};
template <>
struct Record<analysis::LinkRow> : Of<analysis::LinkRow> {
  static constexpr std::string_view kType = "summary";
  static constexpr std::string_view kDoc =
      "The whole capture; only where frames were wrapped, or something was left out.";
  static constexpr std::array kMembers = {
      Member<&Row::frames>("frames", "Frames of the capture."),
      Inline<&Row::counts>(),
  };
};

}  // namespace stag::results
