// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/report_style.h"

#include "cli/credits/credit_plot.h"
#include "cli/latency/latency_course.h"
#include "cli/transport/transport_plot.h"
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

}  // namespace

std::string ReportStyle() {
  std::string style(kPage);
  PutSvgStyle(style, "latency", kLatencyStyle);
  PutSvgStyle(style, "transport", kTransportStyle);
  PutSvgStyle(style, "credits", kCreditsStyle);
  return style;
}

}  // namespace stag::cli
