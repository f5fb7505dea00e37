// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopRow: the RPCs of one key in an interval.
#pragma once

#include <optional>
#include <string>

#include "analysis/latency_keys.h"
#include "analysis/top_table.h"
#include "results/record.h"

namespace stag::analysis {

struct TopInterval {
  int64_t start_ns = 0;   // since 1970
  int64_t origin_ns = 0;  // of the first frame of the capture
  int64_t length_ns = 0;  // 0: everything has the same time
};

struct TopRow {
  TopRow() = default;
  TopRow(const TopEntry& entry, LatencyKey by, const TopInterval& interval);

  results::Time time;
  results::Elapsed time_s;
  results::Duration interval;
  LatencyKey by = LatencyKey::kProcedure;
  std::string key;
  uint64_t calls = 0;
  std::optional<results::Decimal<3>> calls_per_s, bytes_per_s;
  std::optional<results::Duration> p50, p99;
  uint64_t outstanding = 0, errors = 0;
};

// The same over all intervals.
struct TopTotalRow {
  TopRow row;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::TopRow> : Of<analysis::TopRow> {
  static constexpr std::string_view kType = "top";
  static constexpr std::string_view kDoc =
      "The RPCs of one key in an interval, in which their Replies were sent. Intervals in which nothing happens are "
      "one. "
      "Rows of a device have no file.";
  static constexpr std::array kMembers = {
      Member<&Row::time>("time", "When the interval begins, UTC.").Column("time"),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture; live, since the command began."),
      Member<&Row::interval>("interval_us", "The length of the interval.").Column("interval"),
      Member<&Row::by>("by", "The key that RPCs are grouped by."),
      Member<&Row::key>("key", "The RPCs that have this key are in the row.").Column("key"),
      Member<&Row::calls>("calls", "Answered RPCs.").Column("calls"),
      Member<&Row::calls_per_s>("calls_per_s", "The same in a second; null: the interval has no length.")
          .In("1/s")
          .Column("rate"),
      Member<&Row::bytes_per_s>("bytes_per_s", "File data in a second; null: the interval has no length.")
          .In("bytes/s")
          .Column("data"),
      Member<&Row::p50>("p50_us", "The median round-trip time; null: no RPC has one.").Column("p50"),
      Member<&Row::p99>("p99_us", "99 % of the round-trip times are not longer; null: no RPC has one.").Column("p99"),
      Member<&Row::outstanding>("outstanding", "Calls without a Reply at the end of the interval.")
          .Column("outstanding"),
      Member<&Row::errors>("errors", "RDMA_ERROR, RPCs that were not executed, NFS statuses other than OK.")
          .Column("errors"),
  };
};

template <>
struct Record<analysis::TopTotalRow> {
  static constexpr std::string_view kType = "top_total";
  static constexpr std::string_view kDoc = "The RPCs of one key in all intervals: with --once these are rows of top.";
  static constexpr std::array kMembers = {Inline<&analysis::TopTotalRow::row>()};
};

}  // namespace stag::results
