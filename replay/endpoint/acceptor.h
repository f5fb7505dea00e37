// SPDX-License-Identifier: GPL-2.0-or-later
//
// Acceptor: a Listener for a loop that serves others, too. When this machine has no descriptors or no memory left for
// another connection, nobody is accepted for a second, and those who are there are served on.
#pragma once

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

class Acceptor {
 public:
  // `listener` must outlive this.
  explicit Acceptor(Listener& listener) : listener_(listener) {}

  // Who wants to connect, without waiting; nullptr: nobody, or nobody can be accepted now.
  Result<std::unique_ptr<Incoming>> Next() {
    if (Clock::now() < again_) return std::unique_ptr<Incoming>();
    try {
      auto incoming = listener_.Wait(std::chrono::milliseconds{0});
      std::string why = listener_.TakeShortage();
      if (!why.empty() && incoming && *incoming) {  // somebody who was there already: it may be that more is left then
        Say(std::move(why));
      } else if (!why.empty()) {
        Pause(std::move(why));
      }
      return incoming;
    } catch (const std::bad_alloc&) {
      Pause("cannot accept connections: no memory");
    }
    return std::unique_ptr<Incoming>();
  }
  // Likewise when something else of a new connection finds that.
  void Pause(std::string why) {
    again_ = Clock::now() + std::chrono::seconds{1};
    Say(std::move(why));
  }
  // What is short, once a second at most; empty: nothing is, or it was said.
  std::string TakeTrouble() { return std::exchange(trouble_, {}); }
  // For poll(2): -1, which it leaves out, in a pause.
  int descriptor() const { return Clock::now() < again_ ? -1 : listener_.descriptor(); }

 private:
  using Clock = std::chrono::steady_clock;

  void Say(std::string why) {
    if (Clock::now() < say_again_) return;
    say_again_ = Clock::now() + std::chrono::seconds{1};
    trouble_ = std::move(why);
  }

  Listener& listener_;
  Clock::time_point again_, say_again_;
  std::string trouble_;
};

}  // namespace stag::endpoint
