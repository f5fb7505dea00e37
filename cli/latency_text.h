// SPDX-License-Identifier: GPL-2.0-or-later
//
// Latencies as the reports of live commands show them: columns of a table, and JSON.
#pragma once

#include "cli/output.h"
#include "replay/engine/histogram.h"

namespace stag::cli {

// "min", percentiles from p50 to p99.99, "max": heads, and values, of nine characters each.
void PutLatencyHeads(Buffer& out);
void PutLatencyCells(Buffer& out, const replay::Histogram& latency);
// An object of nanoseconds: min, mean, the percentiles, max.
void PutLatencyJson(Buffer& out, const replay::Histogram& latency);

}  // namespace stag::cli
