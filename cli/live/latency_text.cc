// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/latency_text.h"

#include "text/put.h"

namespace stag::cli {
namespace {

struct Percentile {
  double percent;
  std::string_view name;
};
constexpr Percentile kPercentiles[] = {{50, "p50"}, {90, "p90"},     {95, "p95"},
                                       {99, "p99"}, {99.9, "p99.9"}, {99.99, "p99.99"}};

void PutCell(std::string& out, uint64_t ns) {
  std::string value;
  PutDuration(value, static_cast<int64_t>(ns));
  Put(out, "{:>9}", value);
}

}  // namespace

void PutLatencyHeads(std::string& out) {
  Put(out, "{:>9}", "min");
  for (const Percentile& p : kPercentiles) Put(out, "{:>9}", p.name);
  Put(out, "{:>9}", "max");
}

void PutLatencyCells(std::string& out, const rpcrdma::Histogram& latency) {
  PutCell(out, latency.min());
  for (const Percentile& p : kPercentiles) PutCell(out, latency.Percentile(p.percent));
  PutCell(out, latency.max());
}

void PutLatencyJson(JsonWriter& json, const rpcrdma::Histogram& latency) {
  json.BeginObject().Member("min", latency.min()).Key("mean").Fixed(latency.mean(), 0);
  for (const Percentile& p : kPercentiles) json.Member(p.name, latency.Percentile(p.percent));
  json.Member("max", latency.max()).EndObject();
}

void PutTroublesJson(JsonWriter& json, const std::map<std::string, uint64_t>& troubles) {
  for (const auto& [text, times] : troubles)
    json.BeginObject().Member("type", "trouble").Member("text", text).Member("times", times).EndObject().EndLine();
}

}  // namespace stag::cli
