// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/play/report.h"

namespace stag::replay {

ProcedureReport PlayReport::Total() const {
  ProcedureReport total;
  for (const ProcedureReport& one : procedures) {
    total.sent += one.sent;
    total.answered += one.answered;
    total.lost += one.lost;
    total.timed_out += one.timed_out;
    total.not_sent += one.not_sent;
    total.resent += one.resent;
    total.put_off += one.put_off;
    total.compared += one.compared;
    total.matched += one.matched;
    total.identical += one.identical;
    total.latency.Merge(one.latency);
  }
  return total;
}

double PlayReport::MatchPercent() const {
  uint64_t compared = 0, matched = 0;
  for (const ProcedureReport& one : procedures) compared += one.compared, matched += one.matched;
  return compared == 0 ? 100 : 100.0 * static_cast<double>(matched) / static_cast<double>(compared);
}

}  // namespace stag::replay
