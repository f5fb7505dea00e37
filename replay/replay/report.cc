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

ProcedureReport& PlayReport::Of(const PlannedProcedure& procedure) {
  const bool room = procedures.size() < kProcedures || procedures.contains(procedure);
  return procedures[room ? procedure : PlannedProcedure{}];
}

void PlayReport::Trouble(std::string text) {
  if (troubles.size() < kTroubles || troubles.contains(text)) ++troubles[std::move(text)];
}

void PlayReport::Merge(const PlayReport& other) {
  for (const auto& [procedure, of_it] : other.procedures) Of(procedure).Merge(of_it);
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
        &PlayReport::forgotten, &PlayReport::credit_stalls, &PlayReport::slot_stalls, &PlayReport::backward_calls,
        &PlayReport::sent_bytes, &PlayReport::received_bytes})
    this->*count += other.*count;
  max_outstanding = std::max(max_outstanding, other.max_outstanding);
  stopped |= other.stopped;
  rooted |= other.rooted;
  elapsed = std::max(elapsed, other.elapsed);
}

ProcedureReport PlayReport::Total() const {
  ProcedureReport total;
  for (const auto& [procedure, one] : procedures) total.Merge(one);
  return total;
}

double PlayReport::MatchPercent() const {
  uint64_t compared = 0, matched = 0;
  for (const auto& [procedure, one] : procedures) compared += one.compared, matched += one.matched;
  return compared == 0 ? 100 : 100.0 * static_cast<double>(matched) / static_cast<double>(compared);
}

}  // namespace stag::replay
