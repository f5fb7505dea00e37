// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_comparison.h"

#include <algorithm>

#include "cli/base/row_output.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Verdict;
Result<std::vector<ProbeRun>> ReadRuns(const std::vector<std::string>& files, const std::vector<std::string>& names) {
  if (!names.empty() && names.size() != files.size())
    return Fail(fmt::format("--name has {}, --compare {}", stag::Count(names.size(), "name"),
                            stag::Count(files.size(), "file")));
  std::vector<ProbeRun> runs;
  for (size_t i = 0; i < files.size(); ++i) {
    Result<ProbeRun> run = ReadProbeRun(files[i]);
    if (!run) return tl::unexpected(run.error());
    if (!names.empty()) run->name = names[i];
    if (!runs.empty() && run->peer != runs[0].peer)
      return Fail(fmt::format("{} is of a {}, {} of a {}: they have no probe in common", files[0], NameOf(runs[0].peer),
                              files[i], NameOf(run->peer)));
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
  const ProbeCounts& n = run.counts;
  Put(text, " {} passed, {} failed, {} inconclusive, {} skipped", n.passed, n.failed, n.inconclusive, n.skipped);
  if (n.not_run > 0)
    Put(text, "; {} not run{}{}", n.not_run, n.why_not_run.empty() ? "" : ": ", Printable(n.why_not_run));
  if (!run.ended) Put(text, "; the file ends within the run");
  return text;
}

class TextTable {
 public:
  TextTable(std::string& out, const Style& style, const std::vector<ProbeRun>& runs)
      : out_(out), style_(style), runs_(runs) {
    for (const ProbeRun& run : runs) {
      widths_.push_back(std::max<size_t>(run.name.size(), NameOf(Verdict::kInconclusive).size()) + 2);
      name_width_ = std::max(name_width_, run.name.size());
    }
  }

  void PutRuns() {
    for (const ProbeRun& run : runs_)
      Put(out_, "{:<{}}  {} by {}: {}\n", Printable(run.name), name_width_, Printable(run.to), Printable(run.transport),
          CountsText(run));
  }
  void PutHeading(std::string_view words, size_t count) {
    Put(out_, "\n{}{:<30}", style_.bold, fmt::format("{} ({})", words, count));
    for (size_t i = 0; i < runs_.size(); ++i) Put(out_, "{:<{}}", Printable(runs_[i].name), widths_[i]);
    while (out_.back() == ' ') out_.pop_back();
    Put(out_, "{}\n", style_.reset);
  }
  void PutProbe(const ComparedProbe& probe) {
    Put(out_, "{:<30}", Printable(probe.probe.id));
    for (size_t i = 0; i < runs_.size(); ++i) {
      const auto& result = probe.results[i].second;
      const std::string_view word = result ? NameOf(result->verdict) : "-";
      const size_t width = i + 1 == runs_.size() ? word.size() : widths_[i];
      Put(out_, "{}{:<{}}{}", result ? ColorOf(result->verdict, style_) : style_.dim, word, width, style_.reset);
    }
    out_.push_back('\n');
    for (const auto& [run, result] : probe.results)
      if (result) PutDetails(run, *result, probe.differs);
  }

 private:
  void PutDetails(std::string_view name, const Outcome& outcome, bool differs) {
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

size_t Differing(const std::vector<ComparedProbe>& probes) {
  return static_cast<size_t>(std::ranges::count_if(probes, &ComparedProbe::differs));
}

void PutComparisonText(Output& output, const std::vector<ProbeRun>& runs, std::vector<ComparedProbe> probes,
                       bool quiet) {
  TextTable table(output.buffer(), output.style(), runs);
  table.PutRuns();
  // In another order than their own, too.
  std::stable_partition(probes.begin(), probes.end(), [](const ComparedProbe& probe) { return probe.differs; });
  const size_t differing = Differing(probes);
  for (size_t i = 0; i < probes.size() && !(quiet && i >= differing); ++i) {
    if (i == 0 && differing > 0) table.PutHeading("DIFFERENT", differing);
    if (i == differing) table.PutHeading(runs.size() > 1 ? "THE SAME" : "PROBES", probes.size() - differing);
    table.PutProbe(probes[i]);
    output.Commit();
  }
}

}  // namespace

int RunProbeComparison(const CommonOptions& options, const std::vector<std::string>& files,
                       const std::vector<std::string>& names) {
  const Result<std::vector<ProbeRun>> runs = ReadRuns(files, names);
  if (!runs) return Trouble(runs.error());
  Output output(options);
  const results::RecordInfo& info = results::InfoOf<ComparedProbe>();
  SetDocument(output, options, info, false);
  RowOutput rows(output, options, info, std::nullopt);
  std::vector<ComparedProbe> probes = Compare(*runs);
  const ComparisonSummary summary{runs->size(), probes.size(), Differing(probes)};
  rows.Choose(probes);
  for (const ProbeRun& run : *runs) rows.PutOther(run);
  switch (options.format) {
    case Format::kHtml: PutProbePage(output.buffer(), *runs); break;
    case Format::kText: PutComparisonText(output, *runs, std::move(probes), options.quiet); break;
    default:
      for (const ComparedProbe& probe : probes) rows.Put(probe);
  }
  rows.Finish();
  rows.PutOther(summary);
  output.EndDocument();
  rows.Complain("");
  return output.failed() ? kExitTrouble : kExitFine;
}

}  // namespace stag::cli
