// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/connection_list.h"

#include <algorithm>
#include <utility>

namespace stag::conformance {

void ConnectionList::Add(const session::Connection& connection) {
  if (connection.proof != session::Proof::kRpcRdma) return;
  if (kept_ == limit_) {
    ++left_out_;
    return;
  }
  ++kept_;
  connections_.push_back(connection);
}

std::vector<session::Connection> ConnectionList::Take() {
  std::ranges::sort(connections_, {}, [](const session::Connection& c) { return c.info.id; });
  return std::exchange(connections_, {});
}

}  // namespace stag::conformance
