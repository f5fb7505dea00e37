// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_comparison.h"

#include <algorithm>

#include "text/terminal.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Verdict;
using probe::VerdictName;

constexpr Verdict kVerdicts[] = {Verdict::kPassed, Verdict::kFailed, Verdict::kInconclusive, Verdict::kSkipped};

Result<std::vector<ProbeRun>> ReadRuns(const std::vector<std::string>& files, const std::vector<std::string>& names) {
  if (!names.empty() && names.size() != files.size())
    return Fail(fmt::format("--name has {}, --compare {}", stag::Count(names.size(), "name"),
                            stag::Count(files.size(), "file")));
  std::vector<ProbeRun> runs;
  for (size_t i = 0; i < files.size(); ++i) {
    Result<ProbeRun> run = ReadProbeRun(files[i]);
    if (!run) return tl::unexpected(run.error());
    if (!names.empty()) run->name = names[i];
    if (!runs.empty() && run->of_client != runs[0].of_client)
      return Fail(fmt::format("{} is of a {}, {} of a {}: they have no probe in common", files[0],
                              runs[0].of_client ? "client" : "server", files[i], run->of_client ? "client" : "server"));
    runs.push_back(std::move(*run));
  }
  for (const ProbeRun& run : runs)
    if (std::ranges::count(runs, run.name, &ProbeRun::name) > 1)
      return Fail(fmt::format("two runs have the name {}: give others by --name", run.name));
  return runs;
}

// ---------------------------------------------------------------------------------------------------------------- text

std::string CountsText(const ProbeRun& run) {
  std::string text = stag::Count(run.results.size(), "probe") + ":";
  for (const Verdict verdict : kVerdicts)
    Put(text, "{} {} {}", verdict == kVerdicts[0] ? "" : ",", run.Count(verdict), VerdictName(verdict));
  if (run.not_run > 0)
    Put(text, "; {} not run{}{}", run.not_run, run.why_not_run.empty() ? "" : ": ", Printable(run.why_not_run));
  if (!run.ended) Put(text, "; the file ends within the run");
  return text;
}

class TextTable {
 public:
  TextTable(std::string& out, const Style& style, const std::vector<ProbeRun>& runs)
      : out_(out), style_(style), runs_(runs) {
    for (const ProbeRun& run : runs) {
      widths_.push_back(std::max<size_t>(run.name.size(), VerdictName(Verdict::kInconclusive).size()) + 2);
      name_width_ = std::max(name_width_, run.name.size());
    }
  }

  void PutRuns() {
    for (const ProbeRun& run : runs_)
      Put(out_, "{:<{}}  {} by {}: {}\n", Printable(run.name), name_width_, Printable(run.peer),
          Printable(run.transport), CountsText(run));
  }
  void PutHeading(std::string_view words, size_t count) {
    Put(out_, "\n{}{:<30}", style_.bold, fmt::format("{} ({})", words, count));
    for (size_t i = 0; i < runs_.size(); ++i) Put(out_, "{:<{}}", Printable(runs_[i].name), widths_[i]);
    while (out_.back() == ' ') out_.pop_back();
    Put(out_, "{}\n", style_.reset);
  }
  void PutProbe(const ComparedProbe& probe) {
    Put(out_, "{:<30}", Printable(probe.probe->id));
    for (size_t i = 0; i < runs_.size(); ++i) {
      const ProbeResult* const result = probe.results[i];
      const std::string_view word = result ? VerdictName(result->outcome.verdict) : "-";
      const size_t width = i + 1 == runs_.size() ? word.size() : widths_[i];
      Put(out_, "{}{:<{}}{}", result ? ColorOf(result->outcome.verdict, style_) : style_.dim, word, width,
          style_.reset);
    }
    out_.push_back('\n');
    for (size_t i = 0; i < runs_.size(); ++i)
      if (probe.results[i]) PutDetails(runs_[i].name, probe.results[i]->outcome, probe.differs);
  }

 private:
  void PutDetails(const std::string& name, const Outcome& outcome, bool differs) {
    const auto line = [&](std::string_view what, std::string_view text) {
      if (!text.empty()) Put(out_, "    {:<{}}  {:<10}{}\n", Printable(name), name_width_, what, Printable(text));
    };
    line("expected", outcome.expected);
    line("came", outcome.came);
    line("case", outcome.during);
    if (differs) line("because", outcome.why);
    for (const std::string& finding : outcome.findings) line("finding", finding);
  }

  std::string& out_;
  const Style& style_;
  const std::vector<ProbeRun>& runs_;
  std::vector<size_t> widths_;  // of columns
  size_t name_width_ = 0;
};

void PutComparisonText(Output& output, const std::vector<ProbeRun>& runs, const std::vector<ComparedProbe>& probes,
                       bool quiet) {
  TextTable table(output.buffer(), output.style(), runs);
  table.PutRuns();
  const auto differing = static_cast<size_t>(std::ranges::count_if(probes, &ComparedProbe::differs));
  for (size_t i = 0; i < probes.size() && !(quiet && i >= differing); ++i) {
    if (i == 0 && differing > 0) table.PutHeading("DIFFERENT", differing);
    if (i == differing) table.PutHeading(runs.size() > 1 ? "THE SAME" : "PROBES", probes.size() - differing);
    table.PutProbe(probes[i]);
    output.Commit();
  }
}

// --------------------------------------------------------------------------------------------------------------- jsonl

void PutComparisonLines(Output& output, const std::vector<ProbeRun>& runs, const std::vector<ComparedProbe>& probes) {
  std::string& out = output.buffer();
  for (const ProbeRun& run : runs) {
    JsonWriter json(out);
    json.BeginObject().Member("type", "run").Member("name", run.name).TextOrNull("file", run.file);
    json.Member("peer", run.of_client ? "client" : "server").TextOrNull("to", run.peer);
    json.TextOrNull("transport", run.transport).Member("probes", run.results.size());
    for (const Verdict verdict : kVerdicts) json.Member(VerdictName(verdict), run.Count(verdict));
    json.Member("not_run", run.not_run).TextOrNull("why_not_run", run.why_not_run).Member("ended", run.ended);
    json.EndObject().EndLine();
  }
  size_t differing = 0;
  for (const ComparedProbe& probe : probes) {
    differing += probe.differs ? 1 : 0;
    JsonWriter json(out);
    json.BeginObject().Member("type", "comparison").Member("id", probe.probe->id);
    json.TextOrNull("title", probe.probe->title);
    PutTexts(json, "spec", probe.probe->spec);
    PutTexts(json, "rules", probe.probe->rules);
    json.Member("differs", probe.differs).Key("results").BeginObject();
    for (size_t i = 0; i < runs.size(); ++i) {
      json.AnyKey(runs[i].name);
      if (!probe.results[i]) {
        json.Value(nullptr);
        continue;
      }
      const Outcome& outcome = probe.results[i]->outcome;
      json.BeginObject().Member("verdict", VerdictName(outcome.verdict));
      PutOutcome(json, outcome);
      json.EndObject();
    }
    json.EndObject().EndObject().EndLine();
    output.Commit();
  }
  JsonWriter json(out);
  json.BeginObject().Member("type", "summary").Member("runs", runs.size()).Member("probes", probes.size());
  json.Member("differing", differing).EndObject().EndLine();
}

}  // namespace

int RunProbeComparison(const CommonOptions& options, const std::vector<std::string>& files,
                       const std::vector<std::string>& names) {
  const Result<std::vector<ProbeRun>> runs = ReadRuns(files, names);
  if (!runs) return Trouble(runs.error());
  Output output(options);
  const std::vector<ComparedProbe> probes = Compare(*runs);
  switch (options.format) {
    case Format::kJsonl: PutComparisonLines(output, *runs, probes); break;
    case Format::kHtml: PutProbePage(output.buffer(), *runs); break;
    default: PutComparisonText(output, *runs, probes, options.quiet);
  }
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace stag::cli
