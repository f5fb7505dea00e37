// SPDX-License-Identifier: GPL-2.0-or-later
//
// Blame: whose doing something is. Nothing but the capture is blamed for what the capture does not prove.
#pragma once

#include <cstdint>

#include "protocol/base/enum_names.h"
#include "session/rpcrdma/connection.h"

namespace stag::analysis {

enum class Blame : uint8_t { kClient, kServer, kNetwork, kCapture };

inline Blame BlameOf(const session::Connection& connection, session::Side side) {
  return side == connection.client ? Blame::kClient : Blame::kServer;
}

}  // namespace stag::analysis

namespace stag {

template <>
struct EnumNames<analysis::Blame> {
  static constexpr std::array<std::string_view, 4> kNames{"client", "server", "network", "capture"};
};

}  // namespace stag
