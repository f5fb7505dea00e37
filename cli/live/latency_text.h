// SPDX-License-Identifier: GPL-2.0-or-later
//
// Latencies as the reports of live commands show them: columns of a table, and JSON.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "replay/rpcrdma/histogram.h"
#include "text/json.h"

namespace stag::cli {

inline double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// "min", percentiles from p50 to p99.99, "max": heads, and values, of nine characters each.
void PutLatencyHeads(std::string& out);
void PutLatencyCells(std::string& out, const rpcrdma::Histogram& latency);
// An object of nanoseconds: min, mean, the percentiles, max.
void PutLatencyJson(JsonWriter& json, const rpcrdma::Histogram& latency);

// A line for each thing that went wrong, and how often it did.
void PutTroublesJson(JsonWriter& json, const std::map<std::string, uint64_t>& troubles);

}  // namespace stag::cli
