// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_report.h"

#include <algorithm>

#include "cli/live/latency_text.h"
#include "cli/live/probe_comparison.h"
#include "protocol/rpc/message.h"
#include "text/json.h"
#include "text/markup.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Probe;
using probe::Verdict;
using probe::VerdictName;

// Begins an object with what a probe is.
void BeginProbe(JsonWriter& json, const Probe& probe) {
  json.BeginObject().Member("type", "probe").Member("id", probe.id).TextOrNull("title", probe.title);
  PutTexts(json, "spec", probe::Parts(probe.sections));
  PutTexts(json, "rules", probe::Parts(probe.rules));
}

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

std::string ProgramText(const probe::Target& target) {
  if (!target.known) return "no program known";
  if (target.echo) return "ECHO";
  const char* name = rpc::ProgramName(target.program, target.version);
  return fmt::format("{} version {}", name ? name : std::to_string(target.program), target.version);
}

}  // namespace

std::optional<Outcome> KeptBack(const Probe& probe, std::string_view peer, const std::vector<std::string>& dangerous) {
  if (probe.danger.empty() || std::ranges::find(dangerous, probe.id) != dangerous.end()) return {};
  Outcome outcome;
  outcome.verdict = Verdict::kSkipped;
  outcome.why = fmt::format("it can harm a {}: {}; --dangerous {} runs it", peer, probe.danger, probe.id);
  return outcome;
}

void PutProbeTable(std::string& out, std::span<const ListedProbe> probes, Format format, const Style& style) {
  if (format != Format::kJsonl)
    Put(out, "{}{:<30}WHAT THE {} IS TO DO{}\n", style.bold, "PROBE",
        !probes.empty() && probes[0].peer == "client" ? "CLIENT" : "SERVER", style.reset);
  for (const ListedProbe& listed : probes) {
    if (format == Format::kJsonl) {
      JsonWriter json(out);
      BeginProbe(json, *listed.probe);
      json.TextOrNull("asks", listed.probe->asks)
          .Member("peer", listed.peer)
          .TextOrNull("danger", listed.probe->danger);
      json.EndObject().EndLine();
    } else {
      Put(out, "{:<30}{}{}\n", listed.probe->id, listed.probe->title,
          listed.probe->danger.empty() ? "" : " (--dangerous)");
    }
  }
  if (format != Format::kJsonl) Put(out, "{}; stag probe --explain PROBE tells more\n", Count(probes.size(), "probe"));
}

void PutProbeExplanation(std::string& out, const ListedProbe& listed, Format format, const Style& style) {
  if (format == Format::kJsonl) return PutProbeTable(out, {&listed, 1}, format, style);
  constexpr size_t kWidth = 100;
  const Probe& probe = *listed.probe;
  Put(out, "{}{}{}: {}\n\n{}\n", style.bold, probe.id, style.reset, probe.title, Wrapped(probe.asks, 2, kWidth));
  if (!probe.danger.empty())
    Put(out, "{}\n",
        Wrapped(fmt::format("It can harm a {}: {}. --dangerous {} runs it.", listed.peer, probe.danger, probe.id), 2,
                kWidth));
  Put(out, "  {}of a{}          {}\n", style.bold, style.reset, listed.peer);
  Put(out, "  {}specification{} {}\n", style.bold, style.reset, probe.sections);
  if (!probe.rules.empty())
    Put(out, "  {}rules{}         {}; stag explain RULE tells more\n", style.bold, style.reset, probe.rules);
}

void ProbeReport::BeginClient(const std::string& command, std::string_view transport, uint16_t port) {
  run_.of_client = true;
  run_.peer = command.empty() ? "stag generate" : command;
  run_.transport = transport;
  std::string& out = output_.buffer();
  if (options_.format == Format::kText && !options_.quiet)
    Put(out, "{} by {}, port {}\n", Printable(run_.peer), transport, port);
  if (options_.format == Format::kJsonl) {
    JsonWriter json(out);
    json.BeginObject().Member("type", "client").TextOrNull("command", command).TextOrNull("transport", transport);
    json.Member("port", port).EndObject().EndLine();
  }
  output_.Flush();
}

void ProbeReport::Begin(const std::string& server, std::string_view transport, const probe::Target& target) {
  run_.peer = server;
  run_.transport = transport;
  std::string& out = output_.buffer();
  if (options_.format == Format::kText && !options_.quiet)
    Put(out, "{} by {}: {}{}\n", Printable(server), transport, ProgramText(target),
        target.file.empty() ? "" : ", with a file in the export");
  if (options_.format == Format::kJsonl) {
    JsonWriter json(out);
    json.BeginObject().Member("type", "server").TextOrNull("to", server).TextOrNull("transport", transport);
    json.Member("program", target.program).Member("version", target.version).Member("program_known", target.known);
    json.Member("export", !target.file.empty()).EndObject().EndLine();
  }
  output_.Flush();
}

void ProbeReport::Add(const Probe& probe, const Outcome& outcome) {
  ++counts_[static_cast<size_t>(outcome.verdict)];
  time_ += outcome.time;
  switch (options_.format) {
    case Format::kJsonl: PutJsonl(probe, outcome); break;
    case Format::kJunit: PutJunit(probe, outcome); break;
    case Format::kHtml: Keep(probe, outcome); break;
    default: PutText(probe, outcome);
  }
  output_.Flush();
}

void ProbeReport::Keep(const Probe& probe, const Outcome& outcome) {
  const auto texts = [](std::string_view parts) {
    const auto views = probe::Parts(parts);
    return std::vector<std::string>(views.begin(), views.end());
  };
  run_.results.push_back(
      {std::string(probe.id), std::string(probe.title), texts(probe.sections), texts(probe.rules), outcome});
}

void ProbeReport::PutText(const Probe& probe, const Outcome& outcome) {
  if (options_.quiet && outcome.verdict != Verdict::kFailed) return;
  const Style& style = output_.style();
  std::string& out = output_.buffer();
  Put(out, "{}{:<13}{}{:<30}{}\n", ColorOf(outcome.verdict, style), VerdictName(outcome.verdict), style.reset, probe.id,
      probe.title);
  PutDetails(out, outcome, "             ");
  if (outcome.verdict == Verdict::kFailed) Put(out, "             {:<10}{}\n", "asked by", probe.sections);
}

void ProbeReport::PutJsonl(const Probe& probe, const Outcome& outcome) {
  JsonWriter json(output_.buffer());
  BeginProbe(json, probe);
  json.Member("verdict", VerdictName(outcome.verdict));
  PutOutcome(json, outcome);
  json.EndObject().EndLine();
}

void ProbeReport::PutJunit(const Probe& probe, const Outcome& outcome) {
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
    cases_ += fmt::format("<skipped message=\"{}: {}\"/>", VerdictName(outcome.verdict), Markup(outcome.why));
  } else if (!text.empty()) {
    cases_ += fmt::format("<system-out>{}</system-out>", text);
  }
  cases_ += "</testcase>\n";
}

void ProbeReport::Finish(size_t not_run, std::string_view why_not_run) {
  const std::string_view why = not_run > 0 ? why_not_run : std::string_view{};
  std::string& out = output_.buffer();
  size_t run = 0;
  for (const size_t count : counts_) run += count;
  const size_t passed = count(Verdict::kPassed), failed = count(Verdict::kFailed);
  const size_t inconclusive = count(Verdict::kInconclusive), skipped = count(Verdict::kSkipped);
  switch (options_.format) {
    case Format::kJsonl: {
      JsonWriter json(out);
      json.BeginObject().Member("type", "summary").Member("probes", run).Member("passed", passed);
      json.Member("failed", failed).Member("inconclusive", inconclusive).Member("skipped", skipped);
      json.Member("not_run", not_run).TextOrNull("why_not_run", why).Key("seconds").Fixed(Seconds(time_), 6);
      json.EndObject().EndLine();
      break;
    }
    case Format::kJunit:
      Put(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stag probe\">\n<testsuite name=\"{}\" "
          "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.6f}\">\n{}</testsuite>\n</testsuites>\n",
          Markup(run_.peer), run, failed, inconclusive + skipped, Seconds(time_), cases_);
      break;
    case Format::kHtml:
      run_.name = run_.peer;
      run_.not_run = not_run;
      run_.why_not_run = why;
      run_.ended = true;
      PutProbePage(out, {run_});
      break;
    default:
      if (not_run > 0) Put(out, "{} not run: {}\n", Count(not_run, "probe"), why);
      if (options_.quiet) break;
      Put(out, "{}: {} passed, {} failed, {} inconclusive, {} skipped; {:.1f} s\n", Count(run, "probe"), passed, failed,
          inconclusive, skipped, Seconds(time_));
  }
  output_.Flush();
}

}  // namespace stag::cli
