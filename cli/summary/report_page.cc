// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/report_page.h"

#include <algorithm>

#include "analysis/digest.h"
#include "cli/base/version.h"
#include "cli/credits/credit_plot.h"
#include "cli/latency/latency_course.h"
#include "cli/summary/report_tables.h"
#include "cli/transport/transport_plot.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

// s0 to s4: the limits, p0 to p4: the phases; in the order of their enumerations.
constexpr std::string_view kPage = R"(
:root {
  --s0: #87929f; --s1: #c56a04; --s2: #c62828; --s3: #2e7d4f; --s4: #3f6fd1;
  --p0: #c56a04; --p1: #2e7d4f; --p2: #3f6fd1; --p3: #1496a8; --p4: #8b5cc7;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --s0: #717c8a; --s1: #e39a3a; --s2: #f0716a; --s3: #4fb37d; --s4: #6f9bf2;
    --p0: #e39a3a; --p1: #4fb37d; --p2: #6f9bf2; --p3: #3fbccd; --p4: #b18be8;
  }
}
ol.wrong { list-style: none; margin: 0; padding: .3rem 1.1rem; }
ol.wrong li {
  padding: .5rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
  display: grid; grid-template-columns: 5.2rem minmax(0, 1fr) max-content; gap: .1rem .9rem; align-items: baseline;
}
ol.wrong li:last-child { border-bottom: 0; }
ol.wrong .badge { margin: 0; text-align: center; }
ol.wrong .frame { white-space: normal; max-width: 16rem; }
ol.wrong code { color: var(--muted); font-size: .85rem; }
.badge.known { color: var(--muted); border-left: 1px solid currentColor; }
.badge.trouble { color: var(--warning); background: var(--warning-ground); border-left: 1px solid currentColor; }
.frame { color: var(--muted); white-space: nowrap; font-variant-numeric: tabular-nums; }
h3.part { margin: 1.6rem 0 .5rem; overflow-wrap: anywhere; }
table.rows { margin: .2rem 0; }
table.rows th, table.rows td { white-space: nowrap; padding-right: .8rem; }
table.rows thead th { white-space: normal; vertical-align: bottom; line-height: 1.25; }
table.rows thead th::first-letter { text-transform: uppercase; }
table.rows th.file { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
table.rows tbody tr:last-child > * { border-bottom: 0; }
.scroll + dl.facts { margin-top: .9rem; border-top: 1px solid var(--line); padding-top: .8rem; }
dl.facts ul.told { margin: 0; }
table.rows td.words { white-space: normal; min-width: 16rem; }
table.rows th:last-child, table.rows td:last-child { padding-right: 0; }
table.rows td.bar, table.rows th.bar { min-width: 12rem; width: 30%; }
td.zero { color: var(--muted); }
td.bad { color: var(--error); font-weight: 650; }
svg.bar { display: block; width: 100%; height: 1.05rem; margin-top: .18rem; border-radius: .2rem; }
.s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); }
.s4 { fill: var(--s4); } .p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .p2 { fill: var(--p2); }
.p3 { fill: var(--p3); } .p4 { fill: var(--p4); }
ul.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.3rem; list-style: none; margin: .5rem 0 0; padding: 0; }
ul.legend li { color: var(--muted); font-size: .9rem; }
ul.legend svg { width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.08rem; border-radius: .15rem; }
ul.told { margin: .7rem 0 .1rem; padding-left: 1.2rem; }
ul.told li { margin: .25rem 0; overflow-wrap: anywhere; }
svg.picture { display: block; width: 100%; min-width: 44rem; height: auto; border-radius: .3rem; }
details.panel > summary + .scroll { margin-top: .2rem; }
code { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  ol.wrong li { grid-template-columns: minmax(0, 1fr); justify-items: start; }
  ol.wrong .badge { padding: 0 .7em; }
}
@media print {
  svg.picture { min-width: 0; }
  table.rows th, table.rows td { white-space: normal; }
  table.rows td.number { white-space: nowrap; }
  ol.wrong li { break-inside: avoid; }
}
)";

std::string ReportStyle() {
  std::string style(kPage);
  PutSvgStyle(style, "latency", kLatencyStyle);
  PutSvgStyle(style, "transport", kTransportStyle);
  PutSvgStyle(style, "credits", kCreditsStyle);
  return style;
}

}  // namespace

void ReportPage::Add(const ReportPart& part) {
  names_.push_back(part.name);
  file_rows_ += part.row;
  dropped_ += part.dropped;
  AddWrong(part.wrong);
  wrong_left_out_ += part.wrong_left_out;
  const bool drawn = pictures();
  const auto add = [drawn](std::string& section, const std::string& markup, const std::string& picture) {
    section += markup;
    if (drawn) section += picture;
  };
  any_ = any_ || part.any;
  connections_ += part.connections;
  add(latency_, part.latency, part.latency_picture);
  add(transport_, part.transport, part.transport_picture);
  limits_ += part.limits;
  add(credits_, part.credits, part.credits_picture);
  if (part.any && drawn) ++pictures_;
}

void ReportPage::AddWrong(const std::vector<Wrong>& all) {
  for (const Wrong& wrong : all) wrong_.push_back({wrong, names_.size() - 1});
  std::ranges::stable_sort(wrong_, {}, [](const Sentence& sentence) { return HarmOf(sentence.wrong); });
  if (wrong_.size() <= kWrong) return;
  wrong_left_out_ += wrong_.size() - kWrong;
  wrong_.resize(kWrong);
}

void ReportPage::PutSentence(std::string& out, const Sentence& sentence) const {
  const Wrong& wrong = sentence.wrong;
  Put(out, "<li><span class=\"badge {0}\">{0}</span><span class=\"text\">", BadgeOf(wrong));
  std::string_view text = wrong.text;
  if (wrong.rule) {
    Put(out, "<a href=\"#findings\" data-filter-rule=\"{0}\">{0}</a>", wrong.rule->id);
    text.remove_prefix(wrong.rule->id.size());
  }
  Put(out, "{}<br><code>{}</code></span>", Markup(text), Markup(NextStep(wrong, names_[sentence.file])));
  if (wrong.frame != 0) {
    Put(out, FrameText(wrong.frame, sentence.file, several_ ? &names_[sentence.file] : nullptr));
  } else if (several_) {
    Put(out, "<span class=\"frame\"><bdi>{}</bdi></span>", Markup(BaseName(names_[sentence.file])));
  }
  Put(out, "</li>\n");
}

void ReportPage::Finish(const About& about, conformance::HtmlBesides& page) const {
  page.title = about.title;
  page.style = ReportStyle();
  page.style_hash = analysis::SourceHash(page.style);

  std::string& out = page.first;
  Put(out, "<h2 id=\"wrong\">What is wrong</h2>\n");
  if (!any_) {
    Put(out, "<p class=\"panel\">There is no RPC-over-RDMA in the capture{}: nothing was judged.</p>\n",
        several_ ? "s" : "");
  } else if (wrong_.empty()) {
    Put(out, "<p class=\"panel fine\">Nothing that the capture{} show{}.</p>\n", several_ ? "s" : "",
        several_ ? "" : "s");
  }
  if (any_ && !wrong_.empty() && wrong_.front().wrong.known)
    Put(out, "<p class=\"panel fine\">Nothing that does harm.</p>\n");
  if (!wrong_.empty()) {
    Put(out, "<ol class=\"wrong panel\">\n");
    for (const Sentence& sentence : wrong_) PutSentence(out, sentence);
    Put(out, "</ol>\n");
  }
  if (wrong_left_out_ > 0)
    Put(out, "<p class=\"panel\">{} left out here: <code>stag summary</code> on each file lists all.</p>\n",
        Count(wrong_left_out_, "sentence"));
  Put(out, "<h2 id=\"about\">What was looked at</h2>\n");
  BeginTable(out, "The captures", "File|#Size|#Frames|First frame|Last frame|#Lasts");
  Put(out, file_rows_);
  EndTable(out, 0, "", "");
  Put(out,
      "<dl "
      "class=\"facts\">\n<dt>Version</dt><dd>{}</dd>\n<dt>Command</dt><dd><code>{}</code></dd>\n<dt>Rules</dt><dd>{}</"
      "dd>\n<dt>Dropped, or not judged</dt><dd>",
      kVersionText, Markup(about.command), Markup(about.rules));
  if (dropped_.empty()) {
    Put(out, "nothing");
  } else {
    Put(out, "<ul class=\"told\">\n{}</ul>", dropped_);
  }
  Put(out, "</dd>\n</dl></div>\n");

  page.connections = connections_;
  if (names_.size() > kFiles)
    Put(page.connections,
        "<p class=\"panel\">{} left out of the sections on connections, latency, transport, limits and "
        "credits.</p>\n",
        Count(names_.size() - kFiles, "further file"));
  const auto section = [&](std::string_view id, std::string_view name, const std::string& markup) {
    if (markup.empty()) return;
    page.links.emplace_back(id, name);
    Put(page.sections, "<h2 id=\"{}\">{}</h2>\n{}", id, name, markup);
  };
  section("latency", "Latency", latency_);
  section("transport", "Transport", transport_);
  section("limits", "Limits", limits_);
  section("credits", "Credits", credits_);
}

}  // namespace stag::cli
