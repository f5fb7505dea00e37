// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which packets are copies of others, and which were sent again.
#include "session/fabric/copies.h"

#include <gtest/gtest.h>

#include <vector>

#include "protocol/ib/opcode.h"
#include "protocol/link/encode.h"

namespace stag::fabric {
namespace {

constexpr int64_t kUs = 1000;
constexpr uint8_t kNak = 0x60, kRnrNak = 0x20;  // AETH syndromes

// A packet and the bytes that it is of.
struct Made {
  std::vector<std::byte> bytes;
  size_t header = 0;  // of them, in front of the payload
  link::Packet packet;

  Made() = default;
  Made(const Made& other) : bytes(other.bytes), header(other.header), packet(other.packet) { Point(); }
  Made& operator=(const Made&) = delete;
  void Point() { packet.payload = Bytes(bytes).subspan(header); }
  Made With(uint64_t way) const {
    Made made = *this;
    made.packet.way = way;
    return made;
  }
  // From the other end. Where there is an ICRC, it covers the addresses.
  Made Back() const {
    Made made = *this;
    std::swap(made.packet.source, made.packet.destination);
    if (header == 0 && bytes.size() == 32) made.bytes.back() ^= std::byte{0x55};
    return made;
  }
};

Made Roce(uint32_t psn, uint16_t ip_id, size_t captured = 32, uint8_t opcode = 0, uint8_t syndrome = 0) {
  Made made;
  made.bytes.resize(32);
  made.bytes[0] = std::byte{opcode};
  StoreBe32(&made.bytes[8], psn);
  made.bytes[12] = std::byte{syndrome};
  StoreBe32(&made.bytes[28], psn * 0x01010101u ^ ip_id ^ uint32_t{opcode} << 8 ^ syndrome);  // in place of the ICRC
  made.bytes.resize(captured);
  made.packet.carrier = link::Carrier::kRoceV2;
  made.packet.status = ParseStatus::kOk;
  made.packet.source = link::Ipv4Address(10, 0, 0, 1);
  made.packet.destination = link::Ipv4Address(10, 0, 0, 2);
  made.packet.wire_length = 32;
  made.packet.ip_id = ip_id;
  made.Point();
  return made;
}

// An ACK, or a NAK, of the other end.
Made Ack(uint32_t psn, uint8_t syndrome = 0, uint16_t ip_id = 0) {
  return Roce(psn, ip_id, 32, ib::kAcknowledge, syndrome).Back();
}

Made Tcp(uint32_t sequence, uint16_t ip_id) {
  Made made = Roce(0, ip_id);
  made.packet.carrier = link::Carrier::kTcp;
  made.packet.sequence = sequence;
  return made;
}

// With a header, in which is the time of its sender.
Made Timed(uint32_t sequence, uint32_t timestamp) {
  Made made = Tcp(sequence, 0);
  made.header = 32;
  made.bytes.insert(made.bytes.begin(), made.header, std::byte{0});
  StoreBe32(&made.bytes[20], 0x0101080a);
  StoreBe32(&made.bytes[24], timestamp);
  made.packet.tcp_header_length = 32;
  made.Point();
  return made;
}

// An acknowledgement, and nothing else, of the other end; its header has so many bytes of options.
Made TcpAck(uint32_t acknowledgment, size_t options = 0) {
  Made made = Tcp(1, 0).Back();
  made.packet.acknowledgment = acknowledgment;
  made.packet.tcp_flags = link::kTcpAck;
  made.packet.wire_length = 0;
  made.header = 20 + options;
  made.bytes.assign(made.header, std::byte{0});
  made.packet.tcp_header_length = static_cast<uint8_t>(made.header);
  made.Point();
  return made;
}

class CopiesTest : public testing::Test {
 protected:
  bool IsCopy(const Made& made, int64_t time_ns) { return copies_.IsCopy(made.packet, {++frame_, time_ns}); }
  // Of packets that come before, on the way of each end, none is a copy.
  void NobodyIsCopied(uint16_t ip_id = 0) {
    for (uint32_t n = 0; n < 16; ++n) {
      const Made made = Roce(0x800000 + 50 * n, ip_id);
      EXPECT_FALSE(IsCopy(made, -1000 * kUs));
      EXPECT_FALSE(IsCopy(made.Back(), -1000 * kUs));
    }
  }
  // The first of `of` packets have copies, 5 us behind them.
  void AreCopied(uint32_t copied, uint32_t of) {
    for (uint32_t n = 0; n < 64; ++n) {
      for (const Made& made : {Roce(0x800000 + 50 * n, 0), Roce(0x800000 + 50 * n, 0).Back()}) {
        EXPECT_FALSE(IsCopy(made, -10'000 * kUs + n * 100 * kUs));
        EXPECT_TRUE(n % of >= copied || IsCopy(made, -9'995 * kUs + n * 100 * kUs));
      }
    }
    EXPECT_EQ(copies_.unclear(), 0u);
  }

  AckTimeouts timeouts_;
  Copies copies_{timeouts_};
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

// Sent again is what came the same way, and late. Its copy is one of the second.
TEST_F(CopiesTest, SentAgainAndBothTwice) {
  NobodyIsCopied();
  for (const Made& made : {Roce(1, 0), Tcp(1, 0)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made.With(1), 2 * kUs));
    EXPECT_FALSE(IsCopy(made, 1000 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 1002 * kUs));
    EXPECT_FALSE(IsCopy(made, 2000 * kUs));
  }
}

// Nothing shows yet that the sender counts its packets.
TEST_F(CopiesTest, TheSameWay) {
  NobodyIsCopied();
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(1, 7), 1000 * kUs));
  const Made segment = Tcp(1, 8).Back();
  EXPECT_FALSE(IsCopy(segment, 0));
  EXPECT_FALSE(IsCopy(segment, 1000 * kUs));
}

// IBA section 9.7.6.1.3: no requester sends again before its timer has run out.
TEST_F(CopiesTest, TooSoonToBeSentAgain) {
  NobodyIsCopied();
  for (const Made& made : {Roce(1, 7), Roce(2, 0), Tcp(3, 7), Tcp(4, 0), Roce(5, 7, 20), Roce(6, 0, 12)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made, 200));
    EXPECT_TRUE(IsCopy(made, 20 * kUs));
    EXPECT_TRUE(IsCopy(made, 400 * kUs));
    EXPECT_FALSE(IsCopy(made, 600 * kUs));
  }
  EXPECT_EQ(copies_.unclear(), 0u);
}

TEST_F(CopiesTest, TheTimerOfTheConnection) {
  NobodyIsCopied();
  const Made first = Roce(1, 0), second = Roce(2, 0);
  timeouts_.Note(first.packet.destination, first.packet.source, 19);  // 2.1 s
  EXPECT_FALSE(IsCopy(first, 0));
  EXPECT_TRUE(IsCopy(first, 9000 * kUs));
  timeouts_.Note(first.packet.source, first.packet.destination, 6);  // 262 us
  EXPECT_FALSE(IsCopy(second, 0));
  EXPECT_TRUE(IsCopy(second, 260 * kUs));
  EXPECT_FALSE(IsCopy(second, 270 * kUs));
}

TEST_F(CopiesTest, ANakCameBetween) {
  NobodyIsCopied();
  uint32_t psn = 0;
  const auto is_copy = [&](const auto& between) {
    psn += 100'000;
    EXPECT_FALSE(IsCopy(Roce(psn, 0), 0));
    EXPECT_FALSE(IsCopy(between(), 5 * kUs));
    return IsCopy(Roce(psn, 0), 10 * kUs);
  };
  EXPECT_FALSE(is_copy([&] { return Ack(psn, kNak); }));
  EXPECT_FALSE(is_copy([&] { return Ack(psn - 3, kNak); }));
  EXPECT_FALSE(is_copy([&] { return Ack(psn, kRnrNak); }));
  EXPECT_TRUE(is_copy([&] { return Ack(psn); }));
  EXPECT_TRUE(is_copy([&] { return Ack(psn + 1, kNak); }));
  EXPECT_TRUE(is_copy([&] { return Ack(psn - 50'000, kNak); }));  // of another connection
  EXPECT_TRUE(is_copy([&] { return Ack(psn, kNak).Back(); }));
}

// Without a NAK that was captured: a Read Request for what is missing of a Response, then all behind it.
TEST_F(CopiesTest, TheRequesterWentBack) {
  NobodyIsCopied();
  EXPECT_FALSE(IsCopy(Roce(100, 0, 32, ib::kReadRequest), 0));
  EXPECT_FALSE(IsCopy(Roce(120, 0), 1 * kUs));
  EXPECT_FALSE(IsCopy(Roce(121, 0), 2 * kUs));
  EXPECT_FALSE(IsCopy(Roce(110, 0, 32, ib::kReadRequest), 10 * kUs));
  EXPECT_FALSE(IsCopy(Roce(120, 0), 11 * kUs));
  EXPECT_FALSE(IsCopy(Roce(121, 0), 12 * kUs));
}

// The capture has two neighbours in the wrong order, and both twice.
TEST_F(CopiesTest, OutOfOrder) {
  NobodyIsCopied();
  EXPECT_FALSE(IsCopy(Roce(11, 0), 0));
  EXPECT_FALSE(IsCopy(Roce(10, 0), 100));
  EXPECT_TRUE(IsCopy(Roce(11, 0), 1000));
  EXPECT_TRUE(IsCopy(Roce(10, 0), 1100));
}

// Who misses a Response asks again at once.
TEST_F(CopiesTest, ReadRequests) {
  NobodyIsCopied();
  const Made request = Roce(100, 0, 32, ib::kReadRequest);
  EXPECT_FALSE(IsCopy(request, 0));
  EXPECT_TRUE(IsCopy(request, 10 * kUs));
  EXPECT_FALSE(IsCopy(Roce(101, 0, 32, ib::kReadResponseMiddle).Back(), 20 * kUs));
  EXPECT_FALSE(IsCopy(request, 30 * kUs));
}

TEST_F(CopiesTest, ReadResponses) {
  NobodyIsCopied();
  const Made response = Roce(100, 0, 32, ib::kReadResponseMiddle).Back();
  EXPECT_FALSE(IsCopy(response, 0));
  EXPECT_TRUE(IsCopy(response, 10 * kUs));
  EXPECT_FALSE(IsCopy(Roce(101, 0, 32, ib::kReadRequest), 20 * kUs));  // the next
  EXPECT_TRUE(IsCopy(response, 30 * kUs));
  EXPECT_FALSE(IsCopy(Roce(99, 0, 32, ib::kReadRequest), 40 * kUs));
  EXPECT_FALSE(IsCopy(response, 50 * kUs));
}

// Equal acknowledgements count once; a NAK again where what it asked for came, and was in vain.
TEST_F(CopiesTest, Acknowledgements) {
  NobodyIsCopied();
  EXPECT_FALSE(IsCopy(Ack(100), 0));
  EXPECT_FALSE(IsCopy(Roce(100, 0), 1 * kUs));
  EXPECT_TRUE(IsCopy(Ack(100), 10 * kUs));
  EXPECT_FALSE(IsCopy(Ack(200, kRnrNak), 20 * kUs));
  EXPECT_TRUE(IsCopy(Ack(200, kRnrNak), 21 * kUs));
  EXPECT_FALSE(IsCopy(Roce(200, 0), 50 * kUs));
  EXPECT_FALSE(IsCopy(Ack(200, kRnrNak), 60 * kUs));
}

// They are all the same, and each counts.
TEST_F(CopiesTest, CongestionNotificationsAndResets) {
  NobodyIsCopied();
  Made reset = TcpAck(1000);
  reset.packet.tcp_flags = link::kTcpRst;
  for (int n = 0; n < 8; ++n) {
    EXPECT_FALSE(IsCopy(Roce(0, 0, 32, ib::kCongestionNotification), 50 * kUs * n));
    EXPECT_FALSE(IsCopy(reset, 50 * kUs * n));
  }
}

// With other timestamps it was sent again, with the same it was not. RFC 7323 section 5.4: they go on each millisecond.
TEST_F(CopiesTest, Timestamps) {
  NobodyIsCopied();
  EXPECT_FALSE(IsCopy(Timed(1000, 5), 0));
  EXPECT_FALSE(IsCopy(Timed(1000, 6), 100 * kUs));
  EXPECT_TRUE(IsCopy(Timed(1000, 5), 400 * kUs));
  EXPECT_TRUE(IsCopy(Timed(1000, 6), 500 * kUs));
  EXPECT_TRUE(IsCopy(Timed(1000, 6), 9000 * kUs));
}

// RFC 2018: SACK names what is missing. RFC 5681: so do three duplicates.
TEST_F(CopiesTest, DuplicateAcknowledgements) {
  NobodyIsCopied();
  const Made segment = Timed(1000, 5);
  EXPECT_FALSE(IsCopy(segment, 0));
  EXPECT_FALSE(IsCopy(TcpAck(900, 12), 10 * kUs));  // of what came before
  EXPECT_TRUE(IsCopy(segment, 20 * kUs));
  EXPECT_FALSE(IsCopy(TcpAck(1000, 24), 30 * kUs));
  EXPECT_FALSE(IsCopy(segment, 40 * kUs));
  EXPECT_FALSE(IsCopy(Timed(5000, 7), 50 * kUs));
  EXPECT_FALSE(IsCopy(TcpAck(5000), 60 * kUs));
  EXPECT_TRUE(IsCopy(Timed(5000, 7), 61 * kUs));
  for (int n = 1; n <= 3; ++n) EXPECT_TRUE(IsCopy(TcpAck(5000), (61 + n) * kUs));
  EXPECT_FALSE(IsCopy(Timed(5000, 7), 70 * kUs));
}

// Where nearly each packet has a copy, so has one with a NAK behind it, at that distance.
TEST_F(CopiesTest, NearlyEachPacketHasACopy) {
  AreCopied(15, 16);
  EXPECT_FALSE(IsCopy(Roce(100, 0), 0));
  EXPECT_FALSE(IsCopy(Ack(100, kNak), 2 * kUs));
  EXPECT_TRUE(IsCopy(Roce(100, 0), 5 * kUs));
  EXPECT_TRUE(IsCopy(Ack(100, kNak), 7 * kUs));
  EXPECT_FALSE(IsCopy(Roce(100, 0), 9 * kUs));
  EXPECT_TRUE(IsCopy(Roce(100, 0), 14 * kUs));
  EXPECT_FALSE(IsCopy(Roce(200, 0), 20 * kUs));
  EXPECT_FALSE(IsCopy(Ack(200, kNak), 22 * kUs));
  EXPECT_FALSE(IsCopy(Roce(200, 0), 60 * kUs));  // later than copies are
  EXPECT_EQ(copies_.unclear(), 0u);
}

// Where only some have copies, it is that, or was sent again.
TEST_F(CopiesTest, Either) {
  AreCopied(2, 4);
  EXPECT_FALSE(IsCopy(Roce(100, 0), 0));
  EXPECT_FALSE(IsCopy(Ack(100, kNak), 2 * kUs));
  EXPECT_TRUE(IsCopy(Roce(100, 0), 5 * kUs));
  EXPECT_EQ(copies_.unclear(), 1u);
  EXPECT_EQ(copies_.first_unclear(), frame_);
  EXPECT_FALSE(IsCopy(Roce(100, 0), 9 * kUs));
}

// Late copies, and nobody knows the timer: it takes longer than a sender goes back to know them for that.
TEST_F(CopiesTest, LateFromTheFirstOn) {
  for (uint32_t n = 0; n < 100; ++n) {
    EXPECT_FALSE(IsCopy(Roce(1000 + 2 * n, 0), 1000 * kUs * n));
    EXPECT_TRUE(n == 0 || IsCopy(Roce(1000 + 2 * n - 2, 0), 1000 * kUs * n + 900)) << n;
  }
  EXPECT_LE(copies_.unclear(), 5u);
  EXPECT_GE(copies_.unclear(), 4u);
}

TEST_F(CopiesTest, LateAndAnyMayBeSentAgain) {
  for (uint32_t n = 0; n < 100; ++n) EXPECT_FALSE(IsCopy(Roce(1000 + n, 0), 10 * kUs * n));
  for (uint32_t n = 0; n < 100; ++n) EXPECT_TRUE(IsCopy(Roce(1000 + n, 0), 1000 * kUs + 10 * kUs * n)) << n;
  EXPECT_EQ(copies_.unclear(), 100u);
}

// Four packets come twice, one after the other; then it is known for a mirror.
class MirroredTest : public CopiesTest {
 protected:
  void SetUp() override {
    for (uint16_t n = 0; n < 4; ++n) {
      EXPECT_FALSE(IsCopy(Roce(1 + 50u * n, 1 + n), 0));
      EXPECT_TRUE(IsCopy(Roce(1 + 50u * n, 1 + n), 1)) << n;
    }
  }
};

TEST_F(MirroredTest, TheSameWayAndIdentification) {
  for (const Made& made : {Roce(2, 9), Roce(3, 11, 20)}) {
    EXPECT_FALSE(IsCopy(made, 0));
    EXPECT_TRUE(IsCopy(made, 3000 * kUs));
    EXPECT_TRUE(IsCopy(made, 5000 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 6000 * kUs));
    EXPECT_TRUE(IsCopy(made.With(1), 7000 * kUs));
    EXPECT_FALSE(IsCopy(made, 10'001 * kUs));  // too late
  }
}

// A long burst, in which the identification grows with the PSN, and whose copies come behind it.
TEST_F(MirroredTest, Bursts) {
  for (uint16_t n = 0; n < 500; ++n) EXPECT_FALSE(IsCopy(Roce(2000u + n, 9 + n), 100 * n));
  for (uint16_t n = 0; n < 500; ++n) EXPECT_TRUE(IsCopy(Roce(2000u + n, 9 + n), 300 * kUs + 100 * n));
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
  NobodyIsCopied(900);
  for (int round = 0; round < 3; ++round)
    for (uint16_t n = 0; n < 30; ++n) EXPECT_FALSE(IsCopy(Roce(1 + 50u * n, 1 + n), 1000 * kUs * round));
}

// Identifications that are the same for all packets, none, or another only of another host: a packet that is sent again
// may have the same.
TEST_F(CopiesTest, IdentificationsThatTellNothing) {
  for (uint16_t ip_id : {uint16_t{0}, uint16_t{1}}) {
    NobodyIsCopied(ip_id);
    for (uint32_t psn = 1; psn < 5; ++psn) {
      EXPECT_FALSE(IsCopy(Roce(psn, ip_id), 0));
      EXPECT_FALSE(IsCopy(Roce(psn, ip_id), 1000 * kUs));
      EXPECT_FALSE(IsCopy(Roce(50 + psn + 100u * ip_id, 900).Back(), 1000 * kUs));
    }
  }
}

TEST_F(CopiesTest, IdentificationsThatFollowThePsn) {
  NobodyIsCopied();
  for (uint16_t n = 10; n < 100; ++n) {
    EXPECT_FALSE(IsCopy(Roce(n, n + 77), 0));
    EXPECT_FALSE(IsCopy(Roce(n, n + 77), 1000 * kUs));
  }
}

TEST_F(CopiesTest, OtherPacketsAreNone) {
  EXPECT_FALSE(IsCopy(Roce(1, 7), 0));
  EXPECT_FALSE(IsCopy(Roce(2, 7).With(1), 0));
  EXPECT_FALSE(IsCopy(Tcp(1, 7), 0));
  EXPECT_FALSE(IsCopy(Tcp(1, 7).With(1).Back(), 0));
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
    Copies copies(timeouts_);
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
