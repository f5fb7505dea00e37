// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketPlaces: where in the frames of a capture the bytes of an event are: of a Send, an RDMA Write or Read Response.
// Packets are found by their sequence numbers, so that all copies and retransmissions of a byte become the same. Of
// iWARP it also writes what frames the data: MPA, DDP and RDMAP headers.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/scrub/scrubbed_frames.h"
#include "protocol/base/budget.h"
#include "protocol/iwarp/ddp.h"
#include "session/fabric/fabric_event.h"
#include "session/fabric/packet_observer.h"

namespace stag::scrub {

// How much is remembered of all connections together.
struct PlaceLimits {
  size_t tracks = 8192;
  size_t packets = size_t{1} << 18;  // the last ones; pieces of a stream and FPDUs count as such
  size_t places = size_t{1} << 18;   // of Sends that are not finished
  // Those that so many bytes of memory have room for, and no more.
  static PlaceLimits For(uint64_t memory);
};

class PacketPlaces final : public fabric::PacketObserver {
 public:
  // `first`: the frames of the capture follow that many others in `frames`, which must outlive this.
  PacketPlaces(ScrubbedFrames& frames, uint64_t first, const PlaceLimits& limits)
      : frames_(frames), first_(first), limits_(limits), held_(limits.places * sizeof(Place)) {}

  // The places of the content of a Send, Write or Read Response, one after the other; called while the event is given
  // out.
  void Find(const fabric::Event& event, std::vector<Place>& places);

  // An anomaly: a packet or segment that repeats other bytes with a change stays one.
  void Note(const fabric::Event& event);

  // Segments of Sends that stay zero for lack of room.
  uint64_t forgotten() const { return forgotten_; }

  // No more events of this connection come.
  void Close(fabric::ConnectionId connection) { connections_.erase(connection); }

  void OnConnection(Track track, const fabric::ConnectionInfo& info, fabric::Side first_end) override;
  void OnForgotten(Track track) override { tracks_.erase(track); }
  void OnPacket(Track track, const fabric::RcPacket& packet) override;
  void OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) override;
  void OnMpaFrame(Track track, fabric::Side from, const fabric::StreamPart& part) override;
  void OnFpdu(Track track, fabric::Side from, const fabric::StreamPart& part, const iwarp::Fpdu& fpdu) override;

 private:
  // Packets of one side that have the same PSNs: its requests, or its responses.
  struct Packets {
    struct Seen {
      uint64_t frame = 0, length = 0;
      size_t captured = 0;
      uint32_t check = 0;  // of what was captured
    };
    std::unordered_map<uint64_t, Seen> seen;  // by position: PSNs that do not begin anew
    bool started = false;
    uint64_t newest = 0;

    uint64_t Unwrap(uint32_t psn) const;
  };
  // One direction of a TCP connection.
  struct Stream {
    struct Piece {
      uint64_t end = 0;
      uint64_t frame = 0, offset = 0;
    };
    bool started = false;
    uint64_t newest = 0;
    std::map<uint64_t, Piece> pieces;         // by position, without overlaps
    std::map<uint64_t, uint32_t> fpdus;       // the last ones: size, by position
    uint64_t last_frame = 0, last_begin = 0;  // of the newest segment

    uint64_t Unwrap(uint32_t sequence) const;
  };
  // The payload of a DDP segment.
  struct Segment {
    uint32_t message_offset = 0;
    std::vector<Place> places;
  };
  struct Message {
    explicit Message(Budget& budget) : charge(budget) {}
    bool whole_start = false;  // its first segment was seen
    uint32_t sequence = 0;
    std::vector<Segment> segments;
    Charge charge;  // of the places
  };
  struct TrackState {
    explicit TrackState(Budget& held) : previous{Message(held), Message(held)}, sending{Message(held), Message(held)} {}
    std::array<std::array<Packets, 2>, 2> packets;  // by sender; responses
    std::array<Stream, 2> streams;                  // by end
    std::array<std::vector<Place>, 2> payload;      // by end: of the FPDU that was shown last
    std::array<Message, 2> previous, sending;       // by end: Sends
  };
  struct Named {
    Track track = 0;
    fabric::Side first_end = 0;
    bool iwarp = false;
  };

  // Something that is remembered.
  struct Remembered {
    enum class Kind : uint8_t { kRequest, kResponse, kPiece, kFpdu };
    Track track = 0;
    uint64_t key = 0;  // its position
    fabric::Side side = 0;
    Kind kind{};
  };
  TrackState& Of(Track track);
  // Forgets the oldest when there are too many.
  void Remember(const Remembered& what);
  void Hold(Message& message, uint32_t message_offset, const std::vector<Place>& places);
  void FindSend(TrackState& state, fabric::Side from, const fabric::Event& event, std::vector<Place>& places);
  void TakeMessage(TrackState& state, fabric::Side end, std::vector<Place>& places);
  void FindStream(const Stream& stream, uint64_t begin, uint64_t length, std::vector<Place>& places) const;
  void WriteStream(const Stream& stream, uint64_t begin, Bytes bytes);

  ScrubbedFrames& frames_;
  const uint64_t first_;
  const PlaceLimits limits_;
  Budget held_;  // places of unfinished Sends
  uint64_t forgotten_ = 0;
  std::deque<Remembered> remembered_;
  std::map<Track, TrackState> tracks_;
  std::unordered_map<fabric::ConnectionId, Named> connections_;
  std::vector<Place> scratch_;
  std::vector<uint64_t> made_;  // pieces of the segment
  std::vector<std::byte> framing_;
};

}  // namespace stag::scrub
