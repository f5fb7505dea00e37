// SPDX-License-Identifier: GPL-2.0-or-later
//
// FABRIC: what InfiniBand, RoCE and iWARP themselves ask of the packets that carry RPC-over-RDMA. The decoder finds it
// (fabric::Anomaly): it sees what no operation tells.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

using fabric::AnomalyKind;

bool IsIwarp(const Context& c) { return c.connection.info.fabric == fabric::FabricKind::kIwarp; }

constexpr std::string_view kNoChecksum = "no checksum shows that nothing was damaged on the way";

std::string Unseen(const fabric::Anomaly& anomaly) { return std::string(anomaly.unverified ? kNoChecksum : ""); }

std::string Place(const Context& c, const fabric::Anomaly& anomaly) {
  return IsIwarp(c) ? Text("sequence number ", anomaly.number) : Text("PSN ", anomaly.number);
}

}  // namespace

// FABRIC-001: what is sent again is what was sent before. Compared is what was captured of both, but for the fields
// that may differ: AckReq, congestion marks, IP headers. Not flagged: packets with a wrong ICRC, which were damaged on
// the way; keepalives of TCP.
Outcome RetransmissionIsTheSame(AnomalyContext& c) {
  if (c.anomaly.kind != AnomalyKind::kChangedRequest) return Outcome::kNotApplicable;
  return c.Fail({.message = Text(IsIwarp(c) ? "A TCP segment" : "A request packet",
                                 " is sent again with other bytes, at ", Place(c, c.anomaly)),
                 .expected = "the bytes that were sent before",
                 .actual = "other bytes",
                 .frames = {c.anomaly.other_frame},
                 .unseen = Unseen(c.anomaly)});
}

// FABRIC-002: a responder that executes an RDMA Read again reads memory again, which may have changed: a note.
Outcome ReadResponseIsTheSame(AnomalyContext& c) {
  if (c.anomaly.kind != AnomalyKind::kChangedResponse) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("An RDMA Read Response is sent again with other bytes, at ", Place(c, c.anomaly)),
                 .expected = "memory that stays as it is until the Reply",
                 .actual = "other bytes",
                 .frames = {c.anomaly.other_frame},
                 .unseen = Unseen(c.anomaly)});
}

// FABRIC-003: the packets of an RDMA operation have as many bytes as it states, in the RETH of the first packet or in
// the RDMA Read Request. Not flagged: operations of which the capture lacks packets.
Outcome LengthsAddUp(AnomalyContext& c) {
  if (c.anomaly.kind != AnomalyKind::kWrongLength) return Outcome::kNotApplicable;
  const bool write = c.anomaly.operation == fabric::EventKind::kWrite;
  return c.Fail({.message = Text("The packets of an RDMA ", write ? "Write" : "Read Response", " have ",
                                 c.anomaly.actual, " bytes, and ", c.anomaly.expected, " were stated"),
                 .expected = Count(c.anomaly.expected, "byte"),
                 .actual = Count(c.anomaly.actual, "byte"),
                 .frames = {c.anomaly.other_frame},
                 .unseen = Unseen(c.anomaly)});
}

// ... as those of every other RDMA operation do.
Outcome LengthsAreJudged(RdmaContext&) { return Outcome::kPass; }

// FABRIC-004: only what was sent is acknowledged. Flagged when the responder completes messages of these PSNs after it
// acknowledged them. Not flagged: packets that the capture shows behind their acknowledgement, or not at all.
Outcome OnlyWhatWasSentIsAcknowledged(AnomalyContext& c) {
  if (c.anomaly.kind != AnomalyKind::kEarlyAck) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("PSN ", c.anomaly.number, " is acknowledged before it is sent"),
                 .expected = "acknowledgements of what was received",
                 .actual = Text("an acknowledgement up to PSN ", c.anomaly.number),
                 .frames = {c.anomaly.other_frame}});
}

// FABRIC-005: the checksum of the fabric is right. Flagged when other packets of the flow have a right one: an adapter
// may compute the ICRC behind the capture. Not flagged: frames that the capture cut.
Outcome ChecksumIsRight(AnomalyContext& c) {
  if (c.anomaly.kind != AnomalyKind::kBadChecksum) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("The ", IsIwarp(c) ? "CRC32C of an FPDU" : "ICRC of a packet", " is wrong"),
                 .expected = Text(Hex{c.anomaly.expected}),
                 .actual = Text(Hex{c.anomaly.actual})});
}

}  // namespace stag::conformance
