// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/rules/common.h"

namespace stag::conformance {

namespace {

using fabric::Missing;

}  // namespace

const RecentSend* LastFromPeer(const MessageContext& c) {
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (send.from != c.message.from && send.has_xid && send.xid == c.message.header.xid) return &send;
  }
  return nullptr;
}

bool IsOrphan(const MessageContext& c) {
  const Message& m = c.message;
  if (!m.orphan || m.repeated || !SawEverything(c.connection)) return false;
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (send.from != m.from && send.role == Role::kUnknown && (!send.has_xid || send.xid == m.header.xid)) return false;
  }
  if (c.profile == Profile::kRfc8166 || m.role != Role::kError) return true;
  const RecentSend* last = LastFromPeer(c);
  return !last || last->role != Role::kReply;
}

std::optional<uint32_t> ThresholdOf(const Context& c, Side side) {
  if (c.legacy()) {
    const uint32_t agreed = side == c.connection.client ? c.state.ccp_call_size : c.state.ccp_reply_size;
    if (agreed != 0) return agreed;
    if (c.connection.lossy) return std::nullopt;  // CONF_RDMA may be what was lost
  }
  return c.connection.threshold(side);
}

Outcome Undecoded(const Context& c) {
  const auto& [message, transaction, event] = c.about;
  if (message && message->missing == Missing::kLost) return Outcome::kGap;
  if (message && message->missing == Missing::kTruncatedByCapture) return Outcome::kTruncated;
  if (transaction && (transaction->call.send_missing || transaction->reply.send_missing || transaction->call.cut() ||
                      transaction->reply.cut()))
    return c.connection.lossy ? Outcome::kGap : Outcome::kTruncated;
  return Outcome::kUpperLayer;
}

bool CallCameFirst(const ReplyContext& c) {
  const session::CallHalf& call = c.transaction.call;
  if (call.frame.order() > c.message.frame.order()) return false;
  for (size_t i = 0; i < c.state.operations.size(); ++i) {
    const RecentOperation& o = c.state.operations.FromEnd(i);
    if (o.inside || o.from == c.transaction.requester || o.frame.order() > call.frame.order()) continue;
    const auto is_its = [&o](const Segment& s) { return s.handle == o.handle; };
    if (std::ranges::any_of(call.header.segments, is_its) ||
        std::ranges::any_of(call.header.reads, is_its, &rpcrdma::ReadSegment::target))
      return false;
  }
  return true;
}

std::optional<ShortWrite> NotWritten(const ReplyContext& c, const session::SegmentRecord& record,
                                     const Segment& offered, const Segment& returned) {
  const uint64_t reported = std::min(returned.length, offered.length), written = record.moved.Prefix(0);
  const uint64_t slack = c.legacy() ? 3 : 0;
  if (record.moved.Covers(0, reported) || written + slack >= reported) return std::nullopt;
  return ShortWrite{reported, written};
}

Outcome Unseen(const Context& c) {
  const bool hidden = c.connection.info.rdma_hidden[0] || c.connection.info.rdma_hidden[1];
  if (!Undisturbed(c)) return c.connection.lossy || hidden ? Outcome::kGap : Outcome::kNoSetup;
  if (const Outcome bytes = Undecoded(c); bytes != Outcome::kUpperLayer) return bytes;
  if (c.connection.lossy) return Outcome::kGap;
  if (!c.connection.setup_seen) return Outcome::kNoSetup;
  if (c.connection.truncated_messages > 0) return Outcome::kTruncated;
  return Outcome::kUpperLayer;
}

}  // namespace stag::conformance
