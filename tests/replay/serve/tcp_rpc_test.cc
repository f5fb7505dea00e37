// SPDX-License-Identifier: GPL-2.0-or-later
//
// MOUNT over TCP: records in pieces, in fragments, several at once; what is no record.
#include "replay/rpcrdma/tcp_rpc.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "tests/replay/serve/nfs_client.h"

namespace stag::serve {
namespace {

using namespace stag::test;

struct Peer {
  explicit Peer(uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Peer() { ::close(socket); }
  void Send(const Buffer& bytes) {
    EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

Buffer Record(const Buffer& message) {
  return Join({Words({0x80000000u | static_cast<uint32_t>(message.size())}), message});
}

struct TcpMount : ::testing::Test {
  // `size` bytes, or what came before the connection ended.
  Buffer Receive(Peer& peer, size_t size) {
    Buffer got;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (got.size() < size && std::chrono::steady_clock::now() < end) {
      server->Poll();
      std::byte piece[4096];
      const ssize_t n = ::recv(peer.socket, piece, sizeof piece, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return got;
      if (n > 0) got.insert(got.end(), piece, piece + n);
    }
    return got;
  }
  MemoryFs fs{1 << 20};
  std::unique_ptr<RpcService> service = MakeMountService(fs);
  std::unique_ptr<rpcrdma::TcpRpc> server = std::move(*rpcrdma::TcpRpc::Listen({"127.0.0.1", 0}, *service));
};

TEST_F(TcpMount, Records) {
  const Buffer call = MakeCall(9, kMount3, 3, 1, Text("/"));
  rpcrdma::ServiceReply expected;
  service->OnCall(call, expected);
  const Buffer reply = Record(expected.message);
  Peer peer(server->port());
  peer.Send(Record(call));
  EXPECT_EQ(Receive(peer, reply.size()), reply);
  const Buffer whole = Record(call);
  for (const std::byte b : whole) {  // byte by byte
    peer.Send({b});
    server->Poll();
  }
  EXPECT_EQ(Receive(peer, reply.size()), reply);
  const Buffer first(call.begin(), call.begin() + 10), rest(call.begin() + 10, call.end());
  peer.Send(Join({Words({10}), first, Record(rest), Record(call)}));  // in two fragments; and another record
  EXPECT_EQ(Receive(peer, 2 * reply.size()), Join({reply, reply}));
  const Buffer null = Record(MakeReply(3));
  peer.Send(Record(MakeCall(3, kMount3, 3, 0)));
  EXPECT_EQ(Receive(peer, null.size()), null);
}

TEST_F(TcpMount, WhatIsNoRecordEndsTheConnection) {
  for (const uint32_t mark : {0u, 0x7fffffffu, 0xffffffffu, 0x80002001u}) {
    Peer peer(server->port());
    peer.Send(Words({mark}));
    EXPECT_TRUE(Receive(peer, 1).empty());
  }
  Peer peer(server->port());
  peer.Send(Record(MakeReply(1)));  // no Call: not answered
  peer.Send(Record(MakeCall(2, kMount3, 3, 0)));
  EXPECT_EQ(Receive(peer, 28), Record(MakeReply(2)));
}

// Bytes that make no Call do not keep a connection.
TEST_F(TcpMount, IdleConnectionsAreEnded) {
  server = std::move(*rpcrdma::TcpRpc::Listen({"127.0.0.1", 0}, *service, std::chrono::milliseconds(-1)));
  Peer silent(server->port()), slow(server->port());
  slow.Send(Words({0x80000028u}));
  std::byte piece;
  for (const Peer* peer : {&silent, &slow}) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    ssize_t n = -1;
    while (n < 0 && std::chrono::steady_clock::now() < end) {
      server->Poll();
      n = ::recv(peer->socket, &piece, 1, MSG_DONTWAIT);
    }
    EXPECT_EQ(n, 0);
  }
}

// A peer that always has more gets a few answers in a turn, and what is left is not forgotten.
TEST_F(TcpMount, OthersHaveTheirTurn) {
  constexpr size_t kCalls = 500;
  const Buffer call = Record(MakeCall(3, kMount3, 3, 0)), reply = Record(MakeReply(3));
  Buffer all, replies;
  for (size_t i = 0; i < kCalls; ++i) {
    all.insert(all.end(), call.begin(), call.end());
    replies.insert(replies.end(), reply.begin(), reply.end());
  }
  Peer greedy(server->port());
  greedy.Send(all);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!server->Poll() && std::chrono::steady_clock::now() < end) continue;  // it is there, and was not served whole
  Peer other(server->port());
  other.Send(call);
  EXPECT_EQ(Receive(other, reply.size()), reply);
  EXPECT_EQ(Receive(greedy, replies.size()), replies);
}

// The place of the one that is silent for longest.
TEST_F(TcpMount, AlwaysOneMore) {
  const Buffer call = Record(MakeCall(3, kMount3, 3, 0)), reply = Record(MakeReply(3));
  std::vector<std::unique_ptr<Peer>> silent;
  for (int i = 0; i < 70; ++i) {
    silent.push_back(std::make_unique<Peer>(server->port()));
    server->Poll();
  }
  Peer other(server->port());
  other.Send(call);
  EXPECT_EQ(Receive(other, reply.size()), reply);
}

TEST_F(TcpMount, ThePortIsTaken) {
  const auto second = rpcrdma::TcpRpc::Listen({"127.0.0.1", server->port()}, *service);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
}

}  // namespace
}  // namespace stag::serve
