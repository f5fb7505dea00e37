// SPDX-License-Identifier: GPL-2.0-or-later
//
// HDR: the transport header's layout. Purely structural; needs no history, so nothing here depends on what was lost
// before.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

uint64_t ReadListStart(const Header& h) { return h.proc == rpcrdma::kMsgp ? 24 : 16; }

// Whether the Send ends where a list-continuation or presence word should stand.
bool EndsAtDiscriminator(const Message& m) {
  const Header& h = m.header;
  uint64_t at = ReadListStart(h) + 24 * h.reads.size();
  if (h.defect == Defect::kReadListOverrun) return m.length < at + 4;
  at += 4;
  for (const Chunk& chunk : h.write_chunks) at += 8 + uint64_t{16} * chunk.count;
  if (h.defect == Defect::kWriteListOverrun) return m.length < at + 4;
  return m.length < at + 4 + 4;
}

bool Overruns(const Message& m, Defect list) {
  return LengthKnown(m) && m.header.status == ParseStatus::kMalformed && m.header.defect == list;
}

// A version 1 header with lists that was captured far enough to be judged. A malformed RDMA_MSGP is MSGP-004: its lists
// start elsewhere, and what looks wrong in them is mostly that.
bool Judgeable(const Message& m) {
  if (!IsVersion1(m) || !m.header.has_lists() || !LengthKnown(m)) return false;
  return m.header.status == ParseStatus::kOk ||
         (m.header.status == ParseStatus::kMalformed && m.header.proc != rpcrdma::kMsgp);
}

}  // namespace

// HDR-001: all words are big-endian. Flags words 1 or 3 that make sense only when read little-endian.
Outcome HeaderIsBigEndian(MessageContext& c) {
  const Header& h = c.message.header;
  if (h.words < 2) return Outcome::kNotApplicable;
  if (!LooksByteSwapped(h)) return Outcome::kPass;
  return c.Fail({.message = "The transport header is byte-swapped: its words are little-endian",
                 .expected = "rdma_vers 0x00000001",
                 .actual = Text("rdma_vers ", Hex{h.vers}, h.words == 4 ? Text(", rdma_proc ", Hex{h.proc}) : "")});
}

// HDR-002: four words lead every message. Not flagged: Sends of which bytes were lost.
Outcome HeaderHasFixedWords(MessageContext& c) {
  if (!LengthKnown(c.message)) return Outcome::kGap;
  if (c.message.length >= 16) return Outcome::kPass;
  return c.Fail({.message = Text("The Send has ", c.message.length, " bytes: too few for the four fixed header words"),
                 .expected = "at least 16 bytes",
                 .actual = Count(c.message.length, "byte")});
}

// HDR-003: rdma_vers is 1. A peer that speaks another version breaks nothing by itself: flagged only when the same peer
// used version 1 before on this connection, or when the other side answers ERR_VERS. Not flagged: RDMA_ERROR, which
// echoes the version that it answers; byte-swapped headers (HDR-001).
Outcome HeaderVersion(MessageContext& c) {
  const Message& m = c.message;
  const Header& h = m.header;
  if (h.words < 4) return Outcome::kNotApplicable;
  if (m.role == Role::kError && h.err == rpcrdma::kErrVers && c.transaction) {
    const Transaction& t = *c.transaction;
    const Header& call = t.call.header;
    if (call.words < 4 || call.vers == rpcrdma::kVersion1 || LooksByteSwapped(call)) return Outcome::kNotApplicable;
    if (c.state.used_version1[t.requester]) return Outcome::kNotApplicable;  // flagged when it came
    return c.Fail({.message = Text("A Call says version ", call.vers, ", which its receiver does not support"),
                   .expected = "rdma_vers 1",
                   .actual = Text("rdma_vers ", call.vers),
                   .from = t.requester});
  }
  if (h.proc > rpcrdma::kDone || LooksByteSwapped(h)) return Outcome::kNotApplicable;
  if (h.vers == rpcrdma::kVersion1) return Outcome::kPass;
  if (!c.state.used_version1[m.from]) return Outcome::kNotApplicable;
  return c.Fail(
      {.message = Text("The message says version ", h.vers, " on a connection where its sender used version 1"),
       .expected = "rdma_vers 1",
       .actual = Text("rdma_vers ", h.vers)});
}

// HDR-004: rdma_proc is 0 to 4.
Outcome HeaderProcedure(MessageContext& c) {
  const Header& h = c.message.header;
  if (!IsVersion1(c.message) || LooksByteSwapped(h)) return Outcome::kNotApplicable;
  if (h.proc <= rpcrdma::kError) return Outcome::kPass;
  return c.Fail({.message = Text("rdma_proc ", h.proc, " is not a procedure of version 1"),
                 .expected = "0 (RDMA_MSG) to 4 (RDMA_ERROR)",
                 .actual = Text(h.proc)});
}

// HDR-005 (RFC 8166 only): messages shorter than the smallest header, and answers to them. The procedure is looked at
// first: RDMA_DONE (16 bytes) and RDMA_ERROR (20 bytes with ERR_CHUNK) are shorter by design.
Outcome ShortMessages(MessageContext& c) {
  const Message& m = c.message;
  if (!LengthKnown(m)) return Outcome::kGap;
  if (m.length < 16)
    return c.Fail({.message = Text("The Send has ", m.length, " bytes: less than any transport header"),
                   .expected = "at least 28 bytes",
                   .actual = Count(m.length, "byte")});
  if (IsVersion1(m) && m.header.has_lists() && m.length < rpcrdma::kMinimumHeader)
    return c.Fail(
        {.message = Text("The ", ProcText(m.header), " has ", m.length, " bytes: less than the smallest header"),
         .expected = "at least 28 bytes",
         .actual = Count(m.length, "byte")});
  if (m.role != Role::kError) return Outcome::kPass;
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (!send.short_message || !send.has_xid || send.from == m.from || send.xid != m.header.xid) continue;
    if (c.transaction && c.transaction->call.frame.number != send.frame) continue;
    return c.Fail({.message = Text("RDMA_ERROR answers a message of ", send.length.value_or(0),
                                   " bytes, whose xid cannot be trusted"),
                   .expected = "no answer",
                   .actual = "RDMA_ERROR",
                   .frames = {send.frame}});
  }
  return Outcome::kPass;
}

// HDR-006: the lists end inside the Send. Flags a header whose next list word is missing; what ends inside an entry is
// HDR-008, HDR-009 or HDR-010, and MSGP without its words is MSGP-004.
Outcome ListsEndInside(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  if (h.status == ParseStatus::kOk) return Outcome::kPass;
  if (h.defect == Defect::kTooShort) {
    if (c.profile == Profile::kRfc8166) return Outcome::kNotApplicable;  // HDR-005
    return c.Fail({.message = Text("The header ends after ", m.length, " bytes, before its lists"),
                   .expected = "Read list, Write list and Reply chunk",
                   .actual = Count(m.length, "byte")});
  }
  const bool overrun = h.defect == Defect::kReadListOverrun || h.defect == Defect::kWriteListOverrun ||
                       h.defect == Defect::kReplyChunkOverrun;
  if (!overrun || !EndsAtDiscriminator(m)) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("The header is cut short: ", rpcrdma::DefectText(h.defect)),
                 .expected = "Read list, Write list and Reply chunk inside the Send",
                 .actual = Text("the Send ends after ", m.length, " bytes")});
}

// HDR-007: optional-data words are 0 or 1.
Outcome DiscriminatorsAreBooleans(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  if (h.status == ParseStatus::kOk) return Outcome::kPass;
  if (h.defect != Defect::kBadDiscriminator) return Outcome::kNotApplicable;
  return c.Fail(
      {.message = Text("The optional-data word at byte ", h.defect_offset, " of the header is neither 0 nor 1"),
       .expected = "0 or 1",
       .actual = Text(Hex{h.bad_discriminator})});
}

// HDR-008: Read list entries are presence, Position, handle, length, offset. Flags an entry that the Send cuts, and a
// bad continuation word after an entry, the mark of an entry of another size.
Outcome ReadEntryLayout(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  const uint64_t end = ReadListStart(h) + 24 * h.reads.size();
  if (Overruns(m, Defect::kReadListOverrun) && !EndsAtDiscriminator(m))
    return c.Fail({.message = Text("Entry ", h.reads.size() + 1, " of the Read list runs past the end of the Send"),
                   .expected = "24 bytes for each entry",
                   .actual = Text("the Send ends after ", m.length, " bytes")});
  if (h.defect == Defect::kBadDiscriminator && !h.reads.empty() && h.defect_offset == end)
    return c.Fail({.message = Text("No continuation word follows entry ", h.reads.size(), " of the Read list"),
                   .expected = "0 or 1",
                   .actual = Text(Hex{h.bad_discriminator})});
  return PassIf(!h.reads.empty());
}

// HDR-009: Write chunks are counted arrays that fit. A count of 0 is the empty Write chunk of RFC 8166; rfc5666bis
// wants one segment or more; draft-08 sets no minimum.
Outcome WriteListLayout(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  if (Overruns(m, Defect::kWriteListOverrun) && !EndsAtDiscriminator(m))
    return c.Fail(
        {.message = Text("The segments of Write chunk ", h.write_chunks.size() + 1, " run past the end of the Send"),
         .expected = "a count of segments that fit",
         .actual = Text("count at byte ", h.defect_offset, " of a Send of ", m.length, " bytes")});
  if (c.profile == Profile::kRfc5666bis && m.role == Role::kCall)
    for (const Chunk& chunk : h.write_chunks)
      if (chunk.count == 0)
        return c.Fail({.message = "A Write chunk has no segments", .expected = "one segment or more", .actual = "0"});
  return PassIf(!h.write_chunks.empty());
}

// HDR-010: the Reply chunk is one counted array that fits. A Call's Reply chunk without segments is useless: a note.
Outcome ReplyChunkLayout(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  if (Overruns(m, Defect::kReplyChunkOverrun) && !EndsAtDiscriminator(m))
    return c.Fail({.message = "The segments of the Reply chunk run past the end of the Send",
                   .expected = "a count of segments that fit",
                   .actual = Text("the Send ends after ", m.length, " bytes")});
  if (m.role == Role::kCall && h.reply_chunk && h.reply_chunk->count == 0)
    return c.Fail({.message = "The Call's Reply chunk has no segments",
                   .expected = "one segment or more, or no Reply chunk",
                   .actual = "0 segments",
                   .severity = Severity::kNote});
  return PassIf(h.reply_chunk.has_value());
}

// HDR-011: without chunks three zero words end the header. Flags a payload that starts where one of them should be.
Outcome ChunklessHeader(MessageContext& c) {
  const Message& m = c.message;
  if (!Judgeable(m)) return Outcome::kNotApplicable;
  const Header& h = m.header;
  if (h.status == ParseStatus::kOk) return PassIf(!h.has_chunks());
  const uint64_t start = ReadListStart(h);
  const bool in_list_words = h.defect_offset == start + 4 || h.defect_offset == start + 8 || h.defect_offset == start;
  if (h.defect != Defect::kBadDiscriminator || h.has_chunks() || !in_list_words || h.bad_discriminator != h.xid)
    return Outcome::kNotApplicable;
  return c.Fail({.message = Text("The RPC message starts at byte ", h.defect_offset, ", where a list word should be"),
                 .expected = "three zero words, then the RPC message",
                 .actual = Text("the xid at byte ", h.defect_offset)});
}

// HDR-012: an RDMA_MSG has a payload directly after its header. That it starts with the xid is XID-001, a record mark
// is FRAME-001; a Position-zero chunk in place of the payload is LONG-004.
Outcome PayloadFollowsHeader(MessageContext& c) {
  const Message& m = c.message;
  if (m.header.status != ParseStatus::kOk || m.header.proc != rpcrdma::kMsg) return Outcome::kNotApplicable;
  if (!LengthKnown(m)) return Outcome::kGap;
  if (m.payload_length > 0) return Outcome::kPass;
  for (const rpcrdma::ReadSegment& read : m.header.reads)
    if (read.position == 0) return Outcome::kNotApplicable;
  return c.Fail({.message = "The RDMA_MSG has no RPC message after its header",
                 .expected = "an RPC message",
                 .actual = Text("the Send ends with the header, after ", m.length, " bytes")});
}

// HDR-013: nothing follows the RPC message. Only where the upper layer was followed to its end; up to three bytes are
// padding in the wrong place (PAD-008). For Calls when the Call is complete, for Replies with the Reply.
Outcome OneRpcPerCall(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (t.call.header.proc != rpcrdma::kMsg || t.call.walk.status != ParseStatus::kOk) return Outcome::kNotApplicable;
  if (t.call.walk.offset + 4 > t.call.stream_length) return Outcome::kPass;
  return c.Fail({.message = Text(t.call.stream_length - t.call.walk.offset, " bytes follow the RPC Call"),
                 .expected = Text("an RPC message of ", t.call.walk.offset, " bytes"),
                 .actual = Count(t.call.stream_length, "byte")});
}

Outcome OneRpcPerReply(ReplyContext& c) {
  const Transaction& t = c.transaction;
  if (t.reply.header.proc != rpcrdma::kMsg || t.reply.walk.status != ParseStatus::kOk || !t.reply.rpc.success())
    return Outcome::kNotApplicable;
  if (t.reply.walk.offset + 4 > t.reply.stream_length) return Outcome::kPass;
  return c.Fail({.message = Text(t.reply.stream_length - t.reply.walk.offset, " bytes follow the RPC Reply"),
                 .expected = Text("an RPC message of ", t.reply.walk.offset, " bytes"),
                 .actual = Count(t.reply.stream_length, "byte")});
}

namespace {
Outcome MessageTypeOf(Context& c, Stream stream, uint32_t xid) {
  const auto first = WordAt(stream.bytes, 0), type = WordAt(stream.bytes, 4);
  if (!first || !type) return stream.length < 8 ? Outcome::kNotApplicable : Undecoded(c);
  if (*first != xid) return Outcome::kNotApplicable;  // XID-001 or FRAME-001
  if (*type <= rpc::kReply) return Outcome::kPass;
  return c.Fail({.message = Text("The RPC message's type is ", *type),
                 .expected = "0 (CALL) or 1 (REPLY)",
                 .actual = Text(Hex{*type})});
}
}  // namespace

// HDR-014: the RPC message's second word is 0 or 1. Inline here; in special chunks when their bytes were seen.
Outcome MessageType(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  if (m.header.proc == rpcrdma::kNomsg)
    return m.role == Role::kReply && c.transaction ? MessageTypeOf(c, ReplyStream(*c.transaction), m.header.xid)
                                                   : Outcome::kNotApplicable;
  return MessageTypeOf(c, {m.payload, m.payload_length}, m.header.xid);
}

Outcome LongCallMessageType(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (t.call.header.status != ParseStatus::kOk || t.call.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  return MessageTypeOf(c, CallStream(t), t.xid);
}

// HDR-015: an RDMA_NOMSG ends with its lists. Not flagged: four bytes that some captures keep of the link's checksum.
Outcome NoPayloadInNomsg(MessageContext& c) {
  const Message& m = c.message;
  if (m.header.status != ParseStatus::kOk || m.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  if (!LengthKnown(m)) return Outcome::kGap;
  const auto word = WordAt(m.payload, 0);
  const bool inline_rpc = word && *word == m.header.xid;
  if (m.payload_length == 0 || (m.payload_length == 4 && !inline_rpc)) return Outcome::kPass;
  return c.Fail({.message = inline_rpc ? Text("The RDMA_NOMSG carries an RPC message inline")
                                       : Text("The RDMA_NOMSG has ", m.payload_length, " bytes after its lists"),
                 .expected = "the Send ends with the Reply chunk",
                 .actual = Text(m.payload_length, " bytes more")});
}

}  // namespace stag::conformance
