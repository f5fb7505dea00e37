// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbConnection, third part: what packets do that the protocol of the fabric does not allow or expect.
#include "protocol/ib/icrc.h"
#include "session/fabric/ib_connection.h"

namespace stag::fabric {
namespace {

using ib::Operation;
using ib::PsnDistance;

constexpr int32_t kMostAhead = 1 << 16;

uint32_t IcrcOf(const link::Packet& wire) { return LoadLe32(wire.payload.last(ib::kIcrcLength).data()); }

}  // namespace

// Whether the packet is to be followed: a receiver drops one whose ICRC is wrong (IBA section 9.6). A wrong ICRC says
// something where another one of its sender was right: an adapter may compute them behind the capture.
bool IbConnection::PassesIcrc(RcPacket& p) {
  IcrcRecord& record = icrc_[p.from];
  if (record.left > 0) --record.left;
  const ib::IcrcStatus status = ib::CheckIcrc(*p.wire);
  if (status == ib::IcrcStatus::kGood) {
    if (!context_.options().verify_crc) ++context_.stats().checked_crc;  // else it is counted already
    p.verified = record.right = true;
    return true;
  }
  if (status == ib::IcrcStatus::kAbsent || !record.right || IcrcOf(*p.wire) == 0) return true;
  ++context_.stats().checked_crc;
  ++context_.stats().bad_crc;
  if (opened_) {
    Anomaly anomaly{.kind = AnomalyKind::kBadChecksum, .number = p.psn(), .actual = IcrcOf(*p.wire)};
    anomaly.expected = ib::ComputeIcrc(p.wire->carrier, p.wire->icrc_headers,
                                       p.wire->payload.first(p.wire->payload.size() - ib::kIcrcLength));
    Emit(p.from, p.frame, p.frame, anomaly);
  }
  return false;
}

// Whether the ICRC is right, for a packet of which it was not computed so far.
bool IbConnection::Verify(const RcPacket& p) {
  return p.verified || (p.wire && ib::CheckIcrc(*p.wire) == ib::IcrcStatus::kGood);
}

// Whether what `p` completes may come of damage on the way, although ICRCs would show that. `verified`: what came
// before is not damaged.
bool IbConnection::MayBeDamage(const RcPacket& p, bool verified) const {
  return icrc_[p.from].right && !(verified && Verify(p));
}

// A whole packet whose PSN came before.
void IbConnection::OnRepeat(const RcPacket& p, const IbOriginal& original) {
  if (!p.verified && IcrcOf(*p.wire) != 0) return;  // the ICRCs of its sender say nothing
  const Repeat repeat = HoldAgainst(original, p);
  if (repeat != Repeat::kChanged && repeat != Repeat::kUnverified) return;
  Open(p.frame);
  Emit(p.from, p.frame, p.frame,
       Anomaly{.kind = p.info->response ? AnomalyKind::kChangedResponse : AnomalyKind::kChangedRequest,
               .other_frame = original.frame,
               .number = p.psn(),
               .unverified = repeat == Repeat::kUnverified});
}

void IbConnection::NoteLength(const RcPacket& p, bool verified, Side from, const FrameRef& first, EventKind operation,
                              uint64_t expected, uint64_t actual) {
  if (MayBeDamage(p, verified)) return;
  Emit(from, first, p.frame,
       Anomaly{.kind = AnomalyKind::kWrongLength,
               .other_frame = first.number,
               .expected = expected,
               .actual = actual,
               .operation = operation,
               .unverified = !icrc_[p.from].right});
}

// Another operation begins while an RDMA Write lacks packets, none of which the capture lost.
void IbConnection::EndWrite(const RcPacket& p, SideState& s) {
  if (s.write.whole && s.write.bytes != s.write.length)
    NoteLength(p, s.write.verified, p.from, s.write.first_frame, EventKind::kWrite, s.write.length, s.write.bytes);
  s.write.whole = false;
}

// A request behind an early acknowledgement, in the order of the capture.
void IbConnection::NoteSent(const RcPacket& p, SideState& s) {
  if (s.early.sent || PsnDistance(p.psn(), s.early.begin) < 0) return;
  s.early.active = p.psn() == s.early.begin;  // else some were sent and not captured
  s.early.sent = true;
  s.early.sent_frame = p.frame.number;
}

// An acknowledgement, in the order of the capture. Its MSN counts the messages that the responder has completed (IBA
// section 9.7.7): when it is higher in an acknowledgement that does not go further, the one before came too early.
void IbConnection::NoteAck(const RcPacket& p, SideState& s) {
  EarlyAck& early = s.early;
  if (p.IsNak() || ib::KindOf(p.aeth.syndrome) != ib::AethKind::kAck) return;
  if (early.active && early.sent && PsnDistance(p.psn(), early.psn) <= 0) {
    if (PsnDistance(p.psn(), early.begin) < 0) return;
    const bool back = p.psn() != early.psn && !early.followed;
    if (back || PsnDistance(p.aeth.msn, early.messages) > 0) {
      early.active = false;
      if (MayBeDamage(p, true)) return;
      Emit(p.from, early.frame, early.frame,
           Anomaly{.kind = AnomalyKind::kEarlyAck, .other_frame = early.sent_frame, .number = early.psn});
    }
    return;
  }
  if (early.active && PsnDistance(p.psn(), early.psn) < 0) return;
  const bool followed = early.active;
  if (!followed && !queue_.empty()) return;  // which PSNs were sent is not clear
  const uint32_t begin = followed && !early.sent ? early.begin : s.expected;
  const int32_t ahead = PsnDistance(p.psn(), begin);
  early.active = s.known && !s.open_count && ahead >= 0 && ahead < kMostAhead;
  if (!early.active) return;
  early = {true, false, followed, begin, p.psn(), p.aeth.msn, p.frame, 0};
}

}  // namespace stag::fabric
