// SPDX-License-Identifier: GPL-2.0-or-later
//
// The formats of `stag check` that are whole documents: well-formed whatever happens, with a place for files that could
// not be read. Findings are written as they come where the format lets them. `version`: of stag.
#pragma once

#include "conformance/report/reporter.h"

namespace stag::conformance {

// SARIF 2.1.0, for code scanning and its viewers.
std::unique_ptr<Reporter> MakeSarifReporter(Write write, std::string_view version);

}  // namespace stag::conformance
