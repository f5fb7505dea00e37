// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connections that end, in order or without a word, in each state of a Call; and servers that fall silent (RFC 8166
// section 4.5.5).
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

void AfterAccept(Trick& trick) {
  trick.greet = [](size_t ordinal, Play& play) {
    if (ordinal > 1) return Greeting::kAccept;
    ++play.fired;
    play.ended_here = true;
    return Greeting::kAcceptAndHangUp;
  };
}

// A picked Call does not reach the server.
void AtCall(Trick& trick, bool in_order) {
  trick.call = [=](Seen&, Scene& scene, Play& play) {
    in_order ? play.HangUp(scene) : play.Kill(scene);
    return false;
  };
}
void CloseAtFirstCall(Trick& trick) {
  trick.after = 0;
  AtCall(trick, true);
}
void BeforeReads(Trick& trick) {
  PickReadChunk(trick);
  AtCall(trick, true);
}
void WithoutAWord(Trick& trick) { AtCall(trick, false); }

// Where the Reply to a picked Call would go out: what it asks for is done.
void AtReply(Trick& trick, bool in_order) {
  trick.reply = [=](Turn& turn) {
    in_order ? turn.play.HangUp(turn.scene) : turn.play.Kill(turn.scene);
    return false;
  };
}
void AfterWrites(Trick& trick) {
  PickWriteChunk(trick);
  AtReply(trick, true);
}
void AfterReads(Trick& trick) {
  PickReadChunk(trick);
  AtReply(trick, true);
}
void AfterWritesWithoutAWord(Trick& trick) {
  PickWriteChunk(trick);
  AtReply(trick, false);
}
void Often(Trick& trick) {
  trick.picks = [count = std::make_shared<size_t>(0)](const Seen&) { return ++*count % 12 == 0; };
  trick.times = 4;
  AtReply(trick, true);
}
void BehindReply(Trick& trick) {
  trick.reply = [](Turn& turn) {
    turn.scene.Send(turn.reply.Encoded(), turn.invalidate);
    turn.play.HangUp(turn.scene);
    return false;
  };
}

// No Call of a connection is answered any more; after a while the connection ends.
void Silence(Trick& trick, bool in_order) {
  auto on = std::make_shared<size_t>(0);
  trick.times = SIZE_MAX;
  trick.by_hand = true;
  trick.call = [=](Seen&, Scene& scene, Play& play) {
    if (*on == 0) {
      *on = scene.ordinal;
      play.Fire(scene);
      scene.After(play.late, [in_order, &play](Scene& later) { in_order ? play.HangUp(later) : play.Kill(later); });
    }
    return *on != scene.ordinal;
  };
}
void SilenceThenClose(Trick& trick) { Silence(trick, true); }
void SilenceThenNothing(Trick& trick) { Silence(trick, false); }

constexpr std::string_view kAgain = "RFC 8166 4.5.5";
using enum Taken;

}  // namespace

std::span<const ClientProbe> CloseProbes() {
  static const ClientProbe probes[] = {
      {"close.after-accept", "A connection that ends at once",
       "The first connection ends in order as soon as it is accepted. The work may fail; the client can connect "
       "again.",
       kAgain, "CONN-006", kAllowed, kAllowed, AfterAccept},
      {"close.first-call", "A connection that ends with its first Call",
       "The first Call is not answered, and the connection ends in order. The work may fail; the client can connect "
       "again.",
       kAgain, "CONN-006", kAllowed, kAllowed, CloseAtFirstCall},
      {"close.before-reads", "A connection that ends before the server reads",
       "The connection ends in order before anything of a Read chunk is read. The Calls come again, and no byte is "
       "wrong.",
       kAgain, "CONN-006", kAdvice, kAllowed, BeforeReads},
      {"close.after-reads", "A connection that ends after the server has read",
       "The connection ends in order after a Read chunk was read, before the Reply. The Calls come again, and no byte "
       "is wrong.",
       kAgain, "CONN-006", kAdvice, kAllowed, AfterReads},
      {"close.after-writes", "A connection that ends after the server has written",
       "The connection ends in order after a Write chunk was written, before the Reply. The Calls come again, and no "
       "byte is wrong.",
       kAgain, "CONN-006", kAdvice, kAllowed, AfterWrites},
      {"close.behind-reply", "A connection that ends behind a Reply",
       "The connection ends in order right behind a Reply. That Reply counts; other Calls come again.", kAgain,
       "CONN-006", kAdvice, kAllowed, BehindReply},
      {"close.often", "Connections that end again and again",
       "Four connections end in order, each with the twelfth Call. The Calls come again, and no byte is wrong.", kAgain,
       "CONN-006", kAdvice, kAllowed, Often},
      {"close.abruptly", "A connection that ends without a word",
       "The connection is gone with a Call unanswered. The Calls come again.", kAgain, "CONN-006", kAdvice, kAllowed,
       WithoutAWord},
      {"close.abruptly-after-writes", "A connection that ends without a word after the server has written",
       "The connection is gone after a Write chunk was written, before the Reply. The Calls come again, and no byte "
       "is wrong.",
       kAgain, "CONN-006", kAdvice, kAllowed, AfterWritesWithoutAWord},
      {"silence.then-close", "A server that falls silent and ends the connection",
       "No Call is answered any more, and after four times the time of --settle the connection ends in order. The "
       "Calls come again.",
       kAgain, "CONN-006", kAdvice, kAllowed, SilenceThenClose},
      {"silence.then-nothing", "A server that falls silent and is gone",
       "No Call is answered any more, and after four times the time of --settle the connection is gone. The Calls "
       "come again.",
       kAgain, "CONN-006", kAdvice, kAllowed, SilenceThenNothing},
  };
  return probes;
}

}  // namespace stag::probe::client
