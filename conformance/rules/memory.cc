// SPDX-License-Identifier: GPL-2.0-or-later
//
// MODEL and MEM: who moves data, and where to. What was not advertised can only be told when nothing was lost.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

using fabric::EventKind;
using session::ListKind;

// Everything that could have advertised memory on this connection was seen.
bool KnowsAllMemory(const Context& c) { return SawEverything(c.connection) && !c.connection.disturbed; }

// The side that only calls: the client of a connection on which nobody has called it.
bool OnlyRequests(const Context& c, Side side) {
  return c.connection.client_known && c.connection.client == side && c.connection.backward_calls == 0;
}

// Judges where a Read Request or Write lands; reads of Reply memory (draft-08) are the client's.
Outcome JudgeTarget(RdmaContext& c, EventKind kind, std::string_view what) {
  const RdmaOperation& op = c.operation;
  if (c.event.kind() != kind || c.event.rdma().length == 0) return Outcome::kNotApplicable;
  if (op.retired) return Outcome::kNotApplicable;  // MEM-004
  const bool reads = kind == EventKind::kReadRequest;
  if (op.transaction && op.transaction->requester == c.event.from)
    return Outcome::kNotApplicable;  // a Reply's memory: MODEL-001
  const fabric::RdmaPacket& packet = c.event.rdma();
  const bool runs_over = RunsOver(op);
  const bool fits = op.segment && !runs_over && (op.segment->list == ListKind::kReadList) == reads;
  if (fits) return Outcome::kPass;
  if (runs_over && Undisturbed(c))
    return c.Fail(
        {.message = Text(what, " goes past the end of the segment"),
         .expected = Text("at most ", op.segment->segment.length - op.segment_offset, " bytes at this offset"),
         .actual = Count(std::max(packet.length, packet.whole), "byte")});
  if (!KnowsAllMemory(c)) return Unseen(c);
  return c.Fail({.message = op.segment ? Text(what, " of memory that was advertised for the other direction")
                                       : Text(what, " of memory that no outstanding Call advertises"),
                 .expected = "a segment of an outstanding Call",
                 .actual = Text("handle ", Hex{c.event.rdma().handle}, ", offset ", Hex{c.event.rdma().offset}, ", ",
                                c.event.rdma().length, " bytes"),
                 .absent_from = Side(1 - c.event.from)});
}

// The handle of two segments of different chunks of one Call that share memory, at least one of them for writing. How
// one chunk is cut is the requester's choice (MEM-013). Only so many segments are looked at.
std::optional<uint32_t> SharedInside(const Transaction& t) {
  constexpr size_t kMost = 64;
  for (size_t i = 1; i < std::min(t.call.segments.size(), kMost); ++i)
    for (size_t j = 0; j < i; ++j) {
      const session::SegmentRecord &a = t.call.segments[j], &b = t.call.segments[i];
      if (a.list == b.list && a.chunk == b.chunk) continue;
      if (Overlap(a, b)) return a.segment.handle;
    }
  return std::nullopt;
}

}  // namespace

// MODEL-001: requesters do not read. Under draft-08, which does not have this rule, they read what a Reply advertises;
// while the automatic profile has not settled, such a Reply is left to RDLIST-001.
Outcome RequesterDoesNotRead(ReadRequestContext& c) {
  if (c.event.kind() != EventKind::kReadRequest || c.event.rdma().length == 0) return Outcome::kNotApplicable;
  const Transaction* t = c.operation.transaction;
  if (t && t->requester == c.event.from) {
    if (c.may_be_legacy) return Outcome::kNotApplicable;
    return c.Fail({.message = "The requester reads memory that a Reply advertises",
                   .expected = "RDMA Reads by the responder only",
                   .actual = Text("handle ", Hex{c.event.rdma().handle}, ", ", c.event.rdma().length, " bytes"),
                   .frames = {t->reply.frame.number}});
  }
  if (c.operation.segment || !KnowsAllMemory(c) || !OnlyRequests(c, c.event.from))
    return PassIf(c.operation.segment != nullptr);
  return c.Fail({.message = "The requester issues an RDMA Read",
                 .expected = "RDMA Reads by the responder only",
                 .actual = Text("handle ", Hex{c.event.rdma().handle}, ", ", c.event.rdma().length, " bytes")});
}

// MODEL-002: requesters do not write. Zero-length Writes keep connections alive.
Outcome RequesterDoesNotWrite(WriteContext& c) {
  if (c.event.kind() != EventKind::kWrite || c.event.rdma().length == 0) return Outcome::kNotApplicable;
  if (c.operation.segment || !KnowsAllMemory(c) || !OnlyRequests(c, c.event.from))
    return PassIf(c.operation.segment != nullptr);
  if (!c.event.rdma().first) return Outcome::kNotApplicable;  // once for each operation
  return c.Fail({.message = "The requester issues an RDMA Write",
                 .expected = "RDMA Writes by the responder only",
                 .actual = Text("handle ", Hex{c.event.rdma().handle}, ", ", c.event.rdma().length, " bytes")});
}

// MODEL-003: a Reply names only memory of its Call.
Outcome ResponderExposesNothing(ReplyContext& c) {
  if (!CanCompareLists(c)) return Outcome::kNotApplicable;
  for (const Segment& s : c.message.header.segments) {
    const auto same = [&](const Segment& offered) { return offered.handle == s.handle; };
    if (s.handle == 0 || std::ranges::any_of(c.transaction.call.header.segments, same)) continue;
    return c.Fail({.message = "The Reply names a handle that its Call does not have",
                   .expected = "handles of the Call",
                   .actual = Text(Hex{s.handle})});
  }
  return Outcome::kPass;
}

// MEM-002: RDMA Reads stay inside the Read segments of outstanding Calls.
Outcome ReadsStayInside(ReadRequestContext& c) { return JudgeTarget(c, EventKind::kReadRequest, "An RDMA Read"); }

// MEM-003: an RDMA Write stays inside one Write or Reply segment of an outstanding Call. One finding for an operation:
// at its first packet when that says how long it is (RETH), else at the first packet that goes too far.
Outcome WritesStayInside(WriteContext& c) {
  const RdmaOperation& op = c.operation;
  const fabric::RdmaPacket& packet = c.event.rdma();
  const WriteInProgress& write = c.state.writes[c.event.from];
  if (c.state.LeavesSegment(op)) {
    if (!Undisturbed(c)) return Unseen(c);
    return c.Fail({.message = "An RDMA Write goes past the end of the segment",
                   .expected = "no more bytes of this RDMA Write",
                   .actual = Text("handle ", Hex{packet.handle}, ", offset ", Hex{packet.offset}, ", ", packet.length,
                                  " bytes more"),
                   .frames = {write.call_frame},
                   .xid = write.xid});
  }
  const bool fits = op.segment && !op.overrun && op.segment->list != ListKind::kReadList;
  if (!packet.first && !fits && (packet.whole != 0 || write.outside || !op.segment)) return Outcome::kNotApplicable;
  return JudgeTarget(c, EventKind::kWrite, "An RDMA Write");
}

// MEM-004: no RDMA for a Call that was answered. The transport's order counts; handles that a newer Call advertises
// again are that Call's. Once for each RDMA operation.
Outcome NoRdmaAfterReply(RdmaContext& c) {
  const RdmaOperation& op = c.operation;
  if (c.event.kind() == EventKind::kReadResponse || !op.transaction) return Outcome::kNotApplicable;
  if (!op.retired) return Outcome::kPass;
  if (op.transaction->reply.frame.number == 0) return Outcome::kNotApplicable;  // ended without an answer
  if (!c.event.rdma().first && c.event.kind() == EventKind::kWrite && c.state.late_serial == op.transaction->serial)
    return Outcome::kNotApplicable;
  if (c.connection.disturbed || op.transaction->disturbed) return Unseen(c);
  return c.Fail({.message = Text("RDMA ", c.event.kind() == EventKind::kWrite ? "Write" : "Read",
                                 " to the memory of a Call that was answered"),
                 .expected = "no RDMA after the Reply",
                 .actual = Text("handle ", Hex{c.event.rdma().handle}),
                 .frames = {op.transaction->reply.frame.number}});
}

// MEM-005: outstanding Calls do not share memory that can be written. Two Read chunks may; an RPC sent again does.
// Judged when the earlier Call is answered: until then its answer may just not have been captured.
Outcome SegmentsDoNotOverlap(ReplyContext& c) {
  if (c.transaction.call.segments.empty()) return Outcome::kNotApplicable;
  if (c.connection.lossy) return Unseen(c);
  const OutstandingCall* call = c.state.Find(c.transaction);
  if (!call || call->shared_frame.number == 0) return Outcome::kPass;
  return c.Fail({.message = Text("Two outstanding Calls advertise the same memory: xid ", Hex{c.transaction.xid},
                                 " and ", Hex{call->shared_xid}),
                 .expected = "memory for one transaction at a time",
                 .actual = Text("handle ", Hex{call->shared_handle}, ", overlapping ranges"),
                 .at = call->shared_frame,
                 .from = c.transaction.requester});
}

// ... nor do the segments of one Call.
Outcome OwnSegmentsDoNotOverlap(CallContext& c) {
  if (c.transaction.call.segments.empty()) return Outcome::kNotApplicable;
  const auto handle = SharedInside(c.transaction);
  if (!handle) return Outcome::kPass;
  return c.Fail({.message = "Two segments of a Call share memory that may be written",
                 .expected = "memory for one purpose at a time",
                 .actual = Text("handle ", Hex{*handle}, ", overlapping ranges")});
}

// MEM-006: offset plus length does not wrap. Empty segments cannot. A chunk of more than 4 GiB is a warning: no XDR
// item is that long.
Outcome SegmentsDoNotWrap(MessageContext& c) {
  const Header& h = c.message.header;
  if (!HasLists(h) || !h.has_chunks()) return Outcome::kNotApplicable;
  const auto fail = [&](const Segment& s) {
    return c.Fail({.message = "A segment runs past the end of the address space",
                   .expected = "offset + length of at most 2^64",
                   .actual = Text("offset ", Hex{s.offset}, ", length ", s.length)});
  };
  for (const rpcrdma::ReadSegment& read : h.reads)
    if (Wraps(read.target)) return fail(read.target);
  for (const Segment& s : h.segments)
    if (Wraps(s)) return fail(s);
  uint64_t longest = 0;
  for (const Chunk& chunk : h.write_chunks) longest = std::max(longest, h.SizeOf(chunk));
  if (h.reply_chunk) longest = std::max(longest, h.SizeOf(*h.reply_chunk));
  if (c.message.role == Role::kCall && c.transaction)
    for (const session::ReadChunk& chunk : c.transaction->call.read_chunks) longest = std::max(longest, chunk.length);
  if (longest <= UINT32_MAX) return Outcome::kPass;
  return c.Fail({.message = Text("A chunk of ", longest, " bytes"),
                 .expected = "at most 4294967295 bytes: the largest XDR count",
                 .actual = Text(longest),
                 .severity = Severity::kWarning});
}

// MEM-008: memory is registered for one RPC, under a handle that cannot be guessed. Statistics over a hundred Calls: a
// note. Not flagged: handles that count up in their low eight bits, which is all that a fast registration changes;
// draft-08, which describes persistent registration.
Outcome HandlesAreFresh(CallContext& c) {
  if (c.legacy() || c.transaction.call.segments.empty()) return Outcome::kNotApplicable;
  const RequesterProfile& requester = c.state.profiles[c.message.from];
  switch (requester.proven()) {
    case Handles::kUnremarkable: return Outcome::kPass;
    case Handles::kShared:
      return c.Fail(
          {.message = Text("Over ", RequesterProfile::kManyCalls, " Calls nearly all segments have the same handle"),
           .expected = "memory registered for each RPC",
           .actual = Text("handle ", Hex{requester.shared_handle()}, " for more than 90 percent of them")});
    case Handles::kCountedUp:
      return c.Fail({.message = "Each handle is the one before plus one: they can be predicted",
                     .expected = "handles that are hard to guess",
                     .actual = Text(RequesterProfile::kManyCalls, " segments or more in a row")});
  }
  return Outcome::kPass;
}

// MEM-007: an empty segment in a Call is unusual: a note. In Replies it is normal.
Outcome EmptySegments(CallContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || !m.header.has_chunks()) return Outcome::kNotApplicable;
  bool empty = std::ranges::any_of(m.header.segments, [](const Segment& s) { return s.length == 0; });
  for (const rpcrdma::ReadSegment& read : m.header.reads) empty = empty || read.target.length == 0;
  if (!empty) return Outcome::kPass;
  return c.Fail({.message = "A segment of the Call has length 0",
                 .expected = "segments with room",
                 .actual = "an empty segment"});
}

}  // namespace stag::conformance
