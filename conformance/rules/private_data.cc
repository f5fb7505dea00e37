// SPDX-License-Identifier: GPL-2.0-or-later
//
// PVT: RFC 8797 private data, and remote invalidation, which it governs. The thresholds it sets are judged in
// thresholds.cc.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

using rpcrdma::PrivateDataSearch;
using session::SetupData;

// The private data that the set-up message of this event carried; null for other messages.
const SetupData* Sent(const SetupContext& c) {
  const fabric::SetupMessage message = c.event.setup().message;
  if (message != fabric::SetupMessage::kRequest && message != fabric::SetupMessage::kReply) return nullptr;
  const SetupData& setup = c.connection.setup[c.event.from];
  return setup.known() ? &setup : nullptr;
}

bool FromResponder(const Message& m, const Transaction* t) { return t && m.from != t->requester; }

// Whether the Call advertises memory under this handle.
bool HasHandle(const Transaction& t, uint32_t handle) {
  return std::ranges::any_of(t.call.segments,
                             [&](const session::SegmentRecord& s) { return s.segment.handle == handle; });
}

}  // namespace

// PVT-001: the identifier is f6 ab 0e 18. Flags its bytes in reverse order.
Outcome IdentifierIsBigEndian(SetupContext& c) {
  const SetupData* setup = Sent(c);
  if (!setup || setup->search.found == PrivateDataSearch::Found::kNothing) return Outcome::kNotApplicable;
  if (setup->search.found != PrivateDataSearch::Found::kByteSwapped) return Outcome::kPass;
  return c.Fail({.message = "The private data's format identifier is byte-swapped",
                 .expected = "f6 ab 0e 18",
                 .actual = "18 0e ab f6"});
}

// PVT-002: version 1, eight bytes. The size can be judged on iWARP only: InfiniBand's field is padded to a fixed size.
Outcome FormatVersion(SetupContext& c) {
  const SetupData* setup = Sent(c);
  if (!setup) return Outcome::kNotApplicable;
  if (setup->search.found == PrivateDataSearch::Found::kOtherVersion)
    return c.Fail({.message = Text("The private data has format version ", setup->search.data.version),
                   .expected = "version 1",
                   .actual = Text(setup->search.data.version)});
  if (!setup->has_data()) return Outcome::kNotApplicable;
  const size_t rest = setup->bytes.size() - setup->search.offset;
  if (setup->fixed_size || rest == 8) return Outcome::kPass;
  return c.Fail({.message = Text(rest - 8, " bytes follow the private data's message"),
                 .expected = "8 bytes from the identifier on",
                 .actual = Text(rest),
                 .severity = Severity::kNote});
}

// PVT-003: reserved flag bits are zero. Other versions may define them.
Outcome ReservedBitsAreZero(SetupContext& c) {
  const SetupData* setup = Sent(c);
  if (!setup || !setup->has_data()) return Outcome::kNotApplicable;
  if ((setup->search.data.flags & 0xfe) == 0) return Outcome::kPass;
  return c.Fail({.message = "Reserved bits of the private data are set",
                 .expected = Text("flags 0x0", setup->search.data.flags & 1),
                 .actual = Text("flags ", Hex{setup->search.data.flags})});
}

// PVT-004: reserved bits are ignored. A consumer's rejection right after them is a hint, no more.
Outcome ReservedBitsAreIgnored(ClosedContext& c) {
  constexpr uint16_t kConsumerReject = 28;  // InfiniBand Architecture volume 1, table of REJ reasons
  const SetupData& request = c.connection.setup[0];
  if (c.event.closed().reason != fabric::CloseReason::kRejected || !request.known() || !request.has_data())
    return Outcome::kNotApplicable;
  if ((request.search.data.flags & 0xfe) == 0) return Outcome::kPass;
  if (c.connection.info.fabric != fabric::FabricKind::kIwarp && c.connection.reject_reason != kConsumerReject)
    return Outcome::kNotApplicable;
  return c.Fail({.message = "A connection request with reserved bits set in its private data was rejected",
                 .expected = "reserved bits ignored",
                 .actual = "rejection",
                 .frames = {request.frame.number},
                 .from = Side{1}});
}

// PVT-006: Replies are plain Sends unless both peers set R. Silent when the set-up was not captured.
Outcome InvalidationIsAgreed(AnswerContext& c) {
  const Message& m = c.message;
  if (!m.invalidated) return Outcome::kNotApplicable;
  const std::optional<bool> agreed = c.connection.remote_invalidation();
  if (!agreed) return Outcome::kNoSetup;
  if (*agreed) return Outcome::kPass;
  Violation violation{.message = "A Reply is a Send with Invalidate, which the peers did not agree on",
                      .expected = "a plain Send: not both sides set R in their private data",
                      .actual = Text("Send with Invalidate of handle ", Hex{*m.invalidated})};
  const SetupData& requester = c.connection.setup[1 - m.from];
  violation.known = requester.known() && requester.remote_invalidation();
  for (const SetupData& setup : c.connection.setup)
    if (setup.known() && !setup.remote_invalidation()) violation.frames.push_back(setup.frame.number);
  return c.Fail(std::move(violation));
}

// PVT-007: what a Reply invalidates belongs to its Call only. On RDMA_ERROR, of which the document says nothing, a
// note.
Outcome InvalidatesOwnHandle(MessageContext& c) {
  const Message& m = c.message;
  if (!m.invalidated || !FromResponder(m, c.transaction)) return Outcome::kNotApplicable;
  const Transaction& t = *c.transaction;
  if (t.call.header.status != ParseStatus::kOk) return Undecoded(c);
  const uint32_t handle = *m.invalidated;
  const auto severity = m.role == Role::kError ? std::optional(Severity::kNote) : std::nullopt;
  if (!HasHandle(t, handle))
    return c.Fail({.message = "A Reply invalidates a handle that its Call did not advertise",
                   .expected = "a handle of this Call's chunks",
                   .actual = Text(Hex{handle}),
                   .severity = severity});
  if (c.connection.lossy) return Outcome::kPass;  // the other Call may have been answered unseen
  for (const OutstandingCall& call : c.state.calls) {
    const Transaction& other = *call.transaction;
    if (&other == &t || other.requester != t.requester || !HasHandle(other, handle)) continue;
    return c.Fail({.message = "A Reply invalidates a handle that another outstanding Call advertises, too",
                   .expected = "a handle of this Call only",
                   .actual = Text(Hex{handle}, ", also in the Call with xid ", Hex{other.xid}),
                   .severity = severity,
                   .frames = {other.call.frame.number}});
  }
  return Outcome::kPass;
}

// PVT-008: a requester that sets R exposes only handles that can be invalidated. Flags a refused Send with Invalidate
// of a handle of its own Call.
Outcome HandlesCanBeInvalidated(NakContext& c) {
  const RecentSend* send = c.state.refused_send;
  if (!send || !send->invalidates || !send->invalidates_own) return Outcome::kNotApplicable;
  if (!RefusesAccess(c.event.nak()) && c.event.nak().kind != fabric::NakKind::kInvalidRequest)
    return Outcome::kNotApplicable;
  const SetupData& requester = c.connection.setup[c.event.from];
  if (!requester.known() || !requester.remote_invalidation()) return Outcome::kNotApplicable;
  return c.Fail({.message = "A Send with Invalidate is refused by a peer that set R",
                 .expected = "handles that can be invalidated remotely",
                 .actual = "a NAK",
                 .frames = {send->frame},
                 .xid = send->xid});
}

// PVT-013: the whole message fits into the private data.
Outcome PrivateDataIsWhole(SetupContext& c) {
  const SetupData* setup = Sent(c);
  if (!setup || setup->search.found == PrivateDataSearch::Found::kNothing) return Outcome::kNotApplicable;
  if (setup->search.found != PrivateDataSearch::Found::kTruncated) return Outcome::kPass;
  return c.Fail({.message = "The private data ends inside its message",
                 .expected = "8 bytes from the identifier on",
                 .actual = Count(setup->bytes.size() - setup->search.offset, "byte")});
}

// PVT-018: R is for Replies; Calls are plain Sends. Replies of backward transactions are Replies.
Outcome CallsDoNotInvalidate(CallContext& c) {
  const Message& m = c.message;
  if (!m.invalidated) return Outcome::kPass;
  return c.Fail({.message = "A Call is a Send with Invalidate",
                 .expected = "a plain Send",
                 .actual = Text("Send with Invalidate of handle ", Hex{*m.invalidated})});
}

}  // namespace stag::conformance
