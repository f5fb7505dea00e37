// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fragments of IP packets: in any order, twice, cut, missing, overlapping, hostile; within bounds.
#include "session/fabric/ip_fragments.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "protocol/ib/icrc.h"
#include "protocol/link/encode.h"
#include "tests/protocol/hex.h"
#include "tests/protocol/ib/real_frames.h"

namespace stag::fabric {
namespace {

using Buffer = std::vector<std::byte>;
using link::StopReason;

constexpr size_t kEthernet = 14, kIpv4 = 20;
const Buffer kFrame = test::Hex(test::kAckFrame);

// Bytes `begin` to `end` of what the IP packet of the frame carries.
Buffer Fragment(size_t begin, size_t end, bool more, uint16_t id = 7) {
  Buffer out(kFrame.begin(), kFrame.begin() + kEthernet + kIpv4);
  out.insert(out.end(), kFrame.begin() + static_cast<ptrdiff_t>(kEthernet + kIpv4 + begin),
             kFrame.begin() + static_cast<ptrdiff_t>(kEthernet + kIpv4 + end));
  StoreBe16(&out[kEthernet + 2], static_cast<uint16_t>(kIpv4 + end - begin));
  StoreBe16(&out[kEthernet + 4], id);
  StoreBe16(&out[kEthernet + 6], static_cast<uint16_t>(begin / 8 | (more ? 0x2000u : 0u)));
  return out;
}

class Fragments : public testing::Test {
 protected:
  const IpFragments::Whole* Take(const Buffer& frame, int64_t time_ns = 0, size_t cut = SIZE_MAX) {
    const Bytes bytes = Bytes(frame).first(std::min(cut, frame.size()));
    link::Packet packet;
    link::Decode({{++number_, time_ns}, LinkType::kEthernet, bytes, static_cast<uint32_t>(frame.size())}, packet);
    EXPECT_TRUE(packet.ip_fragment);
    return fragments_.Take(packet, {number_, time_ns});
  }
  static void ExpectAck(const IpFragments::Whole* whole) {
    ASSERT_TRUE(whole);
    const link::Packet packet = link::Decode(whole->frame);
    ASSERT_EQ(packet.carrier, link::Carrier::kRoceV2);
    EXPECT_EQ(packet.payload.size(), 20u);
    EXPECT_TRUE(std::ranges::equal(packet.payload, Bytes(kFrame).last(20)));
  }
  uint64_t Stopped(link::FragmentStop why) {
    for (const auto& [stop, frames] : stopped_.entries())
      if (stop == link::Stop{StopReason::kFragment, why}) return frames;
    return 0;
  }

  Budget budget_{64u << 20};
  StopCounts stopped_;
  IpFragments fragments_{budget_, stopped_};
  uint64_t number_ = 0;
};

const Buffer kA = Fragment(0, 8, true), kB = Fragment(8, 24, true), kC = Fragment(24, 28, false);

TEST_F(Fragments, InAnyOrderAndTwice) {
  const Buffer* parts[] = {&kA, &kB, &kC};
  std::ranges::sort(parts);
  do {
    EXPECT_FALSE(Take(*parts[0]));
    EXPECT_FALSE(Take(*parts[0]));
    EXPECT_FALSE(Take(*parts[1]));
    ExpectAck(Take(*parts[2]));
  } while (std::next_permutation(std::begin(parts), std::end(parts)));
  EXPECT_EQ(stopped_.all(), 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(Fragments, Missing) {
  Take(kA), Take(kC);
  Take(Fragment(24, 28, false, 8));
  fragments_.Finish();
  EXPECT_EQ(Stopped(link::kFragmentAlone), 2u);
  EXPECT_EQ(Stopped(link::kFragmentWithoutFirst), 1u);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(Fragments, Overlapping) {
  Take(kA);
  EXPECT_FALSE(Take(Fragment(0, 16, true)));
  EXPECT_EQ(Stopped(link::kFragmentOverlaps), 2u);
  EXPECT_FALSE(Take(kC));
  EXPECT_FALSE(Take(Fragment(24, 27, false)));  // another end
  EXPECT_EQ(Stopped(link::kFragmentOverlaps), 4u);
  EXPECT_FALSE(Take(Fragment(0, 7, true)));  // not of eight bytes
  EXPECT_EQ(Stopped(link::kFragmentOverlaps), 5u);
}

TEST_F(Fragments, CutByTheCapture) {
  Take(kB, 0, kEthernet + kIpv4 + 3);
  Take(kA);
  const auto* whole = Take(kC);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->frame.bytes.size(), kIpv4 + 8 + 3);
  EXPECT_EQ(whole->frame.wire_length, kIpv4 + 28);
  EXPECT_EQ(link::Decode(whole->frame).payload.size(), 3u);
}

TEST_F(Fragments, TooLate) {
  Take(kA), Take(kB);
  EXPECT_FALSE(Take(kC, IpFragments::kLongest + 1));
  EXPECT_EQ(Stopped(link::kFragmentAlone), 2u);
}

TEST_F(Fragments, TooMany) {
  for (uint16_t id = 0; id <= IpFragments::kMost; ++id) Take(Fragment(0, 8, true, id));
  EXPECT_EQ(Stopped(link::kFragmentAlone), 1u);
}

TEST_F(Fragments, NoRoom) {
  Budget small{8192};
  IpFragments few(small, stopped_);
  Buffer far = Fragment(0, 8, true);
  StoreBe16(&far[kEthernet + 6], 0x2000 | 1000);  // 8,000 bytes before it
  link::Packet packet;
  link::Decode({{1, 0}, LinkType::kEthernet, far, static_cast<uint32_t>(far.size())}, packet);
  EXPECT_FALSE(few.Take(packet, {1, 0}));
  EXPECT_EQ(Stopped(link::kFragmentNoRoom), 1u);
  EXPECT_EQ(small.used(), 0u);
}

TEST_F(Fragments, Ipv6) {
  const Buffer address = test::Hex("fd990000000000000000000000000001");
  const Address a = link::Ipv6Address(std::span<const std::byte, 16>(address.data(), 16));
  const Buffer udp(kFrame.begin() + kEthernet + kIpv4, kFrame.end());
  for (const bool first : {true, false}) {
    Buffer out;
    link::AppendEthernet(out, {}, {}, {}, 0x86dd);
    const size_t begin = first ? 0 : 16, end = first ? 16 : udp.size();
    link::AppendIpv6(out, a, a, 44, 8 + end - begin);
    const Buffer header = test::Hex(first ? "1100000100000007" : "1100001000000007");
    out.insert(out.end(), header.begin(), header.end());
    out.insert(out.end(), udp.begin() + static_cast<ptrdiff_t>(begin), udp.begin() + static_cast<ptrdiff_t>(end));
    const auto* whole = Take(out);
    ASSERT_EQ(whole != nullptr, !first);
    if (whole) {
      EXPECT_EQ(link::Decode(whole->frame).payload.size(), 20u);
    }
  }
}

// Whatever comes, bounds hold, and each frame is in a packet that was put together, or counted, or waits.
TEST_F(Fragments, Hostile) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  uint64_t frames = 0;
  for (unsigned i = 0; i < 200'000; ++i) {
    link::Packet packet;
    const Buffer bytes(below(200), std::byte{0xaa});
    packet.ip_fragment = true;
    packet.fragment = {below(400), below(20) == 0 ? below(65536) & ~7u : below(20) * 8, 17, below(3) != 0,
                       below(2) == 0};
    packet.payload = bytes;
    packet.wire_length = bytes.size() + below(20);
    packet.icrc_headers = Bytes(kFrame).subspan(kEthernet, packet.fragment.v6 && kFrame.size() > 54 ? 40 : 20);
    ++frames;
    if (const auto* whole = fragments_.Take(packet, {i + 1, int64_t{i} * 1'000'000})) {
      ASSERT_LE(whole->frame.bytes.size(), whole->frame.wire_length);
      (void)link::Decode(whole->frame);
    }
    ASSERT_LE(budget_.used(), IpFragments::kMostBytes);
  }
  fragments_.Finish();
  EXPECT_EQ(budget_.used(), 0u);
  EXPECT_GT(stopped_.all(), 1000u);
  EXPECT_LE(stopped_.all(), frames);
}

}  // namespace
}  // namespace stag::fabric
