// SPDX-License-Identifier: GPL-2.0-or-later
//
// RcTransport: the packets of one reliable connection (InfiniBand, RoCE) in the order of the capture, counted. Each
// side numbers its requests with PSNs of its own; answers carry the PSN of what they answer (IBA section 9.7).
#pragma once

#include <memory>
#include <optional>

#include "session/fabric/ib_packet.h"
#include "session/transport/seen_ranges.h"
#include "session/transport/shared.h"
#include "session/transport/transport.h"

namespace stag::transport {

class RcTransport {
 public:
  // `track` is the connection's own number. `charge` holds its memory, and outlives it.
  RcTransport(uint64_t track, Shared& shared, Charge& charge)
      : track_(track), shared_(shared), charge_(charge), half_{Half(shared.budget), Half(shared.budget)} {}
  static constexpr size_t kFewBytes = 4 * SeenRanges::kFewBytes;  // of all its sets

  void OnFirstPsn(Side requester, uint32_t psn);
  void OnPathMtu(uint32_t bytes);
  // `notes` may be null.
  void OnPacket(const fabric::RcPacket& packet, Health& health, NoteSink* notes);
  // Packets that come yet are late, and no longer in flight.
  void OnClosed();
  // 0: not known.
  uint32_t path_mtu() const { return mtu_; }
  // Numbers that `side` sent and the capture has not.
  uint64_t LostFromCapture(Side side) const;

 private:
  // An RDMA Read that is not answered in full.
  struct Read {
    uint64_t begin = 0, end = 0;
    uint64_t answered = 0;  // answers before this were sent since it was asked for last
  };
  // Bytes of requests in flight: the number behind a packet, and all bytes sent up to it.
  struct Sent {
    uint64_t end, bytes;
  };
  struct Nak {
    uint64_t at = 0;
    uint8_t syndrome = 0;
    FrameRef frame;
    bool obeyed = false;  // its requester went back
  };
  // The requests of one side, and the answers to them.
  struct Half {
    explicit Half(Budget& budget) : seen(budget), answers(budget) {}

    bool referenced = false;
    uint64_t reference = 0;  // near which PSNs are
    SeenRanges seen;         // PSNs of requests, those of answers to Reads with the request
    bool any = false;        // a request was seen
    uint64_t highest = 0;    // the highest PSN of a request
    uint64_t acknowledged = 0;
    // The last request is a Read whose number of packets is not known: where it may end (0: it is none), its length.
    uint64_t open_until = 0;
    uint32_t open_length = 0;
    SeenRanges answers;  // PSNs of Read Responses
    std::vector<Read> reads;
    uint64_t lost_requests = 0, lost_answers = 0;  // of what is no longer followed

    std::optional<Nak> nak, rnr, ended;  // `ended`: the RNR NAK whose wait this packet ends
    size_t stall = 0;                    // the episode of `rnr`
    bool running = false;                // the last request was a retransmission, of the episode `run`
    size_t run = 0;
    FrameRef last_request;

    bool closed = false;
    std::unique_ptr<Sent[]> flight;  // a ring of `flight_room` places, a power of two; null: nothing was in flight yet
    size_t flight_room = 0, flight_head = 0, flight_size = 0;
    Sent& InFlight(size_t i) { return flight[(flight_head + i) & (flight_room - 1)]; }
    uint64_t sent_bytes = 0, acknowledged_bytes = 0;
  };

  static uint64_t Unwrap(Half& half, uint32_t psn);
  static void Acknowledge(Half& half, uint64_t end);
  static void CloseOpenRead(Half& half, uint64_t end);
  static void MakeRoom(Half& half);
  static void EndRun(Half& half, bool is_top, uint64_t at);
  bool GrowFlight(Half& half);
  void Fly(Half& half, uint64_t end, uint64_t bytes, Counters& counters);
  bool IsPlain(const fabric::RcPacket& p) const;
  void OnPlain(const fabric::RcPacket& p, Health& health);
  void OnRequest(const fabric::RcPacket& p, Health& health, Note& note);
  void OnReadResponse(const fabric::RcPacket& p, Health& health, Note& note);
  void OnAcknowledge(const fabric::RcPacket& p, Health& health, Note& note);
  void OnRead(Half& half, const fabric::RcPacket& p, uint64_t at, bool known);
  void OnRepeat(Half& half, const fabric::RcPacket& p, uint64_t at, Health& health);
  void LearnMtu(uint64_t bytes);
  void EndStall(Half& half, const fabric::RcPacket& p, Health& health);
  uint64_t StreamOf(const fabric::RcPacket& p) const;
  // Whether the copy before is remembered: `note` gets which it was, and whether it differs.
  bool IsRemembered(const fabric::RcPacket& p, uint64_t at, Note& note) const;
  void Remember(const fabric::RcPacket& p, uint64_t at);

  const uint64_t track_;
  Shared& shared_;
  Charge& charge_;
  uint32_t mtu_ = 0;
  std::array<Half, 2> half_;  // by requester
};

}  // namespace stag::transport
