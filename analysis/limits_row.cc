// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/limits_row.h"

namespace stag::analysis {

LimitsRow::LimitsRow(const session::Connection& connection, const session::ConnectionLimits& limits, int64_t origin_ns)
    : head(connection, origin_ns), span{limits.span_ns} {
  using session::Limit;
  const auto of = [&limits](Limit limit) { return results::Duration{limits.ns[static_cast<size_t>(limit)]}; };
  idle = of(Limit::kIdle);
  credit_limited = of(Limit::kCreditLimited);
  recovery = of(Limit::kRecovery);
  moving_data = of(Limit::kMovingData);
  server = of(Limit::kServer);
  unknown = of(Limit::kUnknown);
  verdict = session::kLimitNames[static_cast<size_t>(limits.verdict())];
}

}  // namespace stag::analysis
