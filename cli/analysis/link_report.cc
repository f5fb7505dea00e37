// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/link_report.h"

#include "text/put.h"

namespace stag::cli {

bool HasLinkReport(const fabric::DecoderStats& stats) { return stats.tunneled + stats.copies + stats.bad_crc > 0; }

void PutLinkReport(std::string& out, const fabric::DecoderStats& stats) {
  if (stats.copies > 0)
    Put(out, "{} {} of packets left out{}", stats.copies, stats.copies == 1 ? "copy" : "copies",
        stats.tunneled + stats.bad_crc > 0 ? "; " : "");
  if (stats.bad_crc > 0) {
    PutCount(out, stats.bad_crc, "packet");
    Put(out, " with a wrong checksum, left out unless the receiver acknowledged it{}", stats.tunneled > 0 ? "; " : "");
  }
  if (stats.tunneled == 0) return;
  PutCount(out, stats.tunneled, "frame");
  Put(out, " unwrapped: ");
  std::string_view separator;
  for (size_t kind = 0; kind < stats.tunnels.size(); ++kind) {
    if (stats.tunnels[kind] == 0) continue;
    Put(out, "{}{} {}", separator, link::kTunnelNames[kind].name, stats.tunnels[kind]);
    separator = ", ";
  }
}

}  // namespace stag::cli
