// SPDX-License-Identifier: GPL-2.0-or-later
//
// THRESH, and the rules of PVT that set the thresholds: how large a Send may be. One Send that is too large breaks
// several of them; each check says the part that its own section adds. What receivers refuse is in receives.cc.
#include <array>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// Whether the Send is above the threshold of its direction. CCP sets other limits (draft-08).
Outcome Judge(MessageContext& c, std::string_view what) {
  const uint64_t length = c.message.length;
  const auto limit = ThresholdOf(c, c.message.from);
  if (!limit) return c.connection.lossy ? Outcome::kGap : Outcome::kNoSetup;
  if (length <= *limit || c.state.ccp_call_size != 0 || c.state.ccp_reply_size != 0) return Outcome::kPass;
  const std::array<session::SetupData, 2>& setup = c.connection.setup;
  // Peers may have learned of larger buffers by other means (RFC 8166 section 3.3.2).
  const bool by_private_data = setup[0].has_data() || setup[1].has_data();
  return c.Fail({.message = Text("A Send of ", length, " bytes is over ", what, " of ", *limit),
                 .expected = Text("at most ", *limit, " bytes"),
                 .actual = Count(length, "byte"),
                 .severity = by_private_data ? std::nullopt : std::optional(Severity::kWarning),
                 .frames = {setup[0].frame.number, setup[1].frame.number}});
}

bool NoPrivateData(const Connection& connection) {
  return connection.setup[0].known() && connection.setup[1].known() && !connection.setup[0].has_data() &&
         !connection.setup[1].has_data();
}

}  // namespace

// THRESH-001: Calls fit the call threshold.
Outcome CallFitsThreshold(CallContext& c) { return Judge(c, "the inline threshold"); }

// THRESH-002: Replies and RDMA_ERROR fit the reply threshold.
Outcome ReplyFitsThreshold(AnswerContext& c) { return Judge(c, "the inline threshold"); }

// THRESH-003: without private data the threshold is 1024.
Outcome DefaultThreshold(MessageContext& c) {
  return NoPrivateData(c.connection) ? Judge(c, "the default threshold") : Outcome::kNotApplicable;
}

// THRESH-006: what does not fit becomes a Long Message.
Outcome LargePayloadIsLong(MessageContext& c) {
  return c.message.header.proc == rpcrdma::kMsg && HasLists(c.message.header) ? Judge(c, "the inline threshold")
                                                                              : Outcome::kNotApplicable;
}

// PVT-010: the thresholds are minima of what both peers sent.
Outcome ThresholdIsMinimum(MessageContext& c) {
  return c.connection.setup[0].has_data() && c.connection.setup[1].has_data()
             ? Judge(c, "the smaller of the peers' sizes")
             : Outcome::kNotApplicable;
}

// PVT-011: a peer without private data counts as 1024 both ways.
Outcome MissingDataMeansDefaults(MessageContext& c) {
  const auto lacks = [](const session::SetupData& setup) { return setup.known() && !setup.has_data(); };
  return lacks(c.connection.setup[0]) || lacks(c.connection.setup[1])
             ? Judge(c, "the default for a peer without private data")
             : Outcome::kNotApplicable;
}

// PVT-014: settings live for one connection. Flags a Send that only an earlier connection of these peers allowed.
Outcome SettingsAreThisConnections(MessageContext& c) {
  const uint32_t earlier = c.state.earlier_threshold[c.message.from];
  const auto now = c.connection.threshold(c.message.from);
  if (earlier == 0 || !now || earlier <= *now) return PassIf(earlier != 0 && now.has_value());
  if (c.message.length > earlier) return Outcome::kNotApplicable;
  return Judge(c, "this connection's threshold, within an earlier connection's:");
}

// PVT-015: nobody sends more than it said. That it takes what it said is judged in receives.cc.
Outcome OwnSendSize(MessageContext& c) {
  const Message& m = c.message;
  const session::SetupData& own = c.connection.setup[m.from];
  if (!own.known() || !own.has_data()) return Outcome::kNotApplicable;
  if (m.length <= own.send_bytes()) return Outcome::kPass;
  return c.Fail(
      {.message = Text("A Send of ", m.length, " bytes from a peer whose private data says ", own.send_bytes()),
       .expected = Text("at most ", own.send_bytes(), " bytes"),
       .actual = Count(m.length, "byte"),
       .frames = {own.frame.number}});
}

}  // namespace stag::conformance
