// SPDX-License-Identifier: GPL-2.0-or-later
//
// Two endpoints on the loopback interface: every operation, in sizes around every boundary, over every kind of framing.
#include <poll.h>

#include "tests/replay/endpoint/exercises.h"

namespace stag::endpoint::test {
namespace {

struct Framing {
  const char* name;
  bool crc, client_markers, server_markers;
  uint32_t segments;
  uint8_t revision = 2;
  bool peer_to_peer = false;
};

class Loopback : public testing::TestWithParam<Framing> {
 protected:
  static Ends Options() {
    const Framing& f = GetParam();
    Ends ends;
    ends.client_kind.markers = f.client_markers;
    ends.server_kind.markers = f.server_markers;
    ends.client_kind.fpdu_segments = ends.server_kind.fpdu_segments = f.segments;
    ends.client_kind.revision = f.revision;
    ends.client_kind.peer_to_peer = f.peer_to_peer;
    ends.client.crc = f.crc;
    ends.server.crc = false;
    ends.client.receive_size = ends.server.receive_size = 1u << 18;
    ends.client.receives = ends.server.receives = 16;
    return ends;
  }
};

TEST_P(Loopback, SendsOfEverySize) {
  Pair pair(Options());
  test::SendsOfEverySize(pair);
}

TEST_P(Loopback, ReadsAndWritesOfEverySize) {
  Pair pair(Options());
  test::ReadsAndWritesOfEverySize(pair);
}

TEST_P(Loopback, BothWaysAtOnce) {
  Pair pair(Options());
  test::BothWaysAtOnce(pair);
}

INSTANTIATE_TEST_SUITE_P(
    Framings, Loopback,
    testing::Values(Framing{"Plain", false, false, false, 64}, Framing{"Crc", true, false, false, 64},
                    Framing{"OneSegment", false, false, false, 1}, Framing{"MarkersToClient", false, true, false, 64},
                    Framing{"MarkersToServer", true, false, true, 64}, Framing{"MarkersBothCrc", true, true, true, 1},
                    Framing{"Revision1", true, false, false, 64, 1},
                    Framing{"PeerToPeer", false, false, false, 64, 2, true}),
    [](const auto& p) { return std::string(p.param.name); });

TEST(SoftIwarp, PrivateDataAndReadDepths) {
  Ends ends;
  ends.client.private_data = Pattern(56, 1);
  ends.server.private_data = Pattern(508, 2);
  ends.client.inbound_reads = 7;
  ends.client.outbound_reads = 0;
  ends.server.inbound_reads = 9;
  ends.server.outbound_reads = 30;
  Pair pair(ends);
  const auto same = [](Bytes a, const Buffer& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
  EXPECT_TRUE(same(pair.server->peer_private_data(), ends.client.private_data));
  EXPECT_TRUE(same(pair.client->peer_private_data(), ends.server.private_data));
  // RFC 6581 section 9: one side's IRD limits the other's ORD.
  EXPECT_EQ(pair.client->inbound_reads(), 7);
  EXPECT_EQ(pair.server->outbound_reads(), 7);
  EXPECT_EQ(pair.client->outbound_reads(), 0);
  EXPECT_EQ(pair.server->inbound_reads(), 0);
  Region region = Registered(pair.client, Buffer(8), Access::kLocal);
  EXPECT_FALSE(pair.client->Read(region.bytes, 1, 0, 0));
}

TEST(SoftIwarp, TheResponderMaySpeakFirstWhenPeerToPeer) {
  Ends ends;
  ends.client_kind.peer_to_peer = true;
  Pair pair(ends);
  ASSERT_TRUE(Send(pair.server, Pattern(100)));
  EXPECT_TRUE(pair.Drive([&] { return pair.client.messages.size() == 1; }));
  EXPECT_TRUE(pair.client.work.empty());  // nobody is told of the ready-to-receive indication
}

TEST(SoftIwarp, InvalidatesHandles) {
  Pair pair;
  Region region = Registered(pair.client, Pattern(100), Access::kRemoteRead);
  Region local = Registered(pair.server, Buffer(100), Access::kLocal);
  const uint32_t first = region.handle;
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, region.offset, 1));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 1; }));
  ASSERT_TRUE(Send(pair.server, Pattern(4), 2, region.handle));
  ASSERT_TRUE(pair.Drive([&] { return !pair.client.receives.empty(); }));
  EXPECT_EQ(pair.client.receives[0].invalidated, first);
  // The memory is registered all the same; a new handle makes it readable again, and the old one stays dead.
  EXPECT_FALSE(pair.client->Read(region.bytes, 1, 0, 0));
  ASSERT_TRUE(pair.client->Renew(region));
  EXPECT_NE(region.handle, first);
  ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, region.offset, 3));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 2; }));
  ASSERT_TRUE(pair.server->Read(local.bytes, first, region.offset, 4));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.server.Count(Work::kRead, CompletionStatus::kRefused), 1u);
  EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kRemoteAccess);
  EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kLocalAccess);
  EXPECT_EQ(pair.client->state(), State::kBroken);
}

// RFC 5042: a handle is good on its own connection only.
TEST(SoftIwarp, HandlesOfAnotherConnectionAreNotValid) {
  Pair one, two;
  Region region = Registered(one.server, Buffer(64), Access::kRemoteWrite);
  ASSERT_TRUE(two.client->Write(Pattern(64), region.handle, region.offset, 0));
  ASSERT_TRUE(two.DriveToEnd());
  EXPECT_EQ(two.server->trouble().kind, Trouble::Kind::kLocalAccess);
  EXPECT_EQ(Content(region.bytes), Buffer(64));
}

TEST(SoftIwarp, EveryWorkEndsOnceWhenTheConnectionBreaks) {
  Ends ends;
  ends.client.sends = 64;
  ends.client.outbound_reads = 2;
  Pair pair(ends);
  Region local = Registered(pair.client, Buffer(1u << 22), Access::kLocal);
  Region target = Registered(pair.server, Buffer(1u << 22), Access::kRemoteWrite);
  Region source = Registered(pair.server, Buffer(1u << 22), Access::kRemoteRead);
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(pair.client->Write(local.bytes, target.handle, target.offset, i * 3));
    ASSERT_TRUE(pair.client->Read(local.bytes, source.handle, source.offset, i * 3 + 1));
    ASSERT_TRUE(Send(pair.client, Pattern(10), i * 3 + 2));
  }
  pair.client->Flush();
  pair.server.endpoint.reset();  // without a word
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while ((pair.client.Poll(milliseconds(10)) > 0 || !pair.client.over()) && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(pair.client->state(), State::kBroken);
  EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kPeerVanished) << pair.client->trouble().text;
  ASSERT_EQ(pair.client.work.size(), 24u);
  std::map<uint64_t, int> seen;
  for (const Completion& c : pair.client.work) ++seen[c.id];
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_FALSE(Send(pair.client, {}));
}

TEST(SoftIwarp, DeregisteredMemoryIsNotNeededAnyMore) {
  Ends ends;
  ends.client.crc = ends.server.crc = false;
  Pair pair(ends);
  constexpr size_t kSize = 64u << 20;  // more than TCP takes at once
  const Buffer content = Pattern(kSize);
  Region source = Registered(pair.server, content, Access::kRemoteRead);
  Region local = Registered(pair.client, Buffer(kSize), Access::kLocal);
  ASSERT_TRUE(pair.client->Read(local.bytes, source.handle, source.offset, 1));
  pair.client->Flush();
  for (int i = 0; i < 3; ++i) pair.server.Poll(milliseconds(1));
  // What TCP has not taken must not be taken from memory that is gone, and the rest of the Read is refused.
  pair.server->Deregister(source);
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client.Count(Work::kRead, CompletionStatus::kRefused), 1u);
  EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kRemoteAccess);
}

TEST(SoftIwarp, TheDescriptorTellsWhenToPoll) {
  Pair pair;
  const auto readable = [](Peer& peer, int ms) {
    pollfd fd{peer->descriptor(), POLLIN, 0};
    return ::poll(&fd, 1, ms) == 1;
  };
  EXPECT_FALSE(readable(pair.server, 0));
  ASSERT_TRUE(Send(pair.client, Pattern(10)));
  pair.client->Flush();
  ASSERT_TRUE(readable(pair.server, static_cast<int>(kPatience.count())));
  EXPECT_EQ(pair.server.Poll({}), 1u);
  EXPECT_FALSE(readable(pair.server, 0));
  // More than TCP takes: the descriptor tells when there is room again, too.
  Region local = Registered(pair.client, Buffer(64u << 20), Access::kLocal);
  Region target = Registered(pair.server, Buffer(64u << 20), Access::kRemoteWrite);
  pair.client.work.clear();
  while (pair.client.Poll({}) != 0) {
  }
  pair.client.work.clear();
  ASSERT_TRUE(pair.client->Write(local.bytes, target.handle, target.offset, 1));
  pair.client->Flush();
  EXPECT_FALSE(readable(pair.client, 0));
  for (int i = 0; i < 100000 && pair.client.work.empty(); ++i) {
    if (readable(pair.client, 0)) pair.client.Poll({});
    if (readable(pair.server, 0)) pair.server.Poll({});
  }
  EXPECT_EQ(pair.client.work.size(), 1u);
}

TEST(SoftIwarp, Ipv6) {
  Pair pair({}, "::1");
  ASSERT_TRUE(pair.client.endpoint && pair.server.endpoint);
  EXPECT_EQ(pair.client->info().endpoint[1].address.kind, Address::Kind::kIpv6);
  ASSERT_TRUE(Send(pair.client, Pattern(10)));
  EXPECT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
}

}  // namespace
}  // namespace stag::endpoint::test
