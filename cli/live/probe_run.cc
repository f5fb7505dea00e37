// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/base/whole_file.h"
#include "text/json_reader.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Verdict;

std::string TakeProbe(const JsonValue& line, ProbeRun& run) {
  ProbeResult result;
  result.probe.id = line.Text("id");
  result.probe.title = line.Text("title");
  result.probe.spec = line.Texts("spec");
  result.probe.rules = line.Texts("rules");
  constexpr auto kVerdicts = EnumNames<Verdict>::kNames;
  const auto verdict = std::ranges::find(kVerdicts, line.Text("verdict"));
  if (result.probe.id.empty() || verdict == kVerdicts.end())
    return "a probe without \"id\" or \"verdict\", as stag probe --list gives";
  if (run.Find(result.probe.id)) return fmt::format("{} is there for the second time", result.probe.id);
  Outcome& outcome = result.outcome;
  outcome.verdict = static_cast<Verdict>(verdict - kVerdicts.begin());
  outcome.expected = line.Text("expected");
  outcome.came = line.Text("came");
  outcome.during = line.Text("case");
  outcome.why = line.Text("why");
  outcome.findings = line.Texts("findings");
  outcome.advice = line.Texts("advice");
  constexpr double kMostSeconds = 1e9;
  const double seconds = std::clamp(line.Number("seconds").value_or(0), 0.0, kMostSeconds);
  outcome.time = std::chrono::nanoseconds(std::llround(seconds * 1e9));
  run.counts.Add(outcome.verdict);
  run.results.push_back(std::move(result));
  return {};
}

// What is wrong with the line; empty: nothing.
std::string TakeLine(const JsonValue& line, ProbeRun& run, bool& begun) {
  const std::string_view type = line.Text("type");
  const bool first = !begun;
  begun = true;
  if (first != (type == "server" || type == "client")) return "not what stag probe --format jsonl writes there";
  if (run.ended) return "a line behind the summary";
  if (first) {
    run.peer = type == "client" ? ProbedPeer::kClient : ProbedPeer::kServer;
    run.transport = line.Text("transport");
    run.to = line.Text(type == "client" ? "command" : "to");
    if (type == "client" && run.to.empty()) run.to = "stag generate";
    return {};
  }
  if (type == "probe") return TakeProbe(line, run);
  if (type != "summary") return "not what stag probe --format jsonl writes there";
  run.counts.not_run = line.Unsigned("not_run").value_or(0);
  run.counts.why_not_run = line.Text("why_not_run");
  run.ended = true;
  return {};
}

}  // namespace

ProbeName::ProbeName(const probe::Probe& probe) : id(probe.id), title(probe.title) {
  const auto sections = probe::Parts(probe.sections), names = probe::Parts(probe.rules);
  spec.assign(sections.begin(), sections.end());
  rules.assign(names.begin(), names.end());
}

constexpr uint64_t ProbeCounts::*kCounts[] = {&ProbeCounts::passed, &ProbeCounts::failed, &ProbeCounts::inconclusive,
                                              &ProbeCounts::skipped};  // by Verdict
void ProbeCounts::Add(Verdict verdict) {
  ++probes;
  ++(this->*kCounts[static_cast<size_t>(verdict)]);
}
uint64_t ProbeCounts::Of(Verdict verdict) const { return this->*kCounts[static_cast<size_t>(verdict)]; }

const ProbeResult* ProbeRun::Find(std::string_view id) const {
  const auto it = std::ranges::find_if(results, [id](const ProbeResult& result) { return result.probe.id == id; });
  return it == results.end() ? nullptr : &*it;
}

Result<ProbeRun> ReadProbeRun(const std::string& path) {
  const Result<std::string> text = ReadWhole(path);
  if (!text) return tl::unexpected(text.error());
  ProbeRun run;
  run.file = path;
  run.name = std::filesystem::path(path).stem().string();
  bool begun = false;
  const Result<void> read = ForEachJsonLine(*text, [&](const JsonValue& line) { return TakeLine(line, run, begun); });
  if (!read) return Fail(fmt::format("{}:{}", path, read.error().message));
  if (!begun) return Fail(fmt::format("{} has no results of stag probe --format jsonl", path));
  return run;
}

std::vector<ComparedProbe> Compare(const std::vector<ProbeRun>& runs) {
  std::vector<ComparedProbe> probes;
  std::set<std::string_view> known;
  for (const ProbeRun& from : runs)
    for (const ProbeResult& result : from.results) {
      if (!known.insert(result.probe.id).second) continue;
      ComparedProbe& probe = probes.emplace_back();
      probe.probe = result.probe;
      for (const ProbeRun& run : runs) {
        const ProbeResult* const found = run.Find(result.probe.id);
        probe.results.emplace_back(run.name, found ? std::optional(found->outcome) : std::nullopt);
        probe.verdicts.emplace_back(run.name, found ? std::optional(found->outcome.verdict) : std::nullopt);
        probe.differs |= found && found->outcome.verdict != result.outcome.verdict;
      }
    }
  std::ranges::stable_sort(probes, {}, [](const ComparedProbe& probe) {
    const bool failed = std::ranges::any_of(probe.verdicts, [](const auto& v) { return v.second == Verdict::kFailed; });
    return (probe.differs ? 0 : 2) + (failed ? 0 : 1);
  });
  return probes;
}

std::string_view ColorOf(Verdict verdict, const Style& style) {
  switch (verdict) {
    case Verdict::kPassed: return style.green;
    case Verdict::kFailed: return style.red;
    case Verdict::kInconclusive: return style.yellow;
    case Verdict::kSkipped: break;
  }
  return style.dim;
}

}  // namespace stag::cli
