// SPDX-License-Identifier: GPL-2.0-or-later
//
// The output of stag probe: the catalogue, and each probe as it ends, as text, rows, JUnit's XML or a page of HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/base/row_output.h"
#include "cli/live/live_monitor.h"
#include "cli/live/probe_run.h"

namespace stag::cli {

// --list and --explain, as text.
void PutProbeTable(std::string& out, const std::vector<ListedProbe>& probes, const Style& style);
void PutProbeExplanation(std::string& out, const ListedProbe& probe, const Style& style);

class ProbeReport {
 public:
  // `output` must outlive this.
  ProbeReport(Output& output, const CommonOptions& options);
  void Begin(const ProbedServer& server);
  void Begin(const ProbedClient& client);
  // Has `runner` run probes until the peer is gone or a signal comes; those that can harm it only where `dangerous`
  // names them.
  template <typename P, typename Runner>
  void Run(const std::vector<const P*>& selected, const std::vector<std::string>& dangerous, Runner& runner,
           const Signals& signals) {
    size_t run = 0;
    while (run < selected.size() && !runner.gone() && !signals.caught() && !output_.stopped()) {
      const P& probe = *selected[run++];
      const auto kept = KeptBack(probe, dangerous);
      Add(probe, kept ? *kept : runner.Run(probe));
    }
    Finish(selected.size() - run,
           runner.gone() ? fmt::format("the {} is gone", NameOf(run_.peer)) : std::string("interrupted"));
  }
  bool failed() const { return run_.counts.failed > 0; }

 private:
  // The outcome of a probe that can harm its peer and is not named; nullopt: it may run.
  std::optional<probe::Outcome> KeptBack(const probe::Probe& probe, const std::vector<std::string>& dangerous) const;
  void Add(const probe::Probe& probe, const probe::Outcome& outcome);
  // `not_run`: probes that were selected; `why` they were not run.
  void Finish(size_t not_run, std::string_view why);
  void PutText(const ProbeResult& result);
  void PutJunit(const ProbeResult& result);

  Output& output_;
  const CommonOptions& options_;
  RowOutput rows_;
  ProbeRun run_;       // with results for HTML only
  std::string cases_;  // JUnit: so far
  std::chrono::nanoseconds time_{0};
};

}  // namespace stag::cli
