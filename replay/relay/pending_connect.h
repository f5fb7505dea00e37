// SPDX-License-Identifier: GPL-2.0-or-later
//
// PendingConnect: a connection to the server that is being made. It has a thread of its own, so that only this thread
// waits.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "replay/endpoint/endpoint.h"

namespace stag::relay {

class PendingConnect {
 public:
  // `transport` must outlive this. `bell`: an eventfd that becomes readable when the answer is there.
  PendingConnect(endpoint::Transport& transport, const endpoint::HostPort& to, const endpoint::EndpointOptions& options,
                 int bell)
      : private_data_(options.private_data), thread_([this, &transport, to, options, bell] {
          outgoing_ = transport.Dial(to, options);
          done_ = true;
          (void)::eventfd_write(bell, 1);
        }) {}
  // Waits until it is done.
  ~PendingConnect() {
    if (thread_.joinable()) thread_.join();
  }
  PendingConnect(const PendingConnect&) = delete;
  PendingConnect& operator=(const PendingConnect&) = delete;

  bool done() const { return done_; }
  // What was sent.
  const std::vector<std::byte>& private_data() const { return private_data_; }
  // Once, when it is done.
  Result<std::unique_ptr<endpoint::Endpoint>> Take() {
    thread_.join();
    return outgoing_->Finish();
  }

 private:
  const std::vector<std::byte> private_data_;
  std::atomic<bool> done_{false};
  std::unique_ptr<endpoint::Outgoing> outgoing_;
  std::thread thread_;  // the last, so that all it uses is there
};

}  // namespace stag::relay
