// SPDX-License-Identifier: GPL-2.0-or-later
//
// Spread: distributes pieces of work over the ranks of a team, and brings the results back to rank 0 in order.
//
// A rank that finished a piece asks the leader for another. It keeps its results in a Spool until the leader requests
// them, after the results of all pieces before: so the leader holds no results, however uneven the pieces are.
// Messages: a member sends kReady (with the piece that it finished, if any) or kPart (bytes of a result, and whether
// they are the last); the leader answers kReady with kWork, kGive or kEnd, when it has one of them for the member.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "scale/spool.h"
#include "scale/team.h"

namespace stag::scale {

// On every rank: works on pieces until the leader has no more. `work` writes its result to the Spool.
void WorkFor(Team& team, const std::function<void(size_t piece, Spool& made)>& work);

// On rank 0, whose own WorkFor runs in another thread.
class Leader {
 public:
  // `order`: the pieces in the order in which they are handed out.
  Leader(Team& team, std::vector<size_t> order);

  // Waits until `piece` is done, and calls `take` with its result, in parts. At most once for a piece.
  void Collect(size_t piece, const std::function<void(std::string_view bytes)>& take);
  // Ends the work of all ranks. Once, and last.
  void End();

 private:
  // A member sent kReady.
  void OnReady(size_t member, std::string_view bytes);
  // Answers a member that waits, if there is anything for it.
  void Direct(size_t member);

  Team& team_;
  const std::vector<size_t> order_;
  size_t next_ = 0;                             // in order_
  std::vector<std::optional<size_t>> done_by_;  // by piece
  std::vector<bool> waits_;                     // by member
  std::optional<size_t> wanted_;                // the piece that Collect waits for and has not requested yet
};

}  // namespace stag::scale
