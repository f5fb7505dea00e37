// SPDX-License-Identifier: GPL-2.0-or-later
//
// A FileSummary as one screen of text, and as a JSON line.
#pragma once

#include <optional>
#include <string>

#include "cli/base/output.h"
#include "cli/summary/file_summary.h"

namespace stag::cli {

void PutSummaryText(std::string& out, const FileSummary& summary, const Style& style);

}  // namespace stag::cli
