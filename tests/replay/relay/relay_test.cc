// SPDX-License-Identifier: GPL-2.0-or-later
//
// A Relay whose server never answers: what was begun for a client ends when the client goes, and when the relay does.
#include "replay/relay/relay.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <thread>

#include "tests/replay/endpoint/raw_peer.h"

namespace stag::relay {
namespace {

using endpoint::test::RawListener;
using endpoint::test::RawPeer;

struct Silent : ::testing::Test {
  Silent() {
    options.to = {"127.0.0.1", server.port()};
    options.connect_timeout = std::chrono::hours(10);
    options.stop = stop.get();
    relay.emplace(*listener, *transport, options);
    thread = std::thread([this] { EXPECT_TRUE(relay->Run()); });
  }
  ~Silent() override { Stop(); }
  void Stop() {
    (void)::eventfd_write(stop.get(), 1);
    if (thread.joinable()) thread.join();
  }
  RawPeer Ask() {
    RawPeer client = RawPeer::ConnectTo(listener->port());
    client.Write(endpoint::test::FrameBytes({}));
    return client;
  }

  RawListener server;
  const endpoint::Descriptor stop{::eventfd(0, EFD_CLOEXEC)};
  std::unique_ptr<endpoint::Transport> transport = endpoint::MakeSoftIwarp();
  std::unique_ptr<endpoint::Listener> listener = std::move(*transport->Listen({"127.0.0.1", 0}));
  RelayOptions options;
  std::optional<Relay> relay;
  std::thread thread;
};

TEST_F(Silent, TheClientGoes) {
  RawPeer client = Ask();
  RawPeer connection = server.Accept();
  EXPECT_TRUE(connection.ReadFrame());
  client.Close();
  EXPECT_TRUE(connection.AtEnd());
  Stop();
  EXPECT_EQ(relay->report().rejected, 1u);
  EXPECT_TRUE(relay->report().troubles.contains("a client hung up before the server answered"));
}

TEST_F(Silent, TheRelayIsStopped) {
  RawPeer client = Ask();
  RawPeer connection = server.Accept();
  EXPECT_TRUE(connection.ReadFrame());
  Stop();
  EXPECT_TRUE(connection.AtEnd());
  EXPECT_EQ(relay->report().rejected, 1u);
}

}  // namespace
}  // namespace stag::relay
