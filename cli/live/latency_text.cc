// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/latency_text.h"

#include "cli/live/live_rows.h"

namespace stag::cli {

using Times = results::Record<rpcrdma::Histogram>;

void PutLatencyHeads(std::string& out) {
  for (const results::MemberInfo& time : Times::kMembers)
    if (!time.heading.empty()) Put(out, "{:>9}", time.heading);
}

void PutLatencyCells(std::string& out, const rpcrdma::Histogram& latency) {
  for (const results::MemberInfo& time : Times::kMembers)
    if (!time.heading.empty()) Put(out, "{:>9}", DurationText(time.get(&latency).signed_number()));
}

}  // namespace stag::cli
