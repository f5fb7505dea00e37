// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency_row.h"

namespace stag::analysis {
namespace {

double Growth(int64_t before, int64_t now) {
  return before > 0 ? static_cast<double>(now - before) / static_cast<double>(before) * 100 : 0;
}

}  // namespace

TimeStatistics::TimeStatistics(const TimeHistogram& times) {
  const auto percentile = [&times](uint64_t thousandths) {
    return results::Duration{static_cast<int64_t>(times.Percentile(thousandths))};
  };
  p50 = percentile(500);
  p90 = percentile(900);
  p99 = percentile(990);
  p999 = percentile(999);
  max = {static_cast<int64_t>(times.max())};
  sum = {static_cast<int64_t>(times.sum())};
}

TimeStatistics TimeStatistics::operator-(const TimeStatistics& before) const {
  TimeStatistics difference;
  for (const auto statistic : {&TimeStatistics::p50, &TimeStatistics::p90, &TimeStatistics::p99, &TimeStatistics::p999,
                               &TimeStatistics::max, &TimeStatistics::sum})
    (difference.*statistic).ns = (this->*statistic).ns - (before.*statistic).ns;
  return difference;
}

LatencyVerdict TestedTimes::verdict() const {
  if (!significant) return LatencyVerdict::kNoDifference;
  return test.effect > 0 ? LatencyVerdict::kSlower : LatencyVerdict::kFaster;
}

LatencyComparison::LatencyComparison(const CountedTimes& now, const CountedTimes& before,
                                     const std::optional<TestedTimes>& tested)
    : against(before) {
  if (!tested) {
    verdict = now.count > 0 ? LatencyVerdict::kOnlyHere : LatencyVerdict::kOnlyThere;
    return;
  }
  difference = {now.times - before.times, {Growth(before.times.p50.ns, now.times.p50.ns)}};
  test = "Mann-Whitney U";
  p = {tested->test.p};
  effect = {tested->test.effect};
  significant = tested->significant;
  verdict = tested->verdict();
}

const results::RecordInfo& LatencyInfo(bool compared) {
  const results::RecordInfo& all = results::InfoOf<LatencyRow>();
  static const results::RecordInfo kAlone{all.type, all.doc, all.members.first(all.members.size() - 1)};
  return compared ? all : kAlone;
}

SlowRow::SlowRow(const LatencySample& sample, LatencyKey grouped_by)
    : by(grouped_by),
      key(sample.key),
      operation(sample.name),
      connection(sample.connection),
      xid{sample.xid},
      direction(DirectionOf(!sample.backward)),
      time{sample.call_ns},
      time_s{sample.since_start_ns},
      call_frame(sample.call_frame),
      reply_frame(sample.reply_frame),
      rtt{sample.rtt_ns},
      phases(sample.phases),
      phases_complete(sample.phases.complete),
      silence{sample.silence_ns} {
  PutTransactionId(id, sample.connection, sample.number);
  for (const SampleWait& wait : sample.waits) waits.push_back({wait.frame, results::Duration{wait.ns}, wait.cause});
  if (const auto longest = sample.LongestPhase()) phase = session::kPhaseNames[static_cast<size_t>(*longest)];
  for (size_t i = 0; i < kMeanwhiles; ++i)
    if (sample.meanwhile[i]) meanwhile.push_back(static_cast<Meanwhile>(i));
}

}  // namespace stag::analysis
