// SPDX-License-Identifier: GPL-2.0-or-later
//
// Pair: two endpoints, connected with each other and driven by one thread: software iWARP over the loopback interface,
// or any transports.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <iostream>
#include <map>
#include <vector>

#include "replay/endpoint/soft_iwarp.h"
#include "tests/support/messages.h"

namespace stag::endpoint::test {

using stag::test::Pattern;
using Buffer = std::vector<std::byte>;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{120'000};  // only failing tests wait so long

// What an endpoint gave, kept: messages are copied and their receives released (unless `hold`).
struct Peer {
  std::unique_ptr<Endpoint> endpoint;
  std::vector<Completion> work;      // Sends, Reads, Writes
  std::vector<Buffer> messages;      // received
  std::vector<Completion> receives;  // their completions
  bool hold = false;

  size_t Poll(std::chrono::microseconds wait) {
    std::array<Completion, 16> out;
    const size_t n = endpoint->Poll(out, wait);
    for (size_t i = 0; i < n; ++i) {
      if (out[i].work != Work::kReceive) {
        work.push_back(out[i]);
        continue;
      }
      messages.emplace_back(out[i].bytes.begin(), out[i].bytes.end());
      receives.push_back(out[i]);
      if (!hold) endpoint->Release(out[i]);
    }
    return n;
  }
  // How many works of a kind ended in a way.
  size_t Count(Work kind, CompletionStatus outcome = CompletionStatus::kOk) const {
    size_t n = 0;
    for (const Completion& c : work) n += c.work == kind && c.outcome == outcome;
    return n;
  }
  bool over() const { return endpoint->state() != State::kOpen; }
  Endpoint* operator->() const { return endpoint.get(); }
};

struct Ends {
  SoftIwarpOptions client_kind, server_kind;
  EndpointOptions client, server;
};

class Pair {
 public:
  explicit Pair(const Ends& ends = {}, const std::string& host = "127.0.0.1")
      : Pair(*MakeSoftIwarp(ends.client_kind), *MakeSoftIwarp(ends.server_kind), host, ends.client, ends.server) {}
  Pair(Transport& client_kind, Transport& server_kind, const std::string& host, const EndpointOptions& client_options,
       const EndpointOptions& server_options) {
    auto listener = server_kind.Listen({host, 0});
    if (!listener) {
      ADD_FAILURE() << listener.error().message;
      return;
    }
    auto accepted = std::async(std::launch::async, [&]() -> Result<std::unique_ptr<Endpoint>> {
      auto incoming = (*listener)->Wait(kPatience);
      if (!incoming) return tl::unexpected(incoming.error());
      if (!*incoming) return Fail("nobody came");
      return (*incoming)->Accept(server_options);
    });
    auto connected = client_kind.Connect({host, (*listener)->port()}, client_options);
    auto answer = accepted.get();
    if (!connected) ADD_FAILURE() << connected.error().message;
    if (!answer) ADD_FAILURE() << answer.error().message;
    if (connected) client.endpoint = std::move(*connected);
    if (answer) server.endpoint = std::move(*answer);
  }
  bool connected() const { return client.endpoint && server.endpoint; }

  // Until `done`; false when that took too long, or both ends are over.
  template <typename Done>
  bool Drive(Done done, milliseconds patience = kPatience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      const bool late = std::chrono::steady_clock::now() > end;
      const bool over = client.Poll({}) + server.Poll({}) == 0 && client.over() && server.over();
      if ((late || over) && done()) return true;
      if (late || over)
        std::cerr << (late ? "nothing happens" : "both ends are over") << "; client: " << client->trouble().text
                  << "; server: " << server->trouble().text << '\n';
      if (late || over) return false;
    }
    return true;
  }
  bool DriveToEnd() {
    return Drive([&] { return client.over() && server.over(); });
  }

  Peer client, server;
};

inline Result<void> Send(Peer& from, const Buffer& message, uint64_t id = 0, std::optional<uint32_t> invalidate = {}) {
  const Bytes piece(message);
  return from->Send(std::span(&piece, 1), id, invalidate);
}

// `content` in memory that `peer` registers.
inline Region Registered(Peer& peer, const Buffer& content, Access access) {
  auto region = peer->Register(content.size(), access);
  EXPECT_TRUE(region);
  if (!content.empty()) std::memcpy(region->bytes.data(), content.data(), content.size());
  return *region;
}

inline Buffer Content(MutableBytes bytes) { return Buffer(bytes.begin(), bytes.end()); }

}  // namespace stag::endpoint::test
