// SPDX-License-Identifier: GPL-2.0-or-later
//
// For tests of IwarpTracker: what it makes of a Conversation's segments, its events as lines of text.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "protocol/base/crc.h"
#include "session/fabric/iwarp_tracker.h"
#include "tests/support/event_fields.h"
#include "tests/support/iwarp_wire.h"
#include "tests/support/lasting_memory.h"

namespace stag::fabric::test {

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
    std::optional<uint16_t> reads_served, reads_issued;
  };
  std::vector<Line> lines;
  DecoderStats stats;
  uint64_t used = 0;

  void OnEvent(const Event& e) override {
    static constexpr const char* kNames[] = {"setup",        "opened",        "closed", "send", "write",
                                             "read-request", "read-response", "nak",    "gap",  "anomaly"};
    const stag::test::EventFields f = stag::test::FieldsOf(e);
    char text[256];
    std::snprintf(
        text, sizeof text,
        "c%u %s from %u length %llu missing %u crc %08x handle %x offset %llx%s%s%s invalidated %x setup %u close %u "
        "nak %u.%u.%u gap %llu",
        e.connection->id, kNames[static_cast<int>(e.kind())], e.from, static_cast<unsigned long long>(f.length),
        static_cast<unsigned>(f.missing), Crc32c(0, e.kind() == EventKind::kSetup ? f.private_data : f.bytes), f.handle,
        static_cast<unsigned long long>(f.offset), f.first ? " first" : "", f.last ? " last" : "",
        f.solicited ? " solicited" : "", f.invalidated.value_or(0), static_cast<unsigned>(f.setup.message),
        static_cast<unsigned>(f.close_reason), f.nak.terminate_layer, f.nak.terminate_type, f.nak.terminate_code,
        static_cast<unsigned long long>(f.gap_size));
    lines.push_back({text,
                     e.from,
                     e.kind(),
                     e.first_frame.number,
                     e.frame.number,
                     e.now.number,
                     f.missing,
                     {f.bytes.begin(), f.bytes.end()},
                     f.length,
                     *e.connection,
                     f.setup.reads_served,
                     f.setup.reads_issued});
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

// Frame numbers count from 1 in the order of `segments`. `lasting`: their bytes are those of a file.
inline Log Track(const Segments& segments, const Options& options, DecoderOptions decoder = {}, bool lasting = false) {
  std::vector<std::byte> all;
  for (const Segment& s : segments) all.insert(all.end(), s.payload.begin(), s.payload.end());
  const stag::test::LastingMemory file(all);
  if (lasting) decoder.lasting = &file;
  Log log;
  TrackerContext context(decoder, log);
  {
    IwarpTracker tracker(context);
    Frame frame;
    size_t at = 0;
    for (const Segment& s : segments) {
      ++frame.ref.number;
      context.set_now(frame.ref);
      link::Packet packet = ToPacket(s, options);
      if (lasting) packet.payload = Bytes(all).subspan(at, s.payload.size());
      at += s.payload.size();
      tracker.OnPacket(packet, frame.ref);
      tracker.Relieve();
    }
    tracker.Finish();
  }
  log.stats = context.stats();
  log.used = context.used();
  return log;
}

}  // namespace stag::fabric::test
