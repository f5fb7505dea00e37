// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/facts.h"

#include <algorithm>

#include "conformance/engine/reply_bounds.h"
#include "conformance/engine/state.h"
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walk.h"

namespace stag::conformance {

namespace {

using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::Segment;
using session::Connection;
using session::Message;
using session::Side;
using session::Transaction;

constexpr Facts If(bool condition, Facts facts) { return condition ? facts : 0; }

// A whole header of RDMA_MSG or RDMA_NOMSG.
bool IsPlain(const Header& h) {
  return h.status == ParseStatus::kOk && h.vers == rpcrdma::kVersion1 && h.proc <= rpcrdma::kNomsg;
}

// Of the lists of a Call's or Reply's header.
Facts FactsOfLists(const Header& h) {
  return If(h.proc == rpcrdma::kNomsg, fact::kNomsg) | If(!h.reads.empty(), fact::kReads) |
         If(h.reads.size() > 1, fact::kSeveralReads) | If(!h.write_chunks.empty(), fact::kWrites) |
         If(h.reply_chunk.has_value(), fact::kReplyChunk);
}

// Of what was seen of the connection, for something that side `from` sent.
Facts FactsOfConnection(const Connection& c, const RuleState& s, Side from) {
  using namespace fact;
  return kAlways | s.setup_facts[from] | If(c.lossy, kLossy) | If(c.truncated_messages > 0, kMessagesCut);
}

Facts FactsOfProgram(const rpc::CallHeader& call) {
  return If(nfs::IsNfs23(call), fact::kNfs23) | If(nfs::IsNfs4(call), fact::kNfs4) |
         If(nfs::IsSideProtocol(call.program), fact::kSideProtocol) | If(call.opaque_arguments(), fact::kOpaque) |
         If(call.gss || call.credential.flavor == rpc::kRpcsecGss, fact::kGss);
}

bool HasOperation(const Transaction& t, uint32_t op) {
  return std::ranges::find(t.operations, op, &session::Operation::op) != t.operations.end();
}

bool IsTooLong(const RuleState& s, const Message& m) { return m.length >= s.too_long_from[m.from]; }

// The RPC message begins with the xid of the transport header and `type`.
bool BeginsRight(Bytes stream, uint32_t xid, uint32_t type) {
  return stream.size() >= 8 && LoadBe32(stream.data()) == xid && LoadBe32(stream.data() + 4) == type;
}

// No segments, empty or wrapping ones, chunks of more than 4 GiB, two segments under one handle.
bool HasOddSegments(const Transaction& t) {
  if (t.call.segments.empty()) return true;
  uint64_t sum = 0;
  for (size_t i = 0; i < t.call.segments.size(); ++i) {
    const Segment& segment = t.call.segments[i].segment;
    if (segment.length == 0 || Wraps(segment)) return true;
    sum += segment.length;
    for (size_t j = 0; j < i; ++j)
      if (t.call.segments[j].segment.handle == segment.handle) return true;
    if (i == 16) return true;  // the checks look at so many one by one
  }
  return sum > UINT32_MAX;
}

// The Read list of a Call: all of it at Position zero (RDMA_NOMSG), or one chunk that is one eligible argument.
Facts FactsOfReadList(const Transaction& t) {
  const session::Reused<session::ReadChunk>& chunks = t.call.read_chunks;
  if (t.call.header.proc == rpcrdma::kNomsg) {
    const bool fine = chunks.size() == 1 && chunks[0].position == 0 && chunks[0].length >= rpc::kSmallestCall &&
                      chunks[0].length % 4 == 0;
    return If(!fine, fact::kReadsOdd);
  }
  if (chunks.empty()) return 0;
  if (chunks.size() > 1 || t.call.items.size() != 1) return fact::kReadsOdd;
  const session::DataItem& item = t.call.items[0];
  const bool fine = chunks[0].position % 4 == 0 && item.reduced && item.chunk_bytes == item.item.length &&
                    t.call.walk.status == ParseStatus::kOk && t.call.walk.offset == t.call.stream_length;
  return If(!fine, fact::kReadsOdd) | If(item.item.length % 4 != 0, fact::kOddCount);
}

// The Write list of a Call beside what its arguments ask for.
Facts FactsOfWriteList(const Transaction& t) {
  using namespace fact;
  const Header& h = t.call.header;
  if (h.write_chunks.empty()) return 0;
  Facts facts = If(h.write_chunks.size() > 1, kWritesOdd);
  uint64_t least = UINT64_MAX;
  for (const Chunk& chunk : h.write_chunks) {
    if (chunk.count == 0) facts |= kEmptyChunk | kWritesOdd;
    least = std::min(least, h.SizeOf(chunk));
  }
  if (h.proc == rpcrdma::kNomsg) return facts;
  const session::CallHalf& call = t.call;
  if (!call.eligibility.known || call.eligibility.result_items == 0) return facts | kWritesOdd;
  if (h.write_chunks.size() > call.eligibility.result_items || call.asks.reads > 1) facts |= kWritesOdd;
  if (call.asks.reads == 0) return facts;
  const uint32_t count = call.asks.largest_read;
  const bool odd = count % 4 != 0;
  return facts | kReadOperation | If(odd, kLoneOddRead) |
         If(least < count || (odd && least == RoundUp4(count)), kWritesOdd);
}

// The Reply chunk of a Call, or its absence.
Facts FactsOfReplyRoom(const Connection& c, const Transaction& t) {
  using namespace fact;
  const Header& h = t.call.header;
  const bool inline_call = h.proc == rpcrdma::kMsg && !t.call.rpc.opaque_arguments();
  const ReplyBounds bounds = inline_call ? BoundsOf(t.call) : ReplyBounds{};
  Facts facts = 0;
  if (h.reply_chunk && h.SizeOf(*h.reply_chunk) < bounds.chunk_at_least) facts |= kReplyChunkOdd;
  const auto threshold = c.threshold(Side(1 - t.requester));
  if (!inline_call || !threshold) return facts;
  if (bounds.largest > *threshold) facts |= kLargeReply | If(!h.reply_chunk, kReplyChunkOdd);
  if (bounds.fixed != 0 && bounds.fixed <= *threshold)
    facts |= kSmallReply | If(h.reply_chunk.has_value(), kReplyChunkOdd);
  return facts;
}

Facts FactsOfCall(const Connection& c, const RuleState& s, const Message& m, const Transaction& t) {
  using namespace fact;
  const Header& h = m.header;
  const bool inline_call = h.proc == rpcrdma::kMsg;
  if (inline_call && (!BeginsRight(m.payload, h.xid, rpc::kCall) || m.call.status != ParseStatus::kOk ||
                      rpcrdma::IsCcpProgram(m.call.program)))
    return kOdd;
  const session::CreditState& credits = c.credits[m.from];
  const uint32_t requested = std::max({h.credit, credits.request_limit, 1u});
  const bool credit_odd = h.credit == 0 || s.exceeds_grant || s.exceeds_received || credits.outstanding >= requested;
  Facts facts = FactsOfConnection(c, s, m.from) | FactsOfLists(h) | If(c.disturbed || t.disturbed, kDisturbed) |
                If(credits.known, kCreditsKnown) | If(credits.granted.any, kGranted) |
                If(!credits.replied || !s.forward_reply || s.sends.size() == 0, kBegins) | If(credit_odd, kCreditOdd) |
                If(IsTooLong(s, m), kTooLong) | If(t.backward, kBackward) |
                If(inline_call ? m.payload_length % 4 != 0 : m.payload_length > 0, kPayloadOdd) |
                If(m.invalidated.has_value(), kInvalidatesOdd) | If(s.flow[m.from].dones != 0, kDone) |
                If(s.errored[m.from].size() > 0, kAfterError) | FactsOfReplyRoom(c, t);
  if (inline_call) facts |= FactsOfProgram(m.call) | If(t.call.eligibility.known, kKnown);
  if (!inline_call || h.has_chunks()) {
    facts |= FactsOfReadList(t) | FactsOfWriteList(t);
    if (HasOddSegments(t) || s.profiles[m.from].proven() != Handles::kUnremarkable) facts |= kSegmentsOdd;
  }
  return facts;
}

// What the Reply's lists say of those of its Call, and what RDMA Writes did with them.
Facts FactsOfReturn(const Transaction& t) {
  using namespace fact;
  const Header &call = t.call.header, &reply = t.reply.header;
  if (call.write_chunks.size() != reply.write_chunks.size() ||
      call.reply_chunk.has_value() != reply.reply_chunk.has_value())
    return kNotEchoed;
  Facts facts = 0;
  // One chunk; returns how many bytes came back.
  const auto compare = [&](const Chunk& offered, const Chunk& returned) {
    if (offered.count != returned.count) facts |= kNotEchoed;
    uint64_t sum = 0;
    bool ended = false;
    for (uint32_t i = 0; i < std::min(offered.count, returned.count); ++i) {
      const Segment &a = call.segments[offered.first + i], &b = reply.segments[returned.first + i];
      if (a.handle != b.handle || a.offset != b.offset || b.length > a.length || (ended && b.length > 0))
        facts |= kNotEchoed;
      ended = ended || b.length < a.length;
      sum += b.length;
      if (b.length > 0 && !t.call.segments[t.SegmentIndex(offered, i)].moved.Covers(0, b.length)) facts |= kNotWritten;
    }
    return sum;
  };
  for (size_t i = 0; i < call.write_chunks.size(); ++i) {
    facts |= If(call.write_chunks[i].count == 0, kEmptyChunk);
    const bool returns = compare(call.write_chunks[i], reply.write_chunks[i]) > 0;
    facts |= If(returns && (facts & kReturnsData) != 0, kItemsOdd) | If(returns, kReturnsData);
  }
  if (call.reply_chunk) {
    const uint64_t sum = compare(*call.reply_chunk, *reply.reply_chunk);
    const bool long_reply = reply.proc == rpcrdma::kNomsg;
    facts |=
        If(sum > 0, kReturnsChunk) | If(sum % 4 != 0 || (long_reply ? sum < kSmallestReply : sum > 0), kReplyChunkOdd);
  } else if (reply.proc == rpcrdma::kNomsg) {
    facts |= kReplyChunkOdd;
  }
  return facts;
}

// Whether each item of the Reply is where its Call asked for it: in the Write chunk in turn, or inline where there is
// none, and nothing else came back (RFC 8166 section 4.3.2).
Facts FactsOfItems(const Transaction& t, Facts facts) {
  using namespace fact;
  const session::ReplyHalf& reply = t.reply;
  const std::vector<Chunk>& chunks = t.call.header.write_chunks;
  if (chunks.empty() && reply.header.proc != rpcrdma::kNomsg) return 0;
  const bool returns = (facts & kReturnsData) != 0;
  if (!reply.rpc.success()) return If(returns, kItemsOdd);
  const bool followed = t.call.eligibility.known && reply.walk.status == ParseStatus::kOk &&
                        reply.defect == session::RebuildDefect::kNone && reply.items.size() <= kMaxReplyItems;
  if (!followed) return kItemsOdd;
  if (returns && (t.call.eligibility.result_items == 0 || reply.walk.offset != reply.stream_length)) return kItemsOdd;
  Facts odd = 0;
  for (size_t i = 0; i < reply.items.size() && i < chunks.size(); ++i) {
    const session::DataItem& item = reply.items[i];
    if (chunks[i].count == 0 || item.item.length == 0) continue;
    if (!item.reduced || item.chunk_bytes != item.item.length) odd |= kItemsOdd;
    if (item.item.length % 4 != 0) odd |= kPaddedItem;
  }
  return odd;
}

// Whether the Read chunks of the Call were read, to their last byte.
bool ReadsAreDone(const Transaction& t) {
  for (const session::SegmentRecord& record : t.call.segments) {
    if (record.list != session::ListKind::kReadList) continue;
    if (std::max(record.requested.total(), record.moved.total()) < record.segment.length) return false;
  }
  return true;
}

// A Send with Invalidate of a handle that belongs to this Call alone, as both peers agreed on.
bool InvalidatesRight(const Connection& c, const OutstandingCall& call, const Message& m) {
  if (c.remote_invalidation() == false || call.shares_handles) return false;
  return std::ranges::any_of(call.transaction->call.segments, [&](const session::SegmentRecord& record) {
    return record.segment.handle == *m.invalidated;
  });
}

Facts FactsOfReply(const Connection& c, const RuleState& s, const Message& m, const Transaction& t) {
  using namespace fact;
  const OutstandingCall* call = s.Find(t);
  if (!call || (call->facts & kOdd) != 0 || t.call.rpc.status != ParseStatus::kOk ||
      rpcrdma::IsCcpProgram(t.call.rpc.program) || t.reply.rpc.status != ParseStatus::kOk || !m.header.reads.empty())
    return kOdd;
  const bool inline_reply = m.header.proc == rpcrdma::kMsg;
  if (!BeginsRight(inline_reply ? m.payload : t.reply.stream, m.header.xid, rpc::kReply)) return kOdd;
  const FlowState& flow = s.flow[t.requester];
  const bool nfs_failed = t.reply.walk.has_status && t.reply.walk.nfs_status != 0;
  const bool walked = t.reply.walk.status == ParseStatus::kOk;
  const bool garbage = t.reply.rpc.accepted(rpc::kGarbageArgs);
  const bool cut = t.call.send_missing || t.reply.send_missing || t.call.cut() || t.reply.cut();
  Facts facts = FactsOfConnection(c, s, m.from) | FactsOfLists(m.header) | FactsOfProgram(t.call.rpc) |
                If(c.disturbed || t.disturbed, kDisturbed) | If(SawResponder(c, s, t), kSawResponder) | If(cut, kCut) |
                If((call->facts & kReads) != 0, kCallReads) | If((call->facts & kWrites) != 0, kCallWrites) |
                If((call->facts & kReplyChunk) != 0, kCallReplyChunk) | (call->facts & (kReadsOdd | kSegmentsOdd)) |
                If(t.call.eligibility.known, kKnown) | If(t.call.eligibility.result_items > 0, kEligibleResults) |
                If(t.reply.rpc.success(), kSuccess) | If(nfs_failed, kNfsFailed) | If(walked, kWalked) |
                If(t.reply.present, kPresent) | If(t.backward, kBackward) | If(garbage, kAfterError) |
                If(m.header.credit == 0 || flow.falling >= kFallingGrants, kCreditOdd) | If(IsTooLong(s, m), kTooLong) |
                If(s.sends.size() == 0, kBegins) | If(flow.unread != 0 || flow.dones != 0, kDone) |
                If(inline_reply ? m.payload_length % 4 != 0 : m.payload_length > 0, kPayloadOdd) |
                If(walked && t.reply.walk.offset + 4 <= t.reply.stream_length, kTrailing) |
                If(walked && t.reply.walk.nonzero_padding != 0, kPaddingOdd);
  // The result of READ_PLUS (RFC 7862) is not eligible.
  if ((facts & kNfs4) != 0 && HasOperation(t, nfs::kOpReadPlus)) facts |= kItemsOdd;
  if (m.invalidated) facts |= kInvalidates | If(!InvalidatesRight(c, *call, m), kInvalidatesOdd);
  if (t.call.header.has_chunks() || m.header.has_chunks()) {
    facts |= FactsOfReturn(t);
    facts |= FactsOfItems(t, facts) | If(call->shared_frame.number != 0, kSegmentsOdd);
    if ((facts & kCallReads) != 0) facts |= If(call->shares_reads, kSharesReads) | If(!ReadsAreDone(t), kNotRead);
  }
  return facts;
}

}  // namespace

Facts FactsOf(const Connection& connection, const RuleState& state, const Message& message,
              const Transaction* transaction) {
  const bool plain = transaction && IsPlain(message.header) && message.missing == fabric::Missing::kNothing &&
                     !message.repeated && !state.overdue && !state.ccp_seen;
  if (plain && message.role == session::Role::kCall) return FactsOfCall(connection, state, message, *transaction);
  if (plain && message.role == session::Role::kReply) return FactsOfReply(connection, state, message, *transaction);
  return fact::kOdd;
}

Facts FactsOf(const Connection& connection, const RuleState& state, const Transaction& t) {
  using namespace fact;
  const OutstandingCall* call = state.Find(t);
  if (!call || (call->facts & (kOdd | kNomsg)) != 0) return kOdd;
  const bool walked = t.call.walk.status == ParseStatus::kOk;
  return kAlways | (call->facts & (kReads | kReadsOdd)) | If(connection.lossy, kLossy) | If(walked, kWalked) |
         If(t.call.present, kPresent) | If(t.call.send_missing || t.reply.send_missing || t.call.cut(), kCut) |
         If(walked && t.call.walk.offset + 4 <= t.call.stream_length, kTrailing) |
         If(walked && t.call.walk.nonzero_padding != 0, kPaddingOdd) |
         If(HasOperation(t, nfs::kOpSetclientid), kSetclientid);
}

Facts FactsOf(const Connection& connection, const RuleState& state, const session::RdmaOperation& operation) {
  using namespace fact;
  const fabric::Event& event = *operation.event;
  if (state.ccp_seen) return kOdd;
  if (event.kind() == fabric::EventKind::kReadResponse) {
    const std::optional<uint16_t>& served = connection.setup[event.from].reads_served;
    if (served && state.reads[1 - event.from].in_flight() > *served) return kOdd;
    return kAlways | If(served.has_value(), kReadsServed);
  }
  const bool fits =
      operation.transaction && operation.segment && !RunsOver(operation) && !operation.retired &&
      !state.LeavesSegment(operation) && event.rdma().length > 0 && operation.transaction->requester != event.from &&
      (operation.segment->list == session::ListKind::kReadList) == (event.kind() == fabric::EventKind::kReadRequest);
  return fits ? kAlways : kOdd;
}

}  // namespace stag::conformance
