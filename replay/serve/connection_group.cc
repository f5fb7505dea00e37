// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/connection_group.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace stag::serve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 32;                     // of the connections, before others are looked after
constexpr milliseconds kLongest{1000};         // sleep, when nothing is connected
constexpr milliseconds kWithoutDescriptor{1};  // likewise, for an endpoint that has none
constexpr milliseconds kGoodbye{2000};         // for the ends of all connections
constexpr size_t kTroubles = 64;

}  // namespace

void ServerReport::Trouble(const std::string& text, uint64_t times) {
  if (troubles.size() < kTroubles || troubles.contains(text)) troubles[text] += times;
}

void ServerReport::Add(const ServerReport& other) {
  connections += other.connections;
  rejected += other.rejected;
  ended += other.ended;
  broken += other.broken;
  stats.calls += other.stats.calls;
  stats.replies += other.stats.replies;
  stats.err_vers += other.stats.err_vers;
  stats.err_chunk += other.stats.err_chunk;
  stats.dropped += other.stats.dropped;
  stats.callbacks += other.stats.callbacks;
  stats.received_bytes += other.stats.received_bytes;
  stats.sent_bytes += other.stats.sent_bytes;
  for (const auto& [text, times] : other.troubles) Trouble(text, times);
}

ConnectionGroup::ConnectionGroup(rpcrdma::Service& service, const rpcrdma::ResponderOptions& options)
    : service_(service), options_(options), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
ConnectionGroup::~ConnectionGroup() = default;

void ConnectionGroup::Give(std::unique_ptr<endpoint::Endpoint> endpoint) {
  size_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::scoped_lock lock(mutex_);
    given_.push_back(std::move(endpoint));
  }
  have_given_.store(true, std::memory_order_release);
  Wake();
}

void ConnectionGroup::Wake() { (void)::eventfd_write(bell_.get(), 1); }

void ConnectionGroup::TakeGiven() {
  if (!have_given_.exchange(false, std::memory_order_acquire)) return;
  eventfd_t count = 0;
  (void)::eventfd_read(bell_.get(), &count);
  const std::scoped_lock lock(mutex_);
  for (std::unique_ptr<endpoint::Endpoint>& endpoint : given_) {
    Connection& connection = connections_.emplace_back();
    connection.service = service_.NewConnection();
    connection.responder = std::make_unique<rpcrdma::Responder>(std::move(endpoint), options_,
                                                                connection.service ? *connection.service : service_);
  }
  given_.clear();
}

bool ConnectionGroup::Poll() {
  TakeGiven();
  bool stay = true;
  for (int turn = 0; turn < kTurns && stay; ++turn) stay = spin_.Again(PollAll());
  return stay;
}

// Whether anything came.
bool ConnectionGroup::PollAll() {
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

void ConnectionGroup::Retire(rpcrdma::Responder& responder) {
  ServerReport of_it;
  of_it.stats = responder.stats();
  report_.Add(of_it);
  const endpoint::Endpoint& endpoint = responder.endpoint();
  if (endpoint.state() == endpoint::State::kBroken) {
    ++report_.broken;
    report_.Trouble(endpoint.trouble().text);
  } else {
    ++report_.ended;
  }
  size_.fetch_sub(1, std::memory_order_relaxed);
}

void ConnectionGroup::AddTo(std::vector<pollfd>& all, microseconds& at_most) const {
  all.push_back({bell_.get(), POLLIN, 0});
  for (const Connection& connection : connections_) {
    const int descriptor = connection.responder->endpoint().descriptor();
    at_most = std::min(at_most, connection.responder->rest());
    if (descriptor < 0) {
      at_most = std::min<microseconds>(at_most, kWithoutDescriptor);
    } else {
      all.push_back({descriptor, POLLIN, 0});
    }
  }
}

void ConnectionGroup::Run(const std::atomic<bool>& stop) {
  std::vector<pollfd> all;
  while (!stop.load(std::memory_order_relaxed)) {
    if (Poll()) continue;
    all.clear();
    microseconds at_most = kLongest;
    AddTo(all, at_most);
    (void)endpoint::WaitFor(all, at_most);
  }
  End();
}

void ConnectionGroup::End() {
  TakeGiven();
  for (const Connection& connection : connections_) connection.responder->endpoint().Disconnect();
  const auto until = Clock::now() + kGoodbye;
  std::vector<pollfd> all;
  while (!connections_.empty() && Clock::now() < until) {
    PollAll();
    if (connections_.empty()) break;
    all.clear();
    microseconds at_most = milliseconds{50};
    AddTo(all, at_most);
    all.erase(all.begin());  // nobody is given any more
    (void)endpoint::WaitFor(all, at_most);
  }
  for (const Connection& connection : connections_) {
    Retire(*connection.responder);
    report_.Trouble("a peer did not end its connection in time");
  }
  connections_.clear();
}

}  // namespace stag::serve
