// SPDX-License-Identifier: GPL-2.0-or-later
//
// Two endpoints on the loopback interface: every operation, in sizes around every boundary, over every kind of framing.
#include <poll.h>

#include "tests/replay/endpoint/pair.h"

namespace stag::replay::test {
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

const size_t kSizes[] = {0,     1,     3,     4,     255,   256,   257,   4095,   4096,  4097,
                         65515, 65516, 65517, 65520, 65535, 65536, 65537, 131072, 131073};

TEST_P(Loopback, SendsOfEverySize) {
  Pair pair(Options());
  for (const size_t size : kSizes) {
    const Buffer call = Pattern(size, 1), reply = Pattern(size, 2);
    Region from = Registered(pair.client, call, Access::kLocal);
    Region back = Registered(pair.server, reply, Access::kLocal);
    const Bytes piece(from.bytes), answer(back.bytes);
    ASSERT_TRUE(pair.client->Send(std::span(&piece, 1), size));
    ASSERT_TRUE(pair.Drive([&] { return !pair.server.messages.empty(); }));
    EXPECT_EQ(pair.server.messages.back(), call) << size;
    ASSERT_TRUE(pair.server->Send(std::span(&answer, 1), size));
    ASSERT_TRUE(pair.Drive(
        [&] { return !pair.client.messages.empty() && !pair.client.work.empty() && !pair.server.work.empty(); }));
    EXPECT_EQ(pair.client.messages.back(), reply) << size;
    EXPECT_EQ(pair.client.work.back().id, size);
    EXPECT_EQ(pair.client.work.back().outcome, Outcome::kOk);
    pair.client.messages.clear();
    pair.server.messages.clear();
    pair.client.work.clear();
    pair.server.work.clear();
    pair.client->Deregister(from);
    pair.server->Deregister(back);
  }
}

TEST_P(Loopback, ReadsAndWritesOfEverySize) {
  Pair pair(Options());
  std::vector<size_t> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.push_back(5'000'001);
  // The responder may send only when it has received something (RFC 5044 section 7.1.2).
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  for (const size_t size : sizes) {
    const Buffer source = Pattern(size, 3), written = Pattern(size, 4);
    // One byte in front and behind that nobody may touch.
    Region read = Registered(pair.client, source, Access::kRemoteRead);
    Region target = Registered(pair.client, Buffer(size + 2), Access::kRemoteWrite);
    Region local = Registered(pair.server, Buffer(size + 2), Access::kLocal);
    Region from = Registered(pair.server, written, Access::kLocal);
    ASSERT_TRUE(pair.server->Read(local.bytes.subspan(1, size), read.handle, read.offset, 1));
    ASSERT_TRUE(pair.server->Write(from.bytes, target.handle, target.offset + 1, 2));
    ASSERT_TRUE(Send(pair.server, Pattern(8, 5), 3));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.work.size() == 3 && pair.client.messages.size() == 1; }));
    Buffer expected = source;
    expected.insert(expected.begin(), std::byte{0});
    expected.push_back(std::byte{0});
    EXPECT_EQ(Content(local.bytes), expected) << size;
    expected = written;
    expected.insert(expected.begin(), std::byte{0});
    expected.push_back(std::byte{0});
    // The Send came after the Write: so did its data (RFC 5040 section 5.5).
    EXPECT_EQ(Content(target.bytes), expected) << size;
    EXPECT_EQ(pair.server.Count(Work::kRead) + pair.server.Count(Work::kWrite) + pair.server.Count(Work::kSend), 3u);
    pair.server.work.clear();
    pair.client.messages.clear();
    for (Region* region : {&read, &target}) pair.client->Deregister(*region);
    for (Region* region : {&local, &from}) pair.server->Deregister(*region);
  }
}

TEST_P(Loopback, BothWaysAtOnce) {
  Pair pair(Options());
  constexpr size_t kSize = 300'000, kRounds = 24;
  struct Side {
    Peer& peer;
    Region source, target, local;
  };
  auto make = [&](Peer& peer, uint32_t seed) {
    return Side{peer, Registered(peer, Pattern(kSize, seed), Access::kRemoteRead),
                Registered(peer, Buffer(kSize), Access::kRemoteWrite),
                Registered(peer, Buffer(kSize * 2), Access::kLocal)};
  };
  Side client = make(pair.client, 7), server = make(pair.server, 8);
  for (const auto& [own, other] : {std::pair(&client, &server), std::pair(&server, &client)}) {
    std::memcpy(own->local.bytes.data(), Pattern(kSize, 9).data(), kSize);
    for (size_t i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(own->peer->Write(own->local.bytes.first(kSize), other->target.handle, other->target.offset, i));
      ASSERT_TRUE(own->peer->Read(own->local.bytes.last(kSize), other->source.handle, other->source.offset, i));
      const Bytes pieces[] = {own->local.bytes.first(1000), own->local.bytes.subspan(1000, 3000)};
      if (i < 16) {
        ASSERT_TRUE(own->peer->Send(pieces, i));
      }
    }
  }
  const auto done = [](const Peer& p) { return p.work.size() == 2 * kRounds + 16 && p.messages.size() == 16; };
  ASSERT_TRUE(pair.Drive([&] { return done(pair.client) && done(pair.server); }));
  for (Side* side : {&client, &server}) {
    EXPECT_EQ(Content(side->target.bytes), Pattern(kSize, 9));
    EXPECT_EQ(Content(side->local.bytes.last(kSize)), Pattern(kSize, side == &client ? 8 : 7));
    for (const Buffer& message : side->peer.messages)
      EXPECT_EQ(message, Buffer(Content(side->local.bytes.first(4000))));
    // Each kind of work ends in the order in which it was posted.
    std::map<Work, uint64_t> next;
    for (const Completion& c : side->peer.work) EXPECT_EQ(c.id, next[c.work]++);
  }
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

TEST(SoftIwarp, PostedReadsWaitForTheirTurn) {
  Ends ends;
  ends.client.outbound_reads = 3;
  Pair pair(ends);
  constexpr size_t kReads = 100, kSize = 5000;
  const Buffer content = Pattern(kReads * kSize, 3);
  Region source = Registered(pair.server, content, Access::kRemoteRead);
  Region local = Registered(pair.client, Buffer(kReads * kSize), Access::kLocal);
  for (size_t i = 0; i < kReads; ++i)
    ASSERT_TRUE(pair.client->Read(local.bytes.subspan(i * kSize, kSize), source.handle, source.offset + i * kSize, i));
  // The server's Terminate would end this: it takes three Reads at a time.
  ASSERT_TRUE(pair.Drive([&] { return pair.client.Count(Work::kRead) == kReads; }));
  EXPECT_EQ(Content(local.bytes), content);
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
  EXPECT_EQ(pair.server.Count(Work::kRead, Outcome::kRefused), 1u);
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

TEST(SoftIwarp, DisconnectsInOrder) {
  Pair pair;
  Region local = Registered(pair.client, Pattern(3'000'000), Access::kLocal);
  Region target = Registered(pair.server, Buffer(3'000'000), Access::kRemoteWrite);
  ASSERT_TRUE(pair.client->Write(local.bytes, target.handle, target.offset, 1));
  ASSERT_TRUE(Send(pair.client, Pattern(100), 2));
  pair.client->Disconnect();
  EXPECT_FALSE(Send(pair.client, {}));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(Content(target.bytes), Pattern(3'000'000));
  EXPECT_EQ(pair.server.messages.size(), 1u);
  EXPECT_EQ(pair.client.Count(Work::kWrite) + pair.client.Count(Work::kSend), 2u);
  EXPECT_EQ(pair.client->state(), State::kClosed);
  EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kNone);
  EXPECT_EQ(pair.server->state(), State::kClosed);
  EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kPeerClosed);
}

TEST(SoftIwarp, DisconnectWaitsForReads) {
  Pair pair;
  const Buffer content = Pattern(2'000'000);
  Region local = Registered(pair.client, Buffer(content.size()), Access::kLocal);
  Region source = Registered(pair.server, content, Access::kRemoteRead);
  ASSERT_TRUE(pair.client->Read(local.bytes, source.handle, source.offset, 1));
  pair.client->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client.Count(Work::kRead), 1u);
  EXPECT_EQ(Content(local.bytes), content);
}

TEST(SoftIwarp, BothDisconnectAtOnce) {
  Pair pair;
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  pair.client->Disconnect();
  pair.server->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client->state(), State::kClosed);
  EXPECT_EQ(pair.server->state(), State::kClosed);
}

TEST(SoftIwarp, ReceivesRunShort) {
  Ends ends;
  ends.server.receives = 0;
  Pair pair(ends);
  ASSERT_TRUE(pair.server->Receive(2));
  pair.server.hold = true;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Send(pair.client, Pattern(100)));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.server.messages.size(), 2u);
  EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kNoReceive) << pair.server->trouble().text;
  EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kNoReceive) << pair.client->trouble().text;
}

TEST(SoftIwarp, WorkHasLimits) {
  Ends ends;
  ends.client.sends = 2;
  Pair pair(ends);
  const Buffer large(pair.client->max_inline() + 1);
  EXPECT_FALSE(Send(pair.client, large)) << "not registered";
  EXPECT_FALSE(pair.client->Write(large, 1, 0, 0)) << "not registered";
  const std::vector<Bytes> pieces(pair.client->max_pieces() + 1);
  EXPECT_FALSE(pair.client->Send(pieces, 0));
  ASSERT_TRUE(Send(pair.client, Pattern(1)));
  ASSERT_TRUE(Send(pair.client, Pattern(2)));
  EXPECT_FALSE(Send(pair.client, Pattern(3)));
  ASSERT_TRUE(pair.Drive([&] { return pair.client.work.size() == 2; }));
  EXPECT_TRUE(Send(pair.client, Pattern(3)));
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
  EXPECT_EQ(pair.client.Count(Work::kRead, Outcome::kRefused), 1u);
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
}  // namespace stag::replay::test
