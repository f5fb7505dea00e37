// SPDX-License-Identifier: GPL-2.0-or-later
//
// --mpi: commands on all ranks of a parallel job (scale/team.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/analysis.h"
#include "cli/common_options.h"
#include "cli/output.h"
#include "scale/team.h"

namespace stag::cli {

// Joins the job and runs `run` in it. The exit status of a rank: that of `run` on rank 0, kExitFine on the others, so
// that the launcher's is that of rank 0. Complains, and ends all ranks, when anything is thrown.
int RunInTeam(const std::function<int(scale::Team& team)>& run);

// The output of a rank, or of a process without team: only rank 0's is seen.
inline Output OutputOf(const CommonOptions& options, const scale::Team* team) {
  return !team || team->leads() ? Output(options) : Output(options, [](std::string_view) {});
}

// Whether `trouble` is empty on every rank; else rank 0 complains of the first. Every rank calls it.
bool AllFine(scale::Team& team, const std::string& trouble);

// Why not, when standard input is among the files; else empty.
std::string StandardInputTrouble(const CommonOptions& options);

// A command that reads options.files: `alone`, or with --mpi `in_team`, if there are several ranks.
template <typename Options>
int RunOverFiles(const Options& options, int (*alone)(const Options&), int (*in_team)(const Options&, scale::Team&)) {
  if (!options.mpi) return alone(options);
  return RunInTeam([&](scale::Team& team) {
    if (!AllFine(team, StandardInputTrouble(options))) return kExitTrouble;
    if (team.size() == 1) return alone(options);
    Options of_team = options;
    of_team.progress = false;                                          // many files at once, and no terminal
    if (of_team.color == Color::kAuto) of_team.color = Color::kNever;  // stdout is the launcher's
    return in_team(of_team, team);
  });
}

// What the analysis of one file says, on whichever rank, in its order; rank 0 takes it in the order of the files.
class FileSays {
 public:
  explicit FileSays(std::function<void(std::string_view)> append) : append_(std::move(append)) {}
  void Text(std::string_view text) { Put('t', text); }        // for stdout
  void Complaint(std::string_view text) { Put('c', text); }   // for stderr
  void Record(std::string_view record) { Put('r', record); }  // for the command itself
  void End(const Outcome& outcome);                           // what matters of it: opened, damaged

 private:
  void Put(char kind, std::string_view what);
  std::function<void(std::string_view)> append_;
};

// ForEachFile over the ranks of a team of several, each file on one of them. `analyze`, on any rank and beside itself:
// complaints are taken care of, and what it writes to `output`. `take`, on rank 0: a record. Returns kExitFine on the
// other ranks.
int ForEachFileOfTeam(scale::Team& team, const CommonOptions& options, Output& output,
                      const std::function<Outcome(const std::string& file, Output& output, FileSays& says)>& analyze,
                      const std::function<void(std::string_view record)>& take, Headings headings = Headings::kYes);

}  // namespace stag::cli
