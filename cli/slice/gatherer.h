// SPDX-License-Identifier: GPL-2.0-or-later
//
// Gatherer: where in their connections the packets are that a slice needs: those of the RPCs that were chosen, of the
// Calls that were outstanding with them, of the Replies that granted their credits, and of the set-up of their
// connections. Places, not frames: copies and acknowledgments come along by them (marker.h).
#pragma once

#include <unordered_map>
#include <vector>

#include "cli/slice/chooser.h"
#include "cli/slice/position_ranges.h"

namespace stag::cli {

// What is wanted of a track, a connection that PacketObserver numbers.
struct TrackSlice {
  fabric::ConnectionId connection = 0;       // 0: not known to be one
  std::array<PositionRanges, 2> wanted;      // by space
  uint64_t first_frame = 0, last_frame = 0;  // of what was chosen, set-up left out; 0: nothing was
  bool used = false;                         // a part of it, with its set-up
  // How much of it is wanted. The slice is widened where less does not show what the capture shows.
  enum class Extent : uint8_t { kPlaces, kStretch, kWhole } extent = Extent::kPlaces;
};
using TrackSlices = std::unordered_map<fabric::PacketObserver::Track, TrackSlice>;

class Gatherer final : public session::Observer, public fabric::PacketObserver {
 public:
  // `frames` gets the frames that are known already.
  Gatherer(const Selection& selection, const Choice& choice, TrackSlices& tracks, FrameSet& frames)
      : selection_(selection), choice_(choice), tracks_(tracks), frames_(frames) {}
  // After the pass. Set-up of the connections that are used.
  void Finish();
  // The frames of the end of a connection.
  void AddEnd(fabric::ConnectionId connection);

  void OnConnection(const session::Connection& connection, const fabric::Event& event) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;
  void OnMessage(const session::Connection& connection, const session::Message& message,
                 const session::Transaction* t) override;
  void OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) override;
  void OnNak(const session::Connection& connection, const fabric::Event& event) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;

  void OnConnection(Track track, const fabric::ConnectionInfo& info, fabric::Side) override;
  void OnForgotten(Track track) override;
  void OnPacket(Track track, const fabric::RcPacket& packet) override;
  void OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) override;

 private:
  // The packets of a message or operation: first and last frame, and the places from one to the other, if known.
  struct Stretch {
    uint64_t first = 0, last = 0;  // frames
    PacketPosition place;          // track 0: not known
  };
  struct OutstandingCall {
    uint64_t serial = 0;
    fabric::Side requester = 0;
    bool wanted = false, ended = false;
    Stretch stretch;
  };
  struct Followed {
    Track track = 0;
    std::vector<Stretch> setup, end;
    std::vector<OutstandingCall> calls;  // by ascending serial
    size_t ended = 0;                    // of them
    std::array<Stretch, 2> last_reply;   // by sender; first 0: none
    size_t wanted_calls = 0;
    bool used = false, end_wanted = false;
  };
  Stretch StretchOf(const FrameRef& first, const FrameRef& last) const;
  void Want(Followed& followed, const Stretch& stretch, bool chosen = true);
  void See(const PacketPosition& place, const FrameRef& frame);

  const Selection& selection_;
  const Choice& choice_;
  TrackSlices& tracks_;
  FrameSet& frames_;
  PacketPositions places_;
  std::unordered_map<fabric::ConnectionId, Followed> connections_;
};

}  // namespace stag::cli
