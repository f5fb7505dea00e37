// SPDX-License-Identifier: GPL-2.0-or-later
//
// A command over many files. It is written once: alone it analyses the files in turn, and with --mpi each file is
// analysed on one of the ranks of a parallel job (scale/team.h), whose results rank 0 takes in the order of the files.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/analysis/analysis.h"
#include "cli/base/common_options.h"
#include "cli/base/output.h"
#include "scale/team.h"

namespace stag::cli {

// Joins the job and runs `run` in it. The exit status of a rank: that of `run` on rank 0, kExitFine on the others, so
// that the launcher's is that of rank 0. Complains, and ends all ranks, when anything is thrown.
int RunInTeam(const std::function<int(scale::Team& team)>& run);

// Whether `trouble` is empty, on every rank of the team (nullptr: there is none); else rank 0 complains of the first.
// Every rank calls it.
bool AllFine(scale::Team* team, const std::string& trouble, Diagnostics& diagnostics = StderrDiagnostics());

// Why not, when standard input is among the files; else empty.
std::string StandardInputTrouble(const CommonOptions& options);

// Runs a command that reads options.files: once, without a team, or with --mpi on every rank, if there are several.
template <typename Options>
int RunOverFiles(const Options& options, int (*run)(const Options&, scale::Team* team)) {
  if (!options.mpi) return run(options, nullptr);
  return RunInTeam([&](scale::Team& team) {
    if (!AllFine(&team, StandardInputTrouble(options))) return kExitTrouble;
    if (team.size() == 1) return run(options, nullptr);
    Options of_team = options;
    of_team.progress = false;                                          // many files at once, and no terminal
    if (of_team.color == Color::kAuto) of_team.color = Color::kNever;  // stdout is the launcher's
    return run(of_team, &team);
  });
}

// The output of a rank, or of a process without team: only rank 0's is seen.
inline Output OutputOf(const CommonOptions& options, const scale::Team* team) {
  return !team || team->leads() ? Output(options) : Output(options, [](std::string_view) {});
}

// What the analysis of one file writes on its rank, in order: results, diagnostics, records of the command's own.
class ResultStream {
 public:
  explicit ResultStream(std::function<void(std::string_view)> append) : append_(std::move(append)) {}
  void Text(std::string_view text) { Put('t', text); }        // for stdout
  void Complaint(std::string_view text) { Put('c', text); }   // for stderr
  void Record(std::string_view record) { Put('r', record); }  // for the command
  // Opened and damaged of the outcome; and whether the command wants nothing more (Output::Stop).
  void End(const FileOutcome& outcome, bool stopped);

 private:
  void Put(char kind, std::string_view what);
  std::function<void(std::string_view)> append_;
};

// With several files, text output has a heading for each where kYes.
enum class Headings : uint8_t { kNo, kYes };

// Calls `analyze` for each file in turn. Returns the exit status: kExitTrouble when a file could not be read or is
// damaged or writing failed, else kExitFine.
int ForEachFile(const CommonOptions& options, Output& output,
                const std::function<FileOutcome(const std::string& file)>& analyze, Headings headings = Headings::kYes);

// The same for a command that can run in a team. Without one (null) `analyze` gets the command's output, and no stream.
// In a team it runs on one of the ranks: there it gets an output whose bytes go to rank 0, and a stream for records;
// `take` gets the records on rank 0. Returns kExitFine on the other ranks.
using AnalyzeFile = std::function<FileOutcome(const std::string& file, Output& output, ResultStream* stream)>;
int ForEachFile(scale::Team* team, const CommonOptions& options, Output& output, const AnalyzeFile& analyze,
                const std::function<void(std::string_view record)>& take = nullptr, Headings headings = Headings::kYes);

}  // namespace stag::cli
