// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_report.h"

#include <algorithm>

#include "cli/live/latency_text.h"
#include "cli/live/probe_comparison.h"
#include "protocol/rpc/message.h"
#include "replay/rpcrdma/echo_program.h"
#include "text/markup.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Probe;
using probe::Verdict;

// The details of an outcome, in lines that begin with their names.
void PutDetails(std::string& out, const Outcome& outcome, std::string_view indent) {
  const auto line = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) Put(out, "{}{:<10}{}\n", indent, name, Printable(text));
  };
  line("expected", outcome.expected);
  line("came", outcome.came);
  line("case", outcome.during);
  line("because", outcome.why);
  for (const std::string& finding : outcome.findings) line("finding", finding);
  for (const std::string& advice : outcome.advice) line("advice", advice);
}

std::string ProgramText(const ProbedServer& server) {
  if (!server.program_known) return "no program known";
  if (server.program == rpcrdma::kEchoProgram) return "ECHO";
  const char* name = rpc::ProgramName(server.program, server.version);
  return fmt::format("{} version {}", name ? name : std::to_string(server.program), server.version);
}

}  // namespace

void PutProbeTable(std::string& out, const std::vector<ListedProbe>& probes, const Style& style) {
  Put(out, "{}{:<30}WHAT THE {} IS TO DO{}\n", style.bold, "PROBE",
      !probes.empty() && probes[0].peer == ProbedPeer::kClient ? "CLIENT" : "SERVER", style.reset);
  for (const ListedProbe& listed : probes)
    Put(out, "{:<30}{}{}\n", listed.probe.id, listed.probe.title, listed.danger.empty() ? "" : " (--dangerous)");
  Put(out, "{}; stag probe --explain PROBE tells more\n", Count(probes.size(), "probe"));
}

void PutProbeExplanation(std::string& out, const ListedProbe& listed, const Style& style) {
  constexpr size_t kWidth = 100;
  const ProbeName& probe = listed.probe;
  const std::string_view peer = NameOf(listed.peer);
  Put(out, "{}{}{}: {}\n\n{}\n", style.bold, probe.id, style.reset, probe.title, Wrapped(listed.asks, 2, kWidth));
  if (!listed.danger.empty())
    Put(out, "{}\n",
        Wrapped(fmt::format("It can harm a {}: {}. --dangerous {} runs it.", peer, listed.danger, probe.id), 2,
                kWidth));
  Put(out, "  {}of a{}          {}\n", style.bold, style.reset, peer);
  Put(out, "  {}specification{} {}\n", style.bold, style.reset, fmt::join(probe.spec, ", "));
  if (!probe.rules.empty())
    Put(out, "  {}rules{}         {}; stag explain RULE tells more\n", style.bold, style.reset,
        fmt::join(probe.rules, ", "));
}

ProbeReport::ProbeReport(Output& output, const CommonOptions& options)
    : output_(output), options_(options), rows_(output, options, results::InfoOf<ProbeResult>(), std::nullopt) {
  SetDocument(output, options, results::InfoOf<ProbeResult>(), false);
}

void ProbeReport::Begin(const ProbedClient& client) {
  run_.peer = ProbedPeer::kClient;
  run_.to = client.command.empty() ? "stag generate" : client.command;
  run_.transport = client.transport;
  if (rows_.as_text() && !options_.quiet)
    Put(output_.buffer(), "{} by {}, port {}\n", Printable(run_.to), client.transport, client.port);
  rows_.PutOther(client);
  output_.Flush();
}

void ProbeReport::Begin(const ProbedServer& server) {
  run_.to = server.to;
  run_.transport = server.transport;
  if (rows_.as_text() && !options_.quiet)
    Put(output_.buffer(), "{} by {}: {}{}\n", Printable(server.to), server.transport, ProgramText(server),
        server.has_file ? ", with a file in the export" : "");
  rows_.PutOther(server);
  output_.Flush();
}

std::optional<Outcome> ProbeReport::KeptBack(const Probe& probe, const std::vector<std::string>& dangerous) const {
  if (probe.danger.empty() || std::ranges::find(dangerous, probe.id) != dangerous.end()) return {};
  Outcome outcome;
  outcome.verdict = Verdict::kSkipped;
  outcome.why = fmt::format("it can harm a {}: {}; --dangerous {} runs it", NameOf(run_.peer), probe.danger, probe.id);
  return outcome;
}

void ProbeReport::Add(const Probe& probe, const Outcome& outcome) {
  run_.counts.Add(outcome.verdict);
  time_ += outcome.time;
  ProbeResult result{ProbeName(probe), outcome};
  switch (options_.format) {
    case Format::kJunit: PutJunit(result); break;
    case Format::kHtml: run_.results.push_back(std::move(result)); break;
    case Format::kText: PutText(result); break;
    default: rows_.Put(result);
  }
  output_.Flush();
}

void ProbeReport::PutText(const ProbeResult& result) {
  const Outcome& outcome = result.outcome;
  if (options_.quiet && outcome.verdict != Verdict::kFailed) return;
  const Style& style = output_.style();
  std::string text;
  Put(text, "{}{:<13}{}{:<30}{}\n", ColorOf(outcome.verdict, style), NameOf(outcome.verdict), style.reset,
      result.probe.id, result.probe.title);
  PutDetails(text, outcome, "             ");
  if (outcome.verdict == Verdict::kFailed)
    Put(text, "             {:<10}{}\n", "asked by", fmt::join(result.probe.spec, ", "));
  rows_.Put(result, text);
}

void ProbeReport::PutJunit(const ProbeResult& result) {
  const auto& [probe, outcome] = result;
  std::string details;
  PutDetails(details, outcome, "");
  const std::string text = Markup(details);
  cases_ +=
      fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\">", probe.id.substr(0, probe.id.find('.')),
                  Markup(fmt::format("{} {}", probe.id, probe.title)), Seconds(outcome.time));
  if (outcome.verdict == Verdict::kFailed) {
    const std::string first = outcome.came.empty()
                                  ? outcome.findings.front()
                                  : fmt::format("expected {}; came {}", outcome.expected, outcome.came);
    cases_ += fmt::format("<failure message=\"{}\" type=\"probe\">{}</failure>", Markup(first), text);
  } else if (outcome.verdict != Verdict::kPassed) {
    cases_ += fmt::format("<skipped message=\"{}: {}\"/>", NameOf(outcome.verdict), Markup(outcome.why));
  } else if (!text.empty()) {
    cases_ += fmt::format("<system-out>{}</system-out>", text);
  }
  cases_ += "</testcase>\n";
}

void ProbeReport::Finish(size_t not_run, std::string_view why_not_run) {
  ProbeCounts& counts = run_.counts;
  counts.not_run = not_run;
  if (not_run > 0) counts.why_not_run = why_not_run;
  std::string& out = output_.buffer();
  rows_.Finish();
  switch (options_.format) {
    case Format::kJunit:
      Put(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stag probe\">\n<testsuite name=\"{}\" "
          "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.6f}\">\n{}</testsuite>\n</testsuites>\n",
          Markup(run_.to), counts.probes, counts.failed, counts.inconclusive + counts.skipped, Seconds(time_), cases_);
      break;
    case Format::kHtml:
      run_.name = run_.to;
      run_.ended = true;
      PutProbePage(out, {run_});
      break;
    case Format::kText:
      if (not_run > 0) Put(out, "{} not run: {}\n", Count(not_run, "probe"), counts.why_not_run);
      if (options_.quiet) break;
      Put(out, "{}: {} passed, {} failed, {} inconclusive, {} skipped; {:.1f} s\n", Count(counts.probes, "probe"),
          counts.passed, counts.failed, counts.inconclusive, counts.skipped, Seconds(time_));
      break;
    default: rows_.PutOther(ProbeSummary{counts, time_});
  }
  output_.EndDocument();
  rows_.Complain("");
  output_.Flush();
}

}  // namespace stag::cli
