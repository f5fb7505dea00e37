// SPDX-License-Identifier: GPL-2.0-or-later
//
// A LoadReport, as protocol/base/carry.h carries it.
#pragma once

#include "replay/generate/report.h"
#include "replay/rpcrdma/carry.h"

namespace stag {

template <typename Fn>
void Members(generate::Failure& v, Fn fn) {
  auto& [calls, sample] = v;
  fn(calls, sample);
}
template <typename Fn>
void Members(generate::OperationReport& v, Fn fn) {
  auto& [calls, ok, bytes, failures, latency] = v;
  fn(calls, ok, bytes, failures, latency);
}
template <typename Fn>
void Members(generate::LoadReport& v, Fn fn) {
  auto& [operations, lost, resent, unsent, wrong, short_transfers, verified_bytes, unknown_bytes, range_waits,
         credit_stalls, credit_stalled, max_outstanding, grant, connections, connections_lost, reconnects, abandoned,
         backward_calls, troubles, seconds, interrupted] = v;
  fn(operations, lost, resent, unsent, wrong, short_transfers, verified_bytes, unknown_bytes, range_waits,
     credit_stalls, credit_stalled, max_outstanding, grant, connections, connections_lost, reconnects, abandoned,
     backward_calls, troubles, seconds, interrupted);
}

}  // namespace stag
