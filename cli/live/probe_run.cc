// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/base/whole_file.h"
#include "cli/live/latency_text.h"
#include "text/json_reader.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Verdict;

std::optional<Verdict> ParseVerdict(std::string_view name) {
  for (const Verdict verdict : {Verdict::kPassed, Verdict::kFailed, Verdict::kInconclusive, Verdict::kSkipped})
    if (name == probe::VerdictName(verdict)) return verdict;
  return std::nullopt;
}

std::string TakeProbe(const JsonValue& line, ProbeRun& run) {
  ProbeResult result;
  result.id = line.Text("id");
  result.title = line.Text("title");
  result.spec = line.Texts("spec");
  result.rules = line.Texts("rules");
  const auto verdict = ParseVerdict(line.Text("verdict"));
  if (result.id.empty() || !verdict) return "a probe without \"id\" or \"verdict\", as stag probe --list gives";
  if (run.Find(result.id)) return fmt::format("{} is there for the second time", result.id);
  Outcome& outcome = result.outcome;
  outcome.verdict = *verdict;
  outcome.expected = line.Text("expected");
  outcome.came = line.Text("came");
  outcome.during = line.Text("case");
  outcome.why = line.Text("why");
  outcome.findings = line.Texts("findings");
  outcome.advice = line.Texts("advice");
  constexpr double kMostSeconds = 1e9;
  const double seconds = std::clamp(line.Number("seconds").value_or(0), 0.0, kMostSeconds);
  outcome.time = std::chrono::nanoseconds(std::llround(seconds * 1e9));
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
    run.of_client = type == "client";
    run.transport = line.Text("transport");
    run.peer = line.Text(run.of_client ? "command" : "to");
    if (run.of_client && run.peer.empty()) run.peer = "stag generate";
    return {};
  }
  if (type == "probe") return TakeProbe(line, run);
  if (type != "summary") return "not what stag probe --format jsonl writes there";
  run.not_run = line.Unsigned("not_run").value_or(0);
  run.why_not_run = line.Text("why_not_run");
  run.ended = true;
  return {};
}

}  // namespace

const ProbeResult* ProbeRun::Find(std::string_view id) const {
  const auto it = std::ranges::find(results, id, &ProbeResult::id);
  return it == results.end() ? nullptr : &*it;
}

size_t ProbeRun::Count(Verdict verdict) const {
  return static_cast<size_t>(
      std::ranges::count_if(results, [&](const ProbeResult& result) { return result.outcome.verdict == verdict; }));
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
      if (!known.insert(result.id).second) continue;
      ComparedProbe& probe = probes.emplace_back();
      probe.probe = &result;
      for (const ProbeRun& run : runs) {
        const ProbeResult* const found = run.Find(result.id);
        probe.results.push_back(found);
        probe.differs |= found && found->outcome.verdict != result.outcome.verdict;
      }
    }
  std::ranges::stable_sort(probes, {}, [](const ComparedProbe& probe) {
    const bool failed = std::ranges::any_of(
        probe.results, [](const ProbeResult* r) { return r && r->outcome.verdict == Verdict::kFailed; });
    return (probe.differs ? 0 : 2) + (failed ? 0 : 1);
  });
  return probes;
}

void PutOutcome(JsonWriter& json, const Outcome& outcome) {
  json.TextOrNull("expected", outcome.expected).TextOrNull("came", outcome.came);
  json.TextOrNull("case", outcome.during).TextOrNull("why", outcome.why);
  PutTexts(json, "findings", outcome.findings);
  PutTexts(json, "advice", outcome.advice);
  json.Key("seconds").Fixed(Seconds(outcome.time), 6);
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
