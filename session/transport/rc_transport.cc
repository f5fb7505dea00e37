// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/rc_transport.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/base/crc.h"
#include "protocol/base/sequence.h"

namespace stag::transport {
namespace {

using fabric::RcPacket;
using ib::AethKind;
using ib::Operation;

constexpr size_t kMaxReads = 256;                     // outstanding ones of a side: initiator depth has eight bits
constexpr size_t kFewFlight = 64, kMaxFlight = 2048;  // packets in flight that are told apart: at first, and at most
constexpr uint64_t kFarAhead = uint64_t{1} << 16;
constexpr uint64_t kLongestRead = uint64_t{1} << 13;  // packets, of a Read whose length was not captured
constexpr uint32_t kSmallestMtu = 256, kLargestMtu = 4096;
constexpr uint8_t kCongestionExperienced = 3;

uint64_t PacketCount(uint64_t length, uint64_t mtu) { return length == 0 ? 1 : (length - 1) / mtu + 1; }

// Of all that a copy of a request must repeat.
uint32_t HashOf(const RcPacket& p) {
  std::array<std::byte, 25> head{};
  head[0] = static_cast<std::byte>(p.bth.opcode);
  if (p.info->reth) {
    StoreBe64(&head[1], p.reth.address);
    StoreBe32(&head[9], p.reth.key);
    StoreBe32(&head[13], p.reth.length);
  }
  if (p.info->immediate) StoreBe32(&head[17], p.immediate);
  if (p.info->ieth) StoreBe32(&head[21], p.invalidated);
  return Crc32c(Crc32c(0, head), p.data);
}

// Whether a copy of a request differs, over what was captured of both.
bool Differs(const PacketMemory::Entry& entry, const RcPacket& p, const Lasting* lasting) {
  if (!entry.lasting())
    return entry.had.length != p.data_length || (entry.had.captured == p.data.size() && entry.had.hash != HashOf(p));
  const Bytes packet = lasting->Again(entry.at.place, entry.at.size);
  if (packet.size() < entry.at.size) return false;  // nobody knows
  RcPacket first;
  ib::ParseTransport(packet, entry.at.whole, first);
  first.info = &ib::LookUpOpcode(first.bth.opcode);
  return first.data_length != p.data_length || (first.data.size() == p.data.size() && HashOf(first) != HashOf(p));
}

bool IsRnr(uint8_t syndrome) { return ib::KindOf(syndrome) == AethKind::kRnrNak; }

void CountNak(Counters& counters, uint8_t syndrome) {
  if (IsRnr(syndrome)) {
    ++counters.nak_rnr;
    return;
  }
  switch (syndrome & 31) {
    case ib::kNakSequence: ++counters.nak_sequence; break;
    case ib::kNakRemoteAccess: ++counters.nak_remote_access; break;
    case ib::kNakRemoteOperation: ++counters.nak_remote_operation; break;
    default: ++counters.nak_invalid_request; break;
  }
}

}  // namespace

// The position with this PSN that is nearest to the highest one of these requests.
uint64_t RcTransport::Unwrap(Half& half, uint32_t psn) {
  if (!half.referenced) {
    half.referenced = true;
    half.reference = FirstPosition(psn);
    return half.reference;
  }
  const uint64_t at = NearestPosition<24>(half.reference, psn);
  half.reference = std::max(half.reference, at);
  return at;
}

void RcTransport::OnFirstPsn(Side requester, uint32_t psn) {
  Half& half = half_[requester];
  if (!half.seen.started()) half.seen.Start(Unwrap(half, psn));
}

void RcTransport::OnClosed() {
  for (Half& half : half_) {
    charge_.Set(charge_.bytes() - half.flight_room * sizeof(Sent));
    half.flight.reset();
    half.flight_room = half.flight_size = 0;
    half.closed = true;
  }
}

void RcTransport::OnPathMtu(uint32_t bytes) { LearnMtu(bytes); }

// Every packet that is first or middle of a message carries a full path MTU.
void RcTransport::LearnMtu(uint64_t bytes) {
  if (bytes < kSmallestMtu || bytes > kLargestMtu || !std::has_single_bit(bytes) || bytes == mtu_) return;
  mtu_ = static_cast<uint32_t>(bytes);
  for (Half& half : half_)
    if (half.open_until != 0 && half.open_length != 0 && !half.reads.empty())
      CloseOpenRead(half, half.reads.back().begin + PacketCount(half.open_length, mtu_));
}

// The Read of unknown packet count takes the PSNs before `end`.
void RcTransport::CloseOpenRead(Half& half, uint64_t end) {
  half.open_until = 0;
  if (half.reads.empty()) return;
  Read& read = half.reads.back();
  read.end = std::max(read.end, end);
  half.seen.Add(read.begin, read.end);
}

void RcTransport::OnPacket(const RcPacket& p, Health& health, NoteSink* notes) {
  Counters& counters = health.sent[p.from];
  ++counters.packets;
  counters.bytes += p.data_length;
  counters.largest = std::max(counters.largest, static_cast<uint32_t>(p.data_length));
  if (p.ecn == kCongestionExperienced) ++counters.ce;
  if (p.bth.fecn) ++counters.fecn;
  if (p.bth.becn) ++counters.becn;
  if (p.info->data && !p.info->last && p.data_length != mtu_) LearnMtu(p.data_length);
  if (!notes && p.ecn != kCongestionExperienced && !p.bth.fecn && IsPlain(p)) return OnPlain(p, health);
  Note note;
  note.from = p.from;
  note.frame = p.frame;
  if (!p.info->response) {
    OnRequest(p, health, note);
  } else if (p.Is(Operation::kReadResponse)) {
    OnReadResponse(p, health, note);
  } else {
    OnAcknowledge(p, health, note);
  }
  health.Tell(note, notes);
  if (std::optional<Nak>& ended = half_[p.from].ended; ended && !p.info->response) {
    note.kind = Note::Kind::kRnrEnd;
    note.syndrome = ended->syndrome;
    note.original = ended->frame.number;
    note.since = ended->frame;
    ended.reset();
    health.Tell(note, notes);
  }
  if (p.ecn == kCongestionExperienced || p.bth.fecn) {
    note.kind = Note::Kind::kCongestion;
    if (p.info->response) note.begin = note.end = 0;  // its place is among the requests of the other side
    health.Tell(note, notes);
  }
}

// Whether it is the next request, as nearly all are, no Read, and nothing else is going on.
bool RcTransport::IsPlain(const RcPacket& p) const {
  if (p.info->response || p.Is(Operation::kReadRequest)) return false;
  const Half& half = half_[p.from];
  const uint64_t next = half.seen.next();
  return half.any && half.open_until == 0 && !half.nak && !half.rnr && !half.running && half.highest < next &&
         next - half.highest <= kFarAhead && half.reference <= next && (next & ib::kPsnMask) == p.psn();
}

// The same as OnRequest makes of it.
void RcTransport::OnPlain(const RcPacket& p, Health& health) {
  Half& half = half_[p.from];
  const uint64_t at = half.seen.next();
  half.reference = half.highest = at;
  half.seen.Add(at, at + 1);
  Fly(half, at + 1, p.data_length, health.sent[p.from]);
  Remember(p, at);
  half.last_request = p.frame;
  uint64_t& first = health.first_frames[p.from][static_cast<size_t>(Note::Kind::kNew)];
  if (first == 0) first = p.frame.number;
}

void RcTransport::OnRequest(const RcPacket& p, Health& health, Note& note) {
  Half& half = half_[p.from];
  Counters& counters = health.sent[p.from];
  const uint64_t at = Unwrap(half, p.psn());
  // A first request nowhere near the PSN that the CM exchange promised: believe the request.
  const bool promised = half.seen.started() && !half.any;
  if (promised && (at < half.seen.next() || at - half.seen.next() > kFarAhead)) half.seen.Start(at);
  if (!half.seen.started()) half.seen.Start(at);
  if (half.open_until != 0 && at >= half.seen.next()) CloseOpenRead(half, std::min(at, half.open_until));
  const bool is_top = at >= half.seen.next(), known = half.seen.Contains(at);
  note.begin = at;
  note.end = at + 1;
  if (half.rnr && half.rnr->at == at) {
    EndStall(half, p, health);
    half.ended = std::exchange(half.rnr, std::nullopt);
  }
  if (known) {
    ++counters.retransmitted;
    note.kind = Note::Kind::kRetransmission;
    OnRepeat(half, p, at, health);
  } else {
    if (half.any && at < half.highest) {
      ++counters.out_of_order;
      note.kind = Note::Kind::kOutOfOrder;
    }
    EndRun(half, is_top, at);
    half.seen.Add(at, at + 1);
  }
  if (p.Is(Operation::kReadRequest)) {
    OnRead(half, p, at, known);
    note.end = std::max(note.end, half.reads.empty() ? 0 : half.reads.back().end);
  } else if (!known) {
    Fly(half, at + 1, p.data_length, counters);
  }
  MakeRoom(half);
  if (!known || !IsRemembered(p, at, note)) Remember(p, at);
  if (note.changed) ++counters.changed;
  half.highest = half.any ? std::max(half.highest, at) : at;
  half.any = true;
  half.last_request = p.frame;
}

// The packet that an RNR NAK asked for.
void RcTransport::EndStall(Half& half, const RcPacket& p, Health& health) {
  int64_t& sum = health.sent[p.from].rnr_stall_ns;
  sum += std::min(Elapsed(half.rnr->frame, p.frame).value_or(0), INT64_MAX - sum);
  if (Episode* episode = health.FindEpisode(half.stall)) episode->first = episode->last = p.frame;
}

// The number of PSNs of a Read is that of the packets of its answer.
void RcTransport::OnRead(Half& half, const RcPacket& p, uint64_t at, bool known) {
  const bool whole = p.status == ParseStatus::kOk;
  uint64_t end = at + 1;
  if (whole && (p.reth.length <= kSmallestMtu || mtu_ != 0)) {
    end = at + PacketCount(p.reth.length, mtu_ != 0 ? mtu_ : kSmallestMtu);
  } else if (!known) {
    half.open_until = at + (whole ? PacketCount(p.reth.length, kSmallestMtu) : kLongestRead);
    half.open_length = whole ? p.reth.length : 0;
  }
  half.seen.Add(at, end);
  const auto asked = std::ranges::find_if(half.reads, [&](const Read& r) { return r.begin <= at && at < r.end; });
  if (asked != half.reads.end()) {
    asked->answered = std::min(asked->answered, at);
    return;
  }
  if (known) return;  // all of it was answered
  const size_t more = std::max<size_t>(1, half.reads.capacity());
  if (half.reads.size() == kMaxReads ||
      (half.reads.size() == half.reads.capacity() && !charge_.TryAdd(more * sizeof(Read)))) {
    if (half.reads.empty()) {
      half.open_until = 0;
      return;
    }
    half.lost_answers += half.answers.Missing(half.reads.front().begin, half.reads.front().answered);
    half.reads.erase(half.reads.begin());
  }
  if (half.reads.size() == half.reads.capacity()) half.reads.reserve(half.reads.capacity() + more);
  half.reads.push_back({at, end, at});
}

void RcTransport::OnRepeat(Half& half, const RcPacket& p, uint64_t at, Health& health) {
  Counters& counters = health.sent[p.from];
  if (half.nak && at <= half.nak->at) half.nak->obeyed = true;
  const bool after_rnr = half.nak && IsRnr(half.nak->syndrome);
  if (after_rnr) ++counters.after_rnr;
  if (!half.running) {
    half.running = true;
    half.run = 0;
    const bool go_back = half.nak && !after_rnr && (half.nak->syndrome & 31) == ib::kNakSequence;
    if (go_back) ++counters.go_back_n;
    if (!half.nak) ++counters.timeouts;
    Episode episode;
    episode.kind = go_back ? Episode::Kind::kGoBackN : half.nak ? Episode::Kind::kAfterNak : Episode::Kind::kTimeout;
    episode.side = p.from;
    episode.cause = half.nak ? half.nak->frame : half.last_request;
    episode.first = p.frame;
    episode.number = p.psn();
    if (!after_rnr) half.run = health.AddEpisode(episode, charge_);
  }
  if (Episode* episode = health.FindEpisode(half.run)) {
    episode->last = p.frame;
    ++episode->packets;
  }
}

// A new PSN, `is_top`: higher than all before.
void RcTransport::EndRun(Half& half, bool is_top, uint64_t at) {
  half.running = false;
  if (!half.nak) return;
  if (at <= half.nak->at) half.nak->obeyed = true;
  // Packets that were on their way when the NAK came are sent again; what is sent after going back is not.
  if (is_top && half.nak->obeyed && at > half.nak->at) half.nak.reset();
}

void RcTransport::OnReadResponse(const RcPacket& p, Health& health, Note& note) {
  Half& half = half_[p.requester()];
  Counters& counters = health.sent[p.from];
  const uint64_t at = Unwrap(half, p.psn());
  note.begin = at;
  note.end = at + 1;
  note.kind = Note::Kind::kResponse;
  const bool known = half.answers.Contains(at), late = !known && half.answers.started() && at < half.answers.next();
  if (known) {
    ++counters.repeated_responses;
    note.kind = Note::Kind::kRepeatedResponse;
  } else if (late) {
    ++counters.out_of_order;
  }
  half.answers.Add(at, at + 1);
  if (half.answers.full()) half.answers.TakeOldest();
  if (half.open_until != 0 && at < half.open_until && at >= half.reads.back().begin) {
    half.reads.back().end = std::max(half.reads.back().end, at + 1);
    half.seen.Add(half.reads.back().begin, half.reads.back().end);
    if (p.info->last) half.open_until = 0;
  }
  Acknowledge(half, at + 1);
  // Of a Read Request that was not captured only the PSN of the request itself is missing.
  if (half.seen.started() && !p.info->first && at < half.seen.next() && !half.seen.Contains(at))
    half.seen.Add(at, at + 1);
  const auto read = std::ranges::find_if(half.reads, [&](const Read& r) { return r.begin <= at && at < r.end; });
  if (read != half.reads.end() && (late || at + 1 == read->end) && half.open_until == 0 &&
      half.answers.Missing(read->begin, read->end) == 0)
    half.reads.erase(read);
  if (!known || !IsRemembered(p, at, note)) Remember(p, at);
}

void RcTransport::OnAcknowledge(const RcPacket& p, Health& health, Note& note) {
  Half& half = half_[p.requester()];
  note.kind = Note::Kind::kAcknowledgment;
  if (p.status != ParseStatus::kOk || !p.info->aeth) return;
  const uint64_t at = Unwrap(half, p.psn());
  const AethKind kind = ib::KindOf(p.aeth.syndrome);
  const bool refuses = kind == AethKind::kNak || kind == AethKind::kRnrNak;
  note.begin = refuses ? at : at + 1;
  note.syndrome = p.aeth.syndrome;
  Acknowledge(half, note.begin);
  if (!refuses) return;
  note.kind = Note::Kind::kNak;
  CountNak(health.sent[p.from], p.aeth.syndrome);
  half.nak = Nak{at, p.aeth.syndrome, p.frame, false};
  // The same again without an attempt in between is the same wait.
  if (kind != AethKind::kRnrNak || (half.rnr && half.rnr->at == at)) return;
  half.rnr = half.nak;
  Episode episode;
  episode.kind = Episode::Kind::kRnr;
  episode.side = p.requester();
  episode.cause = p.frame;
  episode.number = p.psn();
  episode.syndrome = p.aeth.syndrome;
  half.stall = health.AddEpisode(episode, charge_);
}

// The other side has all requests before `end`, and has answered them.
void RcTransport::Acknowledge(Half& half, uint64_t end) {
  if (!half.seen.started()) return;
  if (end > half.seen.next() && half.open_until != 0) CloseOpenRead(half, std::min(end, half.open_until));
  if (end > half.seen.next()) {
    if (end - half.seen.next() > kFarAhead) return;
    half.seen.PassOver(end);
    MakeRoom(half);
  }
  half.acknowledged = std::max(half.acknowledged, end);
  for (Read& read : half.reads)
    if (read.answered < end) read.answered = std::min(end, read.end);
  while (half.flight_size > 0 && half.InFlight(0).end <= end) {
    half.acknowledged_bytes = half.InFlight(0).bytes;
    ++half.flight_head;
    --half.flight_size;
  }
}

void RcTransport::MakeRoom(Half& half) {
  while (half.seen.full()) {
    const SeenRanges::Range oldest = half.seen.TakeOldest();
    half.lost_requests += std::min(oldest.end, half.acknowledged) - std::min(oldest.begin, half.acknowledged);
  }
}

// False: there is too little memory.
bool RcTransport::GrowFlight(Half& half) {
  const size_t room = std::max(half.flight_room * 2, kFewFlight);
  if (!shared_.TakeBuffer(charge_, (room - half.flight_room) * sizeof(Sent))) return false;
  auto larger = std::make_unique_for_overwrite<Sent[]>(room);
  for (size_t i = 0; i < half.flight_size; ++i) larger[i] = half.InFlight(i);
  half.flight = std::move(larger);
  half.flight_room = room;
  half.flight_head = 0;
  return true;
}

void RcTransport::Fly(Half& half, uint64_t end, uint64_t bytes, Counters& counters) {
  if (bytes == 0 || half.closed) return;
  if (half.flight_size == half.flight_room && half.flight_room < kMaxFlight && !GrowFlight(half)) return;
  half.sent_bytes += bytes;
  if (half.flight_size == kMaxFlight) --half.flight_size;  // the newest two become one
  half.InFlight(half.flight_size++) = {end, half.sent_bytes};
  counters.max_in_flight = std::max(counters.max_in_flight, half.sent_bytes - half.acknowledged_bytes);
}

uint64_t RcTransport::StreamOf(const RcPacket& p) const {
  return track_ * 4 + p.from * 2u + (p.info->response ? 1 : 0);
}

bool RcTransport::IsRemembered(const RcPacket& p, uint64_t at, Note& note) const {
  const uint64_t stream = StreamOf(p);
  const PacketMemory::Entry& entry = shared_.packets.At(stream, at);
  if (entry.stream != static_cast<uint32_t>(stream) || entry.position != static_cast<uint32_t>(at)) return false;
  note.original = entry.frame();
  note.changed = p.status == ParseStatus::kOk && !p.info->response && Differs(entry, p, shared_.lasting);
  return true;
}

void RcTransport::Remember(const RcPacket& p, uint64_t at) {
  const uint64_t stream = StreamOf(p);
  PacketMemory::Entry& entry = shared_.packets.At(stream, at);
  entry.stream = static_cast<uint32_t>(stream);
  entry.position = static_cast<uint32_t>(at);
  const std::optional<uint64_t> place = p.wire ? PlaceOf(shared_.lasting, p.wire->payload) : std::nullopt;
  entry.SetFrame(p.frame.number, place.has_value());
  if (p.info->response) return;  // nothing is compared with it
  if (place) {
    entry.at = {*place, static_cast<uint32_t>(p.wire->payload.size()), static_cast<uint32_t>(p.wire->wire_length)};
  } else {
    entry.had = {HashOf(p), static_cast<uint32_t>(p.data.size()), static_cast<uint32_t>(p.data_length)};
  }
}

uint64_t RcTransport::LostFromCapture(Side side) const {
  const Half& requests = half_[side];
  const Half& asked = half_[Other(side)];
  uint64_t lost = requests.lost_requests + asked.lost_answers;
  if (requests.seen.started())
    lost += requests.seen.Missing(requests.seen.first(), std::min(requests.acknowledged, requests.seen.next()));
  for (const Read& read : asked.reads) lost += asked.answers.Missing(read.begin, read.answered);
  return lost;
}

}  // namespace stag::transport
