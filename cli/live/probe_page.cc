// SPDX-License-Identifier: GPL-2.0-or-later
//
// The page of results of probes. Each probe is a row with a cell for each run, and a row of details behind it, which
// the script of the page closes and opens.
#include <algorithm>
#include <array>

#include "analysis/digest.h"
#include "cli/base/version.h"
#include "cli/live/latency_text.h"
#include "cli/live/probe_comparison.h"
#include "conformance/report/documents.h"
#include "conformance/report/uri.h"
#include "replay/probe/client/probe.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using probe::Outcome;
using probe::Verdict;

constexpr std::string_view kProbeStyle = R"(
main, header.top, footer { max-width: 92rem; }
table.probes th, table.probes td { padding: .35rem .9rem .35rem 0; }
table.probes tbody th { white-space: normal; min-width: 17rem; }
table.probes tbody th .title { display: block; padding-left: 1.15rem; color: var(--muted); font-weight: 400; }
table.probes th.run { overflow-wrap: anywhere; min-width: 6.5rem; }
table.probes th.part { font-size: 1.05rem; padding-top: 1.1rem; color: var(--text); }
table.probes button { border: 0; background: none; padding: 0; max-width: none; text-align: left; cursor: pointer;
  font-weight: 600; color: var(--link); }
table.probes button::before { content: "\25b8"; display: inline-block; width: 1.1em; color: var(--muted); }
table.probes button[aria-expanded=true]::before { content: "\25be"; }
table.probes tr.details > td { padding: .2rem 0 1rem 1.1rem; }
table.probes tr:target > th { outline: 2px solid var(--link); outline-offset: 2px; }
.badge.passed { color: var(--fine); }
.badge.failed { color: var(--error); background: var(--error-ground); }
.badge.inconclusive { color: var(--warning); background: var(--warning-ground); }
.badge.skipped { color: var(--muted); }
.told { display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: .8rem; }
.told > section { background: var(--sunken); border-radius: .4rem; padding: .6rem .8rem; }
.told h3 { margin-bottom: .35rem; overflow-wrap: anywhere; }
.told dl.facts { margin: 0; }
@media (max-width: 40rem) { .told { grid-template-columns: minmax(0, 1fr); } }
@media print { table.probes tr.details[hidden] { display: table-row; } }
)";

std::string Badge(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kSigns = {"\u2714", "\u2718", "?", "\u2013"};  // by Verdict
  const std::string_view name = NameOf(verdict);
  return fmt::format("<span class=\"badge {}\">{} {}</span>", name, kSigns.at(static_cast<size_t>(verdict)), name);
}

// "RFC 8166 4.5.1", as a link where it has a place on the web.
std::string SectionMarkup(const std::string& section) {
  const size_t space = section.rfind(' ');
  const bool known = section.starts_with("RFC ") && space > 3 && space + 1 < section.size();
  const std::string uri =
      known ? conformance::SpecificationUri({"RFC" + section.substr(4, space - 4), section.substr(space + 1)}) : "";
  return uri.empty() ? Markup(section) : fmt::format("<a href=\"{}\">{}</a>", Markup(uri), Markup(section));
}

class ProbePage {
 public:
  ProbePage(std::string& out, const std::vector<ProbeRun>& runs) : out_(out), runs_(runs), probes_(Compare(runs)) {
    differing_ = static_cast<size_t>(std::ranges::count_if(probes_, &ComparedProbe::differs));
  }

  void Put() {
    const std::string title = Title();
    const std::string_view peer = NameOf(runs_[0].peer);
    out_ += conformance::PageBegin(title, kProbeStyle, analysis::SourceHash(kProbeStyle));
    stag::Put(
        out_,
        "<a class=\"skip\" href=\"#probes\">Skip to the probes</a>\n<header class=\"top\">\n<h1><bdi>{}</bdi></h1>\n"
        "<p class=\"muted\">{} of probes of a {}</p>\n</header>\n<main>\n",
        Markup(title), stag::Count(runs_.size(), "run"), peer);
    PutTiles();
    PutRuns();
    stag::Put(out_, "<h2 id=\"probes\">Probes</h2>\n");
    PutFilter();
    PutTable();
    out_ += conformance::PageEnd(Markup(kVersionText));
  }

 private:
  std::string Title() const {
    std::string title = "stag probe: ";
    for (size_t i = 0; i < runs_.size(); ++i) stag::Put(title, "{}{}", i > 0 ? " beside " : "", runs_[i].name);
    return title;
  }

  void PutTiles() {
    const auto tile = [&](std::string_view name, size_t n, std::string_view style) {
      stag::Put(out_, "<div class=\"{}{}\"><dt>{}</dt><dd>{}</dd></div>\n", style, n > 0 ? " some" : "", name,
                Grouped(n));
    };
    const auto count = [&](Verdict verdict) {
      return static_cast<size_t>(std::ranges::count_if(probes_, [&](const ComparedProbe& probe) {
        return std::ranges::any_of(probe.results,
                                   [&](const auto& r) { return r.second && r.second->verdict == verdict; });
      }));
    };
    stag::Put(out_, "<dl class=\"tiles\">\n");
    tile("probes", probes_.size(), "");
    const bool several = runs_.size() > 1;
    if (several) tile("differ", differing_, "warning");
    tile(several ? "failed somewhere" : "failed", count(Verdict::kFailed), "error");
    if (!several) tile("inconclusive", count(Verdict::kInconclusive), "warning");
    if (!several) tile("skipped", count(Verdict::kSkipped), "");
    stag::Put(out_, "</dl>\n");
  }

  void PutRuns() {
    stag::Put(out_,
              "<div class=\"panel\"><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"The runs\"><table>"
              "<thead><tr><th scope=\"col\">Run</th><th scope=\"col\">{}</th><th scope=\"col\">Transport</th>",
              runs_[0].peer == ProbedPeer::kClient ? "Client" : "Server");
    for (const char* column : {"Passed", "Failed", "Inconclusive", "Skipped", "Not run"})
      stag::Put(out_, "<th scope=\"col\" class=\"number\">{}</th>", column);
    stag::Put(out_, "</tr></thead><tbody>\n");
    for (const ProbeRun& run : runs_) {
      stag::Put(out_, "<tr><th scope=\"row\"><bdi>{}</bdi></th><td><bdi>{}</bdi></td><td>{}</td>", Markup(run.name),
                Markup(run.to), Markup(run.transport));
      for (const Verdict verdict : {Verdict::kPassed, Verdict::kFailed, Verdict::kInconclusive, Verdict::kSkipped})
        stag::Put(out_, "<td class=\"number\">{}</td>", run.counts.Of(verdict));
      stag::Put(out_, "<td class=\"number\">{}</td></tr>\n", run.counts.not_run);
    }
    stag::Put(out_, "</tbody></table></div>\n");
    for (const ProbeRun& run : runs_) {
      if (!run.ended)
        stag::Put(out_, "<p><bdi>{}</bdi>: the file ends within the run.</p>\n", Markup(run.name));
      else if (run.counts.not_run > 0)
        stag::Put(out_, "<p><bdi>{}</bdi>: {} not run: {}.</p>\n", Markup(run.name),
                  stag::Count(run.counts.not_run, "probe"), Markup(run.counts.why_not_run));
    }
    stag::Put(out_, "</div>\n");
  }

  void PutFilter() {
    stag::Put(out_,
              "<form id=\"probe-filter\" class=\"panel\" hidden><label class=\"field\"><span>Words</span><input "
              "type=\"search\" name=\"text\"></label>\n<label class=\"field\"><span>Verdict</span><select "
              "name=\"verdict\"><option value=\"\">any</option>");
    for (const Verdict verdict : {Verdict::kFailed, Verdict::kInconclusive, Verdict::kPassed, Verdict::kSkipped})
      stag::Put(out_, "<option>{}</option>", NameOf(verdict));
    stag::Put(out_,
              "</select></label>\n<button type=\"reset\">Show all</button>\n<p id=\"shown\" "
              "role=\"status\"></p></form>\n");
  }

  void PutTable() {
    if (probes_.empty()) return stag::Put(out_, "<p class=\"panel\">None.</p>\n");
    stag::Put(
        out_,
        "<div class=\"panel scroll\" tabindex=\"0\" role=\"group\" aria-label=\"The probes\"><table class=\"probes\">"
        "<thead><tr><th scope=\"col\">Probe</th>");
    for (const ProbeRun& run : runs_)
      stag::Put(out_, "<th scope=\"col\" class=\"run\"><bdi>{}</bdi></th>", Markup(run.name));
    stag::Put(out_, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < probes_.size(); ++i) {
      if (runs_.size() > 1 && (i == 0 || i == differing_)) {
        const bool differ = i < differing_;
        stag::Put(out_, "<tr><th class=\"part\" scope=\"rowgroup\" colspan=\"{}\">{} ({})</th></tr>\n",
                  runs_.size() + 1, differ ? "Different" : "The same",
                  differ ? differing_ : probes_.size() - differing_);
      }
      PutProbe(probes_[i]);
    }
    stag::Put(out_, "</tbody></table></div>\n");
  }

  void PutProbe(const ComparedProbe& probe) {
    std::string verdicts, cells;
    for (const auto& [run, outcome] : probe.results) {
      if (outcome) stag::Put(verdicts, "{}{}", verdicts.empty() ? "" : " ", NameOf(outcome->verdict));
      stag::Put(cells, "<td>{}</td>", outcome ? Badge(outcome->verdict) : "<span class=\"muted\">not there</span>");
    }
    const std::string id = Markup(probe.probe.id);
    stag::Put(out_,
              "<tr class=\"probe\" id=\"probe-{}\" data-verdicts=\"{}\"><th scope=\"row\"><button type=\"button\" "
              "aria-expanded=\"true\">{}</button><span class=\"title\">{}</span></th>{}</tr>\n"
              "<tr class=\"details\"><td colspan=\"{}\">",
              id, verdicts, id, Markup(probe.probe.title), cells, runs_.size() + 1);
    if (const probe::Probe* const known = probe::client::FindAny(probe.probe.id))
      stag::Put(out_, "<p>{}</p>\n", Markup(known->asks));
    PutList("Specification", probe.probe.spec, SectionMarkup);
    PutList("Rules", probe.probe.rules, [](const std::string& rule) { return Markup(rule); });
    stag::Put(out_, "<div class=\"told\">\n");
    for (size_t i = 0; i < runs_.size(); ++i)
      if (const auto& outcome = probe.results[i].second) PutResult(runs_[i].name, *outcome);
    stag::Put(out_, "</div></td></tr>\n");
  }

  void PutList(std::string_view name, const std::vector<std::string>& items,
               std::string (*markup)(const std::string&)) {
    if (items.empty()) return;
    stag::Put(out_, "<p class=\"muted\">{}: ", name);
    for (size_t i = 0; i < items.size(); ++i) stag::Put(out_, "{}{}", i > 0 ? ", " : "", markup(items[i]));
    stag::Put(out_, "</p>\n");
  }

  void PutResult(const std::string& run, const Outcome& outcome) {
    stag::Put(out_, "<section><h3><bdi>{}</bdi> {}</h3><dl class=\"facts\">", Markup(run), Badge(outcome.verdict));
    const auto fact = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) stag::Put(out_, "<dt>{}</dt><dd>{}</dd>", name, Markup(text));
    };
    fact("Expected", outcome.expected);
    fact("Came", outcome.came);
    fact("Case", outcome.during);
    fact("Because", outcome.why);
    for (const std::string& finding : outcome.findings) fact("Finding", finding);
    for (const std::string& advice : outcome.advice) fact("Advice", advice);
    stag::Put(out_, "<dt>Took</dt><dd>{:.3f} s</dd></dl></section>\n", Seconds(outcome.time));
  }

  std::string& out_;
  const std::vector<ProbeRun>& runs_;
  const std::vector<ComparedProbe> probes_;
  size_t differing_ = 0;  // the first ones
};

}  // namespace

void PutProbePage(std::string& out, const std::vector<ProbeRun>& runs) { ProbePage(out, runs).Put(); }

}  // namespace stag::cli
