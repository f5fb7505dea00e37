// SPDX-License-Identifier: GPL-2.0-or-later
//
// What TransportStatistics counts of TCP segments, given to it as the tracker gives them.
#include <gtest/gtest.h>

#include "protocol/link/encode.h"
#include "protocol/link/packet.h"
#include "session/transport/transport_statistics.h"
#include "tests/support/messages.h"

namespace stag::transport {
namespace {

using test::Pattern;

class Tcp : public testing::Test {
 protected:
  static constexpr fabric::PacketObserver::Track kTrack = 1;

  // End `from` sends the bytes of its stream from `at` on; `other`: with other ones.
  void Segment(Side from, uint32_t at, uint32_t size, uint32_t acknowledgment = 0, uint8_t flags = link::kTcpAck,
               uint16_t window = 500, bool other = false) {
    link::Packet packet;
    packet.carrier = link::Carrier::kTcp;
    packet.status = ParseStatus::kOk;
    packet.sequence = at;
    packet.acknowledgment = acknowledgment;
    packet.tcp_flags = flags;
    packet.window = window;
    packet.wire_length = size;
    test::Buffer bytes;
    for (uint32_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>((at + i) * 7 + other));
    packet.payload = bytes;
    time_ns_ += 1000;
    statistics_.OnSegment(kTrack, from, packet, {++frame_, time_ns_});
  }
  void Handshake() {
    Segment(0, 999, 0, 0, link::kTcpSyn);
    Segment(1, 4999, 0, 1000, link::kTcpSyn | link::kTcpAck);
    Segment(0, 1000, 0, 5000);
  }
  // End `first_end` is side 0.
  Health Count(Side first_end = 0) {
    fabric::ConnectionInfo info;
    info.id = 1;
    info.fabric = fabric::FabricKind::kIwarp;
    statistics_.OnConnection(kTrack, info, first_end);
    return *statistics_.Find(1);
  }

  TransportStatistics statistics_{StatisticsOptions{}};
  uint64_t frame_ = 0;
  int64_t time_ns_ = 0;
};

TEST_F(Tcp, AQuietConnection) {
  Handshake();
  Segment(0, 1000, 100, 5000);
  Segment(1, 5000, 300, 1100);
  Segment(0, 1100, 0, 5300);
  Segment(0, 1100, 50, 5300);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].packets, 2u);
  EXPECT_EQ(health.sent[0].bytes, 150u);
  EXPECT_EQ(health.sent[1].packets, 1u);
  EXPECT_EQ(health.sent[1].largest, 300u);
  EXPECT_EQ(health.sent[1].max_in_flight, 300u);
  for (const Counters& n : health.sent)
    EXPECT_EQ(
        n.retransmitted + n.out_of_order + n.zero_windows + n.resets + n.crc_errors + n.changed + n.lost_from_capture,
        0u);
}

TEST_F(Tcp, Retransmissions) {
  Handshake();
  Segment(0, 1000, 100);
  Segment(0, 1100, 100);
  Segment(0, 1000, 100);
  Segment(0, 1050, 150);  // cut anew
  Segment(0, 1150, 100);  // half of it is new
  Segment(0, 1250, 100);
  Segment(0, 1250, 100, 0, link::kTcpAck, 500, true);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 3u);
  EXPECT_EQ(health.sent[0].out_of_order, 0u);
  EXPECT_EQ(health.sent[0].changed, 1u);
  ASSERT_EQ(health.episodes.size(), 2u);
  EXPECT_EQ(health.episodes[0].packets, 2u);
  EXPECT_EQ(health.episodes[0].first.number, 6u);
  EXPECT_EQ(health.episodes[0].last.number, 7u);
  EXPECT_EQ(health.episodes[0].cause.number, 5u);
}

TEST_F(Tcp, OutOfOrderAndMissing) {
  Handshake();
  Segment(0, 1100, 100);
  Segment(0, 1000, 100);  // overtaken
  Segment(0, 1300, 100);  // 1200 to 1299 are not captured
  Segment(1, 5000, 10, 1400);
  Segment(0, 1500, 100);  // nothing shows that 1400 to 1499 arrived
  const Health health = Count();
  EXPECT_EQ(health.sent[0].out_of_order, 1u);
  EXPECT_EQ(health.sent[0].retransmitted, 0u);
  EXPECT_EQ(health.sent[0].lost_from_capture, 100u);
}

TEST_F(Tcp, ZeroWindowsAndResets) {
  Handshake();
  Segment(0, 1000, 100);
  Segment(1, 5000, 0, 1100, link::kTcpAck, 0);
  Segment(1, 5000, 0, 1100, link::kTcpAck, 0);
  Segment(1, 5000, 0, 1100, link::kTcpAck | link::kTcpFin, 0);
  Segment(1, 5001, 0, 1100, link::kTcpAck, 100);
  Segment(0, 1100, 0, 5001, link::kTcpRst, 0);
  Segment(0, 1100, 0, 5001, link::kTcpRst | link::kTcpAck, 0);
  const Health health = Count();
  EXPECT_EQ(health.sent[1].zero_windows, 2u);
  EXPECT_EQ(health.sent[0].zero_windows, 0u);
  EXPECT_EQ(health.sent[0].resets, 2u);
  ASSERT_EQ(health.episodes.size(), 1u);
  EXPECT_EQ(health.episodes[0].kind, Episode::Kind::kZeroWindow);
  EXPECT_EQ(health.episodes[0].side, 0);
  EXPECT_EQ(health.episodes[0].cost_ns(), 3000);
}

// Which end is the active side may become known later than its segments.
TEST_F(Tcp, EndsBecomeSides) {
  Segment(0, 1000, 100);
  Segment(0, 1000, 100);
  Health health = Count(1);
  EXPECT_EQ(health.sent[1].retransmitted, 1u);
  EXPECT_EQ(health.sent[0].packets, 0u);
  EXPECT_EQ(health.episodes.at(0).side, 1);
  Segment(0, 1000, 100);
  statistics_.OnCrcError(kTrack, 0, {9, 0});
  health = *statistics_.Find(1);
  EXPECT_EQ(health.sent[1].retransmitted, 2u);
  EXPECT_EQ(health.sent[1].crc_errors, 1u);
}

// A bit of the sequence number or of the acknowledgment was turned on the way: its receiver drops the segment.
TEST_F(Tcp, NumbersOfDamagedSegmentsAreNotBelieved) {
  const auto send = [this](uint32_t at, uint32_t acknowledgment, size_t damaged, size_t size) {
    test::Buffer frame;
    const std::vector<std::byte> payload(size, std::byte{7});
    link::AppendTcpFrame(frame, {{}, link::Ipv4Address(192, 0, 2, 1)}, {{}, link::Ipv4Address(192, 0, 2, 2)},
                         {1, 2, at, acknowledgment, link::kTcpAck}, payload);
    constexpr size_t kTcp = 34;
    if (damaged != 0) frame[kTcp + damaged] ^= std::byte{0x10};
    Frame captured;
    captured.link = LinkType::kEthernet;
    captured.bytes = frame;
    captured.wire_length = static_cast<uint32_t>(frame.size());
    statistics_.OnSegment(kTrack, 0, link::Decode(captured), {++frame_, ++time_ns_});
  };
  Handshake();
  Segment(1, 5000, 100, 1000);
  send(1000, 5100, 5, 200);  // the second byte of the sequence number
  send(1000, 5100, 0, 200);
  send(1200, 5100, 9, 0);  // the second byte of the acknowledgment
  Segment(1, 5100, 100, 1200);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].damaged, 2u);
  EXPECT_EQ(health.sent[0].packets, 2u);
  for (const Counters& n : health.sent) EXPECT_EQ(n.retransmitted + n.out_of_order + n.lost_from_capture, 0u);
}

TEST_F(Tcp, SequenceNumbersBeginAnew) {
  Segment(0, 0xffffff00, 0x100);
  Segment(0, 0, 100);
  Segment(0, 0xffffff00, 0x100);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 1u);
  EXPECT_EQ(health.sent[0].out_of_order, 0u);
}

TEST_F(Tcp, WhatIsNoIwarpIsForgotten) {
  Segment(0, 1000, 100);
  statistics_.OnForgotten(kTrack);
  EXPECT_EQ(statistics_.budget().used(), 0u);
  Segment(0, 1100, 100);  // nothing more comes of it, and nothing is kept of what does
  EXPECT_EQ(statistics_.budget().used(), 0u);
}

TEST(TransportStatistics, WhatEndedGivesWay) {
  fabric::ConnectionInfo info;
  TransportStatistics statistics({.memory = 20'000});
  uint64_t tracks = 0;
  for (; statistics.left_out() == 0; statistics.OnConnection(++tracks, info, 0)) ++info.id;
  EXPECT_GE(tracks, 4u);
  EXPECT_EQ(statistics.Find(info.id), nullptr);
  EXPECT_NE(statistics.Find(1), nullptr);
  statistics.OnClosed(1);
  EXPECT_NE(statistics.Find(1), nullptr);  // there is room until there is need
  ++info.id;
  statistics.OnConnection(++tracks, info, 0);
  EXPECT_EQ(statistics.Find(1), nullptr);
  EXPECT_NE(statistics.Find(info.id), nullptr);
  EXPECT_EQ(statistics.left_out(), 1u);
  EXPECT_LE(statistics.budget().used(), statistics.budget().limit());
}

// Two connections after which late packets count. The owner takes what has ended, or does not.
TEST(TransportStatistics, CountsLatePacketsOfTheLastThatEnded) {
  for (const bool takes : {true, false}) {
    TransportStatistics statistics({.memory = 20'000, .late = 2});
    const auto late_frames = [&](fabric::ConnectionId id) { return statistics.Find(id)->sent[0].cnp; };
    fabric::ConnectionInfo info;
    for (info.id = 1; info.id < 1000; ++info.id) {
      statistics.OnConnection(info.id, info, 0);
      statistics.OnClosed(info.id);
      for (fabric::ConnectionId id = info.id < 4 ? 1 : info.id - 3; id <= info.id; ++id)
        statistics.OnCongestionNotification(id, 0, {info.id, 0});
      if (info.id < 3) continue;
      EXPECT_EQ(late_frames(info.id - 2), 2u);
      EXPECT_EQ(late_frames(info.id - 1), 2u);
      EXPECT_EQ(late_frames(info.id), 1u);
      if (takes) {
        EXPECT_EQ(statistics.Take(info.id - 2)->info.id, info.id - 2);
      }
      if (takes) {
        EXPECT_EQ(statistics.Find(info.id - 2), nullptr);
      }
    }
    EXPECT_EQ(statistics.left_out(), 0u);
    EXPECT_LE(statistics.budget().used(), statistics.budget().limit());
  }
}

TEST(TransportStatistics, ASteadyChargeForEpisodesAndNotes) {
  class Nobody final : public NoteSink {
   public:
    void OnNote(const fabric::ConnectionInfo&, const Note&) override {}
  } nobody;
  TransportStatistics statistics({.memory = 100'000}, &nobody);
  link::Packet packet;
  packet.carrier = link::Carrier::kTcp;
  packet.tcp_flags = link::kTcpAck;
  packet.wire_length = 10;
  // Segments again and again, windows that close, and holes; nothing proves the connections.
  for (fabric::PacketObserver::Track track = 1; track < 100; ++track) {
    for (uint32_t i = 0; i < 600; ++i) {
      packet.sequence = i % 3 == 0 ? 1000 * i : 0;
      packet.window = static_cast<uint16_t>(i % 2);
      statistics.OnSegment(track, 0, packet, {i + 1, i});
      EXPECT_LE(statistics.budget().used(), statistics.budget().limit() + 4096);
    }
  }
}

}  // namespace
}  // namespace stag::transport
