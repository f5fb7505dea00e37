// SPDX-License-Identifier: GPL-2.0-or-later
//
// For tests of IwarpTracker: a TCP conversation written with the encoders of protocol/iwarp, cut into segments in any
// way, and the tracker's events as lines of text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "protocol/base/crc.h"
#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"
#include "session/fabric/iwarp_tracker.h"

namespace stag::fabric::test {

inline std::vector<std::byte> Pattern(size_t n, unsigned seed = 1) {
  std::vector<std::byte> out(n);
  uint32_t x = seed * 2654435761u + 1;
  for (std::byte& b : out) {
    x = x * 1664525u + 1013904223u;
    b = std::byte(x >> 24);
  }
  return out;
}

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
  uint16_t port = 20049;
  uint16_t client_port = 45000;
  std::array<uint32_t, 2> initial{1000, 5000};
};

// What the two ends write, in order; later cut into segments. Each end has read everything before it writes.
class Conversation {
 public:
  explicit Conversation(Options options) : options_(options) {}

  void Mpa(unsigned from, bool reject = false) {
    iwarp::MpaFrame frame;
    frame.kind = from == 0 ? iwarp::MpaFrame::Kind::kRequest : iwarp::MpaFrame::Kind::kReply;
    frame.markers = options_.markers;
    frame.crc = options_.crc;
    frame.reject = reject;
    frame.revision = options_.revision;
    if (options_.revision == 2)
      frame.enhanced = iwarp::EnhancedSetup{
          .ird = 4, .ord = 4, .peer_to_peer = options_.peer_to_peer, .rtr_write = options_.peer_to_peer};
    const std::vector<std::byte> data = Pattern(8, from + 1);
    frame.private_data = data;
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
  }
  // A Send in FPDUs of at most `part` bytes of payload.
  void Send(unsigned from, Bytes message, iwarp::Opcode opcode = iwarp::Opcode::kSend, uint32_t invalidate = 0,
            size_t part = 1400) {
    iwarp::DdpHeader header;
    header.opcode = opcode;
    header.invalidate_stag = invalidate;
    header.sequence = ++sends_[from];
    size_t at = 0;
    do {
      const size_t n = std::min(part, message.size() - at);
      header.message_offset = static_cast<uint32_t>(at);
      header.last = at + n == message.size();
      Ddp(from, header, message.subspan(at, n));
      at += n;
    } while (at < message.size());
  }
  void Tagged(unsigned from, iwarp::Opcode opcode, uint32_t stag, uint64_t offset, Bytes data, size_t part = 1400) {
    iwarp::DdpHeader header;
    header.tagged = true;
    header.opcode = opcode;
    header.stag = stag;
    size_t at = 0;
    do {
      const size_t n = std::min(part, data.size() - at);
      header.offset = offset + at;
      header.last = at + n == data.size();
      Ddp(from, header, data.subspan(at, n));
      at += n;
    } while (at < data.size());
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

  // Flips a bit of the last thing written.
  void Damage(size_t at) { writes_.back().bytes[at] ^= std::byte{1}; }

  // The TCP handshake, the writes in segments of at most `size` bytes (several writes of one end share a segment only
  // with `merge`), pure acknowledgments after every write, and FINs.
  Segments Cut(size_t size, bool merge = false) const {
    std::vector<Write> writes;
    for (const Write& w : writes_) {
      if (merge && !writes.empty() && writes.back().from == w.from) {
        writes.back().bytes.insert(writes.back().bytes.end(), w.bytes.begin(), w.bytes.end());
      } else {
        writes.push_back(w);
      }
    }
    Segments out = Handshake();
    std::array<uint32_t, 2> next{options_.initial[0] + 1, options_.initial[1] + 1};
    for (const Write& w : writes) {
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
  struct Write {
    unsigned from;
    std::vector<std::byte> bytes;
  };
  Options options_;
  std::vector<Write> writes_;
  std::array<uint64_t, 2> position_{};
  std::array<uint32_t, 2> sends_{}, reads_{};
};

// The events as text; frame numbers are kept apart so that logs of differently cut conversations can be compared.
struct Log : Sink {
  struct Line {
    std::string text;
    unsigned from;
    EventKind kind;
    uint64_t first, frame, now;
    Missing missing;
    std::vector<std::byte> bytes;
    uint64_t length;
    ConnectionInfo info;
  };
  std::vector<Line> lines;
  DecoderStats stats;
  uint64_t used = 0;

  void OnEvent(const Event& e) override {
    static constexpr const char* kNames[] = {"setup",        "opened",        "closed", "send", "write",
                                             "read-request", "read-response", "nak",    "gap"};
    char text[256];
    std::snprintf(
        text, sizeof text,
        "c%u %s from %u length %llu missing %u crc %08x handle %x offset %llx%s%s%s invalidated %x setup %u close %u "
        "nak %u.%u.%u gap %llu",
        e.connection->id, kNames[static_cast<int>(e.kind)], e.from, static_cast<unsigned long long>(e.length),
        static_cast<unsigned>(e.missing), Crc32c(0, e.kind == EventKind::kSetup ? e.private_data : e.bytes), e.handle,
        static_cast<unsigned long long>(e.offset), e.first ? " first" : "", e.last ? " last" : "",
        e.solicited ? " solicited" : "", e.invalidated.value_or(0), static_cast<unsigned>(e.setup),
        static_cast<unsigned>(e.close_reason), e.terminate_layer, e.terminate_type, e.terminate_code,
        static_cast<unsigned long long>(e.gap_size));
    lines.push_back({text,
                     e.from,
                     e.kind,
                     e.first_frame.number,
                     e.frame.number,
                     e.now.number,
                     e.missing,
                     {e.bytes.begin(), e.bytes.end()},
                     e.length,
                     *e.connection});
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> out;
    for (const Line& l : lines) out.push_back(l.text);
    return out;
  }
  std::vector<std::string> Texts(unsigned from) const {
    std::vector<std::string> out;
    for (const Line& l : lines)
      if (l.from == from) out.push_back(l.text);
    return out;
  }
  size_t Count(EventKind kind) const {
    return static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const Line& l) { return l.kind == kind; }));
  }
  const Line& Only(EventKind kind) const {
    return *std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.kind == kind; });
  }
};

inline link::Packet ToPacket(const Segment& s, const Options& options) {
  link::Packet p;
  p.carrier = link::Carrier::kTcp;
  p.status = ParseStatus::kOk;
  Address ends[2];
  ends[0].kind = ends[1].kind = Address::Kind::kIpv4;
  ends[0].bytes[3] = std::byte{2};
  ends[1].bytes[3] = std::byte{1};
  const uint16_t ports[2] = {options.client_port, options.port};
  p.source = ends[s.from];
  p.destination = ends[s.from ^ 1];
  p.source_port = ports[s.from];
  p.destination_port = ports[s.from ^ 1];
  p.payload = s.payload;
  p.wire_length = s.wire_length;
  p.sequence = s.sequence;
  p.acknowledgment = s.acknowledgment;
  p.tcp_flags = s.flags;
  return p;
}

// Frame numbers count from 1 in the order of `segments`.
inline Log Track(const Segments& segments, const Options& options, const DecoderOptions& decoder = {}) {
  Log log;
  TrackerContext context(decoder, log);
  {
    IwarpTracker tracker(context);
    Frame frame;
    for (const Segment& s : segments) {
      ++frame.ref.number;
      context.set_now(frame.ref);
      tracker.OnPacket(ToPacket(s, options), frame);
    }
    tracker.Finish();
  }
  log.stats = context.stats();
  log.used = context.used();
  return log;
}

}  // namespace stag::fabric::test
