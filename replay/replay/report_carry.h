// SPDX-License-Identifier: GPL-2.0-or-later
//
// A PlayReport, as protocol/base/carry.h carries it.
#pragma once

#include "replay/replay/report.h"
#include "replay/rpcrdma/carry.h"

namespace stag {

template <typename Fn>
void Members(replay::AnswerStatus& v, Fn fn) {
  auto& [kind, code] = v;
  fn(kind, code);
}
template <typename Fn>
void Members(replay::PlannedProcedure& v, Fn fn) {
  auto& [program, version, procedure, op] = v;
  fn(program, version, procedure, op);
}
template <typename Fn>
void Members(replay::ProcedureReport& v, Fn fn) {
  auto& [sent, answered, lost, timed_out, not_sent, resent, put_off, compared, matched, identical, latency] = v;
  fn(sent, answered, lost, timed_out, not_sent, resent, put_off, compared, matched, identical, latency);
}
template <typename Fn>
void Members(replay::Difference& v, Fn fn) {
  auto& [frame, xid, procedure, client, recorded, live] = v;
  fn(frame, xid, procedure, client, recorded, live);
}
template <typename Fn>
void Members(replay::PlayReport& v, Fn fn) {
  auto& [procedures, differences, more_differences, troubles, connections, reconnects, loops, unknown, forgotten,
         credit_stalls, slot_stalls, backward_calls, sent_bytes, received_bytes, max_outstanding, stopped, rooted,
         elapsed] = v;
  fn(procedures, differences, more_differences, troubles, connections, reconnects, loops, unknown, forgotten,
     credit_stalls, slot_stalls, backward_calls, sent_bytes, received_bytes, max_outstanding, stopped, rooted, elapsed);
}

}  // namespace stag
