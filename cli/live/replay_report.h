// SPDX-License-Identifier: GPL-2.0-or-later
//
// The output of `stag replay`: a plan (--dry-run), and the results of playing it, as text and as JSON lines.
#pragma once

#include <string>
#include <vector>

#include "cli/base/output.h"
#include "replay/replay/plan_account.h"
#include "replay/replay/report.h"

namespace stag::cli {

// --dry-run: what is planned, in order, and what it comes to.
class PlanReport final : public replay::PlanSink {
 public:
  // Writes to `output` as it goes: JSON lines, a line per forward Call that was selected. `memory`: see PlanAccount.
  PlanReport(Output& output, Format format, uint64_t memory) : output_(output), format_(format), account_(memory) {}
  void OnPlanned(replay::PlannedCallPtr planned) override;
  // What it comes to, in all.
  void Finish(const replay::PlanTotals& totals);

 private:
  struct Refused {
    uint64_t frame = 0;
    std::string name;
    std::string_view reason;
  };
  void PutText(const replay::PlanTotals& totals);
  void PutJsonl(const replay::PlanTotals& totals);

  Output& output_;
  const Format format_;
  replay::PlanAccount account_;
  std::vector<Refused> refused_;  // the first ones
};

// `ranks`: of the team, whose reports were merged.
void PutPlayText(std::string& out, const replay::PlayReport& report, size_t ranks, const Style& style);
// A line per procedure, difference and trouble, and one in all.
void PutPlayJsonl(std::string& out, const replay::PlayReport& report, size_t ranks);

}  // namespace stag::cli
