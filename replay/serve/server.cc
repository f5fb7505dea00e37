// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/server.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>

#include "replay/endpoint/system.h"

namespace stag::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestSleep{1000};  // sleep, when nothing is connected
constexpr int kAccepts = 16;                 // before others are looked after

}  // namespace

Server::Server(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* tcp,
               const ServerOptions& options)
    : acceptor_(listener), tcp_(tcp), memory_(options.call_memory), options_(options) {
  options_.responder.memory = &memory_;
  for (uint32_t i = 0; i < std::max(options.threads, 1u); ++i)
    groups_.push_back(std::make_unique<ConnectionGroup>(service, options_.responder));
}
Server::~Server() = default;

Result<void> Server::Run() {
  // What another thread throws ends the server, and is thrown here.
  std::vector<std::exception_ptr> thrown(groups_.size());
  std::vector<std::thread> threads;
  Result<void> served;
  try {
    for (size_t i = 1; i < groups_.size(); ++i)
      threads.emplace_back([this, i, &thrown] {
        try {
          groups_[i]->Run(ending_);
        } catch (...) {
          thrown[i] = std::current_exception();
          ending_ = true;
        }
      });
    served = Serve();
  } catch (const std::system_error& error) {
    served = Fail(std::string("cannot start threads: ") + error.what());
  } catch (...) {
    thrown[0] = std::current_exception();
  }
  ending_ = true;
  for (const auto& group : groups_) group->Wake();
  if (!thrown[0]) groups_[0]->End();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& exception : thrown)
    if (exception) std::rethrow_exception(exception);
  for (const auto& group : groups_) report_.Add(group->report());
  return served;
}

Result<void> Server::Serve() {
  ConnectionGroup& own = *groups_[0];
  while (!stopped_ && !ending_) {
    const Result<bool> more = AcceptSome();
    if (!more) return tl::unexpected(more.error());
    bool stay = *more;
    if (tcp_) stay |= tcp_->Poll();
    stay |= own.Poll();
    if (options_.once && report_.connections > 0 && connections() == 0) break;
    Sleep(stay ? milliseconds{0} : kLongestSleep);
  }
  return {};
}

// A few at a time: many that come at once keep nobody waiting who is there already. Whether there may be more.
Result<bool> Server::AcceptSome() {
  Result<bool> more = true;
  for (int n = 0; n < kAccepts && more && *more; ++n) {
    try {
      more = AcceptOne();
    } catch (const std::bad_alloc&) {
      acceptor_.Pause("cannot accept connections: no memory");
      more = false;
    }
  }
  if (const std::string why = acceptor_.TakeTrouble(); !why.empty()) Say(why);
  return more;
}

// Whether there was one.
Result<bool> Server::AcceptOne() {
  auto incoming = acceptor_.Next();
  if (!incoming) return Fail(incoming.error().message);
  if (!*incoming) return false;
  if ((options_.once && report_.connections > 0) || (connections() >= options_.max_connections && !MakeRoom())) {
    (*incoming)->Reject({});
    ++report_.rejected;
    return true;
  }
  endpoint::EndpointOptions endpoint;
  endpoint.events = options_.events;
  endpoint.crc = options_.crc;
  rpcrdma::Responder::Prepare(options_.responder, endpoint);
  auto accepted = (*incoming)->Accept(endpoint);
  if (!accepted) {
    report_.Trouble(accepted.error().message);
    return true;
  }
  ++report_.connections;
  Fewest().Give(std::move(*accepted));
  return true;
}

// For one more connection; false: none is idle.
bool Server::MakeRoom() {
  const auto idlest = std::ranges::min_element(groups_, {}, [](const auto& group) { return group->idle_since(); });
  return (*idlest)->Dismiss();
}

ConnectionGroup& Server::Fewest() {
  return **std::ranges::min_element(groups_, {}, [](const auto& group) { return group->size(); });
}

size_t Server::connections() const {
  size_t sum = 0;
  for (const auto& group : groups_) sum += group->size();
  return sum;
}

void Server::Say(const std::string& text) {
  report_.Trouble(text);
  options_.notice(text);
}

void Server::Sleep(std::chrono::microseconds at_most) {
  polled_.clear();
  const auto add = [this](int descriptor) { polled_.push_back({descriptor, POLLIN, 0}); };  // -1: is left out
  add(options_.stop);
  add(acceptor_.descriptor());
  groups_[0]->AddTo(polled_, at_most);
  if (tcp_) tcp_->AddTo(polled_);
  (void)endpoint::WaitFor(polled_, at_most);
  stopped_ |= polled_.front().revents != 0;
}

}  // namespace stag::serve
