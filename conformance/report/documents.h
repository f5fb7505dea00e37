// SPDX-License-Identifier: GPL-2.0-or-later
//
// The formats of `stag check` that are whole documents: well-formed whatever happens, with a place for files that could
// not be read. Findings are written as they come where the format lets them. `version`: of stag.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/report/connection_history.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

// A line of names, and a line for each finding, as it comes.
std::unique_ptr<Reporter> MakeCsvReporter(Write write);

// One JSON object: docs/check.schema.json.
std::unique_ptr<Reporter> MakeJsonReporter(Write write, std::string_view version);

// SARIF 2.1.0, for code scanning and its viewers.
std::unique_ptr<Reporter> MakeSarifReporter(Write write, std::string_view version);

// JUnit's XML, for continuous integration: a suite for each file, a case for each rule. Findings from `fail_on` on
// (nullopt: none) are failures, others go to system-out; a rule that was not exercised is skipped, with the reason.
std::unique_ptr<Reporter> MakeJunitReporter(Write write, std::optional<Severity> fail_on);

// What a page has besides what `stag check` reports (stag report). All but `title` is markup, in which everything that
// does not come from this program is escaped.
struct HtmlBesides {
  std::string title;                                       // text; of the page, and its heading
  std::string style, style_hash;                           // more CSS, and "sha256-..." of it
  std::string first;                                       // in front of everything else
  std::string connections;                                 // in front of the details of the connections
  std::string sections;                                    // between the connections and the findings
  std::vector<std::pair<std::string, std::string>> links;  // to `sections`: ids and names
};

// One page that needs nothing else: summary, findings with ladder diagrams, connections, rules. `besides` (nullptr:
// nothing) is looked at in Finish.
std::unique_ptr<Reporter> MakeHtmlReporter(Write write, std::string_view version, const HtmlBesides* besides = nullptr,
                                           const ConnectionHistoryOptions& history = {});

// What stands around the body of any page that needs nothing else. `title` and `style` (CSS besides that of all pages;
// may be empty) are text, `style_hash` is "sha256-..." of it; `footer` is markup.
std::string PageBegin(std::string_view title, std::string_view style, std::string_view style_hash);
std::string PageEnd(std::string_view footer);

}  // namespace stag::conformance
