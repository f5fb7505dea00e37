// SPDX-License-Identifier: GPL-2.0-or-later
//
// --mpi of the commands that load a live server: all ranks begin at one moment, and rank 0 reports what all came to.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "cli/analysis/file_runner.h"
#include "cli/live/live_monitor.h"
#include "protocol/base/serialize.h"
#include "scale/collectives.h"

namespace stag::cli {

// Gives each rank a recording of its own, "load.3.pcapng" for "load.pcapng", and no progress bar.
void SettleForRank(LiveOptions& options, const scale::Team& team);
// The option that a team cannot have, as a message; or empty.
std::string TeamTrouble(const LiveOptions& options);

// Waits until all ranks are here, and then for the moment at which they begin (scale::SynchronizedStart). Returns it.
std::chrono::steady_clock::time_point BeginTogether(scale::Team& team);

// On rank 0, merges the reports of the others into `report` and returns the worst exit status of all; elsewhere returns
// `status`.
template <typename Report>
int MergeReports(scale::Team* team, int status, Report& report) {
  if (!team) return status;
  const std::vector<std::string> all = scale::Gather(*team, Pack(status, report));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    int of_rank = kExitFine;
    Report other;
    if (!Unpack(all[rank], of_rank, other)) throw std::runtime_error("another rank sent what is no report");
    status = std::max(status, of_rank);
    report.Merge(other);
  }
  return status;
}

// A command: `run` alone, with no team, or with --mpi on every rank.
template <typename Options>
int RunLoad(const Options& options, int (*run)(Options options, scale::Team* team)) {
  if (!options.mpi) return run(options, nullptr);
  const Signals blocked;  // before MPI starts threads, which would take a signal that is for the command
  return RunInTeam([&](scale::Team& team) {
    Options of_rank = options;
    if (!AllFine(&team, TeamTrouble(options))) return kExitTrouble;
    SettleForRank(of_rank, team);
    return run(of_rank, &team);
  });
}

}  // namespace stag::cli
