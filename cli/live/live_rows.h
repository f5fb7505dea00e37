// SPDX-License-Identifier: GPL-2.0-or-later
//
// Records of several live commands: times as percentiles, procedures, TroubleRow.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "cli/base/row_output.h"
#include "replay/rpcrdma/histogram.h"

namespace stag::cli {

// The name of a Histogram whose times are written as nanoseconds.
struct Nanoseconds;

struct LiveProcedure {
  uint32_t program = 0, version = 0, procedure = 0;
  std::string operation;
};

struct TroubleRow {
  std::string text;
  uint64_t times = 0;
};
inline void PutTroubles(RowOutput& rows, const std::map<std::string, uint64_t>& troubles) {
  for (const auto& [text, times] : troubles) rows.PutOther(TroubleRow{text, times});
}

// `kPer10000`: the part of all times that are not longer.
template <int kPer10000>
int64_t PercentileOf(const rpcrdma::Histogram& times) {
  return static_cast<int64_t>(times.Percentile(kPer10000 / 100.0));
}
inline int64_t Shortest(const rpcrdma::Histogram& times) { return static_cast<int64_t>(times.min()); }
inline int64_t Mean(const rpcrdma::Histogram& times) { return std::llrint(times.mean()); }
inline int64_t Longest(const rpcrdma::Histogram& times) { return static_cast<int64_t>(times.max()); }

// `T`: int64_t for nanoseconds, or Duration.
template <typename T>
constexpr std::array<results::MemberInfo, 9> TimeMembers(std::string_view p999, std::string_view p9999) {
  using results::Member;
  return {
      Member<Shortest, T>("min", "The shortest.").Column("min"),
      Member<Mean, T>("mean", "The mean."),
      Member<PercentileOf<5000>, T>("p50", "The median. Percentiles are at most 1/128 too large.").Column("p50"),
      Member<PercentileOf<9000>, T>("p90", "90 % are not longer.").Column("p90"),
      Member<PercentileOf<9500>, T>("p95", "95 % are not longer.").Column("p95"),
      Member<PercentileOf<9900>, T>("p99", "99 % are not longer.").Column("p99"),
      Member<PercentileOf<9990>, T>(p999, "99.9 % are not longer.").Column("p99.9"),
      Member<PercentileOf<9999>, T>(p9999, "99.99 % are not longer.").Column("p99.99"),
      Member<Longest, T>("max", "The longest.").Column("max"),
  };
}

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<rpcrdma::Histogram> : Part<rpcrdma::Histogram> {
  static constexpr std::array kMembers = cli::TimeMembers<Duration>("p999", "p9999");
};
template <>
struct Record<cli::Nanoseconds> : Part<cli::Nanoseconds> {
  static constexpr std::array kMembers = cli::TimeMembers<int64_t>("p99.9", "p99.99");
};

// A Histogram in nanoseconds, as it was written before `instead`.
template <auto kHistogram>
constexpr MemberInfo InNanoseconds(std::string_view name, std::string_view instead) {
  MemberInfo member = Member<kHistogram>(name, "The same, in nanoseconds.").Use(instead);
  member.type.record = InfoOf<cli::Nanoseconds>;
  member.get = [](const void* row) {
    const auto& of = *static_cast<const typename PointerToMember<decltype(kHistogram)>::Row*>(row);
    return Value::Record(&(of.*kHistogram), InfoOf<cli::Nanoseconds>());
  };
  return member;
}

template <>
struct Record<cli::LiveProcedure> : Part<cli::LiveProcedure> {
  static constexpr std::array kMembers = {
      Member<&Row::program>("program", "RPC program."),
      Member<&Row::version>("version", "Version of the program."),
      Member<&Row::procedure>("procedure", "Number of the procedure."),
      Member<&Row::operation>("operation",
                              "Procedure with its program; of a COMPOUND the operation that it is about; others: "
                              "several that are counted together.")
          .Column("operation"),
      Member<&Row::operation>("name", "The same.").Use("operation"),
  };
};

template <>
struct Record<cli::TroubleRow> : Of<cli::TroubleRow> {
  static constexpr std::string_view kType = "trouble", kDoc = "A thing that went wrong.";
  static constexpr std::array kMembers = {
      Member<&Row::text>("text", "Sentence about it."),
      Member<&Row::times>("times", "Times that it did."),
  };
};

}  // namespace stag::results
