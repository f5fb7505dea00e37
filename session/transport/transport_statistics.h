// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransportStatistics: what the fabric did to every connection of a capture, from each of its packets. Given to a
// Decoder; asked by the number of a connection, while it runs or afterwards. Memory is bounded by a Budget: what a
// track takes is charged to it, a track that there is no room for is left out, and tracks that have ended give way.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "session/fabric/packet_observer.h"
#include "session/transport/transport.h"

namespace stag::transport {

struct StatisticsOptions {
  static constexpr size_t kAll = SIZE_MAX;
  // Bytes that tracks may take.
  uint64_t memory = uint64_t{64} << 20;
  // Packets that come when their connection was closed still count for so many connections, those that were closed
  // last. kAll: for all that there is room for. Else the owner takes every connection that has ended (Take): the memory
  // of those that were closed before the last `late` is the owner's.
  size_t late = kAll;
};

class TransportStatistics final : public fabric::PacketObserver {
 public:
  // `notes`: gets a note for each packet, or is null.
  explicit TransportStatistics(const StatisticsOptions& options, NoteSink* notes = nullptr);
  ~TransportStatistics() override;

  // What is known of the connection now; null when nothing is.
  std::unique_ptr<Health> Find(fabric::ConnectionId connection) const;
  // The same; nothing of it is kept, and its packets do not count any more.
  std::unique_ptr<Health> Take(fabric::ConnectionId connection);
  // Connections that there was no room for.
  uint64_t left_out() const { return left_out_; }
  const Budget& budget() const;

  void OnLasting(const Lasting* lasting) override;
  void OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) override;
  void OnClosed(Track track) override;
  void OnForgotten(Track track) override;
  void OnFirstPsn(Track track, Side requester, uint32_t psn) override;
  void OnPathMtu(Track track, uint32_t bytes) override;
  void OnPacket(Track track, const fabric::RcPacket& packet) override;
  void OnCongestionNotification(Track track, Side from, const FrameRef& frame) override;
  void OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) override;
  void OnCrcError(Track track, Side from, const FrameRef& frame) override;

 private:
  // Ended connections that the owner may not have taken yet, besides StatisticsOptions::late: it may be some rounds of
  // events behind (cli/analysis/sharded_analysis.h).
  static constexpr size_t kMostUntaken = size_t{1} << 14;

  struct Followed;
  using Tracks = std::unordered_map<Track, std::unique_ptr<Followed>>;
  Followed* Get(Track track);
  Followed* GetRc(Track track);
  bool MakeRoom(Charge& charge);
  void Erase(Tracks::iterator at);
  void Tell(Followed& followed, Note::Kind kind, Side from, const FrameRef& frame);

  const size_t late_;
  std::unique_ptr<struct Shared> shared_;
  NoteSink* notes_;
  Tracks tracks_;
  std::unordered_map<fabric::ConnectionId, Track> connections_;
  // Tracks that were closed, in this order; some are gone. The first `settled_` of them do not count packets any more.
  std::deque<Track> closed_;
  size_t settled_ = 0;
  Track newest_ = 0;      // that was heard of
  Track last_track_ = 0;  // of Get, and what it returned
  Followed* last_ = nullptr;
  uint64_t left_out_ = 0;
};

}  // namespace stag::transport
