// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/relay/relay.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "replay/endpoint/system.h"

namespace stag::relay {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 32;                     // of the clients, before others are looked after
constexpr milliseconds kLongest{1000};         // sleep, when nobody is connected
constexpr milliseconds kTimeouts{100};         // of endpoints, which do not show in their descriptors
constexpr milliseconds kWithoutDescriptor{1};  // for an endpoint that has none
constexpr milliseconds kGoodbye{400};          // for the ends of all connections
constexpr milliseconds kIdle{1000};            // before a client gives way to a new one

}  // namespace

Relay::Relay(endpoint::Listener& listener, endpoint::Transport& transport, const RelayOptions& options)
    : acceptor_(listener),
      transport_(transport),
      options_(options),
      memory_(options.memory),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  report_.faults.resize(options.link.faults.rules.size());
}
Relay::~Relay() = default;

Result<void> Relay::Run() {
  while (!stopped_) {
    bool stay = true;
    // After work, too, the processor is offered to others: who is to answer may wait for it, and cannot have done so
    // yet.
    for (int turn = 0; turn < kTurns && stay; ++turn) {
      if (PollAll()) spin_.Worked();
      stay = spin_.Stay();
    }
    const Result<bool> somebody = AcceptOne();
    if (!somebody) {
      End();
      return Fail(somebody.error().message);
    }
    ForgetGone();
    stay |= FinishOne();
    if (options_.once && clients_.empty() && report_.side[kClientSide].connections > 0) break;
    Sleep(stay || *somebody ? milliseconds{0} : clients_.empty() && waiting_.empty() ? kLongest : kTimeouts);
  }
  End();
  return {};
}

// One at a time: many that come at once keep nobody waiting who is there already. Whether there was one.
Result<bool> Relay::AcceptOne() {
  Result<bool> asked = false;
  try {
    asked = Ask();
  } catch (const std::bad_alloc&) {
    acceptor_.Pause("cannot accept connections: no memory");
  } catch (const std::system_error&) {
    acceptor_.Pause("cannot accept connections: no thread to connect to the server");
  }
  if (const std::string why = acceptor_.TakeTrouble(); !why.empty()) Say(why);
  return asked;
}

Result<bool> Relay::Ask() {
  auto incoming = acceptor_.Next();
  if (!incoming) return Fail(incoming.error().message);
  if (!*incoming) return false;
  if ((*incoming)->gone()) return true;
  const size_t there = clients_.size() + waiting_.size();
  const bool enough = options_.once && there + report_.side[kClientSide].connections > 0;
  if (enough || (there >= options_.max_connections && !MakeRoom())) {
    Reject(**incoming, (*incoming)->peer(), "there are enough");
    return true;
  }
  // The server first: what it says is passed to the client.
  auto pending = std::make_unique<PendingConnect>(
      transport_, options_.to,
      OptionsFor(options_.to_server, (*incoming)->private_data(), transport_.remote_invalidation()), bell_.get());
  waiting_.push_back({std::move(*incoming), std::move(pending)});
  return true;
}

// For one more client; false: none is idle.
bool Relay::MakeRoom() {
  const auto since = [](const Client& client) {
    return client.link->idle() ? client.link->last() : Clock::time_point::max();
  };
  const auto idlest = std::ranges::min_element(clients_, {}, since);
  if (idlest == clients_.end() || since(*idlest) > Clock::now() - kIdle) return false;
  idlest->link->Abandon();
  ++report_.dismissed;
  clients_.erase(idlest);
  return true;
}

// Clients that hung up before the server answered give back what they have.
void Relay::ForgetGone() {
  const auto now = Clock::now();
  if (waiting_.empty() || now < look_again_) return;
  look_again_ = now + kTimeouts / 2;
  for (Waiting& waiting : waiting_) {
    if (!waiting.incoming || !waiting.incoming->gone()) continue;
    waiting.pending->Cancel();
    waiting.incoming.reset();
    ++report_.rejected;
    report_.Trouble("a client hung up before the server answered");
  }
}

// Likewise, of those whose server has answered.
bool Relay::FinishOne() {
  const auto it = std::ranges::find_if(waiting_, [](const Waiting& waiting) { return waiting.pending->done(); });
  if (it == waiting_.end()) return false;
  const Waiting waiting = std::move(*it);
  waiting_.erase(it);
  if (!waiting.incoming) return true;
  const std::string name = waiting.incoming->peer();
  Result<std::unique_ptr<RelayLink>> link = Fail("no memory");
  try {
    link = Link(waiting);
    clients_.reserve(clients_.size() + 1);
  } catch (const std::bad_alloc&) {
    link = Fail("no memory");
  }
  if (link) {
    clients_.push_back({name, std::move(*link)});
  } else {
    Reject(*waiting.incoming, name, link.error().message);
  }
  return true;
}

void Relay::Reject(endpoint::Incoming& incoming, const std::string& name, const std::string& why) {
  incoming.Reject({});
  ++report_.rejected;
  report_.Trouble(why);
  options_.notice("client " + name + " is rejected: " + why);
}

endpoint::EndpointOptions Relay::OptionsFor(const RelayTerms& terms, Bytes theirs, bool may_invalidate) const {
  endpoint::EndpointOptions out;
  out.events = options_.events;
  out.crc = options_.crc;
  out.connect_timeout = options_.connect_timeout;
  out.private_data = RelayPrivateData(terms, theirs, transport_.max_private_data(), may_invalidate);
  RelayLink::Prepare(options_.link, ToldReceiveSize(out.private_data), out);
  return out;
}

Result<std::unique_ptr<RelayLink>> Relay::Link(const Waiting& waiting) {
  auto server = waiting.pending->Take();
  if (!server) return Fail("no connection to the server: " + server.error().message);
  ++report_.side[kServerSide].connections;
  const endpoint::EndpointOptions to_client = OptionsFor(options_.to_client, (*server)->peer_private_data(), true);
  auto client = waiting.incoming->Accept(to_client);
  if (!client) {
    (*server)->Disconnect();
    ++report_.side[kServerSide].ended;
    return Fail("it cannot be accepted: " + client.error().message);
  }
  ++report_.side[kClientSide].connections;
  return std::make_unique<RelayLink>(RelayLink::End{std::move(*client), to_client.private_data},
                                     RelayLink::End{std::move(*server), waiting.pending->private_data()}, options_.link,
                                     memory_, report_);
}

// Whether anything came.
bool Relay::PollAll() {
  bool worked = false;
  std::erase_if(clients_, [&](const Client& client) {
    try {
      worked |= client.link->Poll();
    } catch (const std::bad_alloc&) {
      // Others may need less, and what it has they get.
      client.link->Abandon();
      report_.Trouble("no memory for the calls of a client");
    }
    if (!client.link->over()) return false;
    TellEnd(client);
    return true;
  });
  return worked;
}

void Relay::Say(const std::string& text) {
  report_.Trouble(text);
  options_.notice(text);
}

void Relay::TellEnd(const Client& client) {
  const RelayLink& link = *client.link;
  for (const int side : {kClientSide, kServerSide})
    if (link.endpoint(side).state() == endpoint::State::kBroken)
      options_.notice("client " + client.name + ": the connection " +
                      (side == kClientSide ? "with it broke: " : "to the server broke: ") +
                      link.endpoint(side).trouble().text);
}

void Relay::Sleep(microseconds longest) {
  polled_.clear();
  const auto add = [this](int descriptor) { polled_.push_back({descriptor, POLLIN, 0}); };  // -1: is left out
  add(options_.stop);
  add(acceptor_.descriptor());
  add(bell_.get());
  for (const Client& client : clients_) {
    if (const auto due = client.link->due()) {
      const auto left = std::chrono::ceil<microseconds>(*due - Clock::now());
      longest = std::clamp(left, microseconds{0}, longest);
    }
    for (const int side : {kClientSide, kServerSide}) {
      const int descriptor = client.link->endpoint(side).descriptor();
      add(descriptor);
      if (descriptor < 0) longest = std::min<microseconds>(longest, kWithoutDescriptor);
    }
  }
  (void)endpoint::WaitFor(polled_, longest);
  stopped_ |= polled_[0].revents != 0;
  eventfd_t rings = 0;
  if (polled_[2].revents != 0) (void)::eventfd_read(bell_.get(), &rings);
}

void Relay::End() {
  for (const Waiting& waiting : waiting_) {
    waiting.pending->Cancel();
    if (waiting.incoming) Reject(*waiting.incoming, waiting.incoming->peer(), "the relay is ending");
  }
  waiting_.clear();
  for (const Client& client : clients_) client.link->Disconnect();
  const auto until = Clock::now() + kGoodbye;
  options_.stop = -1;
  while (!clients_.empty() && Clock::now() < until) {
    if (!PollAll() && !clients_.empty()) Sleep(milliseconds{50});
  }
  for (const Client& client : clients_) {
    client.link->Abandon();
    report_.Trouble("a peer did not end its connection in time");
  }
  clients_.clear();
}

}  // namespace stag::relay
