// SPDX-License-Identifier: GPL-2.0-or-later
//
// The stream half of IwarpConnection: bytes in order to MPA frames and FPDUs.
#include <algorithm>

#include "protocol/iwarp/mpa.h"
#include "session/fabric/iwarp_connection.h"

namespace stag::fabric {
namespace {

constexpr size_t kKeptPartialBytes = 16u << 10;  // storage kept for the next FPDU

// The captured part of the first `n` bytes.
Bytes Prefix(Bytes bytes, uint64_t n) { return bytes.first(static_cast<size_t>(std::min<uint64_t>(n, bytes.size()))); }

}  // namespace

void IwarpConnection::Partial::Clear() {
  if (bytes.capacity() > kKeptPartialBytes) bytes.Shrink();
  bytes.Clear();
  wire = 0;
  needed = 0;
  missing = Missing::kNothing;
}

uint64_t IwarpConnection::Consume(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame) {
  Half& half = half_[d];
  uint64_t used = 0;
  while (used < wire && !done_) {
    const Bytes rest = used < bytes.size() ? bytes.subspan(static_cast<size_t>(used)) : Bytes{};
    uint64_t n = 0;
    if (half.phase == Phase::kMpa) {
      n = ConsumeMpa(d, rest, wire - used, frame);
    } else if (half.phase == Phase::kFpdu) {
      n = ConsumeFpdu(d, rest, wire - used, frame);
    } else {
      break;
    }
    used += n;
  }
  return used;
}

uint64_t IwarpConnection::ConsumeMpa(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame) {
  Half& half = half_[d];
  Partial& partial = half.partial;
  // Most TCP connections are something else: their first bytes are looked at in place.
  if (partial.wire == 0 && (!followed_ || half.records.active()) &&
      iwarp::RecogniseMpaKey(Prefix(bytes, iwarp::kMpaKeySize)) == iwarp::MpaKey::kNone) {
    const uint64_t records = half.records.Take(bytes, wire);
    if (records == 0 && !followed_) NotIwarp();
    if (records > 0 || !followed_) {
      half.tcp.Advance(records);
      return records;
    }
  }
  if (partial.wire == 0) {
    partial.first = frame;
    partial.begin = half.tcp.next();
  }
  const uint64_t target = partial.needed != 0 ? partial.needed : iwarp::kMpaHeaderSize;
  const uint64_t n = std::min(wire, target - partial.wire);
  const Bytes piece = Prefix(bytes, n);
  if (partial.missing == Missing::kNothing) {
    if (!partial.bytes.Append(piece)) partial.missing = Missing::kLost;
    if (piece.size() < n) partial.missing = Missing::kTruncatedByCapture;
  }
  partial.wire += n;
  half.tcp.Advance(n);
  const iwarp::MpaKey key = iwarp::RecogniseMpaKey(Prefix(partial.bytes.view(), iwarp::kMpaKeySize));
  if (key == iwarp::MpaKey::kNone) {
    partial.Clear();
    followed_ ? StartSearch(d, false) : NotIwarp();
    return n;
  }
  if (partial.wire < target) return n;
  if (partial.needed == 0) {
    partial.needed = static_cast<uint32_t>(iwarp::MpaFrameSize(partial.bytes.view()));
    if (partial.needed == 0) {  // no valid frame, or one of which the capture has too little
      const bool cut = partial.missing != Missing::kNothing;
      partial.Clear();
      followed_ || cut ? StartSearch(d, false) : NotIwarp();
      return n;
    }
    if (partial.needed > partial.wire) return n;
  }
  if (context_.packets()) {
    const StreamPart part{static_cast<uint32_t>(partial.begin), partial.needed, partial.bytes.view()};
    context_.packets()->OnMpaFrame(track_, d, part);
  }
  OnMpaFrame(d, partial.bytes.view(), partial.needed, partial.first, frame);
  partial.Clear();
  return n;
}

void IwarpConnection::OnMpaFrame(Direction d, Bytes bytes, uint64_t wire, FrameRef first, FrameRef last) {
  iwarp::MpaFrame mpa;
  const ParseStatus status = iwarp::DecodeMpaFrame(bytes, wire, mpa);
  const bool request = mpa.kind == iwarp::MpaFrame::Kind::kRequest;
  if (request && request_seen_) {  // both sides ask: nothing that RFC 5044 knows
    StartSearch(d, false);
    return;
  }
  if (!followed_) Follow(request ? d : d ^ 1, true);
  Half& half = half_[d];
  half.base = half.tcp.next();
  Setup setup;
  setup.message = request ? SetupMessage::kRequest : mpa.reject ? SetupMessage::kReject : SetupMessage::kReply;
  setup.private_data = mpa.private_data;
  setup.private_data_truncated = status == ParseStatus::kTruncatedByCapture;
  if (request && (half.records.active() || peer(d).records.active())) {
    setup.after_records = true;
    setup.within_record = half.records.within_record();
    if (!peer(d).records.lost())
      setup.unanswered_records = half.records.calls() - std::min(half.records.calls(), peer(d).records.replies());
  }
  if (mpa.enhanced) {
    if (mpa.enhanced->ird != iwarp::kReadsNotNegotiated) setup.reads_served = mpa.enhanced->ird;
    if (mpa.enhanced->ord != iwarp::kReadsNotNegotiated) setup.reads_issued = mpa.enhanced->ord;
  }
  Emit(d, first, last, setup);
  if (request) {
    request_seen_ = true;
    request_markers_ = mpa.markers;
    request_crc_ = mpa.crc;
    half.phase = Phase::kAwaitReply;
    return;
  }
  if (mpa.reject) {
    End(CloseReason::kRejected, d, last);
    return;
  }
  EmitOpened(d, last);
  OnMpaReply(d, mpa.crc, mpa.markers, mpa.enhanced && mpa.enhanced->peer_to_peer);
}

void IwarpConnection::OnMpaReply(Direction d, bool crc, bool markers, bool ready_to_receive) {
  // RFC 5044 section 7.1.1: CRCs when either side asks; markers in what goes to the side that asks.
  Half& responder = half_[d];
  Half& initiator = peer(d);
  responder.crc = initiator.crc = crc || request_crc_ ? CrcUse::kOn : CrcUse::kOff;
  if (initiator.phase != Phase::kAwaitReply) {
    // The request was not captured: whether the responder sends markers, and where those of the initiator stand, is not
    // known.
    StartSearch(d, true);
    StartSearch(d ^ 1, true);
    return;
  }
  responder.markers = request_markers_;
  initiator.markers = markers;
  responder.markers_known = initiator.markers_known = true;
  responder.phase = initiator.phase = Phase::kFpdu;
  rdmap_.set_may_be_ready(side(d ^ 1), ready_to_receive);
  rdmap_.set_may_be_ready(side(d), false);
}

uint64_t IwarpConnection::ConsumeFpdu(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame) {
  Half& half = half_[d];
  Partial& partial = half.partial;
  iwarp::Fpdu fpdu;
  if (partial.wire == 0) {
    const uint64_t begin = half.tcp.next();
    const ParseStatus status = iwarp::DecodeFpdu(bytes, wire, begin - half.base, half.markers, shared_.plain, fpdu);
    if (fpdu.size != 0 && wire >= fpdu.size) {  // the common case: all of it in this segment
      half.tcp.Advance(fpdu.size);
      const Missing missing = status == ParseStatus::kOk ? Missing::kNothing : Missing::kTruncatedByCapture;
      OnFpdu(d, begin, Prefix(bytes, fpdu.size), fpdu, missing, frame, frame);
      return fpdu.size;
    }
    partial.first = frame;
    partial.begin = begin;
    partial.needed = fpdu.size;
  }
  const uint32_t head = iwarp::FpduPrefix(partial.begin - half.base, half.markers) + iwarp::kUlpduLengthSize;
  const uint64_t target = partial.needed != 0 ? partial.needed : head;
  const uint64_t n = std::min(wire, target - partial.wire);
  const Bytes piece = Prefix(bytes, n);
  if (partial.missing == Missing::kNothing) {
    if (!partial.bytes.Append(piece)) {
      partial.missing = Missing::kLost;
      context_.stats().dropped_for_memory += piece.size();
      EmitGap(d, {piece.size(), Gap::Of::kContent}, frame);
    } else if (piece.size() < n) {
      partial.missing = Missing::kTruncatedByCapture;
    }
  }
  partial.wire += n;
  half.tcp.Advance(n);
  if (partial.wire < target) return n;
  if (partial.needed == 0) {
    iwarp::DecodeFpdu(partial.bytes.view(), partial.wire, partial.begin - half.base, half.markers, shared_.plain, fpdu);
    partial.needed = fpdu.size;
    // The length field itself was cut away: what is left of this segment cannot be told apart.
    if (fpdu.size == 0) {
      const uint64_t rest = wire - n;
      half.tcp.Advance(rest);
      LoseBoundary(d, head + rest, frame);
      return n + rest;
    }
    return n;
  }
  OnPartialComplete(d, frame);
  return n;
}

void IwarpConnection::OnPartialComplete(Direction d, FrameRef last) {
  Half& half = half_[d];
  Partial& partial = half.partial;
  const Bytes stream = partial.bytes.view();
  iwarp::Fpdu fpdu;
  iwarp::DecodeFpdu(stream, partial.needed, partial.begin - half.base, half.markers, shared_.plain, fpdu);
  OnFpdu(d, partial.begin, stream, fpdu, partial.missing, partial.first, last);
  partial.Clear();
}

void IwarpConnection::ShowFpdu(Direction d, uint64_t begin, Bytes stream, const iwarp::Fpdu& fpdu) const {
  if (!context_.packets()) return;
  const Half& half = half_[d];
  const StreamPart part{static_cast<uint32_t>(begin), fpdu.size, stream, begin - half.base, half.markers};
  context_.packets()->OnFpdu(track_, d, part, fpdu);
}

void IwarpConnection::OnFpdu(Direction d, uint64_t begin, Bytes stream, const iwarp::Fpdu& fpdu, Missing missing,
                             const FrameRef& first, const FrameRef& last) {
  Half& half = half_[d];
  ShowFpdu(d, begin, stream, fpdu);
  std::optional<uint32_t> crc;
  if (fpdu.crc_captured && half.crc != CrcUse::kOff && (half.crc == CrcUse::kOn || fpdu.crc_field != 0)) {
    ++context_.stats().checked_crc;
    if (const uint32_t right = iwarp::ComputeFpduCrc(stream); fpdu.crc_field != right) {
      ++context_.stats().bad_crc;
      if (context_.packets()) context_.packets()->OnCrcError(track_, d, last);
      // Where CRCs were not agreed on, and none was right yet, it may be none; nor is there one behind no boundary.
      if (half.crc == CrcUse::kOn && !half.from_search)
        Emit(d, first, last, Anomaly{.kind = AnomalyKind::kBadChecksum, .expected = right, .actual = fpdu.crc_field});
      LoseBoundary(d, fpdu.size, last);
      return;
    }
    half.crc = CrcUse::kOn;
    crc = fpdu.crc_field;
  }
  if (missing == Missing::kNothing) {
    half.last_fpdu = begin;
    shared_.originals.Remember(this->stream(d), begin, stream, crc, last.number);
  }
  if (fpdu.ulpdu_length == 0) return;  // RFC 6581: a ready-to-receive indication can be an empty FPDU
  if (!rdmap_.sending(side(d)))        // what comes may begin one
    info_.acknowledged_right_before[side(d)] = shared_.context.Follows(info_.acknowledged_in[side(d)], first.order());
  rdmap_.set_numbers(static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + fpdu.size - 1));
  const bool understood = rdmap_.OnUlpdu(side(d), fpdu.ulpdu, fpdu.ulpdu_length, missing, first, last);
  while (half.sends.sent() < rdmap_.sends(side(d))) half.sends.Add(half.tcp.next());
  // A boundary that was found, not counted, may have been none.
  if (!understood && half.from_search) LoseBoundary(d, fpdu.size, last);
}

void IwarpConnection::LoseBoundary(Direction d, uint64_t gap_size, FrameRef frame) {
  EmitGap(d, {gap_size, Gap::Of::kContent}, frame);
  rdmap_.OnLost(side(d));
  half_[d].partial.Clear();
  // The length of the FPDU given up says where the next one begins; the search makes it prove that.
  StartSearch(d, true);
}

void IwarpConnection::StartSearch(Direction d, bool expected) {
  Half& half = half_[d];
  half.phase = Phase::kSearch;
  half.search_due = true;
  half.search.Reset(half.tcp.next(), expected);
}

void IwarpConnection::SkipLost(Direction d, uint64_t to, FrameRef frame) {
  Half& half = half_[d];
  Partial& partial = half.partial;
  const uint64_t size = to - half.tcp.next();
  const bool acknowledged = half.tcp.acknowledged() > half.tcp.next();
  half.missing += size;
  if (followed_) EmitGap(d, {size, Gap::Of::kNumbers, acknowledged ? half.tcp.acknowledged_in() : FrameRef{}}, frame);
  half.tcp.SkipTo(to);
  switch (half.phase) {
    case Phase::kMpa:
    case Phase::kAwaitReply:
      // The set-up is lost, or what follows it: how FPDUs look must be learnt.
      partial.Clear();
      half.records.Lose();
      StartSearch(d, true);
      if (peer(d).phase == Phase::kAwaitReply) StartSearch(d ^ 1, true);
      return;
    case Phase::kSearch: StartSearch(d, true); return;
    case Phase::kFpdu: break;
  }
  if (partial.wire != 0 && partial.needed != 0 && partial.wire + size <= partial.needed) {
    // The hole is inside an FPDU whose length is known: its end is where it was.
    partial.wire += size;
    partial.missing = Missing::kLost;
    if (partial.wire == partial.needed) {
      OnPartialComplete(d, frame);
    }
    return;
  }
  if (partial.wire != 0 && partial.needed != 0) {  // what is known of it
    iwarp::Fpdu fpdu;
    iwarp::DecodeFpdu(partial.bytes.view(), partial.needed, partial.begin - half.base, half.markers, shared_.plain,
                      fpdu);
    ShowFpdu(d, partial.begin, partial.bytes.view(), fpdu);
    rdmap_.set_numbers(static_cast<uint32_t>(partial.begin), static_cast<uint32_t>(partial.begin + fpdu.size - 1));
    rdmap_.OnUlpdu(side(d), fpdu.ulpdu, fpdu.ulpdu_length, Missing::kLost, partial.first, frame);
  }
  partial.Clear();
  rdmap_.OnLost(side(d));
  StartSearch(d, true);
}

}  // namespace stag::fabric
