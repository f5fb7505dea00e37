// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/link_report.h"

#include <utility>

#include "analysis/stop_text.h"
#include "text/put.h"

namespace stag::cli {

bool HasLinkReport(const fabric::DecoderStats& stats) {
  return stats.tunneled + stats.copies + stats.bad_crc + stats.stopped.all() > 0;
}

void PutLinkReport(std::string& out, const fabric::DecoderStats& stats) {
  const char* separator = "";
  if (stats.copies > 0) {
    Put(out, "{} {} of packets left out", stats.copies, stats.copies == 1 ? "copy" : "copies");
    if (stats.unclear_copies > 0) Put(out, ", of which {} may have been sent again", stats.unclear_copies);
    separator = "; ";
  }
  if (stats.bad_crc > 0) {
    Put(out, "{}{} with a wrong checksum, left out unless the receiver acknowledged it", std::exchange(separator, "; "),
        Count(stats.bad_crc, "packet"));
  }
  if (stats.tunneled > 0) {
    Put(out, "{}{} unwrapped: ", std::exchange(separator, "; "), Count(stats.tunneled, "frame"));
    const char* comma = "";
    for (size_t kind = 0; kind < stats.tunnels.size(); ++kind) {
      if (stats.tunnels[kind] > 0)
        Put(out, "{}{} {}", std::exchange(comma, ", "), link::kTunnelNames[kind].name, stats.tunnels[kind]);
    }
  }
  if (stats.stopped.all() > 0) {
    Put(out, "{}", separator);
    PutStopped(out, stats.stopped);
  }
}

void PutStopped(std::string& out, const fabric::StopCounts& stopped) {
  Put(out, "{} not looked into: ", Count(stopped.all(), "frame"));
  const char* comma = "";
  uint64_t listed = 0;
  for (const fabric::StopCounts::Entry& entry : stopped.entries()) {
    Put(out, "{}{} {}", std::exchange(comma, ", "), analysis::TextOfStop(entry.stop), entry.frames);
    listed += entry.frames;
  }
  if (listed < stopped.all()) Put(out, ", others {}", stopped.all() - listed);
}

}  // namespace stag::cli
