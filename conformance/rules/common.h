// SPDX-License-Identifier: GPL-2.0-or-later
//
// Questions that many checks ask of a message, a transaction or a chunk.
#pragma once

#include <optional>

#include "conformance/engine/check.h"
#include "protocol/base/bytes.h"

namespace stag::conformance {

using rpcrdma::Chunk;
using rpcrdma::Defect;
using rpcrdma::Header;
using rpcrdma::Segment;

// The four fixed words were captured and say version 1.
inline bool IsVersion1(const Message& m) { return m.header.words == 4 && m.header.vers == rpcrdma::kVersion1; }

// A whole transport header with chunk lists.
inline bool HasLists(const Header& h) { return h.status == ParseStatus::kOk && h.has_lists(); }

inline const rpc::CallHeader& CallOf(const ReplyContext& c) { return c.transaction.call.rpc; }

// The Send's length on the wire is known.
inline bool LengthKnown(const Message& m) { return m.missing != fabric::Missing::kLost; }

inline std::optional<uint32_t> WordAt(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < 4) return std::nullopt;
  return LoadBe32(bytes.data() + offset);
}

// rdma_vers or rdma_proc read as little-endian words of version 1 (HDR-001).
inline bool LooksByteSwapped(const Header& h) {
  if (h.words >= 2 && h.vers == 0x01000000u) return true;
  return h.words == 4 && h.proc >= 0x01000000u && h.proc <= 0x04000000u && (h.proc & 0x00ffffffu) == 0;
}

// A record mark (RFC 5531 section 11) before an RPC message with that xid (FRAME-001).
inline bool StartsWithRecordMark(Bytes stream, uint64_t stream_length, uint32_t xid) {
  const auto mark = WordAt(stream, 0), second = WordAt(stream, 4);
  return mark && second && *mark != xid && *second == xid && (*mark & 0x7fffffffu) == stream_length - 4;
}

// A Reply whose Call is known, both with whole chunk lists: the Reply's lists can be compared with the Call's.
inline bool CanCompareLists(const ReplyContext& c) {
  return HasLists(c.message.header) && HasLists(c.transaction.call.header);
}

// No bytes of this transaction, nor the messages that could explain it, are missing from the capture.
inline bool Undisturbed(const Context& c) {
  return !c.connection.disturbed && !(c.about.transaction && c.about.transaction->disturbed);
}

inline bool SawResponder(const ReplyContext& c) { return SawResponder(c.connection, c.state, c.transaction); }

// Neither the Reply nor RDMA for the Call came before the Call. They do where the capture has a retransmission of the
// Call in place of the Call; then what is missing was not seen in its place.
bool CallCameFirst(const ReplyContext& c);

// A segment of the Reply that reports more bytes than RDMA Writes brought. What it reports beyond the offer does not
// count; draft-08 reports padding that is not transferred.
struct ShortWrite {
  uint64_t reported, written;  // bytes, from the segment's start
};
std::optional<ShortWrite> NotWritten(const ReplyContext& c, const session::SegmentRecord& record,
                                     const Segment& offered, const Segment& returned);

// The capture has the connection from its set-up on and nothing of it was lost: what was not seen was not sent.
inline bool SawEverything(const Connection& connection) {
  return connection.setup_seen && !connection.lossy && connection.truncated_messages == 0;
}

// Something that became overdue with this message; null when nothing did.
inline const Awaited* Due(const Context& c, Owed owed) {
  for (const Awaited& a : c.state.awaited)
    if (a.due && a.owed == owed) return &a;
  return nullptr;
}

// The newest Send of the other side with the message's xid, if it is one of the last.
const RecentSend* LastFromPeer(const MessageContext& c);

// A Reply or RDMA_ERROR for which no outstanding Call is known, on a connection of which everything was seen. Not an
// orphan: an error that answers a message which could not be taken for a Call; under the older documents, one that
// answers a Reply (ERR-018).
bool IsOrphan(const MessageContext& c);

// The largest Send in bytes from `side`: what both sides said by private data or, under draft-08, by CONF_RDMA.
// Nullopt: not known.
std::optional<uint32_t> ThresholdOf(const Context& c, Side side);

// Why the bytes of this message or transaction do not tell: they were lost or cut, or the upper layer is not
// understood.
Outcome Undecoded(const Context& c);
// Why the history of the connection does not tell, when its bytes do.
Outcome Unseen(const Context& c);

// The bytes of the message's own special chunk or inline payload, as far as they were captured.
struct Stream {
  Bytes bytes;
  uint64_t length = 0;
};
inline Stream CallStream(const Transaction& t) { return {t.call.stream, t.call.stream_length}; }
inline Stream ReplyStream(const Transaction& t) { return {t.reply.stream, t.reply.stream_length}; }

// RPCSEC_GSS integrity or privacy: arguments and results are wrapped, and nothing of them may be reduced.
inline bool IsProtected(const rpc::CallHeader& call) {
  return call.status == ParseStatus::kOk && call.gss && call.gss_proc == rpc::kGssData &&
         (call.gss_service == rpc::kGssIntegrity || call.gss_service == rpc::kGssPrivacy);
}

inline std::string ProcText(const Header& h) { return Text(rpcrdma::ProcName(h.proc)); }

}  // namespace stag::conformance
