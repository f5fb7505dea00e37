// SPDX-License-Identifier: GPL-2.0-or-later
//
// The fabric's part in one connection, as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/blame.h"
#include "cli/base/output.h"
#include "session/rpcrdma/connection.h"
#include "session/transport/transport.h"

namespace stag::cli {

// A block for people: head line, table, and sentences. `origin_ns`: time 0. `episodes`: how many of them, those that
// cost the most (0: all).
void PutTransportText(std::string& out, const session::Connection& connection, const transport::Health& health,
                      int64_t origin_ns, size_t episodes, const Style& style);

// A counter of a side, as tables show it.
struct TransportColumn {
  std::string_view name;
  uint64_t (*value)(const transport::Counters&);
  bool always;  // also when it is zero
  bool bad;     // what is not zero is coloured
};
// Those that say something about the connection.
std::vector<const TransportColumn*> TransportColumns(const session::Connection& connection,
                                                     const transport::Health& health);

// What is wrong, as far as the counters tell: a sentence, and a frame to look at (0: there is none). The worst first.
struct TransportTrouble {
  std::string_view kind;  // docs/records.md, the summary
  std::optional<analysis::Blame> blames;
  std::string text;
  uint64_t frame = 0;
  int64_t lost_ns = 0;  // that somebody waited, where the counters tell
};
std::vector<TransportTrouble> TransportTroubles(const session::Connection& connection, const transport::Health& health);

}  // namespace stag::cli
