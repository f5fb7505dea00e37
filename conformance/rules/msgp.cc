// SPDX-License-Identifier: GPL-2.0-or-later
//
// MSGP: RDMA_MSGP, which only RFC 5666 (draft-08) speaks. The later documents forbid it; under draft-08 it has rules of
// its own.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsMsgp(const Message& m) { return IsVersion1(m) && m.header.proc == rpcrdma::kMsgp; }

}  // namespace

// MSGP-001: RDMA_MSGP is not sent. Under the automatic profile the engine waits how a Call is answered.
Outcome NoMsgp(MessageContext& c) {
  const Message& m = c.message;
  if (!IsVersion1(m)) return Outcome::kNotApplicable;
  if (!IsMsgp(m)) return Outcome::kPass;
  return c.Fail({.message = "RDMA_MSGP is sent", .expected = "RDMA_MSG", .actual = "RDMA_MSGP"});
}

// MSGP-002: an RDMA_MSGP Call is answered ERR_CHUNK. A note for a Reply, or for silence while later Calls are answered.
// Not flagged: malformed ones (ERR-008); under the automatic profile, peers that may yet prove to be legacy.
Outcome MsgpGetsErrChunk(MessageContext& c) {
  const Message& m = c.message;
  if (const Awaited* due = Due(c, Owed::kMsgpError); due && !c.may_be_legacy)
    return c.Fail({.message = "An RDMA_MSGP Call is not answered",
                   .expected = "RDMA_ERROR with ERR_CHUNK",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .at = due->frame,
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  if (!c.transaction || (m.role != Role::kReply && m.role != Role::kError)) return Outcome::kNotApplicable;
  const Header& call = c.transaction->call.header;
  if (call.words < 4 || call.vers != rpcrdma::kVersion1 || call.proc != rpcrdma::kMsgp) return Outcome::kNotApplicable;
  if (m.role == Role::kError) return PassIf(m.header.err == rpcrdma::kErrChunk);
  if (c.may_be_legacy && m.missing != fabric::Missing::kNothing) return Undecoded(c);  // a success would prove that
  return c.Fail({.message = "An RDMA_MSGP Call is answered with a Reply",
                 .expected = "RDMA_ERROR with ERR_CHUNK",
                 .actual = ProcText(m.header)});
}

// MSGP-004: alignment and threshold come before the lists. Flags headers that cannot be read with them.
Outcome MsgpLayout(MessageContext& c) {
  const Message& m = c.message;
  if (!IsMsgp(m) || !LengthKnown(m)) return Outcome::kNotApplicable;
  if (m.header.status == ParseStatus::kOk) return Outcome::kPass;
  if (m.header.status != ParseStatus::kMalformed) return Undecoded(c);
  return c.Fail({.message = Text("The RDMA_MSGP cannot be read: ", rpcrdma::DefectText(m.header.defect)),
                 .expected = "rdma_align, rdma_thresh, then the lists: 36 bytes or more",
                 .actual = Text("a defect at byte ", m.header.defect_offset)});
}

// MSGP-005 (draft-08): before the data of an opaque above rdma_thresh comes padding up to a multiple of rdma_align.
// Flags Calls that can be read neither with it nor without it, and those that can be read only as if there were none
// although an item above the threshold stands elsewhere. "At or above", and where positions count from, is not certain:
// a note, and only when every reading agrees.
Outcome MsgpPadding(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  const Header& h = t.call.header;
  if (t.call.form != session::CallForm::kMsgp || h.status != ParseStatus::kOk || h.align <= 1)
    return Outcome::kNotApplicable;
  if (!t.call.present || t.call.stream.size() < t.call.stream_length) return Undecoded(c);
  if (t.call.walk.status == ParseStatus::kUnsupported) return Outcome::kUpperLayer;
  const std::string announced = Text("rdma_align ", h.align, ", rdma_thresh ", h.thresh);
  if (t.call.defect == session::RebuildDefect::kPadding)
    return c.Fail({.message = "The RDMA_MSGP cannot be read with the padding that it announces",
                   .expected = Text("padding by ", announced),
                   .actual = "arguments that end elsewhere"});
  if (t.call.walk.status != ParseStatus::kOk) return Undecoded(c);
  const bool taken_out = h.length + t.call.stream_length < t.call.send_length;
  const bool missing = !taken_out && std::ranges::any_of(t.call.items, [&](const session::DataItem& item) {
    const uint64_t at = item.item.offset;
    return !item.reduced && item.item.length > h.thresh && at % h.align != 0 && (at + h.length) % h.align != 0;
  });
  if (!missing) return Outcome::kPass;
  return c.Fail({.message = "The RDMA_MSGP has no padding before an item above its threshold",
                 .expected = Text("padding by ", announced),
                 .actual = "none"});
}

// MSGP-006 (draft-08): the client pads by the alignment that the server recommends in CONF_RDMA. A permission: a note.
Outcome MsgpAlignment(CallContext& c) {
  const Message& m = c.message;
  if (!IsMsgp(m) || m.header.status != ParseStatus::kOk || m.from != c.connection.client || !c.state.ccp_align)
    return Outcome::kNotApplicable;
  if (m.header.align == *c.state.ccp_align) return Outcome::kPass;
  return c.Fail(
      {.message = Text("RDMA_MSGP with rdma_align ", m.header.align, "; CONF_RDMA recommends ", *c.state.ccp_align),
       .expected = Text(*c.state.ccp_align),
       .actual = Text(m.header.align)});
}

}  // namespace stag::conformance
