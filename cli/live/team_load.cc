// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/team_load.h"

#include <filesystem>
#include <thread>

namespace stag::cli {

void SettleForRank(LiveOptions& options, const scale::Team& team) {
  options.progress = false;
  if (options.color == Color::kAuto && team.size() > 1) options.color = Color::kNever;
  if (options.record.empty()) return;
  std::filesystem::path path = options.record;
  const std::string extension = path.extension();
  options.record = path.replace_extension(std::to_string(team.rank()) + extension);
}

std::string TeamTrouble(const LiveOptions& options) {
  if (options.check) return "--check judges one process: with --mpi give --record, then check the recordings";
  return StandardInputTrouble(options);
}

std::chrono::steady_clock::time_point BeginTogether(scale::Team& team) {
  using std::chrono::duration_cast;
  using std::chrono::steady_clock;
  const auto left = scale::SynchronizedStart(team) - std::chrono::system_clock::now();
  const auto now = steady_clock::now();
  const auto begin = std::max(now, now + duration_cast<steady_clock::duration>(left));
  std::this_thread::sleep_until(begin);
  return begin;
}

}  // namespace stag::cli
