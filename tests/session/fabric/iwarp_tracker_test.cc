// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpTracker on conversations: what comes out, and that no way of cutting, merging, repeating or exchanging TCP
// segments changes it.
#include "session/fabric/iwarp_tracker.h"

#include <gtest/gtest.h>

#include "tests/session/fabric/iwarp_log.h"

namespace stag::fabric::test {
namespace {

using iwarp::Opcode;

// Every kind of message, in both directions.
Conversation Workload(Options options) {
  Conversation c(options);
  c.Mpa(0);
  c.Mpa(1);
  c.Send(0, Pattern(40));
  c.Send(1, Pattern(24, 2), Opcode::kSendInvalidate, 0x1234);
  c.Send(0, Pattern(133, 3), Opcode::kSendSolicited);
  c.Tagged(1, Opcode::kWrite, 0xabc, 0x10000, Pattern(801, 4), 300);
  c.Send(1, Pattern(64, 5), Opcode::kSendSolicitedInvalidate, 0xabc);
  c.Send(0, Pattern(90, 6));
  c.ReadRequest(1, {.sink_stag = 7, .sink_offset = 0x500, .length = 600, .source_stag = 0x99, .source_offset = 0x7000});
  c.ReadRequest(1, {.sink_stag = 7, .sink_offset = 0x800, .length = 201, .source_stag = 0x98, .source_offset = 0x9000});
  c.Tagged(0, Opcode::kReadResponse, 7, 0x500, Pattern(600, 7), 350);
  c.Tagged(0, Opcode::kReadResponse, 7, 0x800, Pattern(201, 8));
  c.Send(1, Pattern(700, 9), Opcode::kSend, 0, 256);
  return c;
}

std::vector<Options> AllOptions() {
  std::vector<Options> out;
  for (int bits = 0; bits < 8; ++bits) {
    Options o;
    o.markers = bits & 1;
    o.crc = bits & 2;
    o.revision = bits & 4 ? 1 : 2;
    out.push_back(o);
  }
  return out;
}

// RFC 6581 section 9: IRD and ORD, which revision 1 does not have and all ones leave to the upper layer.
TEST(IwarpTracker, ReadDepths) {
  const auto depths = [](Options options) {
    Conversation c(options);
    c.Mpa(0);
    c.Mpa(1);
    const Log log = Track(c.Cut(1448), c.options());
    return std::pair{log.lines[0].reads_served, log.lines[1].reads_issued};
  };
  EXPECT_EQ(depths({.ird = 4, .ord = 7}), std::pair(std::optional<uint16_t>(4), std::optional<uint16_t>(7)));
  EXPECT_EQ(depths({.ird = 0, .ord = iwarp::kReadsNotNegotiated}),
            std::pair(std::optional<uint16_t>(0), std::optional<uint16_t>()));
  EXPECT_EQ(depths({.revision = 1}), std::pair(std::optional<uint16_t>(), std::optional<uint16_t>()));
}

TEST(IwarpTracker, EventsOfAConnection) {
  const Conversation c = Workload({});
  const Log log = Track(c.Cut(1448), c.options());
  std::vector<EventKind> kinds;
  for (const auto& line : log.lines) kinds.push_back(line.kind);
  using enum EventKind;
  EXPECT_EQ(kinds,
            (std::vector{kSetup, kSetup, kOpened, kSend, kSend, kSend, kWrite, kWrite, kWrite, kSend, kSend,
                         kReadRequest, kReadRequest, kReadResponse, kReadResponse, kReadResponse, kSend, kClosed}));
  const ConnectionInfo& info = log.lines[0].info;
  EXPECT_EQ(info.id, 1u);
  EXPECT_EQ(info.fabric, FabricKind::kIwarp);
  EXPECT_TRUE(info.roles_known);
  EXPECT_EQ(info.service_port, 20049);
  EXPECT_EQ(info.endpoint[0].number, 45000u);
  EXPECT_EQ(info.endpoint[1].number, 20049u);

  EXPECT_EQ(log.lines[0].frame, 4u);
  EXPECT_EQ(log.lines[1].frame, 6u);
  EXPECT_EQ(log.lines[2].frame, 6u);
  EXPECT_EQ(log.lines[3].frame, 8u);
  EXPECT_EQ(log.lines[3].bytes, Pattern(40));
  EXPECT_EQ(log.lines[4].bytes, Pattern(24, 2));
  EXPECT_NE(log.lines[4].text.find("invalidated 1234"), std::string::npos);
  EXPECT_NE(log.lines[5].text.find("solicited"), std::string::npos);
  EXPECT_NE(log.lines[6].text.find("handle abc offset 10000 first invalidated"), std::string::npos);
  EXPECT_NE(log.lines[7].text.find("handle abc offset 1012c invalidated"), std::string::npos);
  EXPECT_NE(log.lines[8].text.find("handle abc offset 10258 last"), std::string::npos);
  EXPECT_NE(log.lines[11].text.find("length 600 missing 0 crc 00000000 handle 99 offset 7000"), std::string::npos);
  EXPECT_NE(log.lines[13].text.find("handle 99 offset 7000 first"), std::string::npos);
  EXPECT_NE(log.lines[14].text.find("handle 99 offset 715e last"), std::string::npos);
  EXPECT_NE(log.lines[15].text.find("handle 98 offset 9000 first last"), std::string::npos);
  EXPECT_EQ(log.lines[16].bytes, Pattern(700, 9));
  EXPECT_EQ(log.lines[16].frame, log.lines[16].first + 4);  // three FPDUs, with an acknowledgment after each
  EXPECT_EQ(log.used, 0u);
}

TEST(IwarpTracker, AnyCutGivesTheSame) {
  for (const Options& options : AllOptions()) {
    const Conversation c = Workload(options);
    const auto want = Track(c.Cut(100000), options).Texts();
    ASSERT_EQ(want.size(), 18u);
    for (size_t size = 1; size < 60; ++size) {
      EXPECT_EQ(Track(c.Cut(size), options).Texts(), want) << size;
      EXPECT_EQ(Track(c.Cut(size, true), options).Texts(), want) << size;
    }
    EXPECT_EQ(Track(c.Cut(100000, true), options).Texts(), want);
    EXPECT_EQ(Track(c.Cut(1448, true), options).Texts(), want);
  }
}

// `segments` with segment `i` in two.
Segments SplitAt(const Segments& segments, size_t i, size_t at) {
  Segments out = segments;
  Segment second = out[i];
  out[i].payload.resize(at);
  out[i].wire_length = at;
  second.payload.erase(second.payload.begin(), second.payload.begin() + static_cast<ptrdiff_t>(at));
  second.wire_length -= at;
  second.sequence += static_cast<uint32_t>(at);
  out.insert(out.begin() + static_cast<ptrdiff_t>(i) + 1, second);
  return out;
}

TEST(IwarpTracker, EverySplitInTwoInBothOrders) {
  for (const Options& options : {Options{}, Options{.markers = true, .crc = true}}) {
    const Conversation c = Workload(options);
    const Segments whole = c.Cut(100000, true);
    const auto want = Track(whole, options).Texts();
    for (size_t i = 0; i < whole.size(); ++i) {
      for (size_t at = 1; at < whole[i].payload.size(); ++at) {
        Segments split = SplitAt(whole, i, at);
        ASSERT_EQ(Track(split, options).Texts(), want) << i << ' ' << at;
        std::swap(split[i], split[i + 1]);
        ASSERT_EQ(Track(split, options).Texts(), want) << i << ' ' << at;
      }
    }
  }
}

TEST(IwarpTracker, SwappedNeighboursChangeNothing) {
  for (const size_t size : {size_t{64}, size_t{1448}}) {
    const Conversation c = Workload({.crc = true});
    const Segments segments = c.Cut(size);
    const auto want = Track(segments, c.options()).Texts();
    for (size_t i = 0; i + 1 < segments.size(); ++i) {
      Segments swapped = segments;
      std::swap(swapped[i], swapped[i + 1]);
      EXPECT_EQ(Track(swapped, c.options()).Texts(), want) << i;
    }
  }
}

TEST(IwarpTracker, DuplicatesChangeNothing) {
  const Conversation c = Workload({});
  const Segments segments = c.Cut(200);
  const Log reference = Track(segments, c.options());
  for (size_t i = 0; i < segments.size(); ++i) {
    for (size_t later : {size_t{1}, size_t{2}, size_t{7}}) {
      Segments twice = segments;
      Segment copy = segments[i];
      for (std::byte& b : copy.payload) b ^= std::byte{0xff};  // the first copy counts
      twice.insert(twice.begin() + static_cast<ptrdiff_t>(std::min(i + later, segments.size())), copy);
      Log log = Track(twice, c.options());
      // The other bytes are an anomaly.
      std::erase_if(log.lines, [](const Log::Line& line) { return line.kind == EventKind::kAnomaly; });
      EXPECT_EQ(log.Texts(), reference.Texts()) << i;
    }
  }
  EXPECT_EQ(reference.stats.duplicates, 0u);
}

// A segment that is missing at first and is sent again, with other boundaries, some segments later.
TEST(IwarpTracker, RetransmissionsFillHoles) {
  const Conversation c = Workload({.crc = true});
  const Segments segments = c.Cut(64);
  const auto want = Track(segments, c.options()).Texts();
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    if (segments[i].payload.empty()) continue;
    Segments again = segments;
    Segment copy = segments[i];
    size_t extra = 0;  // it takes the next segment along when that is of the same end
    if (segments[i + 1].from == copy.from && !segments[i + 1].payload.empty()) {
      copy.payload.insert(copy.payload.end(), segments[i + 1].payload.begin(), segments[i + 1].payload.end());
      copy.wire_length = copy.payload.size();
      extra = 1;
    }
    again.insert(again.begin() + static_cast<ptrdiff_t>(std::min(i + 6 + extra, again.size())), copy);
    again.erase(again.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(Track(again, c.options()).Texts(), want) << i;
  }
}

// Whatever is lost or cut, nothing is made up: each event of the damaged run is one of the whole run, or says that it
// is incomplete and has the right prefix.
void ExpectNothingInvented(const Log& damaged, const Log& whole, size_t what) {
  for (unsigned from : {0u, 1u}) {
    size_t at = 0;
    const auto texts = whole.Texts(from);
    for (const auto& line : damaged.lines) {
      if (line.from != from || line.kind == EventKind::kGap || line.kind == EventKind::kClosed ||
          line.kind == EventKind::kOpened || line.kind == EventKind::kSetup)
        continue;
      if (line.missing != Missing::kNothing) {
        const bool prefix = std::any_of(whole.lines.begin(), whole.lines.end(), [&](const Log::Line& l) {
          return l.kind == line.kind && l.from == from && l.bytes.size() >= line.bytes.size() &&
                 line.length <= l.length && std::equal(line.bytes.begin(), line.bytes.end(), l.bytes.begin());
        });
        EXPECT_TRUE(prefix) << what << ": " << line.text;
        continue;
      }
      // `first` cannot be known right behind a gap.
      const auto same = [&](const std::string& text) {
        std::string other = text;
        if (const size_t f = other.find(" first");
            f != std::string::npos && line.text.find(" first") == std::string::npos)
          other.erase(f, 6);
        return text == line.text || other == line.text;
      };
      while (at < texts.size() && !same(texts[at])) ++at;
      ASSERT_LT(at, texts.size()) << what << ": " << line.text;
      ++at;
    }
  }
}

TEST(IwarpTracker, LossOfEverySegment) {
  for (const Options& options : AllOptions()) {
    Conversation c = Workload(options);
    for (unsigned i = 0; i < 30; ++i) {  // enough traffic for the loss to be noticed, and to find the boundaries again
      c.Send(0, Pattern(50 + i, 100 + i));
      c.Send(1, Pattern(60 + i, 200 + i));
    }
    for (const size_t size : {size_t{1448}, size_t{90}}) {
      const Segments segments = c.Cut(size);
      const Log whole = Track(segments, options);
      for (size_t i = 3; i < segments.size(); ++i) {
        Segments lossy = segments;
        lossy.erase(lossy.begin() + static_cast<ptrdiff_t>(i));
        const Log log = Track(lossy, options);
        ExpectNothingInvented(log, whole, i);
        const bool data = !segments[i].payload.empty();
        EXPECT_EQ(log.used, 0u);
        // Without one of the set-up frames nothing tells where the markers are.
        const bool setup = log.Count(EventKind::kSetup) == 2;
        if (!setup && options.markers) continue;
        if (data && setup) {
          EXPECT_EQ(log.Count(EventKind::kGap), 1u) << i;
        }
        const size_t lost_sends = whole.Count(EventKind::kSend) - log.Count(EventKind::kSend);
        EXPECT_LE(lost_sends, 4u) << size << ' ' << i;
      }
    }
  }
}

TEST(IwarpTracker, SnapLength) {
  for (const Options& options : {Options{}, Options{.markers = true, .crc = true}}) {
    const Conversation c = Workload(options);
    for (const bool merge : {false, true}) {
      const Segments segments = c.Cut(500, merge);
      const Log whole = Track(segments, options);
      for (size_t snap = 0; snap < 500; ++snap) {
        Segments cut = segments;
        for (Segment& s : cut) s.payload.resize(std::min(s.payload.size(), snap));
        ExpectNothingInvented(Track(cut, options), whole, snap);
      }
    }
  }
  // Headers are enough to know what was sent.
  const Conversation c = Workload({});
  Segments cut = c.Cut(1448);
  for (Segment& s : cut) s.payload.resize(std::min<size_t>(s.payload.size(), 60));
  const Log log = Track(cut, c.options());
  EXPECT_EQ(log.Count(EventKind::kSend), 6u);
  EXPECT_EQ(log.Count(EventKind::kWrite), 3u);
  EXPECT_EQ(log.Count(EventKind::kReadResponse), 3u);
  EXPECT_EQ(log.Count(EventKind::kGap), 0u);
  EXPECT_EQ(log.Only(EventKind::kWrite).missing, Missing::kTruncatedByCapture);
  EXPECT_EQ(log.Only(EventKind::kWrite).bytes.size(), 60u - 16u);
  EXPECT_EQ(log.Only(EventKind::kWrite).length, 300u);
  EXPECT_GT(log.stats.truncated_frames, 0u);
}

// The capture ends anywhere.
TEST(IwarpTracker, EveryEnd) {
  const Conversation c = Workload({.crc = true});
  const Segments segments = c.Cut(100);
  const Log whole = Track(segments, c.options());
  for (size_t n = 0; n < segments.size(); ++n) {
    const Log log = Track(Segments(segments.begin(), segments.begin() + static_cast<ptrdiff_t>(n)), c.options());
    ExpectNothingInvented(log, whole, n);
    EXPECT_EQ(log.Count(EventKind::kGap), 0u);
    EXPECT_EQ(log.Count(EventKind::kClosed), log.Count(EventKind::kSetup) > 0 ? 1u : 0u);
    EXPECT_EQ(log.used, 0u);
  }
}

TEST(IwarpTracker, SequenceNumbersWrap) {
  const Conversation plain = Workload({});
  const auto want = Track(plain.Cut(64), plain.options()).Texts();
  for (uint32_t back = 0; back < 3000; back += 13) {
    const Conversation c = Workload({.initial = {0u - back, 0u - back / 2}});
    EXPECT_EQ(Track(c.Cut(64), c.options()).Texts(), want) << back;
  }
}

// RFC 5041 section 4.3: message sequence numbers of 32 bits.
TEST(IwarpTracker, MessageNumbersWrap) {
  const auto track = [](uint32_t first) {
    Conversation c({});
    c.Mpa(0);
    c.Mpa(1);
    for (uint32_t i = 0; i < 12; ++i)
      for (unsigned from : {0u, 1u}) {
        iwarp::DdpHeader header;
        header.opcode = Opcode::kSend;
        header.sequence = first + i;
        header.last = true;
        const auto message = Pattern(300, static_cast<uint8_t>(i));
        iwarp::ForEachSegment(header, message.size(), 128, [&](const iwarp::DdpHeader& h, uint64_t at, size_t n) {
          c.Ddp(from, h, Bytes(message).subspan(static_cast<size_t>(at), n));
        });
      }
    return Track(c.Cut(200), c.options()).Texts();
  };
  EXPECT_EQ(track(0xfffffff8), track(1));
}

// Many Sends each way, one at a time: a hole that an acknowledgment names has time enough to be given up.
Conversation Talk() {
  Conversation c({.crc = true});
  c.Mpa(0);
  c.Mpa(1);
  for (uint8_t i = 0; i < 40; ++i)
    for (unsigned from : {0u, 1u}) c.Send(from, Pattern(100, i));
  return c;
}

// No single acknowledgment makes a connection skip what its other side still sends, whoever sends next, and how much.
TEST(IwarpTracker, AStrayAcknowledgmentMovesNothing) {
  const Conversation c = Talk();
  const Segments segments = c.Cut(1448);
  const Log expected = Track(segments, c.options());
  for (const uint32_t distance : {1u, 128u, 2000u, 65'536u, 16u << 20, (64u << 20) - 1000, 1u << 30})
    for (const unsigned from : {0u, 1u})
      for (size_t i = 4; i < segments.size(); i += 3) {
        Segments with = segments;
        const auto at = with.begin() + static_cast<ptrdiff_t>(i);
        const Segment& next = segments[i];
        Segment stray{from,
                      next.from == from ? next.sequence : next.acknowledgment,
                      (next.from == from ? next.acknowledgment : next.sequence) + distance,
                      link::kTcpAck,
                      {},
                      0};
        with.insert(at, stray);
        const Log log = Track(with, c.options());
        EXPECT_EQ(log.stats.gaps, 0u) << distance << ' ' << i;
        ASSERT_EQ(log.Texts(), expected.Texts()) << distance << ' ' << i;
      }
}

// Nor when it comes with data, while one side alone sends.
TEST(IwarpTracker, AStrayAcknowledgmentWithData) {
  Conversation c({.crc = true});
  c.Mpa(0);
  c.Mpa(1);
  c.Send(1, Pattern(100));
  for (uint8_t i = 0; i < 40; ++i) c.Send(0, Pattern(100, i));
  for (uint8_t i = 0; i < 40; ++i) c.Send(1, Pattern(100, i));
  const Segments segments = c.Cut(1448);
  const Log expected = Track(segments, c.options());
  for (size_t i = 4; i + 3 < segments.size(); ++i) {
    Segments with = segments;
    with[i].acknowledgment += 1 << 20;
    const Log log = Track(with, c.options());
    for (const unsigned from : {0u, 1u}) ASSERT_EQ(log.Texts(from), expected.Texts(from)) << i;
  }
}

// RFC 9293 section 3.10.7.4: a reset that is not in the window is dropped.
TEST(IwarpTracker, AStrayReset) {
  const Conversation c = Talk();
  const Segments segments = c.Cut(1448);
  const Log expected = Track(segments, c.options());
  for (const uint32_t distance : {1u << 30, 1u << 31, 3u << 30})
    for (size_t i = 6; i < segments.size(); i += 5) {
      Segments with = segments;
      with.insert(with.begin() + static_cast<ptrdiff_t>(i),
                  Segment{segments[i].from, segments[i].sequence + distance, 0, link::kTcpRst, {}, 0});
      ASSERT_EQ(Track(with, c.options()).Texts(), expected.Texts()) << distance << ' ' << i;
    }
}

// What the capture lost is given up all the same, though it shows nothing behind it: two acknowledgments name it.
TEST(IwarpTracker, TwoAcknowledgmentsNameWhatIsLost) {
  Conversation c({.crc = true});
  c.Mpa(0);
  c.Mpa(1);
  c.Send(1, Pattern(100));
  c.Send(0, Pattern(100, 1));
  Segments segments = c.Cut(1448);
  const auto lost =
      std::find_if(segments.rbegin(), segments.rend(), [](const Segment& s) { return s.wire_length > 0; });
  const Segment acknowledgment = *(lost - 1);
  const auto at = segments.erase(lost.base() - 1);
  segments.insert(at, 20, acknowledgment);
  segments.resize(segments.size() - 3);  // without FINs
  const Log log = Track(segments, c.options());
  ASSERT_EQ(log.Count(EventKind::kGap), 1u);
  EXPECT_LT(log.Only(EventKind::kGap).now, segments.size());
}

TEST(IwarpTracker, JoinedAtEverySegment) {
  for (const bool crc : {false, true}) {
    Options options;
    options.crc = crc;
    Conversation c = Workload(options);
    for (unsigned i = 0; i < 10; ++i) {
      c.Send(0, Pattern(50 + i, 100 + i));
      c.Tagged(1, Opcode::kWrite, 0x77, 0x1000 * i, Pattern(2000, 300 + i));
      c.Send(1, Pattern(60 + i, 200 + i));
    }
    const Segments segments = c.Cut(1448);
    const Log whole = Track(segments, options);
    for (size_t i = 6; i + 40 < segments.size(); ++i) {
      const Log log = Track(Segments(segments.begin() + static_cast<ptrdiff_t>(i), segments.end()), options);
      ASSERT_EQ(log.Count(EventKind::kOpened), 1u) << i;
      ExpectNothingInvented(log, whole, i);
      const ConnectionInfo& info = log.lines[0].info;
      EXPECT_FALSE(info.roles_known);
      EXPECT_EQ(info.service_port, 20049);
      EXPECT_EQ(info.endpoint[1].number, 20049u);
      // Every Send that starts in what was captured is there.
      size_t want = 0;
      for (const auto& line : whole.lines) want += line.kind == EventKind::kSend && line.first > i;
      EXPECT_EQ(log.Count(EventKind::kSend), want) << i;
      EXPECT_EQ(log.Count(EventKind::kGap), 0u) << i;
    }
  }
}

// Joined behind the TCP handshake, or inside it: the MPA frames say what it is.
TEST(IwarpTracker, JoinedBeforeMpa) {
  const Conversation c = Workload({.markers = true, .crc = true});
  const Segments segments = c.Cut(1448);
  const Log whole = Track(segments, c.options());
  for (ptrdiff_t i = 1; i <= 3; ++i) {
    const Log log = Track(Segments(segments.begin() + i, segments.end()), c.options());
    EXPECT_EQ(log.Texts(), whole.Texts()) << i;
    EXPECT_TRUE(log.lines[0].info.roles_known);
    EXPECT_EQ(log.lines[0].info.service_port, 20049);
  }
}

// The first packets of a capture can be out of order, too.
TEST(IwarpTracker, JoinedWithTheFirstTwoSwapped) {
  for (const bool crc : {false, true}) {
    const Conversation c = Workload({.crc = crc});
    const Segments segments = c.Cut(150);
    for (size_t i = 6; i + 20 < segments.size(); ++i) {
      Segments joined(segments.begin() + static_cast<ptrdiff_t>(i), segments.end());
      const Log want = Track(joined, c.options());
      std::swap(joined[0], joined[1]);
      EXPECT_EQ(Track(joined, c.options()).Texts(), want.Texts()) << i;
    }
  }
}

// Nothing is known of the port: lengths or CRCs have to prove it, from any offset within a segment.
TEST(IwarpTracker, JoinedInTheMiddleOfAnFpduOnAnyPort) {
  for (const bool crc : {false, true}) {
    Options options;
    options.crc = crc;
    options.port = 7777;
    Conversation c(options);
    c.Mpa(0);
    c.Mpa(1);
    for (unsigned i = 0; i < 8; ++i) c.Tagged(1, Opcode::kWrite, 0x77, 0x1000 * i, Pattern(3000, 300 + i), 3000);
    c.Send(1, Pattern(60));
    const Segments segments = c.Cut(1000, true);
    const Log whole = Track(segments, options);
    for (size_t i = 8; i < 14; ++i) {
      const Log log = Track(Segments(segments.begin() + static_cast<ptrdiff_t>(i), segments.end()), options);
      ExpectNothingInvented(log, whole, i);
      EXPECT_GE(log.Count(EventKind::kWrite), 5u) << i;
      EXPECT_EQ(log.Count(EventKind::kSend), 1u) << i;
      EXPECT_EQ(log.Only(EventKind::kOpened).info.service_port, 7777);
    }
  }
}

TEST(IwarpTracker, OtherTcpTrafficGivesNothing) {
  Options options;
  options.port = 2049;
  Conversation c(options);
  for (unsigned i = 0; i < 300; ++i) c.Put(i % 2, Pattern(1 + i * 37 % 4000, i));
  const Segments segments = c.Cut(1448);
  for (const size_t skip : {size_t{0}, size_t{3}, size_t{50}}) {
    const Log log = Track(Segments(segments.begin() + static_cast<ptrdiff_t>(skip), segments.end()), options);
    EXPECT_TRUE(log.lines.empty());
    EXPECT_EQ(log.used, 0u);
  }
  Conversation zeros(options);
  for (unsigned i = 0; i < 100; ++i) zeros.Put(i % 2, std::vector<std::byte>(1000));
  EXPECT_TRUE(Track(zeros.Cut(1448), options).lines.empty());
}

}  // namespace
}  // namespace stag::fabric::test
