// SPDX-License-Identifier: GPL-2.0-or-later
//
// Decoder on real captures: counts and bytes as tshark 4.0 and a separate script find them (packets with distinct PSNs,
// payload without pad and ICRC; rxe-perftest ends within a Send, whose 8192 bytes do not count), and what single
// damaged frames may change.
#include "session/fabric/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "protocol/link/packet.h"
#include "tests/session/fabric/allocation_count.h"
#include "tests/session/fabric/recorder.h"
#include "tests/support/run_capture.h"

namespace stag::fabric {
namespace {

using stag::test::Describe;
using stag::test::LoadFrames;
using stag::test::OwnedFrame;
using stag::test::Recorded;
using stag::test::Recorder;

std::vector<OwnedFrame> Real(const std::string& name) {
  return LoadFrames(std::string(STAG_SOURCE_DIR) + "/pcaps/real/" + name);
}

class Totals : public Sink {
 public:
  void OnEvent(const Event& e) override {
    ++count[e.kind()];
    const stag::test::EventFields f = stag::test::FieldsOf(e);
    bytes[e.kind()] += f.bytes.size();
    wire[e.kind()] += f.length;
  }
  std::map<EventKind, uint64_t> count, bytes, wire;
};

struct Expected {
  const char* file;
  uint64_t connections, sends, send_bytes, writes, write_bytes, reads, responses, response_bytes;
};

class RealCapture : public testing::TestWithParam<Expected> {};
INSTANTIATE_TEST_SUITE_P(Files, RealCapture,
                         testing::Values(Expected{"rxe-nfs4.1.pcap.zst", 1, 140, 28132, 525, 518981, 6, 103, 104098},
                                         Expected{"rxe-nfs3.pcap.zst", 1, 914, 117352, 624, 272062, 0, 0, 0},
                                         Expected{"rxe-midstream-nfs3.pcap.zst", 1, 1386, 178944, 622, 269211, 0, 0, 0},
                                         Expected{"rxe-snap128-nfs3.pcap.zst", 3, 1418, 196828, 1462, 1106535, 35, 517,
                                                  520814},
                                         Expected{"rxe-rdma_error.pcap", 1, 10, 504, 0, 0, 0, 0, 0},
                                         Expected{"rxe-perftest.pcap.zst", 3, 38, 170740, 0, 0, 1, 3, 3000}));

TEST_P(RealCapture, CountsAndBytes) {
  const Expected& expected = GetParam();
  std::vector<OwnedFrame> frames = Real(expected.file);
  Totals t;
  DecoderOptions options;
  options.verify_crc = true;
  DecoderStats stats = stag::test::Decode(frames, options, t);
  EXPECT_EQ(stats.frames, frames.size());
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(stats.bad_crc, 0u);
  EXPECT_GT(stats.checked_crc, 0u);
  EXPECT_EQ(stats.duplicates, 0u);
  EXPECT_EQ(stats.dropped_for_memory, 0u);
  EXPECT_EQ(t.count[EventKind::kOpened], expected.connections);
  EXPECT_EQ(t.count[EventKind::kClosed], expected.connections);
  EXPECT_EQ(t.count[EventKind::kSend], expected.sends);
  EXPECT_EQ(t.wire[EventKind::kSend], expected.send_bytes);
  EXPECT_EQ(t.count[EventKind::kWrite], expected.writes);
  EXPECT_EQ(t.wire[EventKind::kWrite], expected.write_bytes);
  EXPECT_EQ(t.count[EventKind::kReadRequest], expected.reads);
  EXPECT_EQ(t.wire[EventKind::kReadRequest], expected.response_bytes);
  EXPECT_EQ(t.count[EventKind::kReadResponse], expected.responses);
  EXPECT_EQ(t.wire[EventKind::kReadResponse], expected.response_bytes);
  if (stats.truncated_frames == 0) {
    EXPECT_EQ(t.bytes[EventKind::kSend], expected.send_bytes);
    EXPECT_EQ(t.bytes[EventKind::kWrite], expected.write_bytes);
    EXPECT_EQ(t.bytes[EventKind::kReadResponse], expected.response_bytes);
  }
}

TEST(DecoderReal, Rejected) {
  Totals t;
  stag::test::Decode(Real("rxe-reject.pcap"), {}, t);
  EXPECT_EQ(t.count[EventKind::kSetup], 4u);
  EXPECT_EQ(t.count[EventKind::kClosed], 2u);
  EXPECT_EQ(t.count[EventKind::kOpened], 0u);
}

std::vector<std::string> Sorted(std::span<const OwnedFrame> frames) {
  Recorder r;
  stag::test::Decode(frames, {}, r);
  std::vector<std::string> out;
  for (const Recorded& e : r.events) out.push_back(Describe(e));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(DecoderReal, SingleDamagedFrames) {
  std::vector<OwnedFrame> frames = Real("rxe-nfs4.1.pcap.zst");
  std::vector<std::string> reference = Sorted(frames);
  for (size_t i = 0; i + 1 < frames.size(); i += 23) {
    EXPECT_EQ(Sorted(stag::test::Duplicated(frames, i)), reference) << i;
    EXPECT_EQ(Sorted(stag::test::SwappedWithNext(frames, i)), reference) << i;
    Recorder r;
    DecoderStats stats = stag::test::Decode(stag::test::Without(frames, i), {}, r);
    EXPECT_LE(stats.gaps, 1u) << i;
    for (const Recorded& e : r.events) {
      bool reported = e.event.kind() == EventKind::kGap || stag::test::FieldsOf(e.event).missing == Missing::kLost;
      EXPECT_TRUE(reported || std::binary_search(reference.begin(), reference.end(), Describe(e))) << i;
    }
  }
}

TEST(DecoderReal, AnySnapLength) {
  std::vector<OwnedFrame> frames = Real("rxe-rdma_error.pcap");
  for (size_t snap = 0; snap < 330; ++snap) {
    Recorder r;
    stag::test::Decode(stag::test::Snapped(frames, snap), {}, r);
    for (const Recorded& e : r.events) {
      const stag::test::EventFields f = stag::test::FieldsOf(e.event);
      EXPECT_LE(e.bytes.size(), f.length) << snap;
      EXPECT_EQ(f.missing == Missing::kNothing, e.bytes.size() == f.length) << snap;
    }
  }
}

TEST(Decoder, EmptyAndForeignFrames) {
  Totals t;
  Decoder decoder({}, t);
  decoder.OnFrame({{1, 0}, LinkType::kEthernet, {}, 0});
  decoder.OnFrame({{2, 0}, LinkType::kUnsupported, {}, 100});
  std::vector<std::byte> arp(60);
  decoder.OnFrame({{3, 0}, LinkType::kEthernet, arp, 60});
  decoder.Finish();
  EXPECT_EQ(decoder.stats().frames, 3u);
  EXPECT_TRUE(t.count.empty());
}

TEST(Decoder, CountsFragments) {
  Totals t;
  Decoder decoder({}, t);
  std::vector<std::byte> ip;
  link::AppendIpv4(ip, link::Ipv4Address(1, 1, 1, 1), link::Ipv4Address(1, 1, 1, 2), 17, 8);
  ip[6] = std::byte{0x20};
  ip.resize(ip.size() + 8);
  decoder.OnFrame({{1, 0}, LinkType::kRawIp, ip, static_cast<uint32_t>(ip.size())});
  EXPECT_EQ(decoder.stats().ip_fragments, 1u);
}

// Who has decoded a frame hands the packet over: the events and the counts are those of the frame.
TEST(Decoder, PacketsOfTheCaller) {
  std::vector<OwnedFrame> frames = Real("siw-nfs4.1.pcap.zst");
  Recorder of_frames, of_packets;
  Decoder by_frame({}, of_frames), by_packet({}, of_packets);
  for (const OwnedFrame& frame : frames) {
    by_frame.OnFrame(frame.view());
    by_packet.OnPacket(link::Decode(frame.view()), frame.view().ref);
  }
  by_frame.Finish();
  by_packet.Finish();
  ASSERT_FALSE(of_frames.events.empty());
  ASSERT_EQ(of_packets.events.size(), of_frames.events.size());
  for (size_t i = 0; i < of_frames.events.size(); ++i) {
    EXPECT_EQ(Describe(of_packets.events[i]), Describe(of_frames.events[i]));
    EXPECT_EQ(of_packets.events[i].event.frame.number, of_frames.events[i].event.frame.number);
  }
  EXPECT_EQ(by_packet.stats().frames, by_frame.stats().frames);
}

// In the steady state nothing is allocated: not for Sends, Writes or Reads, once storage of their sizes exists.
TEST(Decoder, SteadyStateAllocatesNothing) {
  class Nothing : public Sink {
    void OnEvent(const Event&) override {}
  } sink;
  stag::test::IbWire wire;
  stag::test::IbTalk talk(wire);
  talk.Connect();
  for (uint32_t i = 1; i <= 200; ++i) {
    talk.Send(0, stag::test::Message(i, 3000));
    talk.Ack(0);
    talk.Read(1, 4, 0x1000, stag::test::Pattern(5000, i));
    talk.Write(1, 3, 0x5000, stag::test::Pattern(5000, i));
    talk.Send(1, stag::test::Message(i));
    talk.Ack(1);
  }
  Decoder decoder({}, sink);
  size_t at_half = 0;
  for (size_t i = 0; i < wire.frames().size(); ++i) {
    if (i == wire.frames().size() / 2) at_half = test::AllocationCount();
    const auto& f = wire.frames()[i];
    decoder.OnFrame({{i + 1, f.time_ns}, wire.link(), f.bytes, static_cast<uint32_t>(f.bytes.size())});
  }
  EXPECT_EQ(test::AllocationCount(), at_half);
}

}  // namespace
}  // namespace stag::fabric
