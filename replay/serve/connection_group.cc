// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/connection_group.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <new>

namespace stag::serve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kTurns = 32;                     // of the connections, before others are looked after
constexpr milliseconds kLongest{1000};         // sleep, when nothing is connected
constexpr milliseconds kWithoutDescriptor{1};  // likewise, for an endpoint that has none
constexpr milliseconds kGoodbye{400};          // for the ends of all connections
constexpr milliseconds kIdle{1000};            // before a connection gives way to a new one
constexpr size_t kTroubles = 64;

}  // namespace

void ServerReport::Trouble(const std::string& text, uint64_t times) {
  try {
    if (troubles.size() < kTroubles || troubles.contains(text)) troubles[text] += times;
  } catch (const std::bad_alloc&) {
    // It may be what is told of.
  }
}

void ServerReport::Add(const ServerReport& other) {
  connections += other.connections;
  rejected += other.rejected;
  ended += other.ended;
  broken += other.broken;
  dismissed += other.dismissed;
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

ConnectionGroup::Connection ConnectionGroup::Make(std::unique_ptr<endpoint::Endpoint> endpoint) {
  Connection made;
  made.service = service_.NewConnection();
  made.responder =
      std::make_unique<rpcrdma::Responder>(std::move(endpoint), options_, made.service ? *made.service : service_);
  made.since = Clock::now();
  return made;
}

void ConnectionGroup::TakeGiven() {
  if (!have_given_.exchange(false, std::memory_order_acquire)) return;
  eventfd_t count = 0;
  (void)::eventfd_read(bell_.get(), &count);
  const std::scoped_lock lock(mutex_);
  for (std::unique_ptr<endpoint::Endpoint>& endpoint : given_) {
    try {
      connections_.push_back(Make(std::move(endpoint)));
    } catch (const std::bad_alloc&) {
      Lost("no memory for a new connection");
    }
  }
  given_.clear();
}

bool ConnectionGroup::Dismiss() {
  Clock::rep since = idle_since_.load();
  if (since == kNever || Clock::now() - Clock::time_point(Clock::duration(since)) < kIdle) return false;
  if (!idle_since_.compare_exchange_strong(since, kNever)) return false;  // until it is looked for again
  size_.fetch_sub(1, std::memory_order_relaxed);
  to_dismiss_.fetch_add(1);
  Wake();
  return true;
}

void ConnectionGroup::DismissIdlest() {
  for (size_t left = to_dismiss_.exchange(0); left > 0; --left) {
    size_.fetch_add(1, std::memory_order_relaxed);  // Retire counts it
    auto idlest = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it)
      if (!it->responder->busy() && (idlest == connections_.end() || it->since < idlest->since)) idlest = it;
    if (idlest == connections_.end()) continue;
    Retire(*idlest->responder);
    ++report_.dismissed;
    connections_.erase(idlest);
  }
}

bool ConnectionGroup::Poll() {
  TakeGiven();
  if (to_dismiss_.load(std::memory_order_relaxed) > 0) DismissIdlest();
  bool stay = true;
  for (int turn = 0; turn < kTurns && stay; ++turn) stay = spin_.Again(PollAll());
  return stay;
}

// Whether anything came.
bool ConnectionGroup::PollAll() {
  bool worked = false;
  std::optional<Clock::time_point> now;
  Clock::rep idle_since = kNever;
  std::erase_if(connections_, [&](Connection& connection) {
    try {
      worked |= PollOne(connection, now);
    } catch (const std::bad_alloc&) {
      // Others may need less, and what it has they get.
      Lost("no memory for the calls of a connection");
      return true;
    }
    if (connection.responder->open()) {
      if (!connection.responder->busy()) idle_since = std::min(idle_since, connection.since.time_since_epoch().count());
      return false;
    }
    Retire(*connection.responder);
    return true;
  });
  idle_since_.store(idle_since, std::memory_order_relaxed);
  return worked;
}

bool ConnectionGroup::PollOne(Connection& connection, std::optional<Clock::time_point>& now) {
  connection.responder->Poll(microseconds{0});
  if (connection.responder->rest() > microseconds{0}) return false;
  if (!now) now = Clock::now();
  connection.since = *now;
  return true;
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

void ConnectionGroup::Lost(const std::string& why) {
  ++report_.broken;
  report_.Trouble(why);
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
