// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency_text.h"

#include "cli/text.h"

namespace stag::cli {
namespace {

struct Percentile {
  double percent;
  std::string_view name;
};
constexpr Percentile kPercentiles[] = {{50, "p50"}, {90, "p90"},     {95, "p95"},
                                       {99, "p99"}, {99.9, "p99.9"}, {99.99, "p99.99"}};

void PutCell(Buffer& out, uint64_t ns) {
  Buffer value;
  PutDuration(value, static_cast<int64_t>(ns));
  Put(out, "{:>9}", std::string_view(value.data(), value.size()));
}

}  // namespace

void PutLatencyHeads(Buffer& out) {
  Put(out, "{:>9}", "min");
  for (const Percentile& p : kPercentiles) Put(out, "{:>9}", p.name);
  Put(out, "{:>9}", "max");
}

void PutLatencyCells(Buffer& out, const replay::Histogram& latency) {
  PutCell(out, latency.min());
  for (const Percentile& p : kPercentiles) PutCell(out, latency.Percentile(p.percent));
  PutCell(out, latency.max());
}

void PutLatencyJson(Buffer& out, const replay::Histogram& latency) {
  Put(out, "{{\"min\":{},\"mean\":{:.0f}", latency.min(), latency.mean());
  for (const Percentile& p : kPercentiles) Put(out, ",\"{}\":{}", p.name, latency.Percentile(p.percent));
  Put(out, ",\"max\":{}}}", latency.max());
}

}  // namespace stag::cli
