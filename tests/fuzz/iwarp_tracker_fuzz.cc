// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpTracker on arbitrary TCP segments. The input is a byte that picks the limits, then a list of segments of up to
// four connections: one byte of flags (direction, connection, TCP flags, cut), sequence and acknowledgment numbers
// relative to what the stream would have next, and a payload; so that mutation stays inside connections. Nothing may
// crash, leak budget or pass the limit.
#include <algorithm>
#include <array>
#include <cstdint>

#include "protocol/base/cursor.h"
#include "session/fabric/iwarp_tracker.h"
#include "tests/fuzz/tiny_limits.h"
#include "tests/fuzz/transport_check.h"
#include "tests/support/event_fields.h"

namespace {

using namespace stag;
using namespace stag::fabric;

constexpr uint64_t kOneConnection = 32 << 10;

void Require(bool condition) {
  if (!condition) __builtin_trap();
}

struct Check : Sink {
  std::array<bool, 4096> closed{};
  void OnEvent(const Event& e) override {
    Require(e.connection && e.connection->id != 0 && e.from < 2);
    const auto f = stag::test::FieldsOf(e);
    Require(f.bytes.size() <= f.length || e.kind() == EventKind::kSetup);
    Require(f.missing == Missing::kNothing || f.bytes.size() < f.length || e.kind() == EventKind::kSend);
    Require(e.frame.number <= e.now.number && e.first_frame.number <= e.now.number);
    for (const std::byte b : f.bytes) sum += std::to_integer<uint64_t>(b);  // every byte must be readable
    for (const std::byte b : f.private_data) sum += std::to_integer<uint64_t>(b);
    bool& over = closed[e.connection->id % closed.size()];
    Require(!over || e.connection->id >= closed.size());
    over = e.kind() == EventKind::kClosed;
    connections = std::max(connections, e.connection->id);
  }
  uint64_t sum = 0;
  ConnectionId connections = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Check sink;
  Cursor in(std::as_bytes(std::span(data, size)));
  DecoderOptions options = stag::test::TinyLimits(in.U8()).Decoder();
  transport::TransportStatistics statistics({.memory = uint64_t{4} << 20});
  options.packets = &statistics;
  TrackerContext context(options, sink);
  IwarpTracker tracker(context);
  std::array<std::array<uint32_t, 2>, 4> next{};
  Frame frame;
  while (in.remaining() > 0) {
    const uint8_t what = in.U8(), more = in.U8();
    const unsigned connection = what & 3, from = (what >> 2) & 1;
    link::Packet p;
    p.carrier = link::Carrier::kTcp;
    p.status = ParseStatus::kOk;
    p.source_port = from ? 20049 : static_cast<uint16_t>(700 + connection);
    p.destination_port = from ? static_cast<uint16_t>(700 + connection) : 20049;
    p.source.bytes[0] = std::byte(from);
    p.destination.bytes[0] = std::byte(from ^ 1);
    p.tcp_flags = static_cast<uint8_t>((what & 0x08 ? 0 : link::kTcpAck) | (what >> 4 & 0x7));
    const auto off = static_cast<int8_t>(more & 0x10 ? in.U8() : 0);
    const auto ack = static_cast<int8_t>(more & 0x20 ? in.U8() : 0);
    p.sequence = next[connection][from] + static_cast<uint32_t>(off * (more & 0x40 ? 997 : 1));
    p.acknowledgment = next[connection][from ^ 1] + static_cast<uint32_t>(ack * (more & 0x80 ? 997 : 1));
    const size_t length = (more & 0x0f) == 15 ? in.U16() : (more & 0x0f) * size_t{9};
    p.payload = in.Take(std::min(length, in.remaining()));
    p.wire_length = p.payload.size() + ((what & 0x80) ? 40 : 0);
    if (off == 0) next[connection][from] += static_cast<uint32_t>(p.wire_length) + (p.tcp_flags & 3 ? 1 : 0);
    ++frame.ref.number;
    context.set_now(frame.ref);
    tracker.OnPacket(p, frame.ref);
    tracker.Relieve();
    // One connection stays, whatever the limit is.
    Require(context.used() <= std::max<uint64_t>(options.memory_limit, kOneConnection));
  }
  tracker.Finish();
  Require(context.used() == 0);
  stag::test::CheckTransport(statistics, sink.connections);
  return 0;
}
