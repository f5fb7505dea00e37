// SPDX-License-Identifier: GPL-2.0-or-later
//
// The report of `stag generate`, as text and as JSON lines (docs/generate.md has the fields).
#pragma once

#include "cli/base/output.h"
#include "replay/generate/options.h"
#include "replay/generate/report.h"

namespace stag::cli {

struct LoadContext {
  const generate::LoadOptions& options;
  std::string_view transport;
  size_t ranks = 1;  // of the team, whose reports were merged
};

void PutLoadText(std::string& out, const LoadContext& context, const generate::LoadReport& report, const Style& style);
void PutLoadJsonl(std::string& out, const LoadContext& context, const generate::LoadReport& report);

}  // namespace stag::cli
