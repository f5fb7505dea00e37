// SPDX-License-Identifier: GPL-2.0-or-later
//
// LimitsRow: how the time of a connection is spent (session/limits/connection_limits.h), as a row.
#pragma once

#include <string_view>

#include "analysis/row_head.h"
#include "session/limits/connection_limits.h"

namespace stag::analysis {

struct LimitsRow {
  LimitsRow() = default;
  LimitsRow(const session::Connection& connection, const session::ConnectionLimits& limits, int64_t origin_ns);

  RowHead head;
  results::Duration span, idle, credit_limited, recovery, moving_data, server, unknown;
  std::string_view verdict;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::LimitsRow> : Of<analysis::LimitsRow> {
  static constexpr std::string_view kType = "limits";
  static constexpr std::string_view kDoc =
      "How the time of a connection is spent from its first Call to its last Reply, or to its last frame where a Call "
      "stays unanswered; Calls of the server are left out. At each moment the first of these parts that holds; "
      "together they are the span. A Call whose answer was not captured is outstanding for nobody.";
  static constexpr std::array kMembers = {
      Inline<&Row::head>(),
      Member<&Row::span>("span_us", "All of it.").Column("span"),
      Member<&Row::idle>("idle_us", "No Call is outstanding.").Column("idle"),
      Member<&Row::credit_limited>("credit_limited_us",
                                   "As many Calls are outstanding as credits allow: min(granted, requested), from the "
                                   "first Reply on.")
          .Column("credits"),
      Member<&Row::recovery>("recovery_us", "From an RNR NAK or sequence NAK to the packet that mends it.")
          .Column("recovery"),
      Member<&Row::moving_data>("moving_data_us",
                                "From the first to the last RDMA Read of an RPC, or from its first to its last RDMA "
                                "Write.")
          .Column("data"),
      Member<&Row::server>("server_us", "The rest: the server has a Call.").Column("server"),
      Member<&Row::unknown>("unknown_us",
                            "No Call is known to be outstanding, and one may be: its answer, or the Call, was not "
                            "captured. All of the span, where the capture has one direction alone, or a sample.")
          .Column("unknown"),
      Member<&Row::verdict>("verdict",
                            "The largest part; recovery, where that is a tenth of the time that is not idle, or more; "
                            "unknown where no Call was captured, or no time passed.")
          .Column("verdict"),
  };
};

}  // namespace stag::results
