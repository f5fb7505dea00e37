// SPDX-License-Identifier: GPL-2.0-or-later
//
// CallPlanner: what the plan says of one recorded RPC by itself: whether it is sent, what it is counted as, which
// values it uses and whether its reply gives some. Pure.
#pragma once

#include "replay/replay/plan.h"

namespace stag::replay {

class CallPlanner {
 public:
  // `options` must outlive it.
  explicit CallPlanner(const PlanOptions& options) : options_(options) {}
  // Sets `what`, `reason` and `procedure` of a recorded RPC; `connection`: as in `stag connections`.
  void Choose(PlannedCall& call, fabric::ConnectionId connection);
  // Sets all that is about values. To be called in the order of the plan: the root is the handle first used.
  void FindValues(PlannedCall& call);

 private:
  void FindUses(PlannedCall& call);
  void FindMade(PlannedCall& call);
  bool WalkReply(const PlannedCall& call);

  const PlanOptions& options_;
  bool root_found_ = false;
  Values call_values_, reply_values_;  // scratch
  std::vector<uint32_t> operations_;
  std::vector<Use> uses_;
};

}  // namespace stag::replay
