// SPDX-License-Identifier: GPL-2.0-or-later
//
// The records of stag probe: the catalogue, a run, and runs side by side.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/probe/probe.h"
#include "results/record.h"

namespace stag::cli {

enum class ProbedPeer : uint8_t { kServer, kClient };

// A probe, as all records have it.
struct ProbeName {
  ProbeName() = default;
  explicit ProbeName(const probe::Probe& probe);

  std::string id, title;
  std::vector<std::string> spec, rules;
};

// --list and --explain.
struct ListedProbe {
  ProbeName probe;
  std::string_view asks;
  ProbedPeer peer = ProbedPeer::kServer;
  std::string_view danger;
};

struct ProbedServer {
  std::string to;  // as the user gave it
  std::string_view transport;
  uint32_t program = 0, version = 0;
  bool program_known = false, has_file = false;
};
struct ProbedClient {
  std::string command;  // as the user gave it; empty: a load of our own
  std::string_view transport;
  uint16_t port = 0;
};

struct ProbeResult {
  ProbeName probe;
  probe::Outcome outcome;
};

struct ProbeCounts {
  uint64_t probes = 0, passed = 0, failed = 0, inconclusive = 0, skipped = 0;
  uint64_t not_run = 0;     // probes that were selected
  std::string why_not_run;  // may be empty

  void Add(probe::Verdict verdict);
  uint64_t Of(probe::Verdict verdict) const;
};

struct ProbeSummary {
  ProbeCounts counts;
  std::chrono::nanoseconds time{0};
};

struct ProbeRun {
  const ProbeResult* Find(std::string_view id) const;  // nullptr: it has none

  std::string name;  // in headings; of several runs each has its own
  std::string file;  // empty: it was not read from one
  ProbedPeer peer = ProbedPeer::kServer;
  std::string to;         // as the user named it: a server, or the command of a client
  std::string transport;  // "iwarp"
  ProbeCounts counts;
  bool ended = false;  // it has its summary
  std::vector<ProbeResult> results;
};

// A probe, and its result in each run, in their order.
struct ComparedProbe {
  ProbeName probe;
  bool differs = false;  // two of the results have different verdicts
  std::vector<std::pair<std::string_view, std::optional<probe::Verdict>>> verdicts;
  std::vector<std::pair<std::string_view, std::optional<probe::Outcome>>> results;
};

struct ComparisonSummary {
  uint64_t runs = 0, probes = 0, differing = 0;
};

}  // namespace stag::cli

template <>
struct stag::EnumNames<stag::cli::ProbedPeer> {
  static constexpr std::array<std::string_view, 2> kNames = {"server", "client"};
};

namespace stag::results {

template <>
struct As<std::chrono::nanoseconds> {
  static constexpr Type kType{Kind::kDecimal};
  static Value Of(std::chrono::nanoseconds v) { return Value::Decimal(std::chrono::duration<double>(v).count(), 6); }
};

template <>
struct Record<cli::ProbeName> : Part<cli::ProbeName> {
  static constexpr std::array kMembers = {
      Member<&Row::id>("id", "Its name: the topic, a dot and a word; it never changes its meaning.").Column("probe"),
      TextOrNull<&Row::title>("title", "The probe's demand on its peer, in some words.").Column("title"),
      Member<&Row::spec>("spec", "Sections of the specification that it tests."),
      Member<&Row::rules>("rules", "Rules of the conformance catalogue that it tests."),
  };
};

template <>
struct Record<cli::ListedProbe> : Of<cli::ListedProbe> {
  static constexpr std::string_view kType = "probe", kDoc = "A probe of the catalogue.";
  static constexpr std::array kMembers = {
      Inline<&Row::probe>(),
      TextOrNull<&Row::asks>("asks", "How the probe acts, and the outcome that it demands."),
      Member<&Row::peer>("peer", "The peer that it is for.").Column("peer"),
      TextOrNull<&Row::danger>("danger", "The harm that it can do to its peer; null: it does none.").Column("danger"),
  };
};

template <>
struct Record<cli::ProbedServer> : Of<cli::ProbedServer> {
  static constexpr std::string_view kType = "server", kDoc = "The first line: the server that is probed.";
  static constexpr std::array kMembers = {
      TextOrNull<&Row::to>("to", "The server, as the command line names it."),
      TextOrNull<&Row::transport>("transport", "Name of the transport."),
      Member<&Row::program>("program", "RPC program that the probes call."),
      Member<&Row::version>("version", "Version of the program."),
      Member<&Row::program_known>("program_known", "The server has the program."),
      Member<&Row::has_file>("export", "The probes have a file in an NFSv3 export."),
  };
};
template <>
struct Record<cli::ProbedClient> : Of<cli::ProbedClient> {
  static constexpr std::string_view kType = "client", kDoc = "The first line: the client that is probed.";
  static constexpr std::array kMembers = {
      TextOrNull<&Row::command>("command", "The command that makes the client work; null: a load of stag generate."),
      TextOrNull<&Row::transport>("transport", "Name of the transport."),
      Member<&Row::port>("port", "Port that the client connects to."),
  };
};

template <>
struct Record<probe::Outcome> : Part<probe::Outcome> {
  static constexpr std::array kMembers = {
      Member<&Row::verdict>("verdict", "How the probe came out.").Column("verdict"),
      TextOrNull<&Row::expected>("expected",
                                 "The answer that the specification asks for; null: the probe did not fail, "
                                 "or findings alone made it fail.")
          .Column("expected"),
      TextOrNull<&Row::came>("came", "The answer that came; null as `expected`.").Column("came"),
      TextOrNull<&Row::during>("case", "The case of the probe that failed; null: none, or the probe has one case."),
      TextOrNull<&Row::why>("why", "The reason that the probe is inconclusive or skipped."),
      Member<&Row::findings>("findings",
                             "Errors of the peer that the conformance engine found; they make a probe fail."),
      Member<&Row::advice>("advice", "Things that are allowed, and yet not as they should be."),
      Member<&Row::time>("seconds", "Time that the probe took.").In("seconds").Column("time"),
  };
};
template <>
struct Record<cli::ProbeResult> : Of<cli::ProbeResult> {
  static constexpr std::string_view kType = "probe", kDoc = "A probe, when it has ended.";
  static constexpr std::array kMembers = {Inline<&Row::probe>(), Inline<&Row::outcome>()};
};

template <>
struct Record<cli::ProbeCounts> : Part<cli::ProbeCounts> {
  static constexpr std::array kMembers = {
      Member<&Row::probes>("probes", "Probes that were run, or skipped."),
      Member<&Row::passed>("passed", "Probes that passed."),
      Member<&Row::failed>("failed", "Probes that failed."),
      Member<&Row::inconclusive>("inconclusive", "Probes whose answers are allowed, and do not tell."),
      Member<&Row::skipped>("skipped", "Probes for which something was missing."),
      Member<&Row::not_run>("not_run", "Probes that were selected and not run."),
      TextOrNull<&Row::why_not_run>("why_not_run", "The reason for that; null: all were run."),
  };
};
template <>
struct Record<cli::ProbeSummary> : Of<cli::ProbeSummary> {
  static constexpr std::string_view kType = "summary", kDoc = "The last line of a run.";
  static constexpr std::array kMembers = {
      Inline<&Row::counts>(),
      Member<&Row::time>("seconds", "Time that all probes took.").In("seconds"),
  };
};

template <>
struct Record<cli::ProbeRun> : Of<cli::ProbeRun> {
  static constexpr std::string_view kType = "run", kDoc = "With --compare, the first lines: a run.";
  static constexpr std::array kMembers = {
      Member<&Row::name>("name", "Name of the run: that of --name, or of its file."),
      TextOrNull<&Row::file>("file", "File that it was read from."),
      Member<&Row::peer>("peer", "The peer that was probed."),
      TextOrNull<&Row::to>("to", "The server; or the command of the client."),
      TextOrNull<&Row::transport>("transport", "Name of the transport."),
      Inline<&Row::counts>(),
      Member<&Row::ended>("ended", "The file has the summary of the run."),
  };
};
template <>
struct Record<cli::ComparedProbe> : Of<cli::ComparedProbe> {
  static constexpr std::string_view kType = "comparison", kDoc = "With --compare: a probe in all runs.";
  static constexpr std::array kMembers = {
      Inline<&Row::probe>(),
      Member<&Row::differs>("differs", "Two runs have different verdicts.").Column("differs"),
      Member<&Row::verdicts>("verdicts", "How the probe came out, by the name of the run; null: it is not in that run.")
          .Column("verdicts"),
      Member<&Row::results>("results", "The result, by the name of the run; null: the probe is not in that run."),
  };
};
template <>
struct Record<cli::ComparisonSummary> : Of<cli::ComparisonSummary> {
  static constexpr std::string_view kType = "summary", kDoc = "With --compare: the last line.";
  static constexpr std::array kMembers = {
      Member<&Row::runs>("runs", "Runs."),
      Member<&Row::probes>("probes", "Probes that are in any run."),
      Member<&Row::differing>("differing", "Probes that came out differently."),
  };
};

}  // namespace stag::results
