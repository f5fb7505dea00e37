// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/marker.h"

#include <algorithm>

namespace stag::cli {
namespace {

// Packets of a connection that follow a stretch of it: what a tracker waits for before it takes a packet for lost.
constexpr uint64_t kBehind = 64;

}  // namespace

// What is wanted of the connection whatever its place.
bool Marker::IsInExtent(const TrackSlice& slice, Progress& progress, const FrameRef& frame) const {
  if (slice.extent == TrackSlice::Extent::kWhole) return true;
  if (slice.extent == TrackSlice::Extent::kStretch && slice.first_frame != 0 && frame.number >= slice.first_frame &&
      (frame.number <= slice.last_frame || progress.behind++ < kBehind))
    return true;
  return selection_.frames_alone() && selection_.HasConnection(slice.connection) &&
         selection_.InRanges(frame, frame, choice_.first_time_ns);
}

void Marker::OnPacket(Track track, const fabric::RcPacket& p) {
  const PacketPosition place = places_.OnPacket(track, p);
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || !found->second.used) return;
  const TrackSlice& slice = found->second;
  Progress& progress = progress_[track];
  uint64_t& await = progress.await[place.space];
  const bool wanted = slice.wanted[place.space].Contains(place.begin);
  bool marked = wanted || IsInExtent(slice, progress, p.frame);
  if (!p.info->response) {
    if (wanted) await = std::max(await, place.end);
  } else if (await != 0 && !p.Is(ib::Operation::kReadResponse) && p.info->aeth) {
    // A NAK makes its receiver send everything from its PSN on again; an ACK is one of all before, too.
    marked |= p.IsNak() ? place.begin < await : place.end >= await;
    if (!p.IsNak() && place.end >= await) await = 0;
  }
  if (marked) frames_.Add(p.frame.number);
}

void Marker::OnCongestionNotification(Track track, fabric::Side, const FrameRef& frame) {
  const auto found = tracks_.find(track);
  if (found != tracks_.end() && found->second.used && IsInExtent(found->second, progress_[track], frame))
    frames_.Add(frame.number);
}

void Marker::OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) {
  const PacketPositions::Segment segment = places_.OnSegment(track, from, packet, frame);
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || !found->second.used) return;
  const TrackSlice& slice = found->second;
  const PacketPosition& place = segment.place;
  Progress& progress = progress_[track];
  const bool wanted = slice.wanted[from].Intersects(place.begin, place.end);
  bool marked = wanted || IsInExtent(slice, progress, frame);
  if (packet.tcp_flags & link::kTcpSyn) {
    progress.handshake = true;
    marked = true;
  } else if (progress.handshake && packet.wire_length == 0) {
    progress.handshake = false;  // the acknowledgment that ends it
    marked = true;
  }
  if (wanted) progress.await[from] = std::max(progress.await[from], place.end);
  if (segment.acknowledged) {
    const uint8_t other = from ^ 1;
    uint64_t& await = progress.await[other];
    // What acknowledges a part of it, as often as it does; and the first that acknowledges all.
    if (packet.wire_length == 0 && *segment.acknowledged > 0)
      marked |= slice.wanted[other].Contains(*segment.acknowledged - 1);
    if (await != 0 && *segment.acknowledged >= await) {
      marked = true;
      await = 0;
    }
  }
  if (marked) frames_.Add(frame.number);
}

void Marker::OnFragments(std::span<const uint64_t> frames, const FrameRef& last) {
  if (fragments_.size() + frames.size() > kMostFragments) MarkFragments();
  for (const uint64_t frame : frames) fragments_.push_back({last.number, frame});
}

// A fragment may have been put together itself, before.
void Marker::MarkFragments() {
  for (auto fragment = fragments_.rbegin(); fragment != fragments_.rend(); ++fragment)
    if (frames_.Contains(fragment->last)) frames_.Add(fragment->frame);
  fragments_.clear();
}

void Marker::OnForgotten(Track track) {
  places_.Forget(track);
  progress_.erase(track);
}

}  // namespace stag::cli
