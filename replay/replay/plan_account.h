// SPDX-License-Identifier: GPL-2.0-or-later
//
// PlanAccount: what a plan comes to without being played: `stag replay --dry-run`. Pure.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "replay/replay/plan.h"
#include "replay/replay/value_table.h"

namespace stag::replay {

class PlanAccount {
 public:
  // Values that Calls use and no earlier answer that is played gives.
  struct Unknown {
    nfs::ValueKind kind = nfs::ValueKind::kHandle;
    uint64_t first_frame = 0;  // of the first Call that uses one
    uint64_t calls = 0;        // that use one
    uint64_t values = 0;       // how many different ones
  };
  struct Connection {
    std::shared_ptr<const recording::RecordedConnection> recorded;
    uint64_t calls = 0;  // to be sent
  };

  // `memory`: bytes for the values that it knows.
  explicit PlanAccount(uint64_t memory) : given_(memory / 2), counted_(memory / 2) {}
  // In the order of the plan.
  void Add(const PlannedCall& call);

  const std::vector<Connection>& connections() const { return connections_; }  // by their first Calls
  const std::map<PlannedProcedure, uint64_t>& procedures() const { return procedures_; }
  std::vector<Unknown> unknown() const;  // by kind
  // The file handle that a live root replaces, and the frame of the Call that uses it first; empty: none.
  const std::vector<std::byte>& root() const { return root_; }
  uint64_t root_frame() const { return root_frame_; }

 private:
  void CountUnknown(const PlannedCall& call);
  void AddGifts(const PlannedCall& call);

  ValueTable given_;    // by key: the first answer that gives it
  ValueTable counted_;  // keys of values that are counted as unknown
  std::vector<Connection> connections_;
  std::map<fabric::ConnectionId, size_t> index_;  // of connections_
  std::map<PlannedProcedure, uint64_t> procedures_;
  std::array<Unknown, static_cast<size_t>(nfs::ValueKind::kClientOwner) + 1> by_kind_;
  std::vector<std::byte> root_;
  uint64_t root_frame_ = 0;
  Values call_values_, reply_values_;  // scratch
};

}  // namespace stag::replay
