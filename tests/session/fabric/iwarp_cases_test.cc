// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpTracker: single situations, each with what must come of it; limits; and real captures against what tshark and an
// independent decoder find in them.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "capture/file/reader.h"
#include "tests/session/fabric/allocation_count.h"
#include "tests/session/fabric/iwarp_log.h"

namespace stag::fabric::test {
namespace {

using iwarp::Opcode;

Conversation Opened(Options options) {
  Conversation c(options);
  c.Mpa(0);
  c.Mpa(1);
  return c;
}

// What Linux's siw does in peer-to-peer mode: the first FPDU is an empty Write to STag 1.
TEST(IwarpCases, ReadyToReceiveIsNoOperation) {
  Conversation c = Opened({.crc = true, .peer_to_peer = true});
  c.Tagged(0, Opcode::kWrite, 1, 0, {});
  c.Send(0, Pattern(40));
  c.Tagged(0, Opcode::kWrite, 9, 0, {});  // a later one is an operation
  const Log log = Track(c.Cut(1448), c.options());
  EXPECT_EQ(log.Count(EventKind::kWrite), 1u);
  EXPECT_EQ(log.Count(EventKind::kSend), 1u);

  Conversation read = Opened({.peer_to_peer = true});
  read.ReadRequest(0, {});
  read.Tagged(1, Opcode::kReadResponse, 0, 0, {});
  read.Send(0, Pattern(40));
  const Log second = Track(read.Cut(1448), read.options());
  EXPECT_EQ(second.Count(EventKind::kReadRequest), 0u);
  EXPECT_EQ(second.Count(EventKind::kReadResponse), 0u);
  EXPECT_EQ(second.Count(EventKind::kSend), 1u);

  Conversation empty = Opened({.peer_to_peer = true});  // RFC 6581: an FPDU without a ULPDU
  empty.Fpdu(0, {});
  empty.Send(0, Pattern(40));
  EXPECT_EQ(Track(empty.Cut(1448), empty.options()).Count(EventKind::kSend), 1u);
}

TEST(IwarpCases, PrivateData) {
  for (const uint8_t revision : {uint8_t{1}, uint8_t{2}}) {
    Conversation c = Opened({.revision = revision});
    Segments segments = c.Cut(1448);
    Log log = Track(segments, c.options());
    ASSERT_EQ(log.Count(EventKind::kSetup), 2u);
    char crc[16];
    std::snprintf(crc, sizeof crc, "crc %08x", Crc32c(0, Pattern(8, 1)));
    EXPECT_NE(log.lines[0].text.find(crc), std::string::npos) << log.lines[0].text;
    EXPECT_NE(log.lines[0].text.find("setup 0"), std::string::npos);
    EXPECT_NE(log.lines[1].text.find("setup 1"), std::string::npos);
    EXPECT_EQ(log.lines[1].from, 1u);
    // Cut inside the private data: known to be there, not what it says.
    segments[3].payload.resize(revision == 1 ? 23 : 27);
    log = Track(segments, c.options());
    EXPECT_EQ(log.Count(EventKind::kSetup), 2u);
    EXPECT_EQ(log.Count(EventKind::kOpened), 1u);
  }
}

TEST(IwarpCases, MpaReject) {
  Conversation c({});
  c.Mpa(0);
  c.Mpa(1, true);
  const Log log = Track(c.Cut(1448), c.options());
  ASSERT_EQ(log.lines.size(), 3u);
  EXPECT_NE(log.lines[1].text.find("setup 3"), std::string::npos);
  EXPECT_NE(log.lines[2].text.find("closed from 1"), std::string::npos);
  EXPECT_NE(log.lines[2].text.find("close 2"), std::string::npos);
}

TEST(IwarpCases, NobodyListens) {
  const Segments refused{{0, 100, 0, link::kTcpSyn, {}, 0}, {1, 0, 101, link::kTcpRst | link::kTcpAck, {}, 0}};
  Log log = Track(refused, {.port = 20049});
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_NE(log.lines[0].text.find("setup 3"), std::string::npos);
  EXPECT_EQ(log.lines[0].from, 1u);
  EXPECT_TRUE(log.lines[0].info.roles_known);
  EXPECT_NE(log.lines[1].text.find("close 2"), std::string::npos);
  EXPECT_EQ(log.lines[1].frame, 2u);
  Log swapped = Track({refused[1], refused[0]}, {.port = 20049});
  EXPECT_EQ(swapped.Texts(), log.Texts());
  log = Track(refused, {.port = 20050});
  EXPECT_TRUE(log.lines.empty());
}

TEST(IwarpCases, ResetAndReuseOfPorts) {
  Conversation c = Opened({});
  c.Send(0, Pattern(40));
  Segments segments = c.Cut(1448);
  segments.resize(segments.size() - 3);  // no FINs
  Segment reset = segments.back();
  reset.flags = link::kTcpRst;
  Segments with_reset = segments;
  with_reset.push_back(reset);
  Log log = Track(with_reset, c.options());
  EXPECT_NE(log.lines.back().text.find("close 1 "), std::string::npos);  // kReset
  EXPECT_EQ(log.lines.back().frame, with_reset.size());

  // What the RST overtook in the capture still counts.
  for (size_t back = 1; back <= 2; ++back) {
    Segments overtaken = with_reset;
    std::rotate(overtaken.end() - 1 - static_cast<ptrdiff_t>(back), overtaken.end() - 1, overtaken.end());
    EXPECT_EQ(Track(overtaken, c.options()).Texts(), log.Texts());
  }

  Conversation second = Opened({.initial = {900000, 800000}});
  second.Send(0, Pattern(50));
  Segments reused = segments;
  const Segments more = second.Cut(1448);
  reused.insert(reused.end(), more.begin(), more.end());
  log = Track(reused, c.options());
  EXPECT_EQ(log.Count(EventKind::kClosed), 2u);
  EXPECT_EQ(log.Count(EventKind::kSend), 2u);
  EXPECT_NE(log.Only(EventKind::kClosed).text.find("close 3 "), std::string::npos);  // kSuperseded
  EXPECT_EQ(log.lines.back().info.id, 2u);

  Segments after_close = c.Cut(1448);
  after_close.insert(after_close.end(), more.begin(), more.end());
  log = Track(after_close, c.options());
  EXPECT_EQ(log.Count(EventKind::kClosed), 2u);
  EXPECT_EQ(log.lines.back().info.id, 2u);
}

TEST(IwarpCases, WrongCrcIsOneGap) {
  for (const bool merge : {false, true}) {
    Conversation c = Opened({.crc = true});
    c.Send(0, Pattern(40));
    c.Send(0, Pattern(60));
    c.Damage(30);
    c.Send(0, Pattern(80));
    c.Send(0, Pattern(90));
    const Log log = Track(c.Cut(1448, merge), c.options());
    EXPECT_EQ(log.stats.bad_crc, 1u);
    ASSERT_EQ(log.Count(EventKind::kGap), 1u);
    EXPECT_NE(log.Only(EventKind::kGap).text.find("gap 84"), std::string::npos);
    std::vector<size_t> sends;
    for (const auto& line : log.lines)
      if (line.kind == EventKind::kSend) sends.push_back(line.bytes.size());
    EXPECT_EQ(sends, (std::vector<size_t>{40, 80, 90}));
  }
}

// Eight Sends of end 0; byte `changed` of the fourth is another one where that is below its size.
Segments EightSends(const Options& options, size_t changed) {
  Conversation c = Opened(options);
  for (unsigned i = 0; i < 8; ++i) {
    std::vector<std::byte> bytes = Pattern(400 + 4 * i);
    if (i == 3 && changed < bytes.size()) bytes[changed] ^= std::byte{1};
    c.Send(0, bytes);
  }
  return c.Cut(1448);
}

// An FPDU that comes again whole is compared, wherever its segment begins and ends, and wherever frames are. A CRC
// tells a change from damage.
TEST(IwarpCases, ChangedRetransmissionsAreFound) {
  const auto of_end_0 = [](const Segments& segments) {
    std::vector<Segment> payloads;
    for (const Segment& s : segments)
      if (s.from == 0 && !s.payload.empty() && (s.flags & link::kTcpSyn) == 0) payloads.push_back(s);
    return payloads;
  };
  for (const unsigned ways : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    const bool crc = ways & 1, markers = ways & 2, lasting = ways & 4;
    const Options options{.markers = markers, .crc = crc};
    const Segments sent = EightSends(options, SIZE_MAX);
    // What comes again of the third to fifth Send, behind the fourth of which `changed` is another byte.
    const auto repeat = [&](size_t changed, size_t before, size_t behind) {
      const std::vector<Segment> payloads = of_end_0(EightSends(options, changed));
      const size_t fourth = payloads.size() - 5;
      Segment again = payloads[fourth];
      const auto& last = payloads[fourth - 1].payload;
      const auto& next = payloads[fourth + 1].payload;
      again.payload.insert(again.payload.begin(), last.end() - static_cast<ptrdiff_t>(before), last.end());
      again.payload.insert(again.payload.end(), next.begin(), next.begin() + static_cast<ptrdiff_t>(behind));
      again.sequence -= static_cast<uint32_t>(before);
      again.wire_length = again.payload.size();
      return again;
    };
    const auto anomalies = [&](const Segment& again) {
      Segments segments = sent;
      segments.insert(segments.end() - 3, again);
      return Track(segments, options, {}, lasting).Count(EventKind::kAnomaly);
    };
    for (const size_t before : {0u, 1u, 50u, 200u})
      for (const size_t behind : {0u, 3u, 100u}) {
        EXPECT_EQ(anomalies(repeat(SIZE_MAX, before, behind)), 0u) << before << " " << behind;
        for (const size_t changed : {0u, 201u, 411u})
          EXPECT_EQ(anomalies(repeat(changed, before, behind)), 1u) << before << " " << behind << " " << changed;
      }
    Segment cut = repeat(100, 0, 0);
    cut.payload.pop_back();  // by the capture
    EXPECT_EQ(anomalies(cut), 0u);
    Segment damaged = repeat(SIZE_MAX, 0, 0);
    damaged.payload[100] ^= std::byte{1};
    EXPECT_EQ(anomalies(damaged), crc ? 0u : 1u);
    Segment keepalive = repeat(SIZE_MAX, 0, 0);
    keepalive.payload.resize(1);
    keepalive.payload[0] ^= std::byte{1};
    keepalive.wire_length = 1;
    EXPECT_EQ(anomalies(keepalive), 0u);
  }
}

TEST(IwarpCases, WrongCrcIsAnAnomaly) {
  for (const bool agreed : {true, false}) {
    Conversation c = Opened({.crc = agreed});
    c.Send(0, Pattern(40));
    c.Send(0, Pattern(60));
    c.Damage(30);
    c.Send(0, Pattern(80));
    EXPECT_EQ(Track(c.Cut(1448), c.options()).Count(EventKind::kAnomaly), agreed ? 1u : 0u);
  }
}

TEST(IwarpCases, DamagedLengthIsFoundOut) {
  Conversation c = Opened({.crc = true});
  c.Send(0, Pattern(40));
  c.Send(0, Pattern(60));
  c.Damage(0);  // 256 bytes more than there are
  for (unsigned i = 0; i < 10; ++i) c.Send(0, Pattern(80 + i));
  const Log log = Track(c.Cut(1448), c.options());
  EXPECT_EQ(log.stats.bad_crc, 1u);
  EXPECT_EQ(log.Count(EventKind::kGap), 1u);
  EXPECT_GE(log.Count(EventKind::kSend), 8u);
  for (const auto& line : log.lines)
    if (line.kind == EventKind::kSend) {
      EXPECT_EQ(line.missing, Missing::kNothing);
    }
}

TEST(IwarpCases, TerminateNamesWhatIsRefused) {
  Conversation c = Opened({});
  c.ReadRequest(1, {.sink_stag = 1, .sink_offset = 2, .length = 300, .source_stag = 4, .source_offset = 5});
  iwarp::Terminate terminate;
  terminate.layer = 0;
  terminate.type = 1;
  terminate.code = 2;
  terminate.segment_length = 46;
  terminate.ddp = iwarp::DdpHeader{};
  terminate.ddp->queue = 1;
  terminate.ddp->sequence = 1;
  terminate.read_request = iwarp::ReadRequest{1, 2, 300, 4, 5};
  c.Terminate(0, terminate);
  struct Refused : Log {
    FrameRef refused;
    void OnEvent(const Event& e) override {
      if (e.kind() == EventKind::kNak) refused = e.nak().refused;
      Log::OnEvent(e);
    }
  };
  Refused log;
  DecoderOptions options;
  TrackerContext context(options, log);
  IwarpTracker tracker(context);
  Frame frame;
  for (const Segment& s : c.Cut(1448)) {
    ++frame.ref.number;
    context.set_now(frame.ref);
    tracker.OnPacket(ToPacket(s, c.options()), frame.ref);
    tracker.Relieve();
  }
  const Log::Line& nak = log.Only(EventKind::kNak);
  EXPECT_EQ(nak.from, 0u);
  EXPECT_NE(nak.text.find("nak 0.1.2"), std::string::npos);
  EXPECT_NE(nak.text.find("length 300 missing 0 crc 00000000 handle 4 offset 5"), std::string::npos);
  EXPECT_EQ(log.refused.number, log.Only(EventKind::kReadRequest).frame);
}

// Several Reads into one sink STag, answered in order, with the same sink range used twice.
TEST(IwarpCases, ReadsOutstandingOnOneSink) {
  Conversation c = Opened({});
  for (uint32_t i = 0; i < 6; ++i)
    c.ReadRequest(1, {.sink_stag = 5,
                      .sink_offset = 0x100 * (i % 3),
                      .length = 0x100,
                      .source_stag = 50 + i,
                      .source_offset = 0x10000ull * i});
  for (uint32_t i = 0; i < 6; ++i) c.Tagged(0, Opcode::kReadResponse, 5, 0x100 * (i % 3), Pattern(0x100, i), 0x60);
  const Log log = Track(c.Cut(1448), c.options());
  ASSERT_EQ(log.Count(EventKind::kReadResponse), 18u);
  uint32_t i = 0;
  for (const auto& line : log.lines) {
    if (line.kind != EventKind::kReadResponse) continue;
    char want[64];
    std::snprintf(want, sizeof want, "handle %x offset %x%s%s", 50 + i / 3, 0x10000 * (i / 3) + 0x60 * (i % 3),
                  i % 3 == 0 ? " first" : "", i % 3 == 2 ? " last" : "");
    EXPECT_NE(line.text.find(want), std::string::npos) << want << " / " << line.text;
    ++i;
  }
}

TEST(IwarpCases, LargeFpdusAndLongSends) {
  Conversation c = Opened({.crc = true});
  const auto large = Pattern(65500);
  c.Send(0, large, Opcode::kSend, 0, 65500);
  const auto longer = Pattern(300000, 2);
  c.Send(0, longer, Opcode::kSend, 0, 60000);
  const auto too_long = Pattern((1 << 20) + 5000, 3);
  c.Send(0, too_long, Opcode::kSend, 0, 50000);
  c.Send(0, Pattern(10));
  const Log log = Track(c.Cut(1448), c.options());
  std::vector<Log::Line> sends;
  for (const auto& line : log.lines)
    if (line.kind == EventKind::kSend) sends.push_back(line);
  ASSERT_EQ(sends.size(), 4u);
  EXPECT_EQ(sends[0].bytes, large);
  EXPECT_EQ(sends[1].bytes, longer);
  EXPECT_EQ(sends[2].length, too_long.size());
  EXPECT_EQ(sends[2].missing, Missing::kLost);
  EXPECT_TRUE(std::equal(sends[2].bytes.begin(), sends[2].bytes.end(), too_long.begin()));
  EXPECT_EQ(sends[2].bytes.size(), size_t{1} << 20);
  EXPECT_EQ(sends[3].bytes, Pattern(10));
  EXPECT_EQ(log.used, 0u);
}

// A hole inside a Send of several FPDUs: the prefix goes out.
TEST(IwarpCases, GapInsideASend) {
  Conversation c = Opened({});
  const auto message = Pattern(1000);
  c.Send(0, message, Opcode::kSend, 0, 200);
  for (unsigned i = 0; i < 12; ++i) {
    c.Send(1, Pattern(30 + i));
    c.Send(0, Pattern(100 + i));
  }
  Segments segments = c.Cut(100);  // an FPDU of the first Send takes three segments
  const auto lost =
      std::find_if(segments.begin() + 11, segments.end(), [](const Segment& s) { return !s.payload.empty(); });
  segments.erase(lost + 4);
  const Log log = Track(segments, c.options());
  const Log::Line& send = log.Only(EventKind::kSend);
  EXPECT_EQ(send.missing, Missing::kLost);
  EXPECT_GE(send.bytes.size(), 100u);
  EXPECT_LT(send.bytes.size(), 1000u);
  EXPECT_TRUE(std::equal(send.bytes.begin(), send.bytes.end(), message.begin()));
  EXPECT_EQ(log.Count(EventKind::kGap), 1u);
  EXPECT_EQ(log.Count(EventKind::kSend), 25u);
}

// One direction was not captured at all.
TEST(IwarpCases, OneDirectionOnly) {
  Conversation c = Opened({});
  for (unsigned i = 0; i < 50; ++i) {
    c.Send(0, Pattern(100 + i));
    c.Send(1, Pattern(100 + i));
  }
  for (const unsigned seen : {0u, 1u}) {
    Segments segments = c.Cut(1448);
    std::erase_if(segments, [&](const Segment& s) { return s.from != seen; });
    const Log log = Track(segments, c.options());
    EXPECT_EQ(log.Count(EventKind::kSend), 50u);
    for (const auto& line : log.lines)
      if (line.kind == EventKind::kSend) {
        EXPECT_EQ(line.from, seen);
      }
  }
}

TEST(IwarpCases, MemoryIsBounded) {
  Conversation c = Opened({});
  for (unsigned i = 0; i < 400; ++i) c.Send(0, Pattern(1400, i));
  Segments segments = c.Cut(1448);
  std::erase_if(segments,
                [](const Segment& s) { return s.from == 1 && s.payload.empty() && s.flags == link::kTcpAck; });
  const size_t first = 8;
  segments.erase(segments.begin() + static_cast<ptrdiff_t>(first));  // a hole that nobody acknowledges
  DecoderOptions options;
  options.memory_limit = 100000;
  const Log log = Track(segments, c.options(), options);
  EXPECT_EQ(log.used, 0u);
  EXPECT_EQ(log.Count(EventKind::kSend), 399u);
  EXPECT_EQ(log.Count(EventKind::kGap), 1u);
  options.memory_limit = 0;
  EXPECT_TRUE(Track(segments, c.options(), options).lines.empty());
  for (uint64_t limit = 5000; limit < 60000; limit += 1500) {
    options.memory_limit = limit;
    EXPECT_EQ(Track(segments, c.options(), options).used, 0u);
  }
}

// Many half-open connections, and many that are joined mid-stream: all bounded, and the one that matters survives.
TEST(IwarpCases, Floods) {
  Conversation c = Opened({});
  c.Send(0, Pattern(40));
  const Segments good = c.Cut(1448);
  Log log;
  DecoderOptions options;
  options.memory_limit = 8u << 20;
  TrackerContext context(options, log);
  IwarpTracker tracker(context);
  Frame frame;
  const auto feed = [&](const Segment& s, const Options& o) {
    ++frame.ref.number;
    context.set_now(frame.ref);
    tracker.OnPacket(ToPacket(s, o), frame.ref);
    tracker.Relieve();
  };
  Segment syn{0, 1, 0, link::kTcpSyn, {}, 0}, data{0, 1, 1, link::kTcpAck, Pattern(500), 500};
  for (size_t i = 0; i < good.size(); ++i) {
    feed(good[i], c.options());
    for (uint16_t n = 0; n < 1500; ++n) {
      Options other;
      other.client_port = n;
      other.port = static_cast<uint16_t>(1000 + i);
      feed(n % 2 ? syn : data, other);
    }
    EXPECT_LE(context.used(), options.memory_limit);
  }
  tracker.Finish();
  EXPECT_EQ(log.Count(EventKind::kSend), 1u);
  EXPECT_EQ(log.Count(EventKind::kClosed), 1u);
  EXPECT_EQ(context.used(), 0u);
}

TEST(IwarpCases, SteadyStateAllocatesNothing) {
  struct Null : Sink {
    uint64_t sends = 0;
    void OnEvent(const Event& e) override { sends += e.kind() == EventKind::kSend; }
  } sink;
  Conversation c = Opened({.markers = true, .crc = true});
  for (unsigned i = 0; i < 200; ++i) {
    c.Send(0, Pattern(100));
    c.ReadRequest(1, {.sink_stag = 1, .sink_offset = 0, .length = 5000, .source_stag = 2, .source_offset = 0});
    c.Tagged(0, Opcode::kReadResponse, 1, 0, Pattern(5000), 4000);
    c.Tagged(1, Opcode::kWrite, 3, 0, Pattern(5000), 4000);
    c.Send(1, Pattern(3000), Opcode::kSendInvalidate, 3);
  }
  Segments segments = c.Cut(1448);
  segments.resize(segments.size() - 3);
  DecoderOptions options;
  TrackerContext context(options, sink);
  IwarpTracker tracker(context);
  Frame frame;
  std::vector<link::Packet> packets;
  for (const Segment& s : segments) packets.push_back(ToPacket(s, c.options()));
  size_t before = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    if (i == packets.size() / 2) before = AllocationCount();
    ++frame.ref.number;
    context.set_now(frame.ref);
    tracker.OnPacket(packets[i], frame.ref);
    tracker.Relieve();
  }
  EXPECT_EQ(AllocationCount() - before, 0u);
  EXPECT_EQ(sink.sends, 400u);
}

struct Real {
  const char* name;
  // The first two as tshark counts them (where it can: not mid-stream); the bytes are the sum of what the Write chunks
  // of the expected transactions return.
  size_t sends, writes, write_bytes;
};

class RealCapture : public testing::TestWithParam<Real> {};

TEST_P(RealCapture, AgreesWithOtherDecoders) {
  const std::string folder = std::string(STAG_SOURCE_DIR) + "/pcaps/real/";
  const std::string name = GetParam().name;
  auto reader = capture::Reader::Open(folder + name + (name == "siw-rdma_error" ? ".pcap" : ".pcap.zst"));
  ASSERT_TRUE(reader) << reader.error().message;
  Log log;
  DecoderOptions options;
  TrackerContext context(options, log);
  IwarpTracker tracker(context);
  Frame frame;
  while ((*reader)->ReadFrame(frame) == capture::Reader::Next::kFrame) {
    const link::Packet packet = link::Decode(frame);
    context.set_now(frame.ref);
    if (packet.carrier == link::Carrier::kTcp) tracker.OnPacket(packet, frame.ref);
    tracker.Relieve();
  }
  tracker.Finish();
  EXPECT_EQ(log.Count(EventKind::kGap), 0u);
  EXPECT_EQ(log.Count(EventKind::kSend), GetParam().sends);
  EXPECT_EQ(log.Count(EventKind::kWrite), GetParam().writes);
  size_t bytes = 0;
  std::multiset<uint64_t> frames;
  for (const auto& line : log.lines) {
    EXPECT_EQ(line.missing, Missing::kNothing);
    if (line.kind == EventKind::kWrite) bytes += line.bytes.size();
    if (line.kind == EventKind::kSend) frames.insert(line.frame);
  }
  EXPECT_EQ(bytes, GetParam().write_bytes);

  std::ifstream expected(folder + "expected/" + name + ".jsonl");
  ASSERT_TRUE(expected);
  const std::regex number("\"(?:call|reply)_frame\": ?([0-9]+)");
  size_t checked = 0;
  for (std::string line; std::getline(expected, line);) {
    for (std::sregex_iterator it(line.begin(), line.end(), number), end; it != end; ++it, ++checked) {
      const auto found = frames.find(std::stoull((*it)[1]));
      ASSERT_NE(found, frames.end()) << line;
      frames.erase(found);
    }
  }
  EXPECT_GT(checked, 0u);
}

INSTANTIATE_TEST_SUITE_P(IwarpCases, RealCapture,
                         testing::Values(Real{"siw-nfs4.1", 96, 219, 281602},
                                         Real{"siw-midstream-nfs4.1", 50, 218, 285207},
                                         Real{"siw-rdma_error", 10, 0, 0}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
                           return name;
                         });

}  // namespace
}  // namespace stag::fabric::test
