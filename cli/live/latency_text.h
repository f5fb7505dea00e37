// SPDX-License-Identifier: GPL-2.0-or-later
//
// Latencies as the reports of live commands show them.
#pragma once

#include <chrono>
#include <string>

#include "replay/rpcrdma/histogram.h"

namespace stag::cli {

inline double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// "min", percentiles from p50 to p99.99, "max": heads, and values, of nine characters each.
void PutLatencyHeads(std::string& out);
void PutLatencyCells(std::string& out, const rpcrdma::Histogram& latency);
}  // namespace stag::cli
