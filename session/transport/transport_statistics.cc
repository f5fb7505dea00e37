// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/transport_statistics.h"

#include "session/transport/rc_transport.h"
#include "session/transport/tcp_transport.h"

namespace stag::transport {
namespace {

constexpr size_t kMostTracks = size_t{1} << 15, kMostWaiting = 1024;

}  // namespace

// Of one track: either `rc` or `tcp`. Until its connection is known, the sides of TCP are the ends, and notes wait.
struct TransportStatistics::Followed final : NoteSink {
  explicit Followed(NoteSink* sink) : notes(sink) {}
  void OnNote(const fabric::ConnectionInfo& info, const Note& note) override {
    if (named) return notes->OnNote(info, note);
    if (waiting.size() < kMostWaiting) waiting.push_back(note);
  }
  NoteSink* Sink() { return notes ? this : nullptr; }
  Side Swapped(Side side) const { return static_cast<Side>(side ^ first_end); }

  NoteSink* notes;
  Health health;
  Side first_end = 0;
  bool named = false, over = false;
  std::vector<Note> waiting;
  std::unique_ptr<RcTransport> rc;
  std::unique_ptr<TcpTransport> tcp;
};

TransportStatistics::TransportStatistics(uint64_t memory, NoteSink* notes, Late late)
    : shared_(std::make_unique<Shared>(memory)), notes_(notes), late_(late) {}
TransportStatistics::~TransportStatistics() = default;

std::unique_ptr<Health> TransportStatistics::Find(fabric::ConnectionId connection) const {
  const auto track = connections_.find(connection);
  if (track == connections_.end()) return nullptr;
  const Followed& followed = *tracks_.at(track->second);
  auto health = std::make_unique<Health>(followed.health);
  if (followed.rc) health->path_mtu = followed.rc->path_mtu();
  for (const Side side : {Side{0}, Side{1}}) {
    if (followed.rc) health->sent[side].lost_from_capture = followed.rc->LostFromCapture(side);
    if (followed.tcp) health->sent[side].lost_from_capture = followed.tcp->LostFromCapture(followed.Swapped(side));
  }
  return health;
}

void TransportStatistics::OnLasting(const Lasting* lasting) { shared_->lasting = lasting; }

// Null when there is no room, or it is over.
TransportStatistics::Followed* TransportStatistics::Get(Track track) {
  if (track == last_track_) return last_;
  last_track_ = track;
  if (const auto found = tracks_.find(track); found != tracks_.end())
    return last_ = found->second->over ? nullptr : found->second.get();
  if (tracks_.size() >= kMostTracks) return last_ = nullptr;
  return last_ = tracks_.emplace(track, std::make_unique<Followed>(notes_)).first->second.get();
}

void TransportStatistics::OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) {
  Followed* const followed = Get(track);
  if (!followed) {
    ++left_out_;
    return;
  }
  followed->health.info = info;
  followed->named = true;
  connections_[info.id] = track;
  if (first_end != 0) {
    followed->first_end = first_end;
    std::swap(followed->health.sent[0], followed->health.sent[1]);
    std::swap(followed->health.first_frames[0], followed->health.first_frames[1]);
    for (Episode& episode : followed->health.episodes) episode.side = Other(episode.side);
  }
  for (Note& note : followed->waiting) {
    note.from = followed->Swapped(note.from);
    notes_->OnNote(info, note);
  }
  followed->waiting = {};
}

void TransportStatistics::OnClosed(Track track) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) return;
  Followed& followed = *found->second;
  if (followed.rc) followed.rc->OnClosed();
  if (followed.tcp) followed.tcp->OnClosed();
  followed.over = late_ == Late::kLeave;
  if (last_track_ == track) last_track_ = 0;
}

void TransportStatistics::OnForgotten(Track track) {
  tracks_.erase(track);
  if (last_track_ == track) last_track_ = 0;
}

void TransportStatistics::OnFirstPsn(Track track, Side requester, uint32_t psn) {
  if (Followed* const followed = Get(track)) {
    if (!followed->rc) followed->rc = std::make_unique<RcTransport>(track, *shared_);
    followed->rc->OnFirstPsn(requester, psn);
  }
}

void TransportStatistics::OnPathMtu(Track track, uint32_t bytes) {
  if (Followed* const followed = Get(track)) {
    if (!followed->rc) followed->rc = std::make_unique<RcTransport>(track, *shared_);
    followed->rc->OnPathMtu(bytes);
  }
}

void TransportStatistics::OnPacket(Track track, const fabric::RcPacket& packet) {
  Followed* const followed = Get(track);
  if (!followed) return;
  if (!followed->rc) followed->rc = std::make_unique<RcTransport>(track, *shared_);
  followed->rc->OnPacket(packet, followed->health, followed->Sink());
}

void TransportStatistics::OnCongestionNotification(Track track, Side from, const FrameRef& frame) {
  if (Followed* const followed = Get(track)) {
    ++followed->health.sent[from].cnp;
    Tell(*followed, Note::Kind::kNotification, from, frame);
  }
}

void TransportStatistics::OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) {
  Followed* const followed = Get(track);
  if (!followed) return;
  if (!followed->tcp) followed->tcp = std::make_unique<TcpTransport>(*shared_);
  followed->tcp->OnSegment(from, followed->Swapped(from), packet, frame, followed->health, followed->Sink());
}

void TransportStatistics::OnCrcError(Track track, Side from, const FrameRef& frame) {
  if (Followed* const followed = Get(track)) {
    ++followed->health.sent[followed->Swapped(from)].crc_errors;
    Tell(*followed, Note::Kind::kCrcError, followed->Swapped(from), frame);
  }
}

void TransportStatistics::Tell(Followed& followed, Note::Kind kind, Side from, const FrameRef& frame) {
  Note note;
  note.kind = kind;
  note.from = from;
  note.frame = frame;
  followed.health.Tell(note, followed.Sink());
}

}  // namespace stag::transport
