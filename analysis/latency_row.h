// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyRow: percentiles of a time of the RPCs of one key, and their difference to another capture; SlowRow: one of
// the slowest RPCs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/latency_keys.h"
#include "analysis/latency_table.h"
#include "analysis/rank_test.h"
#include "analysis/transaction_row.h"
#include "results/record.h"

namespace stag::analysis {

struct TimeStatistics {
  TimeStatistics() = default;
  explicit TimeStatistics(const TimeHistogram& times);
  TimeStatistics operator-(const TimeStatistics& before) const;
  results::Duration p50, p90, p99, p999, max, sum;
};

struct CountedTimes {
  CountedTimes() = default;
  explicit CountedTimes(const TimeHistogram& histogram) : count(histogram.count()), times(histogram) {}
  uint64_t count = 0;
  TimeStatistics times;
};

struct TimesDifference {
  TimeStatistics times;
  results::Decimal<2> p50_percent;
};

enum class LatencyVerdict : uint8_t { kSlower, kFaster, kNoDifference, kOnlyHere, kOnlyThere };

// Both captures have such RPCs; `test` is corrected for the number of tests.
struct TestedTimes {
  RankTest test;
  bool significant = false;
  LatencyVerdict verdict() const;
};

struct LatencyComparison {
  LatencyComparison() = default;
  LatencyComparison(const CountedTimes& now, const CountedTimes& before, const std::optional<TestedTimes>& tested);

  CountedTimes against;
  std::optional<TimesDifference> difference;
  std::optional<std::string_view> test;
  std::optional<results::Decimal<9>> p;
  std::optional<results::Decimal<4>> effect;
  std::optional<bool> significant;
  LatencyVerdict verdict = LatencyVerdict::kNoDifference;
};

struct LatencyRow {
  LatencyKey by = LatencyKey::kProcedure;
  std::string key;
  std::string_view phase;
  CountedTimes now;
  results::Omittable<LatencyComparison> comparison;
};

// Describes rows that are compared, or rows that are not, without the members of the comparison.
const results::RecordInfo& LatencyInfo(bool compared);

struct WaitRow {
  uint64_t frame = 0;
  results::Duration length;
  delivery::Cause cause = delivery::Cause::kTimer;
};

struct SlowRow {
  SlowRow() = default;
  SlowRow(const LatencySample& sample, LatencyKey by);

  LatencyKey by = LatencyKey::kProcedure;
  std::string id, key, operation;
  uint32_t connection = 0;
  results::Xid xid;
  std::string_view direction;
  results::Time time;
  results::Elapsed time_s;
  uint64_t call_frame = 0, reply_frame = 0;
  results::Duration rtt;
  PhasesRow phases;
  bool phases_complete = false;
  std::optional<std::string_view> phase;
  std::vector<Meanwhile> meanwhile;
  std::vector<WaitRow> waits;
  results::Duration silence;
};

}  // namespace stag::analysis

namespace stag {

template <>
struct EnumNames<analysis::LatencyVerdict> {
  static constexpr std::array<std::string_view, 5> kNames = {"slower", "faster", "no difference", "only here",
                                                             "only there"};
};

}  // namespace stag

namespace stag::results {

template <>
struct Record<analysis::TimeStatistics> : Part<analysis::TimeStatistics> {
  static constexpr std::array kMembers = {
      Member<&Row::p50>("p50_us", "The median. Percentiles are by nearest rank, to within 0.1 %.").Column("p50"),
      Member<&Row::p90>("p90_us", "90 % are not longer.").Column("p90"),
      Member<&Row::p99>("p99_us", "99 % are not longer.").Column("p99"),
      Member<&Row::p999>("p999_us", "99.9 % are not longer.").Column("p99.9"),
      Member<&Row::max>("max_us", "The longest.").Column("max"),
      Member<&Row::sum>("sum_us", "All together.").Column("sum"),
  };
};

template <>
struct Record<analysis::CountedTimes> : Part<analysis::CountedTimes> {
  static constexpr std::array kMembers = {
      Member<&Row::count>("count", "RPCs that have this time.").Column("count"),
      Inline<&Row::times>(),
  };
};

template <>
struct Record<analysis::TimesDifference> : Part<analysis::TimesDifference> {
  static constexpr std::array kMembers = {
      Inline<&Row::times>(),
      Member<&Row::p50_percent>("p50_percent", "That of the median, of the median of the other capture.").In("percent"),
  };
};

template <>
struct Record<analysis::LatencyComparison> : Part<analysis::LatencyComparison> {
  static constexpr std::array kMembers = {
      Member<&Row::against>("against", "The same of the capture of --against."),
      Member<&Row::difference>("difference",
                               "The times of these captures less those of the other; null: one of both has none."),
      Member<&Row::test>("test", "The test that compares both."),
      Member<&Row::p>("p",
                      "How likely such a difference is by chance, corrected for the number of tests by Holm's method.")
          .Column("p"),
      Member<&Row::effect>("effect", "Cliff's delta: from -1, all are faster, to 1, all are slower.").Column("effect"),
      Member<&Row::significant>("significant", "p is below 0.01, and the effect at least 0.147, either way."),
      Member<&Row::verdict>("verdict", "The outcome; only here, only there: one of both has no such RPC.")
          .Column("verdict"),
  };
};

template <>
struct Record<analysis::LatencyRow> : Of<analysis::LatencyRow> {
  static constexpr std::string_view kType = "latency";
  static constexpr std::string_view kDoc =
      "The round-trip time of the RPCs of one key, or one of its phases. Several captures count as one: then there is "
      "no file.";
  static constexpr std::array kMembers = {
      Member<&Row::by>("by", "The key that RPCs are grouped by."),
      Member<&Row::key>("key", "The RPCs that have this key are in the row.").Column("key"),
      Member<&Row::phase>("phase", "rtt, the round trip; or to_first_read, pull, service, push or finish.")
          .Column("time"),
      Inline<&Row::now>(),
      Inline<&Row::comparison>(),
  };
};

template <>
struct Record<analysis::WaitRow> : Part<analysis::WaitRow> {
  static constexpr std::array kMembers = {
      Member<&Row::frame>("frame", "The frame that delivered the last of them."),
      Member<&Row::length>("us", "For how long."),
      Member<&Row::cause>("cause",
                          "timer: no evidence made the sender send again, but time. nak, rnr_nak, duplicate_acks: the "
                          "receiver asked. gap: the first copy was lost before it was captured."),
  };
};
template <>
struct Record<analysis::SlowRow> : Of<analysis::SlowRow> {
  static constexpr std::string_view kType = "slowest";
  static constexpr std::string_view kDoc = "One of the slowest RPCs, the slowest first.";
  static constexpr std::array kMembers = {
      Member<&Row::by>("by", "The key that RPCs are grouped by."),
      Member<&Row::key>("key", "Its key."),
      Member<&Row::id>("id", "Name of the RPC in its capture, as in stag transactions."),
      Member<&Row::operation>("operation", "Procedure with its program; of a COMPOUND the operation that it is about."),
      Member<&Row::operation>("name", "The same.").Use("operation"),
      Member<&Row::connection>("connection", "Number of the connection in its capture, from 1."),
      Member<&Row::xid>("xid", "Its xid."),
      Member<&Row::direction>("direction", "c2s: the client calls; s2c: the server."),
      Member<&Row::time>("time", "Time of the Call, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture."),
      Member<&Row::call_frame>("call_frame", "The frame of the Call."),
      Member<&Row::reply_frame>("reply_frame", "The frame of the Reply."),
      Member<&Row::rtt>("rtt_us", "From the Call to the Reply."),
      Member<&Row::phases>("phases_us", "The parts of that; null: it has no such part, or the part is not known."),
      Member<&Row::phases_complete>("phases_complete", "Every part that it has is known."),
      Member<&Row::phase>("phase", "The longest part; null: not all are known."),
      Member<&Row::meanwhile>("meanwhile",
                              "Events on the connection from the Call to the Reply: rnr_nak, a receiver was not ready; "
                              "sequence_nak, packets were lost, and sent again; gap, the capture lacks packets; "
                              "credits, all credits were in use."),
      Member<&Row::waits>("waits", "When packets of the RPC waited to be delivered, one after the other."),
      Member<&Row::silence>("silence_us", "The longest time in between without a packet of the connection."),
  };
};

}  // namespace stag::results
