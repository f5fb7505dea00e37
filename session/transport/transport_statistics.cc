// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/transport_statistics.h"

#include <algorithm>
#include <utility>

#include "session/transport/rc_transport.h"
#include "session/transport/tcp_transport.h"

namespace stag::transport {
namespace {

constexpr size_t kMostWaiting = 1024;
// Nodes of tables, and what the allocator takes.
constexpr uint64_t kNodes = 192;

}  // namespace

// Of one track: either `rc` or `tcp`. Until its connection is known, the sides of TCP are the ends, and notes wait.
struct TransportStatistics::Followed final : NoteSink {
  Followed(NoteSink* sink, Charge&& held) : charge(std::move(held)), notes(sink) {}
  // While packets count, and afterwards.
  static uint64_t Cost() {
    return EndedCost() +
           std::max(sizeof(RcTransport) + RcTransport::kFewBytes, sizeof(TcpTransport) + TcpTransport::kFewBytes);
  }
  static uint64_t EndedCost() { return sizeof(Followed) + kNodes; }
  void OnNote(const fabric::ConnectionInfo& info, const Note& note) override {
    if (named) return notes->OnNote(info, note);
    const size_t more = std::max<size_t>(1, waiting.capacity());
    if (waiting.size() == kMostWaiting) return;
    if (waiting.size() == waiting.capacity()) {
      if (!charge.TryAdd(more * sizeof(Note))) return;
      waiting.reserve(waiting.capacity() + more);
    }
    waiting.push_back(note);
  }
  NoteSink* Sink() { return notes ? this : nullptr; }
  Side Swapped(Side side) const { return static_cast<Side>(side ^ first_end); }
  // What only packets that come yet tell.
  void PutCurrent(Health& to) const {
    if (rc) to.path_mtu = rc->path_mtu();
    for (const Side side : {Side{0}, Side{1}}) {
      if (rc && !to.info.of_slice) to.sent[side].lost_from_capture = rc->LostFromCapture(side);
      if (tcp && !to.info.of_slice) to.sent[side].lost_from_capture = tcp->LostFromCapture(Swapped(side));
    }
  }
  // No packet counts from now on.
  void Settle() {
    if (settled) return;
    PutCurrent(health);
    rc.reset();
    tcp.reset();
    std::vector<Note>().swap(waiting);  // "= {}" would keep the storage
    settled = true;
    charge.Set(EndedCost() + health.episodes.capacity() * sizeof(Episode));
  }

  Charge charge;
  NoteSink* notes;
  Health health;
  Side first_end = 0;
  bool named = false, settled = false;
  std::vector<Note> waiting;
  std::unique_ptr<RcTransport> rc;
  std::unique_ptr<TcpTransport> tcp;
};

TransportStatistics::TransportStatistics(const StatisticsOptions& options, NoteSink* notes)
    : late_(options.late), shared_(std::make_unique<Shared>(options.memory)), notes_(notes) {}
TransportStatistics::~TransportStatistics() = default;

const Budget& TransportStatistics::budget() const { return shared_->budget; }

std::unique_ptr<Health> TransportStatistics::Find(fabric::ConnectionId connection) const {
  const auto track = connections_.find(connection);
  if (track == connections_.end()) return nullptr;
  const Followed& followed = *tracks_.at(track->second);
  auto health = std::make_unique<Health>(followed.health);
  followed.PutCurrent(*health);
  return health;
}

std::unique_ptr<Health> TransportStatistics::Take(fabric::ConnectionId connection) {
  const auto track = connections_.find(connection);
  if (track == connections_.end()) return nullptr;
  const auto at = tracks_.find(track->second);
  Followed& followed = *at->second;
  followed.Settle();
  auto health = std::make_unique<Health>(std::move(followed.health));
  connections_.erase(track);
  if (last_track_ == at->first) last_track_ = 0;
  tracks_.erase(at);
  return health;
}

void TransportStatistics::OnLasting(const Lasting* lasting) { shared_->lasting = lasting; }

// Null when there is no room, or packets of the track do not count any more. Tracks are numbered in the order in which
// they are heard of: one that is not new, and not known, was left out, taken or forgotten.
TransportStatistics::Followed* TransportStatistics::Get(Track track) {
  if (track == last_track_) return last_;
  last_ = nullptr;
  last_track_ = track;
  if (const auto found = tracks_.find(track); found != tracks_.end()) {
    if (!found->second->settled) last_ = found->second.get();
  } else if (track > newest_) {
    newest_ = track;
    Charge charge(shared_->budget);
    if (MakeRoom(charge))
      last_ = tracks_.emplace(track, std::make_unique<Followed>(notes_, std::move(charge))).first->second.get();
  }
  return last_;
}

TransportStatistics::Followed* TransportStatistics::GetRc(Track track) {
  Followed* const followed = Get(track);
  if (followed && !followed->rc) followed->rc = std::make_unique<RcTransport>(track, *shared_, followed->charge);
  return followed;
}

// For a new track. Those that were closed first give way.
bool TransportStatistics::MakeRoom(Charge& charge) {
  while (!charge.TrySet(Followed::Cost())) {
    if (settled_ == closed_.size()) return false;
    const auto oldest = tracks_.find(closed_[settled_]);
    if (late_ != StatisticsOptions::kAll) {
      ++settled_;
      if (oldest != tracks_.end()) oldest->second->Settle();
    } else {
      closed_.pop_front();
      if (oldest != tracks_.end()) Erase(oldest);
    }
  }
  return true;
}

void TransportStatistics::Erase(Tracks::iterator at) {
  if (at->second->named) connections_.erase(at->second->health.info.id);
  if (last_track_ == at->first) last_track_ = 0;
  tracks_.erase(at);
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
  followed->charge.Set(followed->charge.bytes() - followed->waiting.capacity() * sizeof(Note));
  std::vector<Note>().swap(followed->waiting);
}

void TransportStatistics::OnClosed(Track track) {
  const auto found = tracks_.find(track);
  if (found != tracks_.end() && found->second->rc) found->second->rc->OnClosed();
  if (found != tracks_.end() && found->second->tcp) found->second->tcp->OnClosed();
  if (last_track_ == track) last_track_ = 0;
  if (found != tracks_.end() || late_ != StatisticsOptions::kAll) closed_.push_back(track);
  if (late_ == StatisticsOptions::kAll) return;
  if (closed_.size() > late_) {
    const size_t due = closed_.size() - late_ - 1;
    if (const auto oldest = tracks_.find(closed_[due]); oldest != tracks_.end()) {
      oldest->second->Settle();
      oldest->second->charge.Set(0);
    }
    settled_ = std::max(settled_, due + 1);
  }
  if (closed_.size() <= late_ + kMostUntaken) return;
  if (const auto oldest = tracks_.find(closed_.front()); oldest != tracks_.end()) Erase(oldest);
  closed_.pop_front();
  --settled_;
}

void TransportStatistics::OnForgotten(Track track) {
  if (const auto found = tracks_.find(track); found != tracks_.end()) Erase(found);
}

void TransportStatistics::OnFirstPsn(Track track, Side requester, uint32_t psn) {
  if (Followed* const followed = GetRc(track)) followed->rc->OnFirstPsn(requester, psn);
}

void TransportStatistics::OnPathMtu(Track track, uint32_t bytes) {
  if (Followed* const followed = GetRc(track)) followed->rc->OnPathMtu(bytes);
}

void TransportStatistics::OnPacket(Track track, const fabric::RcPacket& packet) {
  if (Followed* const followed = GetRc(track)) followed->rc->OnPacket(packet, followed->health, followed->Sink());
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
  if (!followed->tcp) followed->tcp = std::make_unique<TcpTransport>(*shared_, followed->charge);
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
