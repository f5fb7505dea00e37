// SPDX-License-Identifier: GPL-2.0-or-later
//
// CONN: who opens, and what follows a failure.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

// CONN-001: the client opens the connection and calls first. Flags Calls of the passive peer before it answered any.
// Not flagged: connections whose set-up was not captured or which lost packets, backward Calls later on.
Outcome ClientCallsFirst(CallContext& c) {
  const Message& m = c.message;
  const Connection& connection = c.connection;
  if (c.state.forward_reply) return Outcome::kNotApplicable;
  if (!connection.info.roles_known) return Outcome::kNoSetup;
  if (!SawEverything(connection)) return Unseen(c);
  if (m.from == 0) return Outcome::kPass;
  return c.Fail({.message = "The passive peer calls before the active peer's first Call was answered",
                 .expected = "the first Call from the active peer",
                 .actual = "a Call from the passive peer",
                 .absent_from = Side{0}});
}

// CONN-005: an RPC whose chunks broke the connection, sent again, is answered ERR_CHUNK. Flags the third refusal of
// RDMA for the same xid between the same peers; never more than a note.
Outcome NoRetransmissionLoop(NakContext& c) {
  if (c.state.refusals.size() < 3) return PassIf(!c.state.refusals.empty());
  return c.Fail({.message = Text("RDMA for the same xid is refused ", c.state.refusals.size(),
                                 " times: a loop of retransmissions"),
                 .expected = "RDMA_ERROR with ERR_CHUNK for the retransmitted Call",
                 .actual = "RDMA on the same segments again",
                 .frames = c.state.refusals,
                 .at = c.state.refused_operation ? c.state.refused_operation->frame : FrameRef{},
                 .from = Side(1 - c.event.from),
                 .xid = c.state.refused_operation ? std::optional(c.state.refused_operation->xid) : std::nullopt});
}

}  // namespace stag::conformance
