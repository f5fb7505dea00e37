// SPDX-License-Identifier: GPL-2.0-or-later
//
// Conversation: what the two ends of an iWARP connection write on TCP, made with the encoders of protocol/iwarp, and
// cut into segments in any way. For tests and for generated captures.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"
#include "protocol/iwarp/segments.h"
#include "protocol/link/packet.h"
#include "tests/support/messages.h"

namespace stag::fabric::test {

using stag::test::Pattern;

struct Segment {
  unsigned from = 0;  // 0: the end that sends the SYN
  uint32_t sequence = 0, acknowledgment = 0;
  uint8_t flags = link::kTcpAck;
  std::vector<std::byte> payload;
  uint64_t wire_length = 0;
};
using Segments = std::vector<Segment>;

struct Options {
  bool markers = false;
  bool crc = false;
  uint8_t revision = 2;
  bool peer_to_peer = false;
  uint16_t ird = 4, ord = 4;  // of both ends
  uint16_t port = 20049;
  uint16_t client_port = 45000;
  std::array<uint32_t, 2> initial{1000, 5000};
};

// What the two ends write, in order; later cut into segments. Each end has read everything before it writes.
class Conversation {
 public:
  explicit Conversation(Options options) : options_(options) {}

  struct Written {
    unsigned from;
    std::vector<std::byte> bytes;
  };

  void Mpa(unsigned from, bool reject = false) { Mpa(from, Pattern(8, from + 1), reject); }
  void Mpa(unsigned from, Bytes private_data, bool reject = false) {
    iwarp::MpaFrame frame;
    frame.kind = from == 0 ? iwarp::MpaFrame::Kind::kRequest : iwarp::MpaFrame::Kind::kReply;
    frame.markers = options_.markers;
    frame.crc = options_.crc;
    frame.reject = reject;
    frame.revision = options_.revision;
    if (options_.revision == 2)
      frame.enhanced = iwarp::EnhancedSetup{.ird = options_.ird,
                                            .ord = options_.ord,
                                            .peer_to_peer = options_.peer_to_peer,
                                            .rtr_write = options_.peer_to_peer};
    frame.private_data = private_data;
    std::vector<std::byte> bytes;
    iwarp::EncodeMpaFrame(frame, bytes);
    Put(from, std::move(bytes));
    position_[from] = 0;
  }
  void Fpdu(unsigned from, Bytes ulpdu) {
    std::vector<std::byte> bytes;
    position_[from] += iwarp::EncodeFpdu(ulpdu, position_[from], options_.markers, options_.crc, bytes);
    Put(from, std::move(bytes));
  }
  void Ddp(unsigned from, const iwarp::DdpHeader& header, Bytes payload) {
    std::vector<std::byte> ulpdu;
    iwarp::EncodeDdpSegment(header, payload, ulpdu);
    Fpdu(from, ulpdu);
    last_[from] = {header, static_cast<uint16_t>(ulpdu.size())};
  }
  // A Send in FPDUs of at most `part` bytes of payload.
  void Send(unsigned from, Bytes message, iwarp::Opcode opcode = iwarp::Opcode::kSend, uint32_t invalidate = 0,
            size_t part = 1400) {
    iwarp::DdpHeader header;
    header.opcode = opcode;
    header.invalidate_stag = invalidate;
    header.sequence = ++sends_[from];
    Segmented(from, header, message, part);
  }
  void Tagged(unsigned from, iwarp::Opcode opcode, uint32_t stag, uint64_t offset, Bytes data, size_t part = 1400) {
    iwarp::DdpHeader header;
    header.tagged = true;
    header.opcode = opcode;
    header.stag = stag;
    header.offset = offset;
    Segmented(from, header, data, part);
  }
  void ReadRequest(unsigned from, const iwarp::ReadRequest& request) {
    iwarp::DdpHeader header;
    header.opcode = iwarp::Opcode::kReadRequest;
    header.queue = iwarp::kReadRequestQueue;
    header.sequence = ++reads_[from];
    header.last = true;
    std::vector<std::byte> payload;
    iwarp::EncodeReadRequest(request, payload);
    Ddp(from, header, payload);
  }
  void Terminate(unsigned from, const iwarp::Terminate& terminate) {
    iwarp::DdpHeader header;
    header.opcode = iwarp::Opcode::kTerminate;
    header.queue = iwarp::kTerminateQueue;
    header.sequence = 1;
    header.last = true;
    std::vector<std::byte> payload;
    iwarp::EncodeTerminate(terminate, payload);
    Ddp(from, header, payload);
  }
  void Put(unsigned from, std::vector<std::byte> bytes) { writes_.push_back({from, std::move(bytes)}); }

  // The last DDP segment, as a Terminate names what it refuses.
  struct LastSegment {
    iwarp::DdpHeader header;
    uint16_t length = 0;
  };
  const LastSegment& last(unsigned from) const { return last_[from]; }

  // What was written since the last call, for writers that send it at once instead of in Cut.
  std::vector<Written> Take() { return std::exchange(writes_, {}); }

  // Flips a bit of the last thing written.
  void Damage(size_t at) { writes_.back().bytes[at] ^= std::byte{1}; }

  // The TCP handshake, the writes in segments of at most `size` bytes (several writes of one end share a segment only
  // with `merge`), pure acknowledgments after every write, and FINs.
  Segments Cut(size_t size, bool merge = false) const {
    std::vector<Written> writes;
    for (const Written& w : writes_) {
      if (merge && !writes.empty() && writes.back().from == w.from) {
        writes.back().bytes.insert(writes.back().bytes.end(), w.bytes.begin(), w.bytes.end());
      } else {
        writes.push_back(w);
      }
    }
    Segments out = Handshake();
    std::array<uint32_t, 2> next{options_.initial[0] + 1, options_.initial[1] + 1};
    for (const Written& w : writes) {
      for (size_t at = 0; at < w.bytes.size();) {
        const size_t n = std::min(size, w.bytes.size() - at);
        Segment s{w.from, next[w.from], next[w.from ^ 1], link::kTcpAck, {}, n};
        s.payload.assign(w.bytes.begin() + static_cast<ptrdiff_t>(at),
                         w.bytes.begin() + static_cast<ptrdiff_t>(at + n));
        out.push_back(std::move(s));
        next[w.from] += static_cast<uint32_t>(n);
        at += n;
      }
      out.push_back({w.from ^ 1, next[w.from ^ 1], next[w.from], link::kTcpAck, {}, 0});
    }
    out.push_back({0, next[0], next[1], link::kTcpAck | link::kTcpFin, {}, 0});
    out.push_back({1, next[1], next[0] + 1, link::kTcpAck | link::kTcpFin, {}, 0});
    out.push_back({0, next[0] + 1, next[1] + 1, link::kTcpAck, {}, 0});
    return out;
  }
  Segments Handshake() const {
    const auto [a, b] = options_.initial;
    return {{0, a, 0, link::kTcpSyn, {}, 0},
            {1, b, a + 1, link::kTcpSyn | link::kTcpAck, {}, 0},
            {0, a + 1, b + 1, link::kTcpAck, {}, 0}};
  }
  const Options& options() const { return options_; }

 private:
  void Segmented(unsigned from, iwarp::DdpHeader header, Bytes message, size_t part) {
    header.last = true;
    iwarp::ForEachSegment(header, message.size(), part, [&](const iwarp::DdpHeader& h, uint64_t at, size_t n) {
      Ddp(from, h, message.subspan(static_cast<size_t>(at), n));
    });
  }

  Options options_;
  std::vector<Written> writes_;
  std::array<uint64_t, 2> position_{};
  std::array<uint32_t, 2> sends_{}, reads_{};
  std::array<LastSegment, 2> last_{};
};

}  // namespace stag::fabric::test
