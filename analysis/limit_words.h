// SPDX-License-Identifier: GPL-2.0-or-later
//
// What people are told of a connection's limits: words, what to do about each, and what is known to make mounts slow.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/limits/connection_limits.h"
#include "session/transport/transport.h"

namespace stag::analysis {

// "credits used up".
std::string_view LimitWord(session::Limit limit);
// What to do where most of the time is this.
std::string_view LimitAdvice(const session::ConnectionLimits& limits);
std::string_view LimitAdvice(session::Limit limit);

// What is known to make mounts slow, as far as the connection shows it. `health`: what the fabric did to it; null: not
// known.
std::vector<std::string> LimitSignatures(const session::Connection& connection, const session::ConnectionLimits& limits,
                                         const transport::Health* health);

// What several connections between the same addresses show together.
struct PairedConnection {
  PairedConnection() = default;
  PairedConnection(const session::Connection& connection, const session::ConnectionLimits& limits);

  Address client, server;
  uint64_t first = 0, last = 0;  // frames
  uint64_t calls = 0;
};
struct PairCounts {
  // Connections, this one among them, that exist during at least half of its frames, and their Calls.
  uint64_t together = 0, calls = 0;
  // Nullopt: a later one began between the same addresses. Else those that ended before this one began.
  std::optional<uint64_t> before;
};
// In the order of `all`.
std::vector<PairCounts> CountPairs(std::span<const PairedConnection> all);
std::vector<std::string> PairSignatures(const PairedConnection& connection, const PairCounts& counts);

}  // namespace stag::analysis
