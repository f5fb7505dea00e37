// SPDX-License-Identifier: GPL-2.0-or-later
//
// Holder: keeps Replies back until there are several, for tricks with Calls that are outstanding at the same time.
#pragma once

#include <memory>
#include <vector>

#include "replay/probe/client/probe.h"

namespace stag::probe::client {

struct Held {
  Seen reply;
  Seen call;
  std::optional<uint32_t> invalidate;
  void Send(Scene& scene) const { scene.Send(reply.Encoded(), invalidate); }
};
using HeldReplies = std::vector<Held>;

// Picks every Call, holds `count` Replies of one connection, and gives them to `then`, which has to send them, once.
// Where so many Calls are not outstanding at a time, they go out after a while, and the trick is not done.
inline void HoldReplies(Trick& trick, size_t count,
                        std::function<void(std::shared_ptr<HeldReplies>, Scene&, Play&)> then) {
  struct State {
    std::shared_ptr<HeldReplies> held = std::make_shared<HeldReplies>();
    size_t on = 0, turns = 0;
    bool done = false;
  };
  auto state = std::make_shared<State>();
  trick.by_hand = true;
  trick.times = SIZE_MAX;
  trick.needs = "so many Calls at a time";
  trick.reply = [=](Turn& turn) {
    if (state->done || (!state->held->empty() && state->on != turn.scene.ordinal)) return true;
    state->on = turn.scene.ordinal;
    state->held->push_back({turn.reply, turn.call, turn.invalidate});
    const size_t now = ++state->turns;
    if (state->held->size() == count) {
      state->done = true;
      turn.play.Fire(turn.scene);
      then(state->held, turn.scene, turn.play);
    } else {
      turn.scene.After(turn.play.quiet, [state, now](Scene& scene) {
        if (state->done || state->turns != now) return;
        for (const Held& held : *state->held) held.Send(scene);
        state->held->clear();
      });
    }
    return false;
  };
}

}  // namespace stag::probe::client
