// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/tcp_transport.h"

#include <algorithm>

#include "protocol/base/sequence.h"
#include "protocol/link/tcp_checksum.h"

namespace stag::transport {
namespace {

// An acknowledgment further ahead than this is taken for one of another connection.
constexpr uint64_t kMaxAhead = uint64_t{64} << 20;

// Whether a segment whose numbers are ahead of all that was seen may have them from damage on the way.
bool IsDamaged(const link::Packet& packet, Counters& counters) {
  if (!link::HasWrongTcpChecksum(packet)) return false;
  ++counters.damaged;
  return true;
}

}  // namespace

// The position of a sequence number that is nearest to the highest one seen (RFC 9293 section 3.4).
uint64_t TcpTransport::Unwrap(const Half& half, uint32_t sequence) {
  return NearestPosition<32>(half.seen.next(), sequence);
}

void TcpTransport::OnSegment(Side end_of, Side side, const link::Packet& packet, const FrameRef& frame, Health& health,
                             NoteSink* notes) {
  Half &half = half_[end_of], &other = half_[Other(end_of)];
  Counters& counters = health.sent[side];
  Note note;
  note.from = side;
  note.frame = frame;
  const auto tell = [&](Note::Kind kind) {
    note.kind = kind;
    health.Tell(note, notes);
  };
  if (packet.tcp_flags & link::kTcpRst) {
    ++counters.resets;
    return tell(Note::Kind::kReset);
  }
  if (packet.wire_length > 0) {
    ++counters.packets;
    counters.bytes += packet.wire_length;
    counters.largest = std::max(counters.largest, static_cast<uint32_t>(packet.wire_length));
  }
  const uint64_t base = uint64_t{1} << 32;  // room below
  if ((packet.tcp_flags & link::kTcpSyn) && !half.seen.started()) half.seen.Start(base + packet.sequence + 1);
  if (!(packet.tcp_flags & (link::kTcpSyn | link::kTcpFin))) OnWindow(half, packet, health, note);
  if (note.kind == Note::Kind::kZeroWindow) tell(note.kind);
  if ((packet.tcp_flags & link::kTcpAck) && other.seen.started()) {
    const uint64_t end = Unwrap(other, packet.acknowledgment);
    // One more than the payload that was seen may be a FIN.
    if (end > other.seen.next() + 1 && end - other.seen.next() <= kMaxAhead) {
      if (IsDamaged(packet, counters)) return;
      other.seen.PassOver(end);
    }
    other.acknowledged = std::max(other.acknowledged, std::min(end, other.seen.next()));
    note.begin = note.end = end;
    tell(Note::Kind::kAcknowledgment);
  }
  if (packet.wire_length == 0) return;
  if (!half.seen.started()) half.seen.Start(base + packet.sequence);
  const uint64_t begin = Unwrap(half, packet.sequence), end = begin + packet.wire_length, top = half.seen.next();
  if (begin > top && IsDamaged(packet, counters)) return;
  note.begin = begin;
  note.end = end;
  const uint64_t below = begin < top ? half.seen.Missing(begin, std::min(end, top)) : 0;  // bytes that fill a hole
  const uint64_t added = half.seen.Add(begin, end);
  while (half.seen.full()) {
    const SeenRanges::Range oldest = half.seen.TakeOldest();
    half.lost += std::min(oldest.end, half.acknowledged) - std::min(oldest.begin, half.acknowledged);
  }
  note.changed = half.history.Add(begin, packet.payload);
  if (note.changed) ++counters.changed;
  if (added > 0) {
    half.running = false;
    if (below > 0) ++counters.out_of_order;
    note.kind = below > 0 ? Note::Kind::kOutOfOrder : Note::Kind::kNew;
  } else {
    note.kind = Note::Kind::kRetransmission;
    ++counters.retransmitted;
    if (!half.running) {
      half.running = true;
      Episode episode;
      episode.kind = Episode::Kind::kSegments;
      episode.side = side;
      episode.cause = half.last;
      episode.first = frame;
      episode.number = packet.sequence;
      half.run = health.AddEpisode(episode, charge_);
    }
    if (Episode* episode = health.FindEpisode(half.run)) {
      episode->last = frame;
      ++episode->packets;
    }
  }
  half.last = frame;
  counters.max_in_flight =
      std::max(counters.max_in_flight, half.seen.next() - std::max(half.acknowledged, half.seen.first()));
  tell(note.kind);
}

// The sender says how much it can take. The other side waits while that is nothing.
void TcpTransport::OnWindow(Half& half, const link::Packet& packet, Health& health, Note& note) {
  if (packet.window == 0) {
    ++health.sent[note.from].zero_windows;
    note.kind = Note::Kind::kZeroWindow;
    if (half.closed) return;
    half.closed = true;
    Episode episode;
    episode.kind = Episode::Kind::kZeroWindow;
    episode.side = Other(note.from);
    episode.cause = note.frame;
    half.stall = health.AddEpisode(episode, charge_);
  } else if (half.closed) {
    half.closed = false;
    if (Episode* episode = health.FindEpisode(half.stall)) episode->first = episode->last = note.frame;
  }
}

uint64_t TcpTransport::LostFromCapture(Side end) const {
  const Half& half = half_[end];
  if (!half.seen.started()) return 0;
  return half.lost + half.seen.Missing(half.seen.first(), std::min(half.acknowledged, half.seen.next()));
}

}  // namespace stag::transport
