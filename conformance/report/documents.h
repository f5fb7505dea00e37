// SPDX-License-Identifier: GPL-2.0-or-later
//
// The formats of `stag check` that are whole documents: well-formed whatever happens, with a place for files that could
// not be read. Findings are written as they come where the format lets them. `version`: of stag.
#pragma once

#include "conformance/report/reporter.h"

namespace stag::conformance {

// One JSON object: docs/check.schema.json.
std::unique_ptr<Reporter> MakeJsonReporter(Write write, std::string_view version);

// SARIF 2.1.0, for code scanning and its viewers.
std::unique_ptr<Reporter> MakeSarifReporter(Write write, std::string_view version);

// JUnit's XML, for continuous integration: a suite for each file, a case for each rule. Findings from `fail_on` on
// (nullopt: none) are failures, others go to system-out; a rule that was not exercised is skipped, with the reason.
std::unique_ptr<Reporter> MakeJunitReporter(Write write, std::optional<Severity> fail_on);

// One page that needs nothing else: summary, findings with ladder diagrams, connections, rules.
std::unique_ptr<Reporter> MakeHtmlReporter(Write write, std::string_view version);

}  // namespace stag::conformance
