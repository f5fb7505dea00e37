// SPDX-License-Identifier: GPL-2.0-or-later
//
// Spread: pieces of work over the ranks of a team, and what they make of them back to rank 0 in order.
//
// Who is done with a piece asks the leader for another. A rank keeps what it made (a Spool) until the leader wants it,
// which is when everything before it has been taken: so the leader holds no results, however uneven the pieces are.
// Messages: a member sends kReady (with the piece that it finished, if any) or kPart (bytes of a piece, and whether
// they are the last); the leader answers kReady with kWork, kGive or kEnd, at once or when there is something to say.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "scale/spool.h"
#include "scale/team.h"

namespace stag::scale {

// On every rank: does pieces until the leader says that there are no more. `work` writes to the Spool what it made.
void WorkFor(Team& team, const std::function<void(size_t piece, Spool& made)>& work);

// On rank 0, whose own WorkFor runs in another thread.
class Leader {
 public:
  // `order`: the pieces in the order in which they are handed out.
  Leader(Team& team, std::vector<size_t> order);

  // Waits until `piece` is done, and gives `take` what was made of it, in parts. Each piece at most once.
  void Collect(size_t piece, const std::function<void(std::string_view bytes)>& take);
  // Hands out nothing more, and waits until every rank has been told so. Once, and last.
  void End();

 private:
  // Takes in kReady.
  void OnReady(size_t member, std::string_view bytes);
  // Says to a member that waits what it is to do, if there is anything.
  void Direct(size_t member);

  Team& team_;
  const std::vector<size_t> order_;
  size_t next_ = 0;                             // in order_
  std::vector<std::optional<size_t>> done_by_;  // by piece
  std::vector<bool> waits_;                     // by member
  std::optional<size_t> wanted_;                // the piece that Collect is after, not sent for yet
};

}  // namespace stag::scale
