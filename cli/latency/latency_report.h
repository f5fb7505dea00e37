// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyReport: LatencyTables as rows and as text: percentiles of each time by key, the slowest RPCs, in words where
// the time of the slow ones went, and the difference to another table.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/latency_row.h"
#include "analysis/latency_table.h"
#include "cli/base/output.h"
#include "cli/base/row_output.h"

namespace stag::cli {

// A difference is significant when the Mann-Whitney U test gives it a probability below this one by chance, corrected
// for the number of tests (Holm), and it is not negligible (Cliff's delta of at least 0.147).
inline constexpr double kSignificance = 0.01, kNegligible = 0.147;

// What a table calls the round trip and each phase.
extern const std::array<std::string_view, analysis::kTimes> kTimeTexts;
// Which phase took the time of a slow RPC, and what happened meanwhile: "99 % in the server; for 111ms no packet ...".
std::string SlowSentence(const analysis::LatencySample& sample);

class LatencyReport {
 public:
  // `against`: nullptr: there is none. The tables must outlive this.
  LatencyReport(analysis::LatencyKey by, const analysis::LatencyTable& table, const analysis::LatencyTable* against);

  // `files`: the names of the captures that samples have the numbers of.
  void Put(Output& output, RowOutput& rows, const std::vector<std::string>& files) const;
  // Keys whose RPCs are significantly slower than those of the other table, by more than `percent` of its median.
  std::vector<std::string> Slower(double percent) const;

 private:
  using Tests = std::array<std::optional<analysis::TestedTimes>, analysis::kTimes>;
  void Compare();
  // The round trip first.
  std::vector<analysis::LatencyRow> RowsOf(const std::string& key) const;

  void PutTexts(Output& output, RowOutput& rows) const;
  void PutSlowest(std::string& out, const Style& style) const;

  const analysis::LatencyKey by_;
  const analysis::LatencyTable& table_;
  const analysis::LatencyTable* const against_;
  std::vector<std::string> keys_;  // of both tables
  std::unordered_map<std::string, Tests> tests_;
};

}  // namespace stag::cli
