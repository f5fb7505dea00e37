// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/packet_places.h"

#include <algorithm>

#include "protocol/base/crc.h"
#include "protocol/base/sequence.h"
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"
#include "protocol/link/packet.h"
#include "protocol/rpcrdma/header.h"
#include "session/fabric/ib_packet.h"

namespace stag::scrub {
namespace {

using fabric::EventKind;
using fabric::Side;

constexpr unsigned kPsnBits = 24;

// Calls fn(offset, size) for each stretch without a marker of [begin, begin + length) of an FPDU's bytes, which count
// without markers from its length field on; offsets count from where the FPDU begins, markers included.
template <typename Fn>
void ForEachRun(uint64_t position, bool markers, uint64_t begin, uint64_t length, Fn fn) {
  uint64_t offset = 0, logical = 0;
  const uint64_t end = begin + length;
  while (logical < end) {
    if (markers && (position + offset) % iwarp::kMarkerInterval == 0) offset += iwarp::kMarkerSize;
    const uint64_t room = markers ? iwarp::kMarkerInterval - (position + offset) % iwarp::kMarkerInterval : end;
    const uint64_t n = std::min(room, end - logical);
    const uint64_t from = std::max(begin, logical);
    if (from < logical + n) fn(offset + (from - logical), logical + n - from);
    offset += n;
    logical += n;
  }
}

// Whether it is an untagged message of this kind, where messages of this kind come.
bool IsOn(const iwarp::DdpHeader& header, iwarp::Opcode opcode, uint32_t queue) {
  return !header.tagged && header.opcode == opcode && header.queue == queue;
}

// How much of a Terminate is known for what it is (RFC 5040 section 4.8).
uint32_t KnownTerminate(const iwarp::DdpSegment& segment) {
  constexpr uint32_t kControl = 4, kSegmentLength = 2;
  iwarp::Terminate terminate;
  (void)iwarp::DecodeTerminate(segment.payload, segment.payload_length, terminate);
  uint32_t known = kControl;
  if (terminate.segment_length) known += kSegmentLength;
  if (terminate.ddp) known += terminate.ddp->size();
  if (terminate.read_request) known += iwarp::kReadRequestSize;
  return known;
}

}  // namespace

PacketPlaces::TrackState& PacketPlaces::Of(Track track) {
  if (tracks_.size() >= limits_.tracks && !tracks_.contains(track)) tracks_.erase(tracks_.begin());
  return tracks_.try_emplace(track, held_).first->second;
}

PlaceLimits PlaceLimits::For(uint64_t memory) {
  constexpr uint64_t kTrack = 2048, kPacket = 128, kPlace = 64;  // bytes
  PlaceLimits limits;
  limits.tracks = static_cast<size_t>(std::min<uint64_t>(limits.tracks, std::max<uint64_t>(memory / 4 / kTrack, 1)));
  limits.packets = static_cast<size_t>(std::min<uint64_t>(limits.packets, memory / 2 / kPacket));
  limits.places = static_cast<size_t>(std::min<uint64_t>(limits.places, memory / 4 / kPlace));
  return limits;
}

void PacketPlaces::Remember(const Remembered& what) {
  remembered_.push_back(what);
  while (remembered_.size() > limits_.packets) {
    const Remembered oldest = remembered_.front();
    remembered_.pop_front();
    const auto track = tracks_.find(oldest.track);
    if (track == tracks_.end()) continue;
    TrackState& state = track->second;
    switch (oldest.kind) {
      case Remembered::Kind::kRequest: state.packets[oldest.side][0].seen.erase(oldest.key); break;
      case Remembered::Kind::kResponse: state.packets[oldest.side][1].seen.erase(oldest.key); break;
      case Remembered::Kind::kPiece: state.streams[oldest.side].pieces.erase(oldest.key); break;
      case Remembered::Kind::kFpdu: state.streams[oldest.side].fpdus.erase(oldest.key); break;
    }
  }
}

void PacketPlaces::OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) {
  connections_[info.id] = {track, first_end, info.fabric == fabric::FabricKind::kIwarp};
}

void PacketPlaces::OnPacket(Track track, const fabric::RcPacket& packet) {
  if (!packet.info->data || packet.data_length == 0) return;
  const bool response = packet.info->response;
  Packets& packets = Of(track).packets[packet.from][response ? 1 : 0];
  if (!packets.started) {
    packets.started = true;
    packets.newest = FirstPosition(packet.psn());
  }
  const uint64_t position = packets.Unwrap(packet.psn());
  packets.newest = std::max(packets.newest, position);
  const uint64_t frame = first_ + packet.frame.number;
  const size_t captured = packet.data.size();
  const uint32_t check = Crc32c(0, packet.data);
  const auto [at, fresh] =
      packets.seen.try_emplace(position, Packets::Seen{frame, packet.data_length, captured, check});
  if (!fresh) {
    const Packets::Seen& first = at->second;
    const uint64_t length = std::min(first.length, packet.data_length);
    if (first.frame == frame) return;
    frames_.CopyLater({first.frame, 0, length}, {frame, 0, length});
    if (first.captured == captured && first.check != check) frames_.ChangeLater({frame, 0, captured}, false);
    return;
  }
  Remember({track, position, packet.from, response ? Remembered::Kind::kResponse : Remembered::Kind::kRequest});
}

uint64_t PacketPlaces::Packets::Unwrap(uint32_t psn) const { return NearestPosition<kPsnBits>(newest, psn); }

uint64_t PacketPlaces::Stream::Unwrap(uint32_t sequence) const { return NearestPosition<32>(newest, sequence); }

void PacketPlaces::OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) {
  if (packet.wire_length == 0) return;
  Stream& stream = Of(track).streams[from];
  if (!stream.started) {
    stream.started = true;
    stream.newest = FirstPosition(packet.sequence);
  }
  const uint64_t begin = stream.Unwrap(packet.sequence), end = begin + packet.wire_length;
  stream.newest = std::max(stream.newest, end);
  const uint64_t number = first_ + frame.number;
  made_.clear();
  stream.last_frame = number;
  stream.last_begin = begin;
  auto next = stream.pieces.upper_bound(begin);
  if (next != stream.pieces.begin() && std::prev(next)->second.end > begin) --next;
  for (uint64_t at = begin; at < end;) {
    if (next == stream.pieces.end() || next->first > at) {
      const uint64_t until = next == stream.pieces.end() ? end : std::min(end, next->first);
      stream.pieces.emplace_hint(next, at, Stream::Piece{until, number, at - begin});
      made_.push_back(at);
      at = until;
      continue;
    }
    const Stream::Piece& piece = next->second;
    const uint64_t n = std::min(end, piece.end) - at;
    frames_.CopyLater({piece.frame, piece.offset + (at - next->first), n}, {number, at - begin, n});
    at += n;
    ++next;
  }
  for (const uint64_t piece : made_) Remember({track, piece, from, Remembered::Kind::kPiece});
}

// What was not captured is of frame 0, which does not exist.
void PacketPlaces::FindStream(const Stream& stream, uint64_t begin, uint64_t length, std::vector<Place>& places) const {
  const uint64_t end = begin + length;
  auto next = stream.pieces.upper_bound(begin);
  if (next != stream.pieces.begin() && std::prev(next)->second.end > begin) --next;
  for (uint64_t at = begin; at < end;) {
    if (next == stream.pieces.end() || next->first > at) {
      const uint64_t until = next == stream.pieces.end() ? end : std::min(end, next->first);
      places.push_back({0, 0, until - at});
      at = until;
      continue;
    }
    const uint64_t n = std::min(end, next->second.end) - at;
    places.push_back({next->second.frame, next->second.offset + (at - next->first), n});
    at += n;
    ++next;
  }
}

void PacketPlaces::WriteStream(const Stream& stream, uint64_t begin, Bytes bytes) {
  scratch_.clear();
  FindStream(stream, begin, bytes.size(), scratch_);
  WritePlaces(frames_, scratch_, bytes);
}

// Kept: the header, IRD and ORD, and an RFC 8797 message.
void PacketPlaces::OnMpaFrame(Track track, Side from, const fabric::StreamPart& part) {
  constexpr size_t kMessage = 8;
  iwarp::MpaFrame mpa;
  (void)iwarp::DecodeMpaFrame(part.bytes, part.size, mpa);
  framing_.assign(part.bytes.size(), std::byte{0});
  const auto keep = [&](size_t offset, size_t size) {
    if (offset >= part.bytes.size()) return;
    std::copy_n(part.bytes.begin() + static_cast<ptrdiff_t>(offset), std::min(size, part.bytes.size() - offset),
                framing_.begin() + static_cast<ptrdiff_t>(offset));
  };
  keep(0, iwarp::kMpaHeaderSize + (mpa.enhanced ? iwarp::kEnhancedPrefixSize : 0));
  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(mpa.private_data);
  if (search.found != rpcrdma::PrivateDataSearch::Found::kNothing)
    keep(static_cast<size_t>(mpa.private_data.data() - part.bytes.data()) + search.offset, kMessage);
  const Stream& stream = Of(track).streams[from];
  WriteStream(stream, stream.Unwrap(part.sequence), framing_);
}

void PacketPlaces::OnFpdu(Track track, Side from, const fabric::StreamPart& part, const iwarp::Fpdu& fpdu) {
  TrackState& state = Of(track);
  Stream& stream = state.streams[from];
  const uint64_t begin = stream.Unwrap(part.sequence);
  if (stream.fpdus.insert_or_assign(begin, part.size).second) Remember({track, begin, from, Remembered::Kind::kFpdu});
  framing_.assign(part.bytes.size(), std::byte{0});
  const auto keep = [&](uint64_t offset, uint64_t size) {
    if (offset >= part.bytes.size()) return;
    std::copy_n(part.bytes.begin() + static_cast<ptrdiff_t>(offset), std::min(size, part.bytes.size() - offset),
                framing_.begin() + static_cast<ptrdiff_t>(offset));
  };
  const auto keep_run = [&](uint64_t from_byte, uint64_t size) {
    ForEachRun(part.position, part.markers, from_byte, size, keep);
  };
  if (part.markers)
    for (uint64_t at = (iwarp::kMarkerInterval - part.position % iwarp::kMarkerInterval) % iwarp::kMarkerInterval;
         at < part.size; at += iwarp::kMarkerInterval)
      keep(at, iwarp::kMarkerSize);
  keep_run(0, iwarp::kUlpduLengthSize);
  iwarp::DdpSegment segment;
  state.payload[from].clear();
  if (iwarp::DecodeDdpSegment(fpdu.ulpdu, fpdu.ulpdu_length, segment) == ParseStatus::kOk) {
    const uint64_t data = iwarp::kUlpduLengthSize + segment.header.size();
    keep_run(iwarp::kUlpduLengthSize, segment.header.size());
    if (IsOn(segment.header, iwarp::Opcode::kReadRequest, iwarp::kReadRequestQueue))
      keep_run(data, std::min(segment.payload_length, iwarp::kReadRequestSize));
    if (IsOn(segment.header, iwarp::Opcode::kTerminate, iwarp::kTerminateQueue))
      keep_run(data, std::min(segment.payload_length, KnownTerminate(segment)));
    ForEachRun(part.position, part.markers, data, segment.payload_length,
               [&](uint64_t offset, uint64_t size) { FindStream(stream, begin + offset, size, state.payload[from]); });
    if (!segment.header.tagged && iwarp::IsSend(segment.header.opcode)) {
      Message& message = state.sending[from];
      if (message.segments.empty() || message.sequence != segment.header.sequence) {
        if (message.whole_start) state.previous[from] = std::move(message);
        message = Message(held_);
        message.whole_start = segment.header.message_offset == 0;
        message.sequence = segment.header.sequence;
      }
      Hold(message, segment.header.message_offset, state.payload[from]);
    }
  }
  WriteStream(stream, begin, framing_);
  if (!fpdu.crc_captured || fpdu.crc_field == 0) return;
  scratch_.clear();
  FindStream(stream, begin, part.size, scratch_);
  frames_.SealLater(scratch_, fpdu.crc_field == iwarp::ComputeFpduCrc(part.bytes));
}

// A Send for which there is no room stays zero.
void PacketPlaces::Hold(Message& message, uint32_t message_offset, const std::vector<Place>& places) {
  if (message.charge.TryAdd((1 + places.size()) * sizeof(Place)))
    return message.segments.push_back({message_offset, places});
  ++forgotten_;
  message.segments = {{1, {}}};  // its beginning is missing
  message.charge.Set(0);
}

// Packets of InfiniBand are compared when they come (OnPacket). An anomaly of iWARP comes with the segment.
void PacketPlaces::Note(const fabric::Event& event) {
  const auto named = connections_.find(event.connection->id);
  if (named == connections_.end() || !named->second.iwarp) return;
  if (event.anomaly().kind != fabric::AnomalyKind::kChangedRequest) return;
  const Stream& stream = Of(named->second.track).streams[event.from ^ named->second.first_end];
  const uint64_t frame = first_ + event.frame.number;
  const uint64_t begin = stream.Unwrap(static_cast<uint32_t>(event.anomaly().number));
  const auto fpdu = stream.fpdus.find(begin);
  if (stream.last_frame != frame || begin < stream.last_begin || fpdu == stream.fpdus.end()) return;
  frames_.ChangeLater({frame, begin - stream.last_begin, fpdu->second}, true);
}

void PacketPlaces::Find(const fabric::Event& event, std::vector<Place>& places) {
  places.clear();
  const EventKind kind = event.kind();
  if (kind != EventKind::kSend && kind != EventKind::kWrite && kind != EventKind::kReadResponse) return;
  const auto named = connections_.find(event.connection->id);
  if (named == connections_.end()) return;
  TrackState& state = Of(named->second.track);
  if (named->second.iwarp) {
    const auto end = static_cast<Side>(event.from ^ named->second.first_end);
    if (kind == EventKind::kSend) return TakeMessage(state, end, places);
    places = state.payload[end];
  } else if (kind == EventKind::kSend) {
    FindSend(state, event.from, event, places);
  } else {
    places.push_back({first_ + event.frame.number, 0, event.rdma().length});
  }
}

// Its packets have successive PSNs.
void PacketPlaces::FindSend(TrackState& state, Side from, const fabric::Event& event, std::vector<Place>& places) {
  const uint64_t first = first_ + event.first_frame.number;
  const Packets& packets = state.packets[from][0];
  const auto first_psn = frames_.Psn(first);
  if (!first_psn) return;
  uint64_t position = packets.Unwrap(*first_psn);
  for (uint64_t at = 0; at < event.send().length; ++position) {
    const auto seen = packets.seen.find(position);
    if (seen == packets.seen.end()) return;
    places.push_back({seen->second.frame, 0, seen->second.length});
    at += seen->second.length;
  }
}

// A Send that was not finished comes when the next one has begun.
void PacketPlaces::TakeMessage(TrackState& state, Side end, std::vector<Place>& places) {
  Message& message = state.previous[end].whole_start ? state.previous[end] : state.sending[end];
  uint64_t at = 0;
  for (const Segment& segment : message.segments) {
    if (segment.message_offset > at) break;  // one is missing
    uint64_t known = at - segment.message_offset;
    for (Place place : segment.places) {
      const uint64_t skipped = std::min(known, place.length);
      known -= skipped;
      place.offset += skipped;
      place.length -= skipped;
      at += place.length;
      if (place.length > 0) places.push_back(place);
    }
  }
  message = Message(held_);
}

}  // namespace stag::scrub
