// SPDX-License-Identifier: GPL-2.0-or-later
//
// A capture file as a plan for `stag replay`: read on a thread of its own while it is played, as far ahead as memory
// allows.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/analysis/analysis.h"
#include "replay/replay/plan_builder.h"
#include "replay/replay/plan_queue.h"

namespace stag::cli {

// How --memory is dealt out: one half for the analysis of the capture, the other for what is planned.
struct ReplayMemory {
  uint64_t analysis, window, ahead, keep, values;  // bytes
  explicit ReplayMemory(uint64_t memory);
};

// Reads `file` to its end, and gives what is planned to `sink`.
struct PlanOutcome {
  FileOutcome file;
  replay::PlanTotals totals;
  // The text that says why there is nothing to plan at all; or empty.
  std::string Nothing(const std::string& name) const;
};
PlanOutcome ReadPlan(const std::string& file, const CommonOptions& options, const replay::PlanOptions& plan,
                     Output& output, replay::PlanSink& sink);

class PlanReader final : public replay::PlanSource {
 public:
  // `file`: "-" is standard input, which can be read once. `again`: the plan will be wanted more than once. Both
  // options must outlive it.
  PlanReader(std::string file, const CommonOptions& options, const replay::PlanOptions& plan, bool again);
  ~PlanReader() override;  // waits for its threads

  // Starts to read for `readers`; the first Begin gives this.
  replay::PlanQueue& Start(uint32_t readers);
  std::shared_ptr<replay::PlanQueue> Begin(uint32_t readers) override;
  // Waits until the first reading is over: it must have been left or cancelled, or have had its end. What it came to,
  // and what it complained of.
  const PlanOutcome& Finish();
  const std::vector<std::string>& complaints() const;

 private:
  struct Reading;
  std::shared_ptr<replay::PlanQueue> Read(uint32_t readers);

  const std::string file_;
  const CommonOptions& options_;
  const replay::PlanOptions& plan_;
  const bool again_;
  std::shared_ptr<replay::PlanQueue> first_;  // until Begin
  std::vector<std::unique_ptr<Reading>> readings_;
};

}  // namespace stag::cli
