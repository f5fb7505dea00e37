// SPDX-License-Identifier: GPL-2.0-or-later
//
// What benchmarks of endpoints share: pairs of connected endpoints, and works of one kind from the client to the server
// as fast as they go. A thread for each side, whatever the number of connections.
#pragma once

#include <poll.h>

#include <array>
#include <memory>

#include "replay/endpoint/endpoint.h"
#include "tests/bench/beside_tcp.h"

namespace stag::bench {

struct EndpointPair {
  std::unique_ptr<endpoint::Endpoint> client, server;

  EndpointPair(endpoint::Transport& from, endpoint::Transport& to, const std::string& address,
               const endpoint::EndpointOptions& options)
      : EndpointPair(from, to, address, options, options) {}
  EndpointPair(endpoint::Transport& from, endpoint::Transport& to, const std::string& address,
               const endpoint::EndpointOptions& options, const endpoint::EndpointOptions& server_options) {
    auto listener = to.Listen({address, 0});
    Require(listener.has_value(), listener ? "" : listener.error().message.c_str());
    std::thread accept([&] {
      auto incoming = (*listener)->Wait(std::chrono::milliseconds(10'000));
      Require(incoming && *incoming, "nobody connects");
      auto endpoint = (*incoming)->Accept(server_options);
      Require(endpoint.has_value(), endpoint ? "" : endpoint.error().message.c_str());
      server = std::move(*endpoint);
    });
    auto endpoint = from.Connect({address, (*listener)->port()}, options);
    Require(endpoint.has_value(), endpoint ? "" : endpoint.error().message.c_str());
    client = std::move(*endpoint);
    accept.join();
  }
};

// Polls until `done` says so of a completion. `busy`: never sleeps.
template <typename Done>
void Drive(std::span<endpoint::Endpoint* const> endpoints, Done done, bool busy = false) {
  constexpr int kPatience = 10'000;  // ms
  std::array<endpoint::Completion, 64> out;
  std::vector<pollfd> sleep;
  for (endpoint::Endpoint* const e : endpoints) sleep.push_back({busy ? -1 : e->descriptor(), POLLIN, 0});
  for (auto last = Clock::now();;) {
    bool any = false;
    for (size_t e = 0; e < endpoints.size(); ++e) {
      endpoint::Endpoint& endpoint = *endpoints[e];
      const bool waits = !busy && endpoints.size() == 1;
      const size_t n = endpoint.Poll(out, std::chrono::milliseconds(waits ? kPatience : 0));
      if (n == 0 && endpoint.state() != endpoint::State::kOpen) Require(false, endpoint.trouble().text.c_str());
      any |= n > 0;
      for (size_t i = 0; i < n; ++i) {
        Require(out[i].outcome == endpoint::CompletionStatus::kOk, endpoint.trouble().text.c_str());
        if (done(e, out[i])) return;
      }
    }
    if (!any && !busy) (void)::poll(sleep.data(), sleep.size(), kPatience);
    if (any) last = Clock::now();
    if (!any) Require(Clock::now() - last < std::chrono::milliseconds(kPatience), "nothing happens");
  }
}
template <typename Done>
void Drive(endpoint::Endpoint& endpoint, Done done) {
  endpoint::Endpoint* const one = &endpoint;
  Drive(std::span(&one, 1), [&](size_t, const endpoint::Completion& c) { return done(c); });
}

struct Load {
  endpoint::Work work = endpoint::Work::kSend;  // kSend, kWrite, kRead
  size_t size = 4096;                           // bytes of each
  uint64_t depth = 32;                          // works under way on a connection
  uint64_t count = 1000;                        // works on each connection
  bool busy = false;                            // the client, and who is sent to, poll and never sleep
  uint64_t refill_at = UINT64_MAX;              // so many works under way, or fewer, become `depth` again
  bool alone = false;                           // each work is handed over alone; else in lists
};

// Receives that each side needs: a Send finds one posted, however late the server comes to release them, because it
// tells the client (an empty Send) of each `depth` that it has released, and posts these before that Send. One more is
// for the empty Send that ends the load.
inline uint32_t ReceivesFor(const Load& load) { return static_cast<uint32_t>(2 * load.depth + 1); }

inline Cost OneWay(std::vector<EndpointPair>& pairs, const Load& load) {
  using endpoint::Access, endpoint::Completion, endpoint::Work;
  struct State {
    endpoint::Region local, offered;
    uint64_t posted = 0, completed = 0, allowed = 0, received = 0;
    bool ended = false;
  };
  std::vector<State> states(pairs.size());
  std::vector<endpoint::Endpoint*> clients, servers;
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto local = pairs[i].client->Register(load.size, Access::kLocal);
    auto offered =
        pairs[i].server->Register(load.size, load.work == Work::kRead ? Access::kRemoteRead : Access::kRemoteWrite);
    Require(local && offered, "register");
    states[i].local = *local;
    states[i].offered = *offered;
    states[i].allowed = load.work == Work::kSend ? std::min(load.count, 2 * load.depth) : load.count;
    clients.push_back(pairs[i].client.get());
    servers.push_back(pairs[i].server.get());
  }
  const Bytes empty;
  const auto serve = [&] {
    size_t ended = 0;
    Drive(
        servers,
        [&](size_t e, const Completion& c) {
          if (c.work != Work::kReceive) return false;
          const bool end = c.bytes.empty();
          servers[e]->Release(c);
          if (end) return ++ended == servers.size();
          if (++states[e].received % load.depth == 0)
            Require(servers[e]->Send(std::span(&empty, 1), 0).has_value(), "send");
          return false;
        },
        load.busy && load.work == Work::kSend);
  };
  const auto request = [&] {
    const auto post = [&](size_t e) {
      State& s = states[e];
      endpoint::Endpoint& client = *clients[e];
      if (s.posted - s.completed > load.refill_at) return;
      while (s.posted < s.allowed && s.posted - s.completed < load.depth) {
        const Bytes bytes(s.local.bytes);
        const bool ok = load.work == Work::kSend ? client.Send(std::span(&bytes, 1), 1).has_value()
                        : load.work == Work::kRead
                            ? client.Read(s.local.bytes, s.offered.handle, s.offered.offset, 1).has_value()
                            : client.Write(bytes, s.offered.handle, s.offered.offset, 1).has_value();
        Require(ok, "post");
        if (load.alone) client.Flush();
        ++s.posted;
      }
      if (s.completed < load.count || s.ended) return;
      s.ended = true;
      Require(client.Send(std::span(&empty, 1), 0).has_value(), "send");
    };
    for (size_t e = 0; e < clients.size(); ++e) post(e);
    size_t ended = 0;
    Drive(
        clients,
        [&](size_t e, const Completion& c) {
          if (c.work == Work::kReceive) {
            clients[e]->Release(c);
            states[e].allowed = std::min(load.count, states[e].allowed + load.depth);
          } else if (c.id == 0) {
            ++ended;
          } else {
            ++states[e].completed;
          }
          post(e);
          return ended == clients.size();
        },
        load.busy);
  };
  return Measure(load.count * pairs.size(), [&] {
    std::thread server(serve);
    request();
    server.join();
  });
}

}  // namespace stag::bench
