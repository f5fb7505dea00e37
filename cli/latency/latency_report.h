// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyReport: LatencyTables as text, JSON lines or CSV: percentiles of each time by key, the slowest RPCs, in words
// where the time of the slow ones went, and the difference to another table.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "analysis/latency_table.h"
#include "cli/base/output.h"

namespace stag::cli {

// A difference is significant when the Mann-Whitney U test gives it a probability below this one by chance, corrected
// for the number of tests (Holm), and it is not negligible (Cliff's delta of at least 0.147).
inline constexpr double kSignificance = 0.01, kNegligible = 0.147;

// What a table calls the round trip and each phase.
extern const std::array<std::string_view, analysis::kTimes> kTimeTexts;
// Which phase took the time of a slow RPC, and what happened meanwhile: "99 % in the server; for 111ms no packet ...".
std::string SlowSentence(const analysis::LatencySample& sample);

struct LatencyDifference {
  bool in_both = false;
  double p = 1;  // corrected
  double effect = 0;
  bool significant = false;
};

class LatencyReport {
 public:
  // `by`: as --by names it. `against`: nullptr: there is none. The tables must outlive this.
  LatencyReport(std::string_view by, const analysis::LatencyTable& table, const analysis::LatencyTable* against);

  // kText, kJsonl or kCsv.
  void Put(Output& output, Format format) const;
  // Keys whose RPCs are significantly slower than those of the other table, by more than `percent` of its median.
  std::vector<std::string> Slower(double percent) const;

 private:
  using Differences = std::array<LatencyDifference, analysis::kTimes>;
  void Compare();
  const analysis::LatencyRow* Of(const analysis::LatencyTable* table, const std::string& key) const;

  void PutText(Output& output) const;
  void PutTextRows(std::string& out, const Style& style, const std::string& key, size_t width) const;
  void PutTail(std::string& out, const Style& style, const std::string& key) const;
  void PutVerdict(std::string& out, const Style& style, const std::string& key) const;
  void PutSlowest(std::string& out, const Style& style) const;
  void PutLines(Output& output) const;
  void PutCsv(std::string& out) const;

  const std::string_view by_;
  const analysis::LatencyTable& table_;
  const analysis::LatencyTable* const against_;
  std::vector<std::string> keys_;  // of both tables
  std::unordered_map<std::string, Differences> differences_;
};

}  // namespace stag::cli
