// SPDX-License-Identifier: GPL-2.0-or-later
//
// Player: plays plans against a live server: one thread, any number of clients, each with the connections of the
// recording and with values of its own (LiveValues).
#pragma once

#include <memory>

#include "replay/replay/options.h"
#include "replay/replay/plan_queue.h"
#include "replay/replay/report.h"

namespace stag::replay {

class Player {
 public:
  // All must outlive the Player. `plans`: each loop takes one, with options.clients readers, but where the one before
  // has stayed in memory.
  Player(PlanSource& plans, endpoint::Transport& transport, const PlayOptions& options);
  ~Player();
  // To the end of the plan, or until it is stopped. The error is of this side: the first connection cannot be made, or
  // the plan cannot be played as often.
  Result<void> Run();
  const PlayReport& report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::replay
