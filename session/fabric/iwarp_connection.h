// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpConnection: one TCP connection that is, or may be, iWARP. Brings the segments of both directions into the order
// in which they were performed, follows the MPA set-up, cuts the streams into FPDUs and hands those to the RdmapLayer.
#pragma once

#include <array>
#include <optional>

#include "protocol/iwarp/fpdu.h"
#include "session/fabric/acknowledged_sends.h"
#include "session/fabric/iwarp_originals.h"
#include "session/fabric/iwarp_rdmap.h"
#include "session/fabric/iwarp_records.h"
#include "session/fabric/iwarp_search.h"
#include "session/fabric/iwarp_tcp.h"
#include "session/fabric/sighting_journal.h"

namespace stag::fabric {

// What the connections of one tracker share.
struct IwarpShared {
  explicit IwarpShared(TrackerContext& c) : context(c), pool(c), originals(c.options().lasting, c.limits().originals) {}
  TrackerContext& context;
  PiecePool pool;
  BoundarySearch::Scratch search;
  std::vector<std::byte> plain;  // FPDUs without their markers
  IwarpOriginals originals;
};

// The two ends are numbered by the tracker (`Direction` 0: packets from end 0); which of them is the active side of the
// events is found out later.
using Direction = uint8_t;

class IwarpConnection {
 public:
  IwarpConnection(IwarpShared& shared, const std::array<Endpoint, 2>& ends);
  ~IwarpConnection();
  IwarpConnection(const IwarpConnection&) = delete;
  IwarpConnection& operator=(const IwarpConnection&) = delete;

  // A SYN or SYN-ACK of this connection. False when its sequence number says that it belongs to a newer one.
  bool OnSyn(Direction from, const link::Packet& packet);
  void OnSegment(Direction from, const link::Packet& packet, const FrameRef& frame);
  // A RST is reported by Close(kReset) a little later, so that a packet that overtook it in the capture still counts.
  // One whose sequence number is nowhere near its stream's changes nothing (RFC 9293 section 3.10.7.4).
  void OnReset(Direction from, uint32_t sequence, FrameRef frame);

  // Proven to be iWARP: events have been given out.
  bool followed() const { return followed_; }
  // 0: there is no PacketObserver.
  PacketObserver::Track track() const { return track_; }
  // Nothing more comes from this connection: closed, or not iWARP at all.
  bool done() const { return done_; }
  bool reset_seen() const { return reset_frame_.has_value(); }

  // Gives out what was held back and, when followed, kClosed. Afterwards done().
  void Close(CloseReason why);

 private:
  enum class Phase : uint8_t {
    kMpa,         // the first bytes of a stream: an MPA frame or nothing for us
    kAwaitReply,  // behind an MPA request: what the FPDUs look like is not known before the reply
    kSearch,      // no FPDU boundary known
    kFpdu,
  };
  // An FPDU or MPA frame of which only a part has come.
  struct Partial {
    explicit Partial(TrackerContext& context) : bytes(context) {}
    BudgetVector<std::byte> bytes;  // the captured prefix
    uint64_t begin = 0;             // position in the TCP stream
    uint64_t wire = 0;              // bytes of the stream in it; 0: there is none
    uint32_t needed = 0;            // its size; 0: not known yet
    Missing missing = Missing::kNothing;
    FrameRef first;
    void Clear();
  };
  struct Half {
    explicit Half(IwarpShared& shared)
        : tcp(shared.context, shared.pool), partial(shared.context), search(shared.search) {}
    TcpStream tcp;
    Phase phase = Phase::kSearch;
    bool markers = false;
    bool markers_known = false;
    uint64_t base = 0;       // TCP position of the first byte of full operation
    uint64_t last_fpdu = 0;  // likewise of the last FPDU
    CrcUse crc = CrcUse::kUnknown;
    bool from_search = false;  // the boundaries were found, not counted from the set-up
    bool search_due = false;   // something has changed since the last search
    uint32_t blocked = 0;      // packets of the connection since processing came to a halt
    bool fin = false;
    bool heard = false;    // a segment of it was seen
    uint64_t missing = 0;  // bytes that were given up
    uint64_t searched_segments = 0, searched_bytes = 0;
    Partial partial;
    AcknowledgedSends<uint64_t> sends;  // by the place in the TCP stream, or a little behind it
    RecordStream records;               // what came before the MPA frame
    BoundarySearch search;
  };

  Half& peer(Direction d) { return half_[d ^ 1]; }
  uint64_t stream(Direction d) const { return uint64_t{info_.id} << 1 | d; }
  Side side(Direction d) const { return static_cast<Side>(d ^ active_); }
  template <typename Kind>
  void Emit(Direction from, const FrameRef& first, const FrameRef& last, const Kind& what) {
    Event event(info_, side(from), first, last, what);
    context_.Emit(event);
  }

  // Order (iwarp_connection.cc)
  bool IsQuiet() const;
  void NoteBlocked();
  void See(Direction from, const link::Packet& packet, const FrameRef& frame);
  bool WaitsFor(Direction d, const TcpPiece& piece) const;
  bool IsReady(Direction d) const;
  bool HasHole(Direction d) const;
  bool IsSearchCutShort(Direction d) const;
  bool HasAcknowledgedHole(Direction d) const;
  void Drain();
  bool DeliverOne();
  bool ReleaseOne(bool final);
  void Deliver(Direction d);
  void NoteReceipt(Direction d, const TcpPiece& piece);
  void Process(Direction d, const TcpPiece& piece);
  void PutBack(Direction d, TcpPiece piece, uint64_t used);
  void Hold(Direction d, const TcpPiece& piece);
  void NoteRepeat(Direction d, const TcpPiece& piece);
  bool MakeRoom(Direction d);
  void GiveUpHole(Direction d, bool final);
  void EndSearchAtHole(Direction d);
  bool Search(Direction d, bool final);
  void EndStream(Direction d, const FrameRef& frame);
  void OnFin(Direction d, FrameRef frame);

  // Streams (iwarp_stream.cc)
  uint64_t Consume(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame);
  uint64_t ConsumeMpa(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame);
  uint64_t ConsumeFpdu(Direction d, Bytes bytes, uint64_t wire, const FrameRef& frame);
  void OnPartialComplete(Direction d, FrameRef last);
  // `begin`: its position in the TCP stream.
  void OnFpdu(Direction d, uint64_t begin, Bytes stream, const iwarp::Fpdu& fpdu, Missing missing,
              const FrameRef& first, const FrameRef& last);
  void ShowFpdu(Direction d, uint64_t begin, Bytes stream, const iwarp::Fpdu& fpdu) const;
  void OnMpaFrame(Direction d, Bytes bytes, uint64_t wire, FrameRef first, FrameRef last);
  void OnMpaReply(Direction d, bool crc, bool markers, bool ready_to_receive);
  void LoseBoundary(Direction d, uint64_t gap_size, FrameRef frame);
  void SkipLost(Direction d, uint64_t to, FrameRef frame);
  void StartSearch(Direction d, bool expected);

  // Identity
  void Follow(Direction active, bool roles_known);
  void EmitOpened(Direction from, FrameRef frame);
  void EmitGap(Direction from, const Gap& gap, FrameRef frame);
  void End(CloseReason why, Direction from, FrameRef frame);
  void NotIwarp() { done_ = true; }
  void TellOfSilence();
  bool HasPort(uint32_t port) const;

  IwarpShared& shared_;
  TrackerContext& context_;
  const PacketObserver::Track track_;
  std::array<Endpoint, 2> ends_;
  ConnectionInfo info_;
  Direction active_ = 0;
  std::optional<Direction> syn_sender_;
  FrameRef syn_frame_;  // of its first
  std::array<std::optional<uint32_t>, 2> initial_sequence_;
  bool request_seen_ = false, request_markers_ = false, request_crc_ = false;
  bool followed_ = false, opened_ = false, done_ = false;
  uint64_t packets_ = 0;
  uint32_t truncated_frames_ = 0;  // before the connection was known to be iWARP
  std::optional<FrameRef> reset_frame_;
  Direction reset_from_ = 0;
  std::array<Half, 2> half_;
  SightingJournal journal_;  // the sender of a Sighting is a Direction there
  RdmapLayer rdmap_;
};

}  // namespace stag::fabric
