// SPDX-License-Identifier: GPL-2.0-or-later
//
// What people are told of a connection's limits: words, what to do about each, and what is known to make mounts slow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/limits/connection_limits.h"

namespace stag::cli {

// "credits used up".
std::string_view LimitWord(session::Limit limit);
// What to do where most of the time is this.
std::string_view LimitAdvice(session::Limit limit);

struct LimitedConnection {
  const session::Connection* connection = nullptr;
  const session::ConnectionLimits* limits = nullptr;
};
// What is known to make mounts slow, as far as `one` shows it. `all`: the connections of its file, with itself.
std::vector<std::string> LimitSignatures(const LimitedConnection& one, const std::vector<LimitedConnection>& all);

}  // namespace stag::cli
