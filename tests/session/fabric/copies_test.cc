// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which packets are copies of others, and which were sent again.
#include "session/fabric/copies.h"

#include <gtest/gtest.h>

#include <vector>

#include "protocol/link/encode.h"

namespace stag::fabric {
namespace {

constexpr int64_t kUs = 1000;

// A packet and the bytes that it is of.
struct Made {
  std::vector<std::byte> bytes;
  link::Packet packet;

  Made() = default;
  Made(const Made& other) : bytes(other.bytes), packet(other.packet) { packet.payload = bytes; }
  Made& operator=(const Made&) = delete;
  Made With(uint64_t way) const {
    Made made = *this;
    made.packet.way = way;
    return made;
  }
};

Made Roce(uint32_t psn, uint16_t ip_id, size_t captured = 32) {
  Made made;
  made.bytes.resize(32);
  StoreBe32(&made.bytes[8], psn);
  StoreBe32(&made.bytes[28], psn * 0x01010101u ^ ip_id);  // in place of the ICRC, which covers both
  made.bytes.resize(captured);
  made.packet.carrier = link::Carrier::kRoceV2;
  made.packet.status = ParseStatus::kOk;
  made.packet.source = link::Ipv4Address(10, 0, 0, 1);
  made.packet.destination = link::Ipv4Address(10, 0, 0, 2);
  made.packet.wire_length = 32;
  made.packet.ip_id = ip_id;
  made.packet.payload = made.bytes;
  return made;
}

Made Tcp(uint32_t sequence, uint16_t ip_id) {
  Made made = Roce(0, ip_id);
  made.packet.carrier = link::Carrier::kTcp;
  made.packet.sequence = sequence;
  return made;
}

class CopiesTest : public testing::Test {
 protected:
  bool IsCopy(const Made& made, int64_t time_ns) { return copies_.IsCopy(made.packet, {++frame_, time_ns}); }

  Copies copies_;
  uint64_t frame_ = 0;
};

TEST_F(CopiesTest, AnotherWay) {
  for (const Made& made : {Roce(1, 7), Roce(2, 0), Tcp(3, 8), Tcp(4, 0), Roce(5, 9, 20), Roce(6, 0, 12)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made.With(1), 3 * kUs));
    EXPECT_TRUE(IsCopy(made.With(2), 5 * kUs));
    EXPECT_TRUE(IsCopy(made.With(3), 9'999 * kUs));
  }
}

TEST_F(CopiesTest, AnotherWayButTooLate) {
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(1, 7).With(1), 10'001 * kUs));
  EXPECT_TRUE(IsCopy(Roce(1, 7), 10'003 * kUs));  // of the second
}

TEST_F(CopiesTest, CopiesMayHaveEarlierTimes) {
  EXPECT_FALSE(IsCopy(Roce(1, 7), 1000 * kUs));
  EXPECT_TRUE(IsCopy(Roce(1, 7).With(1), 990 * kUs));
}

// Sent again is what came the same way. Its copy is one of the second.
TEST_F(CopiesTest, SentAgainAndBothTwice) {
  for (const Made& made : {Roce(1, 0), Tcp(1, 0)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made.With(1), 2 * kUs));
    EXPECT_FALSE(IsCopy(made, 20 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 22 * kUs));
    EXPECT_FALSE(IsCopy(made, 40 * kUs));
  }
}

// Nothing shows yet that the sender counts its packets.
TEST_F(CopiesTest, TheSameWay) {
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  Made segment = Tcp(1, 8);
  std::swap(segment.packet.source, segment.packet.destination);
  EXPECT_FALSE(IsCopy(segment, 0));
  EXPECT_FALSE(IsCopy(segment, 0));
}

// Four packets come twice, one after the other; then it is known for a mirror.
class MirroredTest : public CopiesTest {
 protected:
  void SetUp() override {
    for (uint16_t n = 0; n < 4; ++n) {
      EXPECT_FALSE(IsCopy(Roce(1 + 50u * n, 1 + n), 0));
      EXPECT_FALSE(IsCopy(Roce(1 + 50u * n, 1 + n), 1)) << n;
    }
  }
};

TEST_F(MirroredTest, TheSameWayAndIdentification) {
  for (const Made& made : {Roce(2, 9), Tcp(300, 10), Roce(3, 11, 20)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made, 3 * kUs));
    EXPECT_TRUE(IsCopy(made, 5 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 6 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 7 * kUs));
    EXPECT_FALSE(IsCopy(made, 10'001 * kUs));  // too late
  }
}

// A long burst, in which the identification grows with the PSN, and whose copies come behind it.
TEST_F(MirroredTest, Bursts) {
  for (uint16_t n = 0; n < 500; ++n) EXPECT_FALSE(IsCopy(Roce(2000u + n, 9 + n), 2));
  for (uint16_t n = 0; n < 500; ++n) EXPECT_TRUE(IsCopy(Roce(2000u + n, 9 + n), 3));
}

// Sent again, as Linux does it: the same PSN, another identification.
TEST_F(MirroredTest, SentAgainWithAnotherIdentification) {
  EXPECT_FALSE(IsCopy(Roce(1001, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(1002, 8), 0));
  EXPECT_FALSE(IsCopy(Roce(1001, 9), 10 * kUs));
  EXPECT_FALSE(IsCopy(Roce(1002, 10), 10 * kUs));
  EXPECT_TRUE(IsCopy(Roce(1002, 10), 11 * kUs));
}

// Several packets that are sent again one after the other, even if their identifications are those of before: no mirror
// is so late that none of its copies comes before the next packet.
TEST_F(CopiesTest, ARunIsSentAgain) {
  for (int round = 0; round < 3; ++round)
    for (uint16_t n = 0; n < 30; ++n) EXPECT_FALSE(IsCopy(Roce(1 + 50u * n, 1 + n), round));
}

// Identifications that are the same for all packets, none, or another only of another host: a packet that is sent again
// may have the same.
TEST_F(CopiesTest, IdentificationsThatTellNothing) {
  for (uint16_t ip_id : {uint16_t{0}, uint16_t{1}}) {
    for (uint32_t psn = 1; psn < 5; ++psn) {
      EXPECT_FALSE(IsCopy(Roce(psn, ip_id), 0));
      EXPECT_FALSE(IsCopy(Roce(psn, ip_id), 1));
    }
  }
  Made other = Roce(50, 900);
  std::swap(other.packet.source, other.packet.destination);
  EXPECT_FALSE(IsCopy(other, 2));
}

TEST_F(CopiesTest, IdentificationsThatFollowThePsn) {
  for (uint16_t n = 10; n < 100; ++n) {
    EXPECT_FALSE(IsCopy(Roce(n, n + 77), 0));
    EXPECT_FALSE(IsCopy(Roce(n, n + 77), 1));
  }
}

TEST_F(CopiesTest, OtherPacketsAreNone) {
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(2, 7).With(1), 0));
  EXPECT_FALSE(IsCopy(Tcp(1, 7), 0));
  Made other = Tcp(1, 7).With(1);
  std::swap(other.packet.source, other.packet.destination);
  EXPECT_FALSE(IsCopy(other, 0));
  EXPECT_FALSE(IsCopy(Roce(1, 7, 11), 0));  // no whole BTH
  EXPECT_FALSE(IsCopy(Roce(1, 7, 11).With(1), 0));
}

TEST_F(CopiesTest, MarksOfCongestionMayDiffer) {
  Made marked = Roce(1, 7).With(1);
  marked.bytes[4] |= std::byte{0x40};
  marked.packet.payload = marked.bytes;
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_TRUE(IsCopy(marked, 1));
}

TEST_F(CopiesTest, AmongTheLastPackets) {
  const auto number = [](uint32_t n) { return Roce(n, static_cast<uint16_t>(n)); };
  for (uint32_t round = 0; round < 5; ++round) {
    const uint32_t base = round * 10'000;
    for (uint32_t n = 1; n <= Copies::kRemembered; ++n) ASSERT_FALSE(IsCopy(number(base + n), 0));
    for (uint32_t n = 1; n <= Copies::kRemembered; ++n) ASSERT_TRUE(IsCopy(number(base + n).With(1), 1)) << n;
    ASSERT_FALSE(IsCopy(number(base + 5000), 0));
    ASSERT_FALSE(IsCopy(number(base + 1).With(2), 0));
    ASSERT_TRUE(IsCopy(number(base + 3).With(2), 0));
  }
}

// The buckets have the low 16 bits of the number of their last packet. Every packet but two falls into other buckets
// than one that none has fallen into; its first packet is the 65,536th, or a later one: it is not its own predecessor.
TEST_F(CopiesTest, ABucketThatWasLastUsed65536PacketsAgo) {
  const auto bucket_of = [](const Made& made) {  // as IsCopy has it: the queue pair and the PSN, and the ICRC
    return ((LoadBe64(&made.bytes[4]) << 8) * 0x9e3779b97f4a7c15u ^ LoadLe32(&made.bytes[28])) >> 51;
  };
  for (const uint32_t before : {64'511u, 65'535u, 65'536u, 131'071u - 1025}) {
    Copies copies;
    uint32_t psn = 0;
    const auto next = [&](bool in_bucket) {
      for (;;) {
        Made made = Roce(++psn, 7);
        if ((bucket_of(made) == 17) == in_bucket) return made;
      }
    };
    uint64_t frame = 0;
    for (uint32_t i = 0; i < before; ++i) EXPECT_FALSE(copies.IsCopy(next(false).packet, {++frame, 0}));
    const Made first = next(true), second = next(true);
    EXPECT_FALSE(copies.IsCopy(first.packet, {++frame, 0}));
    EXPECT_FALSE(copies.IsCopy(second.packet, {++frame, 0}));
    EXPECT_TRUE(copies.IsCopy(first.With(1).packet, {++frame, 0}));
    EXPECT_TRUE(copies.IsCopy(second.With(1).packet, {++frame, 0}));
  }
}

}  // namespace
}  // namespace stag::fabric
