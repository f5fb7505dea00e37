// SPDX-License-Identifier: GPL-2.0-or-later
//
// Plans made of RPC messages, for tests.
#pragma once

#include "replay/replay/plan_builder.h"
#include "replay/replay/plan_queue.h"
#include "tests/replay/recording/recorded.h"

namespace stag::replay::test {

using namespace recording::test;

class Collected : public PlanSink {
 public:
  void OnPlanned(PlannedCallPtr planned) override { all.push_back(std::move(planned)); }
  std::vector<PlannedCallPtr> all;
};

// Calls and Replies (Maker) that a plan is made of.
class PlanMaker : private PlanOptions, private Collected, public Maker<PlanBuilder> {
 public:
  explicit PlanMaker(PlanOptions options = {})
      : PlanOptions(std::move(options)), Maker(static_cast<const PlanOptions&>(*this), static_cast<PlanSink&>(*this)) {}
  // All that is planned, to the end of the capture.
  std::vector<PlannedCallPtr> Finish() {
    session.Finish();
    recorder.Finish();
    return all;
  }
  // What has left the window by now.
  const std::vector<PlannedCallPtr>& planned() const { return all; }
  const PlanTotals& totals() const { return recorder.totals(); }
};

// The forward Calls that are sent.
inline std::vector<PlannedCallPtr> Sent(std::vector<PlannedCallPtr> plan) {
  std::erase_if(plan, [](const PlannedCallPtr& planned) { return planned->what != PlannedCall::What::kCall; });
  return plan;
}

// The same plan each time.
class MadePlans final : public PlanSource {
 public:
  explicit MadePlans(std::vector<PlannedCallPtr> plan) {
    std::erase_if(plan, [](const PlannedCallPtr& planned) {
      return planned->what == PlannedCall::What::kRefused || planned->what == PlannedCall::What::kNotSelected;
    });
    plan_ = std::make_shared<PlanQueue::Whole>(std::move(plan));
  }
  std::shared_ptr<PlanQueue> Begin(uint32_t readers) override { return std::make_shared<PlanQueue>(readers, plan_); }
  size_t calls() const { return Sent(*plan_).size(); }

 private:
  std::shared_ptr<PlanQueue::Whole> plan_;
};

}  // namespace stag::replay::test
