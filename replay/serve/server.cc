// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/server.h"

#include <algorithm>
#include <thread>

#include "replay/endpoint/system.h"

namespace stag::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestSleep{1000};  // sleep, when nothing is connected

}  // namespace

Server::Server(endpoint::Listener& listener, rpcrdma::Service& service, rpcrdma::TcpRpc* tcp,
               const ServerOptions& options)
    : listener_(listener), tcp_(tcp), options_(options) {
  for (uint32_t i = 0; i < std::max(options.threads, 1u); ++i)
    groups_.push_back(std::make_unique<ConnectionGroup>(service, options.responder));
}
Server::~Server() = default;

Result<void> Server::Run() {
  // What another thread throws (no memory) ends the server, and is thrown here.
  std::vector<std::exception_ptr> thrown(groups_.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < groups_.size(); ++i)
    threads.emplace_back([this, i, &thrown] {
      try {
        groups_[i]->Run(ending_);
      } catch (...) {
        thrown[i] = std::current_exception();
        ending_ = true;
      }
    });
  Result<void> served;
  try {
    served = Serve();
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
    if (auto accepted = AcceptAll(); !accepted) return accepted;
    if (tcp_) tcp_->Poll();
    const bool stay = own.Poll();
    if (options_.once && report_.connections > 0 && connections() == 0) break;
    Sleep(stay ? milliseconds{0} : kLongestSleep);
  }
  return {};
}

Result<void> Server::AcceptAll() {
  for (;;) {
    auto incoming = listener_.Wait(milliseconds{0});
    if (!incoming) return Fail(incoming.error().message);
    if (!*incoming) return {};
    if (connections() >= options_.max_connections || (options_.once && report_.connections > 0)) {
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
      report_.Trouble(accepted.error().message);
      continue;
    }
    ++report_.connections;
    Fewest().Give(std::move(*accepted));
  }
}

ConnectionGroup& Server::Fewest() {
  return **std::ranges::min_element(groups_, {}, [](const auto& group) { return group->size(); });
}

size_t Server::connections() const {
  size_t sum = 0;
  for (const auto& group : groups_) sum += group->size();
  return sum;
}

void Server::Sleep(std::chrono::microseconds at_most) {
  polled_.clear();
  const auto add = [this](int descriptor) {
    if (descriptor >= 0) polled_.push_back({descriptor, POLLIN, 0});
  };
  add(options_.stop);
  add(listener_.descriptor());
  groups_[0]->AddTo(polled_, at_most);
  if (tcp_) tcp_->AddTo(polled_);
  (void)endpoint::WaitFor(polled_, at_most);
  stopped_ |= options_.stop >= 0 && polled_.front().revents != 0;
}

}  // namespace stag::serve
