// SPDX-License-Identifier: GPL-2.0-or-later
//
// The output of stag probe: the catalogue, and each probe as it ends, as text, JSON lines, JUnit's XML or a page of
// HTML.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/output.h"
#include "cli/live/probe_run.h"
#include "replay/probe/runner.h"

namespace stag::cli {

// The outcome of a probe that can harm its peer and is not named in `dangerous`; nullopt: it may run. `peer`: "server"
// or "client".
std::optional<probe::Outcome> KeptBack(const probe::Probe& probe, std::string_view peer,
                                       const std::vector<std::string>& dangerous);

// A probe as the catalogue has it.
struct ListedProbe {
  const probe::Probe* probe = nullptr;
  std::string_view peer;
};
// --list and --explain.
void PutProbeTable(std::string& out, std::span<const ListedProbe> probes, Format format, const Style& style);
void PutProbeExplanation(std::string& out, const ListedProbe& probe, Format format, const Style& style);

class ProbeReport {
 public:
  // `output` must outlive this.
  ProbeReport(Output& output, const CommonOptions& options) : output_(output), options_(options) {}
  // `server`: as the user gave it.
  void Begin(const std::string& server, std::string_view transport, const probe::Target& target);
  // Of a client. `command`: as the user gave it; empty: a load of our own.
  void BeginClient(const std::string& command, std::string_view transport, uint16_t port);
  void Add(const probe::Probe& probe, const probe::Outcome& outcome);
  // `not_run`: probes that were selected; `why` they were not run.
  void Finish(size_t not_run, std::string_view why);
  size_t count(probe::Verdict verdict) const { return counts_[static_cast<size_t>(verdict)]; }

 private:
  void Keep(const probe::Probe& probe, const probe::Outcome& outcome);
  void PutText(const probe::Probe& probe, const probe::Outcome& outcome);
  void PutJsonl(const probe::Probe& probe, const probe::Outcome& outcome);
  void PutJunit(const probe::Probe& probe, const probe::Outcome& outcome);

  Output& output_;
  const CommonOptions& options_;
  ProbeRun run_;       // with results for HTML only
  std::string cases_;  // JUnit: so far
  std::array<size_t, 4> counts_{};
  std::chrono::nanoseconds time_{0};
};

}  // namespace stag::cli
