// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/report.h"

#include <algorithm>

namespace stag::replay {

void ProcedureReport::Merge(const ProcedureReport& other) {
  for (uint64_t ProcedureReport::*count :
       {&ProcedureReport::sent, &ProcedureReport::answered, &ProcedureReport::lost, &ProcedureReport::timed_out,
        &ProcedureReport::not_sent, &ProcedureReport::resent, &ProcedureReport::put_off, &ProcedureReport::compared,
        &ProcedureReport::matched, &ProcedureReport::identical})
    this->*count += other.*count;
  latency.Merge(other.latency);
}

void PlayReport::Merge(const PlayReport& other) {
  procedures.resize(std::max(procedures.size(), other.procedures.size()));
  for (size_t i = 0; i < other.procedures.size(); ++i) procedures[i].Merge(other.procedures[i]);
  more_differences += other.more_differences;
  for (const Difference& difference : other.differences) {
    if (differences.size() < kDifferences) {
      differences.push_back(difference);
    } else {
      ++more_differences;
    }
  }
  for (const auto& [text, times] : other.troubles) troubles[text] += times;
  for (uint64_t PlayReport::*count :
       {&PlayReport::connections, &PlayReport::reconnects, &PlayReport::loops, &PlayReport::unknown,
        &PlayReport::credit_stalls, &PlayReport::slot_stalls, &PlayReport::backward_calls, &PlayReport::sent_bytes,
        &PlayReport::received_bytes})
    this->*count += other.*count;
  max_outstanding = std::max(max_outstanding, other.max_outstanding);
  stopped |= other.stopped;
  elapsed = std::max(elapsed, other.elapsed);
}

ProcedureReport PlayReport::Total() const {
  ProcedureReport total;
  for (const ProcedureReport& one : procedures) total.Merge(one);
  return total;
}

double PlayReport::MatchPercent() const {
  uint64_t compared = 0, matched = 0;
  for (const ProcedureReport& one : procedures) compared += one.compared, matched += one.matched;
  return compared == 0 ? 100 : 100.0 * static_cast<double>(matched) / static_cast<double>(compared);
}

}  // namespace stag::replay
