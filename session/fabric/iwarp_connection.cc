// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ordering half of IwarpConnection: which segment of which direction is processed next, and when to stop waiting.
#include "session/fabric/iwarp_connection.h"

#include <algorithm>

#include "protocol/iwarp/mpa.h"
#include "protocol/link/tcp_options.h"

namespace stag::fabric {
namespace {

constexpr uint32_t kNfsRdmaPort = 20049, kNfsPort = 2049;
// Packets of a connection that may pass while a hole that was acknowledged, or a segment of the other side that was,
// does not show up; and while the other side looks for FPDU boundaries.
constexpr uint32_t kPatience = 16, kSearchPatience = 64;
// How much of a connection joined mid-stream is looked at before it is taken for something else.
constexpr uint64_t kSearchSegments = 192, kSearchBytes = 256u << 10;
constexpr uint64_t kNfsFactor = 4;
// Packets that must have been seen before a connection joined mid-stream is opened, and how far back its start may then
// still move: the first packets of a capture can be out of order, too.
constexpr uint64_t kFirstPackets = 3, kStartWindow = 128u << 10;
// How much is searched at a time where a followed connection lost its boundaries.
constexpr uint64_t kSearchWindow = 512u << 10;

}  // namespace

IwarpConnection::IwarpConnection(IwarpShared& shared, const std::array<Endpoint, 2>& ends)
    : shared_(shared),
      context_(shared.context),
      track_(shared.context.packets() ? shared.context.NewTrack() : 0),
      ends_(ends),
      half_{Half(shared), Half(shared)},
      journal_(shared.context.budget()),
      rdmap_(shared.context, info_) {}

IwarpConnection::~IwarpConnection() = default;

void IwarpConnection::EmitOpened(Direction from, FrameRef frame) {
  if (opened_) return;
  opened_ = true;
  Emit(from, frame, frame, Opened{});
}

void IwarpConnection::EmitGap(Direction from, const Gap& gap, FrameRef frame) { Emit(from, frame, frame, gap); }

void IwarpConnection::End(CloseReason why, Direction from, FrameRef frame) {
  if (done_) return;
  done_ = true;
  if (!followed_) return;
  if (context_.packets()) context_.packets()->OnClosed(track_);
  Closed closed{why, packets_};
  for (Direction d : {Direction{0}, Direction{1}}) {
    const Half& half = half_[d];
    closed.extent[side(d)] = {half.heard, half.tcp.next() - half.tcp.first(), half.missing};
  }
  Emit(from, frame, frame, closed);
  context_.CloseConnection(info_);
}

// A SYN for the port of NFS/RDMA, and nothing behind it.
void IwarpConnection::TellOfSilence() {
  if (followed_ || !syn_sender_ || initial_sequence_[*syn_sender_ ^ 1]) return;
  const Direction passive = *syn_sender_ ^ 1;
  if (ends_[passive].number != kNfsRdmaPort || half_[0].heard || half_[1].heard) return;
  Aside aside;
  aside.kind = Aside::Kind::kUnanswered;
  aside.frame = syn_frame_;
  aside.from = ends_[*syn_sender_];
  aside.to = ends_[passive];
  context_.Emit(aside);
}

bool IwarpConnection::HasPort(uint32_t port) const { return ends_[0].number == port || ends_[1].number == port; }

void IwarpConnection::Follow(Direction active, bool roles_known) {
  followed_ = true;
  active_ = active;
  context_.OpenConnection(info_);
  shared_.originals.Prepare();
  info_.fabric = FabricKind::kIwarp;
  info_.endpoint = {ends_[active], ends_[active ^ 1]};
  info_.roles_known = roles_known;
  const Direction passive = syn_sender_ ? *syn_sender_ ^ 1 : active ^ 1;
  info_.service_port = static_cast<uint16_t>(ends_[passive].number);
  context_.stats().truncated_frames += truncated_frames_;
  if (context_.packets()) context_.packets()->OnConnection(track_, info_, active);
  half_[0].search_due = half_[1].search_due = true;
}

bool IwarpConnection::OnSyn(Direction from, const link::Packet& packet) {
  Half& half = half_[from];
  Half& other = peer(from);
  const bool answer = packet.tcp_flags & link::kTcpAck;
  if (initial_sequence_[from]) return *initial_sequence_[from] == packet.sequence;
  if (answer && initial_sequence_[from ^ 1] && packet.acknowledgment == *initial_sequence_[from ^ 1] + 1) {
    initial_sequence_[from] = packet.sequence;
    if (!half.tcp.started()) half.tcp.Start(packet.sequence + 1);
    return true;
  }
  if (half.tcp.started() && half.tcp.Unwrap(packet.sequence + 1) != half.tcp.next()) return false;
  if (!syn_sender_ && (half.tcp.started() || other.tcp.started())) return false;  // joined before this SYN
  if (!syn_sender_) {
    syn_sender_ = answer ? from ^ 1 : from;
    syn_frame_ = context_.now();
    half.phase = other.phase = Phase::kMpa;
  }
  initial_sequence_[from] = packet.sequence;
  if (!half.tcp.started()) half.tcp.Start(packet.sequence + 1);
  if (answer && !initial_sequence_[from ^ 1]) {
    initial_sequence_[from ^ 1] = packet.acknowledgment - 1;
    if (!other.tcp.started()) other.tcp.Start(packet.acknowledgment);
  }
  return true;
}

void IwarpConnection::OnReset(Direction from, uint32_t sequence, FrameRef frame) {
  if (followed_) {
    const TcpStream& tcp = half_[from].tcp;
    if (tcp.started() && !tcp.IsPlausible(tcp.Unwrap(sequence))) return;
    if (!reset_frame_) reset_frame_ = frame;
    reset_from_ = from;
    return;
  }
  const bool refused = syn_sender_ && *syn_sender_ != from && !initial_sequence_[from];
  if (refused) {
    Aside aside;
    aside.kind = Aside::Kind::kRefused;
    aside.frame = frame;
    aside.from = ends_[from];
    aside.to = ends_[from ^ 1];
    context_.Emit(aside);
  }
  // Nobody listens: known to be about RDMA only by the port.
  if (refused && ends_[from].number == kNfsRdmaPort) {
    Follow(*syn_sender_, true);
    Setup setup;
    setup.message = SetupMessage::kReject;
    Emit(from, frame, frame, setup);
    End(CloseReason::kRejected, from, frame);
  }
  NotIwarp();
}

bool IwarpConnection::IsQuiet() const { return half_[0].tcp.quiet() && half_[1].tcp.quiet(); }

bool IwarpConnection::WaitsFor(Direction d, const TcpPiece& piece) const {
  const TcpStream& other = half_[d ^ 1].tcp;
  return piece.has_ack && other.started() && piece.ack > other.next();
}

// There is something that could be processed at once if the other direction did not matter.
bool IwarpConnection::IsReady(Direction d) const {
  const Half& half = half_[d];
  if (!half.tcp.front_is_next()) return false;
  const TcpPiece& piece = half.tcp.front();
  return half.phase == Phase::kMpa || half.phase == Phase::kFpdu || piece.begin == piece.data_end();
}

bool IwarpConnection::HasHole(Direction d) const {
  const TcpStream& tcp = half_[d].tcp;
  return tcp.started() && (tcp.empty() ? tcp.acknowledged() > tcp.next() : !tcp.front_is_next());
}

bool IwarpConnection::HasAcknowledgedHole(Direction d) const {
  return HasHole(d) && half_[d].tcp.acknowledged() > half_[d].tcp.next();
}

// Boundaries are searched in front of a hole that was acknowledged: nothing more comes to find them with.
bool IwarpConnection::IsSearchCutShort(Direction d) const {
  const Half& half = half_[d];
  return half.phase == Phase::kSearch && half.tcp.has_hole() && half.tcp.front_is_next() &&
         half.tcp.acknowledged() > half.tcp.contiguous_end();
}

void IwarpConnection::NoteBlocked() {
  for (Direction d : {Direction{0}, Direction{1}}) {
    Half& half = half_[d];
    const bool next = half.tcp.front_is_next();
    const bool waits = next && (half.phase == Phase::kAwaitReply || WaitsFor(d, half.tcp.front()));
    half.blocked = waits || HasAcknowledgedHole(d) || IsSearchCutShort(d) ? half.blocked + 1 : 0;
  }
}

void IwarpConnection::OnSegment(Direction from, const link::Packet& packet, const FrameRef& frame) {
  Half& half = half_[from];
  Half& other = peer(from);
  const bool fin = packet.tcp_flags & link::kTcpFin;
  const uint64_t wire = packet.wire_length;
  const bool carries = wire > 0 || fin;
  if (packet.payload.size() < wire) {
    if (followed_) {
      ++context_.stats().truncated_frames;
    } else {
      ++truncated_frames_;
    }
  }
  if (context_.options().sightings) See(from, packet, frame);
  ++packets_;
  half.heard = true;
  if (!IsQuiet()) NoteBlocked();
  if (!half.tcp.started() && carries) half.tcp.Start(packet.sequence);

  TcpPiece piece;
  if (packet.tcp_flags & link::kTcpAck) {
    // The first acknowledgment after a SYN tells where the other stream begins.
    if (!other.tcp.started() && other.phase == Phase::kMpa) other.tcp.Start(packet.acknowledgment);
    if (other.tcp.started()) {
      piece.ack = other.tcp.Unwrap(packet.acknowledgment);
      piece.has_ack = other.tcp.NoteAcknowledged(piece.ack, frame);
    }
  }
  if (!carries && piece.has_ack && half.tcp.empty()) {
    piece.frame = frame;
    NoteReceipt(from, piece);
  }
  if (carries) {
    piece.begin = half.tcp.Unwrap(packet.sequence);
    piece.end = piece.begin + wire + (fin ? 1 : 0);
    piece.fin = fin;
    piece.starts_segment = true;
    piece.frame = frame;
    piece.bytes = packet.payload;
    if (!followed_ && half.phase == Phase::kSearch && piece.begin < half.tcp.next() &&
        half.tcp.next() - piece.begin <= kStartWindow) {
      half.tcp.StartEarlier(piece.begin);
      StartSearch(from, true);
    }
    if (followed_ && piece.begin < half.tcp.next()) NoteRepeat(from, piece);
    const bool reads = half.phase == Phase::kMpa || half.phase == Phase::kFpdu;
    if (reads && half.tcp.empty() && piece.begin == half.tcp.next() && !WaitsFor(from, piece)) {
      Process(from, piece);
    } else {
      Hold(from, piece);
    }
    if (!followed_ && half.phase == Phase::kSearch) {
      const bool nfs = HasPort(kNfsRdmaPort) || HasPort(kNfsPort);
      const uint64_t factor = nfs ? kNfsFactor : 1;
      half.searched_bytes += wire;
      if (++half.searched_segments > kSearchSegments * factor || half.searched_bytes > kSearchBytes * factor)
        NotIwarp();
    }
  }
  if (!done_ && !IsQuiet()) Drain();
}

void IwarpConnection::See(Direction from, const link::Packet& packet, const FrameRef& frame) {
  if (packet.tcp_flags & link::kTcpSyn) return;
  SightingJournal::Seen seen{.frame = frame,
                             .number = packet.sequence,
                             .count = static_cast<uint32_t>(packet.wire_length),
                             .acknowledged = packet.acknowledgment,
                             .kind = Sighting::Kind::kSegment,
                             .from = from,
                             .acknowledges = (packet.tcp_flags & link::kTcpAck) != 0};
  decltype(Sighting::sack) sack;
  size_t blocks = 0;
  link::ForEachTcpOption(packet, [&](uint8_t kind, Bytes contents) {
    if (kind != link::kTcpOptionSack) return;
    constexpr size_t kBlock = 8;
    for (; contents.size() >= kBlock && blocks < sack.size(); contents = contents.subspan(kBlock))
      sack[blocks++] = {LoadBe32(contents.data()), LoadBe32(contents.data() + 4)};
  });
  journal_.Take(seen, std::span(sack).first(blocks), followed_, [this](Sighting& told) {
    told.connection = info_.id;
    told.slot = info_.slot;
    told.from = side(told.from);
    context_.Emit(told);
  });
}

// A segment that repeats sequence numbers: FPDUs that are whole in it are held against what came first. They begin at
// multiples of four from each other.
void IwarpConnection::NoteRepeat(Direction d, const TcpPiece& piece) {
  constexpr uint64_t kStep = 4;
  const uint64_t end = piece.begin + piece.bytes.size();
  uint64_t at = piece.begin + (half_[d].last_fpdu - piece.begin) % kStep;
  while (at + iwarp::kUlpduLengthSize + iwarp::kCrcSize <= end) {
    const IwarpOriginal* original = shared_.originals.Find(stream(d), at);
    if (!original) {
      at += kStep;
      continue;
    }
    if (original->size > end - at) return;
    const FpduRepeat repeat = shared_.originals.HoldAgainst(
        *original, piece.bytes.subspan(static_cast<size_t>(at - piece.begin), original->size));
    if (repeat != FpduRepeat::kSame) {
      return Emit(d, piece.frame, piece.frame,
                  Anomaly{.kind = AnomalyKind::kChangedRequest,
                          .other_frame = original->frame,
                          .number = static_cast<uint32_t>(at),
                          .unverified = repeat == FpduRepeat::kUnverified});
    }
    at += original->size;
  }
}

void IwarpConnection::Hold(Direction d, const TcpPiece& piece) {
  for (;;) {
    const TcpStream::Held held = half_[d].tcp.Hold(piece);
    half_[d].search_due = true;
    if (held == TcpStream::Held::kAdded) return;
    if (held == TcpStream::Held::kDuplicate) {
      if (followed_) ++context_.stats().duplicates;
      return;
    }
    if (!followed_) return NotIwarp();
    if (!MakeRoom(d)) {
      context_.stats().dropped_for_memory += piece.bytes.size();
      return;
    }
    if (done_) return;
  }
}

// Stops waiting for whatever holds up direction `d`. False when nothing of it is held.
bool IwarpConnection::MakeRoom(Direction d) {
  Half& half = half_[d];
  if (half.tcp.empty()) return false;
  if (!half.tcp.front_is_next()) {
    GiveUpHole(d, true);
  } else if (IsReady(d)) {
    Deliver(d);
  } else if (half.phase == Phase::kAwaitReply) {
    StartSearch(d, true);
  } else {
    Search(d, true);
  }
  return true;
}

void IwarpConnection::GiveUpHole(Direction d, bool final) {
  Half& half = half_[d];
  const TcpStream& tcp = half.tcp;
  uint64_t to = tcp.empty() ? tcp.acknowledged() : tcp.front().begin;
  if (!final && !tcp.empty()) to = std::min(to, tcp.acknowledged());
  half.blocked = 0;
  SkipLost(d, to, tcp.empty() ? context_.now() : tcp.front().frame);
}

// The bytes in front of the hole are searched as they are, and given up where they show nothing.
void IwarpConnection::EndSearchAtHole(Direction d) {
  Half& half = half_[d];
  half.blocked = 0;
  if (Search(d, false)) return;
  const uint64_t end = half.tcp.contiguous_end();
  if (followed_) EmitGap(d, {end - half.tcp.next(), Gap::Of::kContent}, half.tcp.front().frame);
  half.tcp.SkipTo(end);
  StartSearch(d, true);
}

void IwarpConnection::Deliver(Direction d) {
  half_[d].blocked = 0;
  Process(d, half_[d].tcp.Pop());
}

void IwarpConnection::NoteReceipt(Direction d, const TcpPiece& piece) {
  if (WaitsFor(d, piece)) return;
  info_.acknowledged_in[side(d)] = piece.frame.order();
  info_.sends_received[side(d)] = peer(d).sends.Acknowledge([&piece](uint64_t end) { return piece.ack >= end; });
}

void IwarpConnection::Process(Direction d, const TcpPiece& piece) {
  if (piece.has_ack) NoteReceipt(d, piece);
  const uint64_t wire = piece.data_end() - piece.begin;
  const uint64_t used = Consume(d, piece.bytes, wire, piece.frame);
  if (done_) return;
  if (used < wire) return PutBack(d, piece, used);  // no longer readable, or not yet
  if (piece.fin) EndStream(d, piece.frame);
}

// All but the first `used` bytes of a piece.
void IwarpConnection::PutBack(Direction d, TcpPiece piece, uint64_t used) {
  Half& half = half_[d];
  const auto seen = static_cast<size_t>(std::min<uint64_t>(used, piece.bytes.size()));
  piece.begin += used;
  piece.bytes = piece.bytes.subspan(seen);
  piece.starts_segment = piece.starts_segment && used == 0;
  half.search_due = true;
  if (half.tcp.HoldFirst(piece)) return;
  context_.stats().dropped_for_memory += piece.bytes.size();
  SkipLost(d, piece.data_end(), piece.frame);
  if (piece.fin) EndStream(d, piece.frame);
}

void IwarpConnection::EndStream(Direction d, const FrameRef& frame) {
  half_[d].tcp.Advance(1);
  OnFin(d, frame);
}

void IwarpConnection::OnFin(Direction d, FrameRef frame) {
  half_[d].fin = true;
  if (peer(d).fin) End(CloseReason::kDisconnect, d, frame);
}

bool IwarpConnection::Search(Direction d, bool final) {
  Half& half = half_[d];
  half.search_due = false;
  const TcpPiece& front = half.tcp.front();
  if (!opened_ && front.starts_segment && front.bytes.size() >= 16) {
    const iwarp::MpaKey key = iwarp::RecogniseMpaKey(front.bytes);
    if (key == iwarp::MpaKey::kRequest || key == iwarp::MpaKey::kReply) {
      half.phase = Phase::kMpa;
      return true;
    }
  }
  if (!followed_ && !final && packets_ < kFirstPackets) {
    half.search_due = true;
    return false;
  }
  bool fin = false;
  half.tcp.ForEachFrom(front.begin, [&](const TcpPiece& piece) {
    fin = piece.fin;
    return true;
  });
  const BoundarySearch::Context context{.likely = followed_ || HasPort(kNfsRdmaPort),
                                        .markers = half.markers,
                                        .markers_known = half.markers_known,
                                        .base = half.base,
                                        .crc = half.crc};
  const uint64_t end = half.tcp.contiguous_end();
  if (const auto found = half.search.Advance(half.tcp, context, final || fin)) {
    half.tcp.SkipTo(found->begin);
    half.phase = Phase::kFpdu;
    half.from_search = true;
    // RFC 5044 lets each side choose about markers; what one direction proves is taken for both.
    if (found->no_markers) half.markers_known = peer(d).markers_known = true;
    peer(d).search_due = true;
    half.crc = found->crc;
    if (peer(d).crc == CrcUse::kUnknown) peer(d).crc = found->crc;
    const bool first_is_passive =
        ends_[0].number == kNfsRdmaPort || (ends_[1].number != kNfsRdmaPort && ends_[0].number < ends_[1].number);
    if (!followed_) Follow(syn_sender_ ? *syn_sender_ : first_is_passive ? 1 : 0, syn_sender_.has_value());
    FrameRef frame = half.tcp.front().frame;
    const TcpStream& other = peer(d).tcp;
    if (!other.empty() && other.front().frame.order() < frame.order()) frame = other.front().frame;
    EmitOpened(active_, frame);
    rdmap_.OnLost(side(d));  // what came before is not known
    return true;
  }
  if (fin || final) {  // nothing of it can be read
    if (!followed_) {
      NotIwarp();
      return true;
    }
    half.tcp.SkipTo(end - (fin ? 1 : 0));
    StartSearch(d, true);
    return true;
  }
  if (followed_ && end - front.begin > kSearchWindow) {
    half.tcp.SkipTo(end - kSearchWindow / 2);
    StartSearch(d, false);
    return true;
  }
  return false;
}

bool IwarpConnection::DeliverOne() {
  const bool ready[2] = {IsReady(0), IsReady(1)};
  const auto frame = [&](Direction d) { return half_[d].tcp.front().frame.order(); };
  const bool can[2] = {ready[0] && !WaitsFor(0, half_[0].tcp.front()), ready[1] && !WaitsFor(1, half_[1].tcp.front())};
  if (can[0] && can[1]) {
    Deliver(frame(1) < frame(0) ? 1 : 0);
  } else if (can[0] || can[1]) {
    Deliver(can[1] ? 1 : 0);
  } else if (ready[0] && ready[1]) {
    // Each acknowledges the other: one was sent again after the answer to it. That is the one captured later.
    Deliver(frame(1) > frame(0) ? 1 : 0);
  } else {
    return false;
  }
  return true;
}

// Gives up one thing that is waited for, the holes first: what waits may be waiting for them.
bool IwarpConnection::ReleaseOne(bool final) {
  for (Direction d : {Direction{0}, Direction{1}}) {
    const bool lost = HasAcknowledgedHole(d) && half_[d].blocked >= kPatience;
    if (lost || (final && HasHole(d))) {
      GiveUpHole(d, final);
      return true;
    }
    if (IsSearchCutShort(d) && (final || half_[d].blocked >= kPatience)) {
      EndSearchAtHole(d);
      return true;
    }
  }
  for (Direction d : {Direction{0}, Direction{1}}) {
    Half& half = half_[d];
    if (!half.tcp.front_is_next()) continue;
    const bool other_searches = peer(d).phase == Phase::kSearch && !peer(d).tcp.empty();
    const uint32_t patience = other_searches ? kSearchPatience : kPatience;
    if (!final && half.blocked < patience) continue;
    if (IsReady(d)) {
      Deliver(d);
    } else if (half.phase == Phase::kAwaitReply) {
      StartSearch(d, true);
    } else if (!final || !Search(d, true)) {
      continue;
    }
    return true;
  }
  return false;
}

void IwarpConnection::Drain() {
  while (!done_) {
    bool found = false;
    for (Direction d : {Direction{0}, Direction{1}}) {
      Half& half = half_[d];
      if (!done_ && half.phase == Phase::kSearch && half.search_due && half.tcp.front_is_next() && !IsReady(d))
        found = Search(d, false) || found;
    }
    if (done_ || (!found && !DeliverOne() && !ReleaseOne(false))) return;
  }
}

void IwarpConnection::Close(CloseReason why) {
  while (!done_ && !IsQuiet()) {
    Drain();
    if (!done_ && !IsQuiet() && !ReleaseOne(true)) break;
  }
  if (why == CloseReason::kEndOfCapture) TellOfSilence();
  if (reset_frame_) why = half_[0].fin || half_[1].fin ? CloseReason::kDisconnect : CloseReason::kReset;
  End(why, reset_from_, reset_frame_.value_or(context_.now()));
}

}  // namespace stag::fabric
