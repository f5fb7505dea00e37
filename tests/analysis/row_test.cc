// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "analysis/latency_row.h"
#include "analysis/top_row.h"
#include "protocol/base/serialize.h"
#include "results/columns.h"
#include "results/json.h"

namespace stag::analysis {
namespace {

constexpr int64_t kDay = 86'400'000'000'000;

TimeHistogram Of(std::initializer_list<uint64_t> values) {
  TimeHistogram histogram;
  for (const uint64_t value : values) histogram.Record(value);
  return histogram;
}

template <typename R>
std::string Json(const R& row, std::optional<std::string_view> file = std::nullopt) {
  std::string out;
  JsonWriter json(out);
  results::PutRow(json, row, file);
  return out;
}

LatencySample Sample() {
  LatencySample sample;
  sample.file = 3;
  sample.key = "key";
  sample.name = "NFSv3 READ";
  sample.connection = 7;
  sample.number = 5;
  sample.xid = 0x1a;
  sample.call_frame = 11;
  sample.reply_frame = 12;
  sample.backward = true;
  sample.call_ns = kDay + 5;
  sample.reply_ns = kDay + 3005;
  sample.since_start_ns = 2'000'000'005;
  sample.rtt_ns = 3000;
  sample.phases.ns[static_cast<size_t>(session::Phase::kService)] = 1000;
  sample.phases.ns[static_cast<size_t>(session::Phase::kPush)] = 2000;
  sample.phases.complete = true;
  sample.meanwhile = {false, true, false, true};
  sample.waits = {{12, 2500, delivery::Cause::kNak}};
  sample.silence_ns = 1500;
  return sample;
}

TEST(SlowRowTest, HasWhatTheSampleSays) {
  EXPECT_EQ(
      Json(SlowRow(Sample(), LatencyKey::kClient), "a.pcap"),
      R"({"type":"slowest","file":"a.pcap","by":"client","key":"key","id":"7.5","operation":"NFSv3 READ",)"
      R"("name":"NFSv3 READ","connection":7,)"
      R"("xid":"0x0000001a","direction":"s2c","time":"1970-01-02T00:00:00.000000005Z","time_s":2.000000005,)"
      R"("call_frame":11,"reply_frame":12,"rtt_us":3.000,"phases_us":{"to_first_read":null,"pull":null,)"
      R"("service":1.000,"push":2.000,"finish":null,"recovery":null},"phases_complete":true,"phase":"push",)"
      R"("meanwhile":["sequence_nak","credits"],"waits":[{"frame":12,"us":2.500,"cause":"nak"}],"silence_us":1.500})");
}

TEST(LatencySampleTest, IsTheSameInAnotherProcess) {
  std::optional<LatencySample> taken;
  ASSERT_TRUE(Unpack(Pack(std::optional(Sample())), taken));
  EXPECT_EQ(taken->file, 3u);
  EXPECT_EQ(Json(SlowRow(*taken, LatencyKey::kFile)), Json(SlowRow(Sample(), LatencyKey::kFile)));
}

TEST(LatencyRowTest, ComparesBoth) {
  const CountedTimes now(Of({1000, 3000, 5000})), before(Of({2000, 2000}));
  LatencyRow row{LatencyKey::kSize, "no data", kTimeNames[3], now, {}};
  const std::string alone =
      R"({"type":"latency","by":"size","key":"no data","phase":"service","count":3,"p50_us":3.000,"p90_us":5.000,)"
      R"("p99_us":5.000,"p999_us":5.000,"max_us":5.000,"sum_us":9.000)";
  EXPECT_EQ(Json(row), alone + "}");
  row.comparison = LatencyComparison(now, before, TestedTimes{{0.001, 0.5}, true});
  EXPECT_EQ(Json(row),
            alone + R"(,"against":{"count":2,"p50_us":2.000,"p90_us":2.000,"p99_us":2.000,"p999_us":2.000,)"
                    R"("max_us":2.000,"sum_us":4.000},"difference":{"p50_us":1.000,"p90_us":3.000,"p99_us":3.000,)"
                    R"("p999_us":3.000,"max_us":3.000,"sum_us":5.000,"p50_percent":50.00},"test":"Mann-Whitney U",)"
                    R"("p":0.001000000,"effect":0.5000,"significant":true,"verdict":"slower"})");
  EXPECT_EQ(LatencyComparison(now, before, TestedTimes{{0.001, -0.5}, true}).verdict, LatencyVerdict::kFaster);
  EXPECT_EQ(LatencyComparison(now, before, TestedTimes{{0.5, -0.5}, false}).verdict, LatencyVerdict::kNoDifference);
}

TEST(LatencyRowTest, WhatOneCaptureAloneHasIsNotCompared) {
  const CountedTimes some(Of({1000})), none(Of({}));
  LatencyRow row{LatencyKey::kProcedure, "key", kTimeNames[0], some, {}};
  row.comparison = LatencyComparison(some, none, std::nullopt);
  EXPECT_NE(Json(row).find(R"("difference":null,"test":null,"p":null,"effect":null,"significant":null,)"
                           R"("verdict":"only here")"),
            std::string::npos);
  EXPECT_EQ(LatencyComparison(none, some, std::nullopt).verdict, LatencyVerdict::kOnlyThere);
}

TEST(LatencyRowTest, ColumnsOfAComparisonAreThereWhereOneIs) {
  const auto alone = results::ColumnsOf(LatencyInfo(false)), compared = results::ColumnsOf(LatencyInfo(true));
  EXPECT_EQ(alone.back().name, "sum_us");
  EXPECT_EQ(compared[alone.size()].name, "against.count");
  EXPECT_EQ(compared.back().name, "verdict");
}

TEST(TopRowTest, RatesNeedALengthAndPercentilesATime) {
  TopEntry entry{"10.0.0.1", {}, 2};
  entry.counts.Add(std::nullopt, 1024, true);
  EXPECT_EQ(Json(TopRow(entry, LatencyKey::kServer, {kDay, kDay, 0})),
            R"({"type":"top","time":"1970-01-02T00:00:00.000000000Z","time_s":0.000000000,"interval_us":0.000,)"
            R"("by":"server","key":"10.0.0.1","calls":1,"calls_per_s":null,"bytes_per_s":null,"p50_us":null,)"
            R"("p99_us":null,"outstanding":2,"errors":1})");
  entry.counts.Add(3000, 1024, false);
  EXPECT_EQ(Json(TopTotalRow{TopRow(entry, LatencyKey::kServer, {kDay + 1, kDay, 500'000'000})}),
            R"({"type":"top_total","time":"1970-01-02T00:00:00.000000001Z","time_s":0.000000001,)"
            R"("interval_us":500000.000,"by":"server","key":"10.0.0.1","calls":2,"calls_per_s":4.000,)"
            R"("bytes_per_s":4096.000,"p50_us":3.000,"p99_us":3.000,"outstanding":2,"errors":1})");
}

}  // namespace
}  // namespace stag::analysis
