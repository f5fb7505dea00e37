// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/server.h"

#include <algorithm>

#include "replay/endpoint/system.h"

namespace stag::serve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 32;                     // of the connections, before others are looked after
constexpr milliseconds kLongest{1000};         // sleep, when nothing is connected
constexpr milliseconds kWithoutDescriptor{1};  // likewise, for an endpoint that has none
constexpr milliseconds kGoodbye{2000};         // for the ends of all connections
constexpr size_t kTroubles = 64;               // different ones that are kept

void Add(const rpcrdma::ResponderStats& from, rpcrdma::ResponderStats& to) {
  to.calls += from.calls;
  to.replies += from.replies;
  to.err_vers += from.err_vers;
  to.err_chunk += from.err_chunk;
  to.dropped += from.dropped;
  to.received_bytes += from.received_bytes;
  to.sent_bytes += from.sent_bytes;
}

}  // namespace

Server::Server(endpoint::Listener& listener, rpcrdma::Service& service, TcpRpc* tcp, const ServerOptions& options)
    : listener_(listener), service_(service), tcp_(tcp), options_(options) {}
Server::~Server() = default;

Result<void> Server::Run() {
  while (!stopped_) {
    if (auto accepted = AcceptAll(); !accepted) {
      End();
      return accepted;
    }
    if (tcp_) tcp_->Poll();
    bool stay = true;
    for (int turn = 0; turn < kTurns && stay; ++turn) stay = awake_.Again(PollAll());
    if (options_.once && connections_.empty() && report_.ended + report_.broken > 0) break;
    Sleep(stay ? milliseconds{0} : kLongest);
  }
  End();
  return {};
}

Result<void> Server::AcceptAll() {
  for (;;) {
    auto incoming = listener_.Wait(milliseconds{0});
    if (!incoming) return Fail(incoming.error().message);
    if (!*incoming) return {};
    if (connections_.size() >= options_.max_connections || (options_.once && report_.connections > 0)) {
      (*incoming)->Reject({});
      ++report_.rejected;
      continue;
    }
    endpoint::EndpointOptions endpoint;
    endpoint.events = options_.events;
    endpoint.crc = options_.crc;
    rpcrdma::Responder::Prepare(options_.responder, endpoint);
    auto accepted = (*incoming)->Accept(endpoint);
    if (!accepted) {
      Trouble(accepted.error().message);
      continue;
    }
    ++report_.connections;
    Connection& connection = connections_.emplace_back();
    connection.service = service_.NewConnection();
    connection.responder = std::make_unique<rpcrdma::Responder>(std::move(*accepted), options_.responder,
                                                                connection.service ? *connection.service : service_);
  }
}

// Whether anything came.
bool Server::PollAll() {
  bool worked = false;
  std::erase_if(connections_, [&](const Connection& connection) {
    connection.responder->Poll(microseconds{0});
    worked |= connection.responder->rest() == microseconds{0};
    if (connection.responder->open()) return false;
    Retire(*connection.responder);
    return true;
  });
  return worked;
}

void Server::Retire(const rpcrdma::Responder& responder) {
  Add(responder.stats(), report_.stats);
  const endpoint::Endpoint& endpoint = const_cast<rpcrdma::Responder&>(responder).endpoint();
  if (endpoint.state() == endpoint::State::kBroken) {
    ++report_.broken;
    Trouble(endpoint.trouble().text);
  } else {
    ++report_.ended;
  }
}

void Server::Trouble(std::string text) {
  if (report_.troubles.size() < kTroubles || report_.troubles.contains(text)) ++report_.troubles[std::move(text)];
}

void Server::Sleep(microseconds at_most) {
  std::vector<pollfd> all;
  const auto add = [&all](int descriptor) {
    if (descriptor >= 0) all.push_back({descriptor, POLLIN, 0});
  };
  add(options_.stop);
  add(listener_.descriptor());
  for (const Connection& connection : connections_) {
    const int descriptor = connection.responder->endpoint().descriptor();
    add(descriptor);
    at_most = std::min(at_most, connection.responder->rest());
    if (descriptor < 0) at_most = std::min<microseconds>(at_most, kWithoutDescriptor);
  }
  if (tcp_) tcp_->AddTo(all);
  (void)endpoint::WaitFor(all, at_most);
  stopped_ |= options_.stop >= 0 && all.front().revents != 0;
}

void Server::End() {
  for (const Connection& connection : connections_) connection.responder->endpoint().Disconnect();
  const auto until = Clock::now() + kGoodbye;
  while (!connections_.empty() && Clock::now() < until) {
    PollAll();
    options_.stop = -1;
    if (!connections_.empty()) Sleep(milliseconds{50});
  }
  for (const Connection& connection : connections_) {
    Retire(*connection.responder);
    Trouble("a peer did not end its connection in time");
  }
  connections_.clear();
}

}  // namespace stag::serve
