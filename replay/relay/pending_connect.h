// SPDX-License-Identifier: GPL-2.0-or-later
//
// PendingConnect: a connection to the server that is being made. It has a thread of its own, so that only this thread
// waits. When nobody wants the connection any more, it waits for nothing either.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/system.h"

namespace stag::relay {

class PendingConnect {
 public:
  // `transport` must outlive this. `bell`: an eventfd that becomes readable when the answer is there. Throws
  // std::system_error when there is no thread.
  PendingConnect(endpoint::Transport& transport, const endpoint::HostPort& to, endpoint::EndpointOptions options,
                 int bell)
      : private_data_(options.private_data), cancel_(::eventfd(0, EFD_CLOEXEC)) {
    options.cancel = cancel_.get();
    thread_ = std::thread([this, &transport, to, options, bell] {
      try {
        outgoing_ = transport.Dial(to, options);
      } catch (const std::bad_alloc&) {
        // No outgoing_ says so.
      }
      done_ = true;
      (void)::eventfd_write(bell, 1);
    });
  }
  // Waits until it is done.
  ~PendingConnect() {
    Cancel();
    if (thread_.joinable()) thread_.join();
  }
  PendingConnect(const PendingConnect&) = delete;
  PendingConnect& operator=(const PendingConnect&) = delete;

  // It will be done soon. (The system itself may wait for a name.)
  void Cancel() {
    cancelled_ = true;
    (void)::eventfd_write(cancel_.get(), 1);
  }
  bool cancelled() const { return cancelled_; }
  bool done() const { return done_; }
  // What was sent.
  const std::vector<std::byte>& private_data() const { return private_data_; }
  // Once, when it is done.
  Result<std::unique_ptr<endpoint::Endpoint>> Take() {
    thread_.join();
    if (!outgoing_) return Fail("no memory");
    return outgoing_->Finish();
  }

 private:
  const std::vector<std::byte> private_data_;
  const endpoint::Descriptor cancel_;
  bool cancelled_ = false;
  std::atomic<bool> done_{false};
  std::unique_ptr<endpoint::Outgoing> outgoing_;
  std::thread thread_;  // the last, so that all it uses is there
};

}  // namespace stag::relay
