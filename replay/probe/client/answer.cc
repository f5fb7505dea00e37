// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whose Reply it is (RFC 8166 section 4.2.1): Replies for nobody, twice, with two xids, and in another order.
#include "replay/probe/client/holder.h"
#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

constexpr uint32_t kOther = 0x80000000;  // far from the xids that a client uses

Buffer WithXids(Seen reply, uint32_t header, uint32_t rpc) {
  reply.header.xid = header;
  if (reply.rest.size() >= 4) StoreBe32(reply.rest.data(), rpc);
  return reply.Encoded();
}

void ReplyForNoCall(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    const uint32_t nobody = turn.call.header.xid ^ kOther;
    turn.scene.Send(WithXids(turn.reply, nobody, nobody));
    return true;
  };
}

// The Reply, and at once the same again.
bool Twice(Turn& turn) {
  turn.scene.After({}, [copy = turn.reply.Encoded()](Scene& scene) { scene.Send(copy); });
  return true;
}
void Again(Trick& trick) {
  PickPlain(trick);
  trick.reply = Twice;
}
void AgainWithChunks(Trick& trick) {
  PickWriteChunk(trick);
  trick.reply = Twice;
}

// A Reply that was the answer to a Call long ago.
void Old(Trick& trick) {
  PickPlain(trick);
  trick.times = 12;
  trick.by_hand = true;
  auto first = std::make_shared<std::pair<size_t, Buffer>>();
  auto turns = std::make_shared<size_t>(0);
  trick.reply = [=](Turn& turn) {
    if (++*turns == 1) *first = {turn.scene.ordinal, turn.reply.Encoded()};
    if (*turns == 12 && first->first == turn.scene.ordinal) {
      turn.play.Fire(turn.scene);
      turn.scene.Send(first->second);
    }
    return true;
  };
}

void OtherRpcXid(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    const uint32_t xid = turn.call.header.xid;
    return turn.WrongFirst(WithXids(turn.reply, xid, xid ^ kOther));
  };
}

void OtherHeaderXid(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    const uint32_t xid = turn.call.header.xid;
    return turn.WrongFirst(WithXids(turn.reply, xid ^ kOther, xid));
  };
}

// Two Replies have each other's xid in the transport header.
void Swapped(Trick& trick) {
  PickPlain(trick);
  HoldReplies(trick, 2, [](const std::shared_ptr<HeldReplies>& held, Scene& scene, Play& play) {
    const Held &a = held->at(0), &b = held->at(1);
    scene.Send(WithXids(a.reply, b.call.header.xid, a.call.header.xid));
    scene.Send(WithXids(b.reply, a.call.header.xid, b.call.header.xid));
    scene.After(play.quiet, [held](Scene& later) {
      for (const Held& each : *held) each.Send(later);
    });
  });
}

void Reversed(Trick& trick) {
  HoldReplies(trick, 4, [](const std::shared_ptr<HeldReplies>& held, Scene& scene, Play&) {
    for (auto each = held->rbegin(); each != held->rend(); ++each) each->Send(scene);
  });
}

void LateReply(Trick& trick) {
  trick.reply = [](Turn& turn) {
    turn.Later(turn.play.late);
    return false;
  };
}

using enum Taken;

}  // namespace

std::span<const ClientProbe> AnswerProbes() {
  static const ClientProbe probes[] = {
      {"answer.unknown-xid", "A Reply for no Call is discarded",
       "A Reply with an xid that no Call has, then the Reply to a Call. The work succeeds.", "RFC 8166 4.2.1",
       "XID-002, ERR-009", kFault, kAdvice, ReplyForNoCall},
      {"answer.twice", "A second Reply is discarded", "The Reply to a Call, twice. The work succeeds.",
       "RFC 8166 4.2.1", "XID-004", kFault, kAdvice, Again},
      {"answer.twice-with-chunks", "A second Reply with chunks is discarded",
       "The Reply to a Call with a Write chunk, twice. The work succeeds, and no byte is wrong.", "RFC 8166 4.2.1",
       "XID-004", kFault, kAdvice, AgainWithChunks},
      {"answer.old", "A Reply from long ago is discarded",
       "The Reply to a Call that was answered ten Calls before. The work succeeds.", "RFC 8166 4.2.1",
       "XID-002, XID-004", kFault, kAdvice, Old},
      {"answer.rpc-xid-differs", "A Reply with another xid inside is no answer",
       "A Reply whose RPC message has an xid that no Call has, then the right one. The Call may fail; no byte is "
       "wrong.",
       "RFC 8166 4.2.1, RFC 8166 4.5", "XID-001, ERR-009", kAllowed, kAllowed, OtherRpcXid},
      {"answer.header-xid-differs", "A Reply with another xid in the transport header is no answer",
       "A Reply whose transport header has an xid that no Call has, then the right one. The work succeeds.",
       "RFC 8166 4.2.1, RFC 8166 4.5", "XID-001, XID-002", kFault, kAdvice, OtherHeaderXid},
      {"answer.swapped", "Replies with each other's xids are no answers",
       "Two Calls are outstanding, and each gets the other's Reply, with its own xid in the transport header; then "
       "the right ones. The Calls may fail; no byte is wrong.",
       "RFC 8166 4.2.1, RFC 8166 4.5", "XID-001, ERR-009", kAllowed, kAllowed, Swapped},
      {"answer.reversed", "Replies come in any order",
       "Four Calls are outstanding, and their Replies come in the reverse order. The work succeeds.",
       "RFC 8166 3.3.1, RFC 8166 4.2.1", "", kFault, kFault, Reversed},
      {"answer.late", "A late Reply is a Reply",
       "A Reply comes after four times the time of --settle. The work succeeds on the same connection.",
       "RFC 8166 4.5.5", "", kFault, kFault, LateReply},
  };
  return probes;
}

}  // namespace stag::probe::client
