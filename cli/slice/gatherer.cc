// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/gatherer.h"

#include <algorithm>

namespace stag::cli {
namespace {

constexpr size_t kMostSetup = 64;  // set-up and tear-down messages of a connection, each
constexpr size_t kMostEnded = 64;  // Calls that are kept after their end, until they are half of all

}  // namespace

Gatherer::Stretch Gatherer::StretchOf(const FrameRef& first, const FrameRef& last) const {
  Stretch stretch{first.number, last.number, {}};
  const PacketPosition* const begin = places_.Find(first.number);
  const PacketPosition* const end = places_.Find(last.number);
  if (begin && end && begin->track == end->track && begin->space == end->space && begin->begin <= end->end) {
    stretch.place = *begin;
    stretch.place.end = std::max(begin->end, end->end);
  }
  return stretch;
}

// `chosen`: it is asked for, not only needed to understand what is.
void Gatherer::Want(Followed& followed, const Stretch& stretch, bool chosen) {
  if (stretch.first == 0) return;
  followed.used = true;
  frames_.Add(stretch.first);
  frames_.Add(stretch.last);
  TrackSlice& slice = tracks_[stretch.place.track != 0 ? stretch.place.track : followed.track];
  slice.used = true;
  if (stretch.place.track != 0) slice.wanted[stretch.place.space].Add(stretch.place.begin, stretch.place.end);
  if (!chosen) return;
  slice.first_frame = slice.first_frame == 0 ? stretch.first : std::min(slice.first_frame, stretch.first);
  slice.last_frame = std::max(slice.last_frame, stretch.last);
}

void Gatherer::OnConnection(const session::Connection& connection, const fabric::Event& event) {
  if (event.kind() != fabric::EventKind::kSetup) return;
  Followed& followed = connections_[connection.info.id];
  const fabric::SetupMessage message = event.setup().message;
  const bool ends =
      message == fabric::SetupMessage::kDisconnectRequest || message == fabric::SetupMessage::kDisconnectReply;
  std::vector<Stretch>& list = ends ? followed.end : followed.setup;
  if (list.size() < kMostSetup) list.push_back(StretchOf(event.first_frame, event.frame));
  if (choice_.story.Contains(event.frame.number)) followed.used = true;
}

void Gatherer::OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) {
  Followed& followed = connections_[connection.info.id];
  const fabric::CloseReason reason = event.closed().reason;
  if (reason == fabric::CloseReason::kDisconnect || reason == fabric::CloseReason::kReset ||
      reason == fabric::CloseReason::kRejected)
    followed.end.push_back(StretchOf(event.frame, event.frame));
  if (choice_.story.Contains(event.frame.number)) followed.used = true;
  std::vector<OutstandingCall>().swap(followed.calls);
  const auto slice = tracks_.find(followed.track);
  if (!followed.used && (slice == tracks_.end() || !slice->second.used)) connections_.erase(connection.info.id);
}

void Gatherer::OnMessage(const session::Connection& connection, const session::Message& message,
                         const session::Transaction* t) {
  Followed& followed = connections_[connection.info.id];
  const bool wanted = t && choice_.rpcs.Contains(t->serial);
  const bool call = t && message.role == session::Role::kCall;
  const bool reply = message.role == session::Role::kReply || message.role == session::Role::kError;
  if (!wanted && !call && !reply) return;
  const Stretch stretch = StretchOf(message.first_frame, message.frame);
  if (wanted) Want(followed, stretch);
  if (reply) followed.last_reply[message.from] = stretch;
  if (!call || (!followed.calls.empty() && followed.calls.back().serial >= t->serial)) return;
  if (wanted) {
    for (const OutstandingCall& other : followed.calls)
      if (!other.ended && other.requester == message.from) Want(followed, other.stretch, false);
    Want(followed, followed.last_reply[1 - message.from], false);
    ++followed.wanted_calls;
  }
  followed.calls.push_back({t->serial, message.from, wanted, false, stretch});
}

void Gatherer::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  if (!operation.transaction || !choice_.rpcs.Contains(operation.transaction->serial)) return;
  Want(connections_[connection.info.id], StretchOf(operation.event->first_frame, operation.event->frame));
}

// A refusal while an RPC that was chosen is under way may be of a part of it.
void Gatherer::OnNak(const session::Connection& connection, const fabric::Event& event) {
  Followed& followed = connections_[connection.info.id];
  if (followed.wanted_calls > 0) Want(followed, StretchOf(event.first_frame, event.frame));
}

void Gatherer::OnTransaction(const session::Connection& connection, const session::Transaction& t) {
  Followed& followed = connections_[connection.info.id];
  const bool wanted = choice_.rpcs.Contains(t.serial);
  if (wanted && t.outcome == session::Outcome::kUnanswered) followed.end_wanted = true;
  const auto found = std::ranges::lower_bound(followed.calls, t.serial, {}, &OutstandingCall::serial);
  if (found == followed.calls.end() || found->serial != t.serial || found->ended) return;
  if (found->wanted) --followed.wanted_calls;
  found->ended = true;
  ++followed.ended;
  if (followed.ended > kMostEnded && followed.ended > followed.calls.size() / 2) {
    std::erase_if(followed.calls, [](const OutstandingCall& call) { return call.ended; });
    followed.ended = 0;
  }
}

void Gatherer::OnConnection(Track track, const fabric::ConnectionInfo& info, fabric::Side) {
  TrackSlice& slice = tracks_[track];
  slice.connection = info.id;
  Followed& followed = connections_[info.id];
  followed.track = track;
  const bool whole = selection_.connections_alone() && selection_.HasConnection(info.id);
  if (whole) {
    slice.extent = TrackSlice::Extent::kWhole;
    followed.end_wanted = slice.used = true;
  }
  followed.used |= slice.used;
}

void Gatherer::OnForgotten(Track track) {
  places_.Forget(track);
  tracks_.erase(track);
}

// A packet that is asked for itself.
void Gatherer::See(const PacketPosition& place, const FrameRef& frame) {
  if (choice_.story.Contains(frame.number)) {
    TrackSlice& slice = tracks_[place.track];
    slice.used = true;
    slice.wanted[place.space].Add(place.begin, place.end);
    slice.first_frame = slice.first_frame == 0 ? frame.number : std::min(slice.first_frame, frame.number);
    slice.last_frame = std::max(slice.last_frame, frame.number);
  } else if (selection_.frames_alone() && selection_.InRanges(frame, frame, choice_.first_time_ns)) {
    TrackSlice& slice = tracks_[place.track];
    if (slice.connection == 0 || selection_.HasConnection(slice.connection)) slice.used = true;
  }
}

void Gatherer::OnPacket(Track track, const fabric::RcPacket& packet) {
  See(places_.OnPacket(track, packet), packet.frame);
}

void Gatherer::OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) {
  See(places_.OnSegment(track, from, packet, frame).place, frame);
}

void Gatherer::AddEnd(fabric::ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  for (const Stretch& stretch : found->second.end) Want(found->second, stretch, false);
}

void Gatherer::Finish() {
  for (auto& [id, followed] : connections_) {
    if (const auto slice = tracks_.find(followed.track); slice != tracks_.end()) followed.used |= slice->second.used;
    if (!followed.used) continue;
    for (const Stretch& stretch : followed.setup) Want(followed, stretch, false);
    if (followed.end_wanted) AddEnd(id);
  }
}

}  // namespace stag::cli
