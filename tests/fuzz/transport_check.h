// SPDX-License-Identifier: GPL-2.0-or-later
//
// What transport statistics must be, whatever the packets were.
#pragma once

#include <cstdlib>

#include "session/transport/transport_statistics.h"

namespace stag::test {

inline void CheckTransport(const transport::TransportStatistics& statistics, fabric::ConnectionId connections) {
  const auto require = [](bool condition) {
    if (!condition) std::abort();
  };
  for (fabric::ConnectionId id = 1; id <= connections; ++id) {
    const auto health = statistics.Find(id);
    if (!health) continue;
    require(health->info.id == id && health->episodes.size() <= transport::Health::kMostEpisodes);
    for (const transport::Counters& n : health->sent) {
      require(n.retransmitted + n.repeated_responses + n.out_of_order <= n.packets);
      require(n.go_back_n + n.timeouts <= n.retransmitted && n.after_rnr <= n.retransmitted);
      require(n.changed <= n.packets && n.rnr_stall_ns >= 0);
    }
    for (const transport::Episode& episode : health->episodes) require(episode.side < 2 && episode.cost_ns() >= 0);
  }
}

}  // namespace stag::test
