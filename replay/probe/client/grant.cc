// SPDX-License-Identifier: GPL-2.0-or-later
//
// Credits that are granted (RFC 8166 section 3.3.1): few, none, more, and too many.
#include <fmt/format.h>

#include "replay/probe/client/holder.h"
#include "replay/probe/client/picks.h"
#include "replay/probe/link.h"

namespace stag::probe::client {
namespace {

// What each connection has outstanding, and may have.
struct Account {
  struct Row {
    size_t outstanding = 0, replies = 0;
    uint32_t allowed = 1;  // until the first Reply
  };
  std::map<size_t, Row> rows;
};

// Every Reply grants what `grant` says to its number, from 0, which never becomes less; more is not outstanding.
void GrantsOf(Trick& trick, std::function<uint32_t(size_t)> grant) {
  auto account = std::make_shared<Account>();
  trick.after = 0;
  trick.times = SIZE_MAX;
  trick.reply = [=](Turn& turn) {
    Account::Row& row = account->rows[turn.scene.ordinal];
    --row.outstanding;
    turn.reply.header.credit = grant(row.replies++);
    row.allowed = std::max(turn.reply.header.credit, 1u);
    return true;
  };
  trick.watch = [=](const Seen& message, Scene& scene, Play&) {
    if (!IsCall(message)) return;
    Account::Row& row = account->rows[scene.ordinal];
    if (++row.outstanding > row.allowed)
      Failed(fmt::format("at most {} outstanding, as granted", row.allowed),
             fmt::format("Call {} of them", row.outstanding));
  };
}

void One(Trick& trick) {
  GrantsOf(trick, [](size_t) { return 1; });
}
void AlwaysZero(Trick& trick) {
  GrantsOf(trick, [](size_t) { return 0; });
}
void GrantGrows(Trick& trick) {
  GrantsOf(trick, [](size_t n) { return 1 + static_cast<uint32_t>(n / 10); });
}
void OnceZero(Trick& trick) {
  trick.reply = [](Turn& turn) {
    turn.reply.header.credit = 0;
    return true;
  };
}
void Huge(Trick& trick) {
  trick.after = 0;
  trick.times = SIZE_MAX;
  trick.reply = [](Turn& turn) {
    turn.reply.header.credit = UINT32_MAX;
    return true;
  };
}

// Every Reply grants four, until four Calls are outstanding, which is all that may be. One is answered then, with a
// grant of one, as every later Reply has it: a Call that comes while one is outstanding was sent in spite of that.
void GrantShrinks(Trick& trick) {
  constexpr uint32_t kBefore = 4;
  struct State {
    bool shrunk = false;
    size_t on = 0, outstanding = 0;  // connection; Calls that are not answered
  };
  auto state = std::make_shared<State>();
  HoldReplies(trick, kBefore, [state](const std::shared_ptr<HeldReplies>& held, Scene& scene, Play& play) {
    for (Held& each : *held) each.reply.header.credit = 1;
    *state = {true, scene.ordinal, held->size() - 1};
    held->front().Send(scene);
    scene.After(play.quiet * 2, [state, held](Scene& later) {
      for (size_t i = 1; i < held->size(); ++i) (*held)[i].Send(later);
      state->outstanding -= held->size() - 1;
    });
  });
  trick.after = 0;  // nothing else was granted before
  trick.reply = [state, hold = trick.reply](Turn& turn) {
    const bool after = state->shrunk && turn.scene.ordinal == state->on;
    turn.reply.header.credit = after ? 1 : kBefore;
    if (after) --state->outstanding;
    return hold(turn);
  };
  trick.watch = [state](const Seen& message, Scene& scene, Play&) {
    if (!state->shrunk || scene.ordinal != state->on || !IsCall(message)) return;
    if (state->outstanding > 0)
      Failed(
          fmt::format("no Call, for {} outstanding and 1 is granted", state->outstanding == 1 ? "1 is" : "others are"),
          "a Call");
    ++state->outstanding;
  };
}

// Nothing is granted on a connection before its first Reply: one Call. `from`: of the connections that are looked at.
void OneBefore(Trick& trick, size_t from) {
  struct State {
    std::map<size_t, size_t> calls;
    std::set<size_t> answered;
  };
  auto state = std::make_shared<State>();
  trick.reply = [state](Turn& turn) {
    if (state->answered.contains(turn.scene.ordinal)) return true;
    turn.scene.After(turn.play.quiet, [state, held = Held{turn.reply, turn.call, turn.invalidate}](Scene& scene) {
      state->answered.insert(scene.ordinal);
      held.Send(scene);
    });
    return false;
  };
  trick.watch = [=](const Seen& message, Scene& scene, Play&) {
    if (scene.ordinal < from || state->answered.contains(scene.ordinal) || !IsCall(message)) return;
    if (++state->calls[scene.ordinal] > 1) Failed("one Call until the first Reply", "two");
  };
}

void GrantOfFirstReply(Trick& trick) {
  trick.after = 0;
  trick.times = SIZE_MAX;
  OneBefore(trick, 1);
}

// The same on the connection behind one that ended with Calls outstanding.
void AfterReconnect(Trick& trick) {
  OneBefore(trick, 2);
  trick.times = SIZE_MAX;
  trick.call = [](Seen&, Scene& scene, Play& play) {
    if (scene.ordinal > 1) return true;
    if (!play.ended_here) play.HangUp(scene);
    return false;
  };
}

using enum Taken;

}  // namespace

std::span<const ClientProbe> GrantProbes() {
  static const ClientProbe probes[] = {
      {"grant.one", "One credit is one Call at a time", "Every Reply grants one credit. One Call is outstanding.",
       "RFC 8166 3.3.1, RFC 8166 4.2.3", "CRED-003, CRED-004", kFault, kFault, One},
      {"grant.grows", "A larger grant is used only once it came",
       "The grant grows by one with every tenth Reply. No more Calls are outstanding than the last Reply granted.",
       "RFC 8166 3.3.1, RFC 8166 4.2.3", "CRED-003, CRED-010", kFault, kFault, GrantGrows},
      {"grant.zero-once", "One grant of zero does not stop the client",
       "One Reply grants nothing, which no server may. The work succeeds, or the client ends the connection.",
       "RFC 8166 3.3.1", "CRED-002", kFault, kAllowed, OnceZero},
      {"grant.zero-always", "Grants of zero do not stop the client for good",
       "Every Reply grants nothing, which no server may. One Call at a time is sent, or the client ends the "
       "connection.",
       "RFC 8166 3.3.1", "CRED-002", kAllowed, kAllowed, AlwaysZero},
      {"grant.huge", "A huge grant does not exceed the client's own receives",
       "Every Reply grants 4294967295 credits. The client has a receive for each Reply that it can get.",
       "RFC 8166 3.3.1, RFC 8166 4.2.3", "CRED-007, CRED-008", kFault, kFault, Huge},
      {"grant.shrinks", "A smaller grant is kept while more is outstanding",
       "Four are granted, and four Calls are outstanding. One is answered, with a grant of one, as every later Reply "
       "has it. No Call comes while another is outstanding.",
       "RFC 8166 3.3.1, RFC 8166 4.2.3", "CRED-003", kFault, kFault, GrantShrinks},
      {"grant.first-call", "One Call is sent before the first Reply",
       "The first Reply on a connection comes late. Until then one Call is outstanding.", "RFC 8166 3.3.3", "CRED-005",
       kFault, kFault, GrantOfFirstReply},
      {"grant.reconnect", "One Call is sent before the first Reply of a new connection",
       "A connection ends with Calls outstanding, and the first Reply on the next one comes late. Until then one Call "
       "is outstanding there.",
       "RFC 8166 3.3.3, RFC 8166 4.5.5", "CRED-005", kFault, kAllowed, AfterReconnect},
  };
  return probes;
}

}  // namespace stag::probe::client
