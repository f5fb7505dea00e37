// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionGroup: the connections of one thread of a Server, and what became of them. A connection belongs to one
// group, from its acceptance to its end. Give may be called by another thread; all else by the thread of the group.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "replay/endpoint/spin_then_sleep.h"
#include "replay/endpoint/system.h"
#include "replay/rpcrdma/responder.h"

namespace stag::serve {

struct ServerReport {
  uint64_t connections = 0, rejected = 0;
  uint64_t ended = 0;      // in order, by either side
  uint64_t broken = 0;     // otherwise
  uint64_t dismissed = 0;  // of `ended`: idle ones that gave way to a new one
  rpcrdma::ResponderStats stats;
  std::map<std::string, uint64_t> troubles;  // why connections broke or could not be accepted, and how often

  // At most 64 different ones are kept.
  void Trouble(const std::string& text, uint64_t times = 1);
  void Add(const ServerReport& other);
};

class ConnectionGroup {
 public:
  using Clock = std::chrono::steady_clock;

  // `service` must outlive the group.
  ConnectionGroup(rpcrdma::Service& service, const rpcrdma::ResponderOptions& options);
  ~ConnectionGroup();

  // A new connection: wakes the thread of the group.
  void Give(std::unique_ptr<endpoint::Endpoint> endpoint);
  // Connections of the group, those included that were given and not taken yet. For any thread.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Since when the connection is idle that is so for longest. For any thread.
  Clock::time_point idle_since() const { return Clock::time_point(Clock::duration(idle_since_.load())); }
  // Ends that one, soon, and counts it no more; false: none has been idle for a second. By one other thread.
  bool Dismiss();

  // Answers what came. False: nothing came for a while, so that the thread may sleep.
  bool Poll();
  // What poll(2) is to look at, and how long it may wait, before the next Poll.
  void AddTo(std::vector<pollfd>& all, std::chrono::microseconds& at_most) const;
  // Until `stop` is set and Wake was called; then End.
  void Run(const std::atomic<bool>& stop);
  void Wake();
  // Disconnects all, and waits for their ends for a moment.
  void End();

  const ServerReport& report() const { return report_; }

 private:
  struct Connection {
    std::unique_ptr<rpcrdma::Service> service;  // its own, if it has one
    std::unique_ptr<rpcrdma::Responder> responder;
    Clock::time_point since;  // nothing came since then
  };
  Connection Make(std::unique_ptr<endpoint::Endpoint> endpoint);
  void TakeGiven();
  void DismissIdlest();
  bool PollAll();
  bool PollOne(Connection& connection, std::optional<Clock::time_point>& now);
  void Retire(rpcrdma::Responder& responder);
  void Lost(const std::string& why);

  static constexpr Clock::rep kNever = std::numeric_limits<Clock::rep>::max();

  rpcrdma::Service& service_;
  const rpcrdma::ResponderOptions options_;
  ServerReport report_;
  std::vector<Connection> connections_;
  endpoint::SpinThenSleep spin_;
  const endpoint::Descriptor bell_;

  std::atomic<size_t> size_{0}, to_dismiss_{0};
  std::atomic<Clock::rep> idle_since_{kNever};
  std::atomic<bool> have_given_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<endpoint::Endpoint>> given_;  // with mutex_
};

}  // namespace stag::serve
