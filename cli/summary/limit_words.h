// SPDX-License-Identifier: GPL-2.0-or-later
//
// What people are told of a connection's limits: words, what to do about each, and what is known to make mounts slow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/limits/connection_limits.h"
#include "session/transport/transport.h"

namespace stag::cli {

// "credits used up".
std::string_view LimitWord(session::Limit limit);
// What to do where most of the time is this.
std::string_view LimitAdvice(session::Limit limit);

struct LimitedConnection {
  const session::Connection* connection = nullptr;
  const session::ConnectionLimits* limits = nullptr;
};
// The connections of a file, and what is known to make mounts slow, as far as they show it.
class LimitSignatures {
 public:
  // What they refer to must outlive this.
  explicit LimitSignatures(std::vector<LimitedConnection> all);
  LimitSignatures(const LimitSignatures&) = delete;
  LimitSignatures& operator=(const LimitSignatures&) = delete;

  // Of the connection with this index. `health`: what the fabric did to it; null: not known.
  std::vector<std::string> Of(size_t index, const transport::Health* health) const;

 private:
  // Connections between the same client and server, in order of their beginnings.
  using Pair = std::vector<const LimitedConnection*>;

  std::vector<LimitedConnection> all_;
  std::vector<Pair> pairs_;
  std::vector<size_t> pair_of_;
};

}  // namespace stag::cli
