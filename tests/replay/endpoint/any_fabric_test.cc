// SPDX-License-Identifier: GPL-2.0-or-later
//
// What every fabric has to do (fabric.h says over which these tests run). What differs between fabrics is asked of the
// transports, or allowed in each of its forms: how a peer that vanishes shows, and who of both sides is told why.
#include <poll.h>

#include "replay/endpoint/system.h"
#include "tests/replay/endpoint/exercises.h"
#include "tests/replay/endpoint/fabric.h"

namespace stag::endpoint::test {
namespace {

class FabricPair : public Pair {
 public:
  explicit FabricPair(const EndpointOptions& client_options = {}, const EndpointOptions& server_options = {})
      : Pair(Fabric().client(), Fabric().server(), Fabric().address(), client_options, server_options) {}
  bool client_tells() { return Fabric().Tells(Fabric().client(), *client.endpoint); }
  bool server_tells() { return Fabric().Tells(Fabric().server(), *server.endpoint); }
  // On iWARP the side that was connected to speaks second (RFC 5044 section 7.1.2).
  bool Greet() {
    if (!connected() || !Send(client, {})) return false;
    const bool met = Drive([&] { return server.messages.size() == 1 && client.work.size() == 1; });
    client.work.clear();
    server.messages.clear();
    server.receives.clear();
    return met;
  }
};

EndpointOptions LargeReceives() {
  EndpointOptions options;
  options.receive_size = kReceiveSize;
  options.receives = kReceives;
  return options;
}

TEST(AnyFabric, SendsOfEverySize) {
  FabricPair pair(LargeReceives(), LargeReceives());
  ASSERT_TRUE(pair.connected());
  SendsOfEverySize(pair);
}

TEST(AnyFabric, ReadsAndWritesOfEverySize) {
  FabricPair pair(LargeReceives(), LargeReceives());
  ASSERT_TRUE(pair.connected());
  ReadsAndWritesOfEverySize(pair);
}

TEST(AnyFabric, BothWaysAtOnce) {
  FabricPair pair(LargeReceives(), LargeReceives());
  ASSERT_TRUE(pair.Greet());
  BothWaysAtOnce(pair);
}

TEST(AnyFabric, PrivateDataOfBothSides) {
  EndpointOptions client, server;
  client.private_data = Pattern(56, 1);
  server.private_data = Pattern(100, 2);
  FabricPair pair(client, server);
  ASSERT_TRUE(pair.connected());
  // InfiniBand's CM pads it with zeros.
  const auto begins = [](Bytes a, const Buffer& b) {
    return a.size() >= b.size() && std::equal(b.begin(), b.end(), a.begin()) &&
           std::all_of(a.begin() + static_cast<ptrdiff_t>(b.size()), a.end(),
                       [](std::byte x) { return x == std::byte{0}; });
  };
  EXPECT_TRUE(begins(pair.server->peer_private_data(), client.private_data));
  EXPECT_TRUE(begins(pair.client->peer_private_data(), server.private_data));
}

TEST(AnyFabric, ReadDepthsAreThoseOfBoth) {
  EndpointOptions client, server;
  client.inbound_reads = 7;
  client.outbound_reads = 3;
  server.inbound_reads = 2;
  server.outbound_reads = 30;
  FabricPair pair(client, server);
  ASSERT_TRUE(pair.connected());
  EXPECT_LE(pair.client->inbound_reads(), 7);
  EXPECT_LE(pair.client->outbound_reads(), 3);
  EXPECT_EQ(pair.server->outbound_reads(), 7);
  EXPECT_EQ(pair.server->inbound_reads(), 2);
  if (!pair.client_tells()) return;
  EXPECT_EQ(pair.client->inbound_reads(), 7);
  EXPECT_EQ(pair.client->outbound_reads(), Fabric().ReadsServed(2, 3));
}

TEST(AnyFabric, RejectsWithPrivateData) {
  auto listener = Fabric().server().Listen({Fabric().address(), 0});
  ASSERT_TRUE(listener) << listener.error().message;
  auto rejected = std::async(std::launch::async, [&] {
    auto incoming = (*listener)->Wait(kPatience);
    if (!incoming || !*incoming) return false;
    (*incoming)->Reject(Pattern(4, 7));
    return true;
  });
  const auto connected = Fabric().client().Connect({Fabric().address(), (*listener)->port()}, {});
  EXPECT_TRUE(rejected.get());
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().message.find("rejected"), std::string::npos) << connected.error().message;
  const Buffer said = Pattern(4, 7);
  EXPECT_NE(connected.error().message.find(Hex(said)), std::string::npos) << connected.error().message;
}

TEST(AnyFabric, NobodyListens) {
  auto listener = Fabric().server().Listen({Fabric().address(), 0});
  ASSERT_TRUE(listener);
  const uint16_t port = (*listener)->port();
  listener->reset();
  const auto connected = Fabric().client().Connect({Fabric().address(), port}, {});
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().message.find("nothing listens"), std::string::npos) << connected.error().message;
}

TEST(AnyFabric, InvalidatesHandles) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  if (!pair.server->can_invalidate()) {
    const Buffer message = Pattern(4);
    const auto sent = Send(pair.server, message, 2, 1);
    ASSERT_FALSE(sent);
    EXPECT_NE(sent.error().message.find("Invalidate"), std::string::npos);
    return;
  }
  if (!Fabric().client().remote_invalidation()) return;  // and so nobody may try
  Region region = Registered(pair.client, Pattern(100), Access::kRemoteRead);
  Region local = Registered(pair.server, Buffer(100), Access::kLocal);
  const uint32_t first = region.handle;
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, region.offset, 1));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 1; }));
  EXPECT_EQ(Content(local.bytes), Pattern(100));
  ASSERT_TRUE(Send(pair.server, Pattern(4), 2, region.handle));
  ASSERT_TRUE(pair.Drive([&] { return !pair.client.receives.empty(); }));
  EXPECT_EQ(pair.client.receives[0].invalidated, first);
  ASSERT_TRUE(pair.client->Renew(region));
  EXPECT_NE(region.handle, first);
  ASSERT_TRUE(Send(pair.client, {}));  // what was renewed before it can be used after it
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 2; }));
  ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, region.offset, 3));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.Count(Work::kRead) == 2; }));
  ASSERT_TRUE(pair.server->Read(local.bytes, first, region.offset, 4));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.server->state(), State::kBroken);
  EXPECT_EQ(pair.server.Count(Work::kRead), 2u);
}

TEST(AnyFabric, RenewedHandlesDiffer) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  const Buffer content = Pattern(5000);
  Region region = Registered(pair.client, content, Access::kRemoteRead);
  Region target = Registered(pair.client, Buffer(5000), Access::kRemoteWrite);
  Region local = Registered(pair.server, Buffer(5000), Access::kLocal);
  for (size_t i = 1; i <= 100; ++i) {
    const uint32_t before[] = {region.handle, target.handle};
    ASSERT_TRUE(pair.client->Renew(region));
    ASSERT_TRUE(pair.client->Renew(target));
    EXPECT_NE(region.handle, before[0]);
    EXPECT_NE(target.handle, before[1]);
    ASSERT_TRUE(Send(pair.client, {}));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == i; }));
    ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, region.offset, i));
    ASSERT_TRUE(pair.server->Write(local.bytes.first(i), target.handle, target.offset, i));
    // A Write that is completed is on its way (RFC 5040 section 5.1): what is sent after it arrives after it.
    ASSERT_TRUE(Send(pair.server, {}));
    ASSERT_TRUE(pair.Drive([&] { return pair.server.work.size() == 3 * i && pair.client.messages.size() == i; }));
  }
  EXPECT_EQ(Content(local.bytes), content);
}

struct Misuse {
  const char* name;
  bool write;        // of memory that may be read only; otherwise a Read of memory that may be written only
  int64_t past = 0;  // bytes behind the end
};

class AnyFabricRefuses : public testing::TestWithParam<Misuse> {};

TEST_P(AnyFabricRefuses, AccessThatWasNotGranted) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  const bool direction = GetParam().past == 0;
  const Access access = GetParam().write == direction ? Access::kRemoteRead : Access::kRemoteWrite;
  Region region = Registered(pair.client, Pattern(4096), access);
  Region local = Registered(pair.server, Buffer(4096), Access::kLocal);
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  const uint64_t at = region.offset + static_cast<uint64_t>(GetParam().past);
  if (GetParam().write) {
    ASSERT_TRUE(pair.server->Write(local.bytes, region.handle, at, 1));
  } else {
    ASSERT_TRUE(pair.server->Read(local.bytes, region.handle, at, 1));
  }
  if (!pair.server_tells() || !pair.client_tells()) {
    // siw ends the connection without a reason, and lets a Read of memory pass that may only be written.
    EXPECT_TRUE(pair.Drive([&] { return pair.server.over() || pair.server.Count(Work::kRead) == 1; }));
    return;
  }
  ASSERT_TRUE(pair.DriveToEnd());
  // Not every device tells its own side what it refused.
  const Trouble& trouble = pair.client->trouble();
  EXPECT_TRUE(trouble.kind == Trouble::Kind::kLocalAccess || trouble.kind == Trouble::Kind::kPeerClosed)
      << trouble.text;
  EXPECT_EQ(pair.server->state(), State::kBroken) << pair.server->trouble().text;
  EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kRemoteAccess) << pair.server->trouble().text;
  EXPECT_EQ(Content(region.bytes), Pattern(4096));
}

INSTANTIATE_TEST_SUITE_P(Misuses, AnyFabricRefuses,
                         testing::Values(Misuse{"WriteToReadOnly", true}, Misuse{"ReadOfWriteOnly", false},
                                         Misuse{"WriteBeyond", true, 1}, Misuse{"ReadBeyond", false, 1}),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(AnyFabric, EveryWorkEndsOnceWhenThePeerIsGone) {
  EndpointOptions client;
  client.sends = 64;
  client.outbound_reads = 2;
  FabricPair pair(client);
  ASSERT_TRUE(pair.Greet());
  Region local = Registered(pair.client, Buffer(1u << 20), Access::kLocal);
  Region target = Registered(pair.server, Buffer(1u << 20), Access::kRemoteWrite);
  Region source = Registered(pair.server, Buffer(1u << 20), Access::kRemoteRead);
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(pair.client->Write(local.bytes, target.handle, target.offset, i * 3));
    ASSERT_TRUE(pair.client->Read(local.bytes, source.handle, source.offset, i * 3 + 1));
    ASSERT_TRUE(Send(pair.client, Pattern(10), i * 3 + 2));
  }
  pair.client->Flush();
  pair.server.endpoint.reset();  // without a word
  const auto end = std::chrono::steady_clock::now() + 3 * kPatience;
  while ((pair.client.Poll(milliseconds(10)) > 0 || !pair.client.over()) && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_NE(pair.client->state(), State::kOpen);
  EXPECT_NE(pair.client->trouble().kind, Trouble::Kind::kNone);
  ASSERT_EQ(pair.client.work.size(), 24u);
  std::map<uint64_t, int> seen;
  for (const Completion& c : pair.client.work) ++seen[c.id];
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_FALSE(Send(pair.client, {}));
}

TEST(AnyFabric, TheDescriptorTellsWhenToPoll) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  const auto readable = [](Peer& peer, milliseconds wait) {
    pollfd fd{peer->descriptor(), POLLIN, 0};
    return ::poll(&fd, 1, static_cast<int>(wait.count())) == 1;
  };
  pair.server->descriptor();
  while (pair.server.Poll({}) != 0 || readable(pair.server, {})) {
  }
  for (size_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(Send(pair.client, Pattern(10)));
    pair.client->Flush();
    while (pair.server.messages.size() < i) {
      ASSERT_TRUE(readable(pair.server, kPatience)) << i;
      pair.server.Poll({});
    }
    while (pair.client.work.size() < i) pair.client.Poll(milliseconds(100));
  }
  EXPECT_TRUE(pair.client->takes_work());
  pair.client->Disconnect();
  EXPECT_FALSE(pair.client->takes_work());
  while (!pair.server.over()) {
    ASSERT_TRUE(readable(pair.server, kPatience));
    pair.server.Poll({});
    pair.client.Poll({});
  }
  EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kPeerClosed);
}

TEST(AnyFabric, WaitsForWhatComes) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(pair.client.Poll(milliseconds(30)), 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(30));
  for (int i = 0; i < 20; ++i) {
    auto answer = std::async(std::launch::async, [&] {
      while (pair.server.messages.empty()) pair.server.Poll(kPatience);
      pair.server.messages.clear();
      const bool sent = Send(pair.server, Pattern(20)).has_value();
      while (pair.server.work.empty()) pair.server.Poll(kPatience);
      pair.server.work.clear();
      return sent;
    });
    ASSERT_TRUE(Send(pair.client, Pattern(10)));
    while (pair.client.messages.empty()) ASSERT_GT(pair.client.Poll(kPatience), 0u);
    pair.client.messages.clear();
    ASSERT_TRUE(answer.get());
  }
}

TEST(AnyFabric, DisconnectsInOrder) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
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

TEST(AnyFabric, DisconnectWaitsForReads) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  const Buffer content = Pattern(2'000'000);
  Region local = Registered(pair.client, Buffer(content.size()), Access::kLocal);
  Region source = Registered(pair.server, content, Access::kRemoteRead);
  ASSERT_TRUE(pair.client->Read(local.bytes, source.handle, source.offset, 1));
  pair.client->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client.Count(Work::kRead), 1u);
  EXPECT_EQ(Content(local.bytes), content);
}

TEST(AnyFabric, ReceivesRunShort) {
  EndpointOptions client, server;
  server.receives = 0;
  FabricPair pair(client, server);
  ASSERT_TRUE(pair.connected());
  ASSERT_TRUE(pair.server->Receive(2));
  pair.server.hold = true;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Send(pair.client, Pattern(100)));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.server.messages.size(), 2u);
  if (pair.client_tells()) {
    EXPECT_EQ(pair.client->trouble().kind, Trouble::Kind::kNoReceive) << pair.client->trouble().text;
  }
  // A queue pair does not tell whom it belongs to of the RNR NAKs that it sends.
  const Trouble& trouble = pair.server->trouble();
  EXPECT_TRUE(trouble.kind == Trouble::Kind::kNoReceive || trouble.kind == Trouble::Kind::kPeerClosed ||
              !pair.server_tells())
      << trouble.text;
}

TEST(AnyFabric, WorkHasLimits) {
  EndpointOptions client, server;
  client.sends = 2;
  FabricPair pair(client, server);
  ASSERT_TRUE(pair.connected());
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

TEST(AnyFabric, BothDisconnectAtOnce) {
  FabricPair pair;
  ASSERT_TRUE(pair.Greet());
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  pair.client->Disconnect();
  pair.server->Disconnect();
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client->state(), State::kClosed);
  EXPECT_EQ(pair.server->state(), State::kClosed);
}

class AnyFabricReads : public testing::TestWithParam<uint16_t> {};

TEST_P(AnyFabricReads, WaitForTheirTurn) {
  EndpointOptions client, server;
  client.outbound_reads = GetParam();
  FabricPair pair(client, server);
  ASSERT_TRUE(pair.connected());
  constexpr size_t kReads = 100, kSize = 5000;
  const Buffer content = Pattern(kReads * kSize, 3);
  Region source = Registered(pair.server, content, Access::kRemoteRead);
  Region local = Registered(pair.client, Buffer(kReads * kSize), Access::kLocal);
  for (size_t i = 0; i < kReads; ++i)
    ASSERT_TRUE(pair.client->Read(local.bytes.subspan(i * kSize, kSize), source.handle, source.offset + i * kSize, i));
  // The server's Terminate would end this: it takes so many Reads at a time.
  if (!Fabric().keeps_read_depth(GetParam())) {
    ASSERT_TRUE(pair.DriveToEnd());
    EXPECT_EQ(pair.server->trouble().kind, Trouble::Kind::kPeerProtocol) << pair.server->trouble().text;
    EXPECT_NE(pair.server->trouble().text.find("IRD"), std::string::npos);
    return;
  }
  ASSERT_TRUE(pair.Drive([&] { return pair.client.Count(Work::kRead) == kReads; }));
  EXPECT_EQ(Content(local.bytes), content);
}

INSTANTIATE_TEST_SUITE_P(Depths, AnyFabricReads, testing::Values(uint16_t{1}, uint16_t{3}, uint16_t{4}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace stag::endpoint::test
