// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the fabric did to the packets of a connection: counters of each side, the episodes in which it cost time, and
// notes about single packets. RcTransport and TcpTransport fill these.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "protocol/base/budget.h"
#include "session/fabric/fabric_event.h"

namespace stag::transport {

using fabric::Side;

inline Side Other(Side side) { return static_cast<Side>(1 - side); }

// Of the packets (iWARP: TCP segments) that one side sent.
struct Counters {
  // All of the queue pair, with acknowledgments, without CM and congestion notifications; segments with payload.
  uint64_t packets = 0;
  uint64_t bytes = 0;               // of RDMA payload; TCP payload
  uint64_t retransmitted = 0;       // requests whose PSN was seen before; segments all of whose bytes were
  uint64_t repeated_responses = 0;  // RDMA Read Responses whose PSN was seen before
  // Numbers that were never seen and were delivered, as later packets show: PSNs, for iWARP bytes.
  uint64_t lost_from_capture = 0;
  uint64_t out_of_order = 0;  // lower than one seen before, and new
  // NAKs that this side sent.
  uint64_t nak_sequence = 0, nak_rnr = 0, nak_invalid_request = 0, nak_remote_access = 0, nak_remote_operation = 0;
  int64_t rnr_stall_ns = 0;  // from each RNR NAK that this side got to the packet that it asked for
  // Runs of retransmissions, up to a new PSN, after a sequence NAK; after no NAK.
  uint64_t go_back_n = 0, timeouts = 0;
  uint64_t after_rnr = 0;       // retransmissions after an RNR NAK: nothing was lost
  uint64_t ce = 0;              // ECN Congestion Experienced in the IP header (RFC 3168)
  uint64_t cnp = 0;             // congestion notification packets
  uint64_t fecn = 0, becn = 0;  // bits of the BTH, congestion notifications left out
  uint64_t changed = 0;         // retransmissions with other bytes, over what was captured of both copies
  uint64_t zero_windows = 0;    // TCP: segments without SYN, FIN and RST that close the window
  uint64_t resets = 0;          // TCP: segments with RST
  uint64_t crc_errors = 0;      // FPDUs whose CRC32C is wrong
  uint64_t max_in_flight = 0;   // bytes of Sends and RDMA Writes, or of TCP, sent and not acknowledged yet
  uint32_t largest = 0;         // payload of the largest packet
  // TCP: segments with a wrong checksum whose numbers fit nothing that was seen. These numbers are not believed.
  uint32_t damaged = 0;

  uint64_t naks() const {
    return nak_sequence + nak_rnr + nak_invalid_request + nak_remote_access + nak_remote_operation;
  }
};

// Something that took time, on one connection.
struct Episode {
  enum class Kind : uint8_t {
    kGoBackN,     // retransmission after a sequence NAK
    kTimeout,     // retransmission after no NAK
    kAfterNak,    // retransmission after another NAK
    kRnr,         // from an RNR NAK to the packet that it asked for
    kSegments,    // TCP segments again
    kZeroWindow,  // from a closed window to an open one
  };
  Kind kind = Kind::kGoBackN;
  Side side = 0;         // whose packets are sent again, or who waits
  FrameRef cause;        // the NAK, or the packet in front of the silence; number 0: there is none
  FrameRef first, last;  // the packets that were sent again; kRnr and kZeroWindow: the one that ends it (0: none does)
  uint64_t packets = 0;  // sent again
  uint32_t number = 0;   // PSN (of a NAK: its own), or sequence number of the first
  uint8_t syndrome = 0;  // kRnr: with the timer
  int64_t cost_ns() const { return Elapsed(cause, last.number != 0 ? last : first).value_or(0); }
};

// One packet, for pictures and trees.
struct Note {
  enum class Kind : uint8_t {
    kNew,
    kOutOfOrder,
    kRetransmission,
    kResponse,  // an RDMA Read Response
    kRepeatedResponse,
    kAcknowledgment,  // `begin`: one past what is acknowledged; iWARP: segments with payload have such a note, too
    kNak,             // `syndrome`
    kRnrEnd,          // the packet that an RNR NAK asked for, after `since`
    kCongestion,      // CE, FECN
    kNotification,    // a congestion notification packet
    kZeroWindow,
    kReset,
    kCrcError,
    kCount,
  };
  Kind kind = Kind::kNew;
  Side from = 0;
  // PSNs or bytes, unwrapped: kResponse, kAcknowledgment and kNak have those of the other side's requests.
  uint64_t begin = 0, end = 0;
  uint8_t syndrome = 0;
  bool changed = false;   // kRetransmission: with other bytes
  uint64_t original = 0;  // kRetransmission, kRepeatedResponse: the frame of the copy before; kRnrEnd: of the NAK
  FrameRef since;         // kRnrEnd: the NAK
  FrameRef frame;
  int64_t duration_ns() const { return Elapsed(since, frame).value_or(0); }  // kRnrEnd
};

// Gets the notes of a connection, in the order of the capture.
class NoteSink {
 public:
  virtual ~NoteSink() = default;
  virtual void OnNote(const fabric::ConnectionInfo& info, const Note& note) = 0;
};

// What is known of one connection.
struct Health {
  static constexpr size_t kMostEpisodes = 256;

  fabric::ConnectionInfo info;
  std::array<Counters, 2> sent;   // by sending side
  uint32_t path_mtu = 0;          // InfiniBand and RoCE, bytes; 0: not known
  std::vector<Episode> episodes;  // in order of their beginnings
  uint64_t episodes_left_out = 0;
  // By side and kind of note.
  std::array<std::array<uint64_t, static_cast<size_t>(Note::Kind::kCount)>, 2> first_frames{};

  // The first frame of `side` with such a note; 0: there is none.
  uint64_t FirstOf(Side side, Note::Kind kind) const { return first_frames[side][static_cast<size_t>(kind)]; }
  // Remembers the note, and gives it to `notes` (null: to nobody).
  void Tell(const Note& note, NoteSink* notes) {
    uint64_t& frame = first_frames[note.from][static_cast<size_t>(note.kind)];
    if (frame == 0) frame = note.frame.number;
    if (notes) notes->OnNote(info, note);
  }
  // Its number, counted from 1; 0: there are too many. `charge` holds the memory of the episodes.
  size_t AddEpisode(const Episode& episode, Charge& charge) {
    const bool full = episodes.size() == episodes.capacity();
    const size_t more = std::max<size_t>(1, episodes.capacity());
    if (episodes.size() == kMostEpisodes || (full && !charge.TryAdd(more * sizeof(Episode)))) {
      ++episodes_left_out;
      return 0;
    }
    if (full) episodes.reserve(episodes.capacity() + more);
    episodes.push_back(episode);
    return episodes.size();
  }
  Episode* FindEpisode(size_t number) { return number == 0 ? nullptr : &episodes[number - 1]; }
};

}  // namespace stag::transport
