// SPDX-License-Identifier: GPL-2.0-or-later
//
// The picture of a capture that --svg asks for.
#pragma once

#include <string>

#include "cli/analysis/analysis.h"
#include "cli/base/output.h"

namespace stag::cli {

// Writes what `plotter` (CreditPlotter, TransportPlotter) has of the capture `file` to `svg`. False, with a complaint,
// when that cannot be written.
template <typename Plotter>
bool WritePicture(const std::string& svg, const Plotter& plotter, const std::string& file, const FileOutcome& outcome,
                  bool quiet, Output& output) {
  Diagnostics& diagnostics = output.diagnostics();
  if (output.closed()) {
    diagnostics.Complain("{} is not written: the output was closed before the capture was read to its end", svg);
    return false;
  }
  if (plotter.empty()) {
    if (!quiet) diagnostics.Complain("{} is not written: there is nothing to draw", svg);
    return true;
  }
  if (!plotter.Write(svg, outcome.first_time_ns, DisplayName(file.substr(file.rfind('/') + 1)))) return false;
  if (plotter.left_out() > 0 && !quiet) {
    const uint64_t drawn = plotter.connections();
    diagnostics.Complain("{} shows {} of {} connections; --connection N draws another", svg, drawn,
                         drawn + plotter.left_out());
  }
  return true;
}

}  // namespace stag::cli
