// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/credits/credit_plot.h"

#include <gtest/gtest.h>

#include "cli/credits/credit_plotter.h"

namespace stag::cli {
namespace {

using session::CreditChange;
using Cause = CreditChange::Event;

constexpr uint64_t kAmple = UINT64_MAX;

CreditChange At(int64_t time_ns, std::optional<uint32_t> granted, std::optional<uint32_t> outstanding) {
  CreditChange change;
  change.frame = {static_cast<uint64_t>(time_ns / 1000 + 1), time_ns};
  change.requested = 128;
  change.granted = granted;
  change.outstanding = outstanding;
  return change;
}

std::string Svg(const std::vector<const CreditPlot*>& plots, const std::string& name = "capture") {
  std::string out;
  WriteSvg(out, plots, 0, name);
  return {out.data(), out.size()};
}

size_t Count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(CreditPlot, MergedBinsKeepWhatTheyShow) {
  Budget budget(kAmple);
  CreditPlot plot(budget);
  constexpr int64_t kStep = 7919, kChanges = 200'000;
  for (int64_t i = 0; i < kChanges; ++i) {
    CreditChange change = At(1'000'000 + i * kStep, i < 500 ? 8u : 64u, static_cast<uint32_t>(i % 5));
    if (i == 77'777) change.outstanding = 63;  // for one moment
    if (i == 123'456) change.overrun = true;
    plot.Add(change);
  }
  ASSERT_LE(plot.bins().size(), CreditPlot::kBins);
  EXPECT_GT(plot.bins().size(), CreditPlot::kBins / 2);
  EXPECT_EQ(plot.start_ns(), 1'000'000);
  EXPECT_EQ(plot.end_ns(), 1'000'000 + (kChanges - 1) * kStep);
  uint32_t most = 0;
  uint64_t overruns = 0;
  for (size_t i = 0; i < plot.bins().size(); ++i) {
    const CreditPlot::Bin& bin = plot.bins()[i];
    const int64_t begin = plot.start_ns() + static_cast<int64_t>(i * plot.bin_ns());
    most = std::max(most, bin.outstanding.max);
    if (bin.outstanding.max == 63) {
      const int64_t peak = 1'000'000 + 77'777 * kStep;
      EXPECT_LE(begin, peak);
      EXPECT_GT(begin + static_cast<int64_t>(plot.bin_ns()), peak);
    }
    if (bin.overruns.count > 0) {
      EXPECT_EQ(bin.overruns.time_ns, 1'000'000 + 123'456 * kStep);
    }
    overruns += bin.overruns.count;
  }
  EXPECT_EQ(most, 63u);
  EXPECT_EQ(overruns, 1u);
  EXPECT_EQ(plot.bins().front().granted.first, 8u);
  EXPECT_EQ(plot.bins().back().granted.last, 64u);
}

TEST(CreditPlot, WithLittleMemoryBinsAreFewer) {
  Budget budget(10 * sizeof(CreditPlot::Bin));
  CreditPlot plot(budget);
  for (int64_t i = 0; i < 1000; ++i) plot.Add(At(i * 1'000'000, 8, static_cast<uint32_t>(i)));
  EXPECT_FALSE(budget.over());
  ASSERT_LE(plot.bins().size(), 10u);
  EXPECT_GE(plot.bins().size(), 4u);
  EXPECT_EQ(plot.bins().front().outstanding.first, 0u);
  EXPECT_EQ(plot.bins().back().outstanding.last, 999u);
  EXPECT_EQ(plot.end_ns(), 999'000'000);

  // Nothing is left for another: it has one bin.
  Charge rest(budget, budget.limit() - budget.used());
  CreditPlot another(budget);
  another.Add(At(0, 8, 1));
  another.Add(At(INT64_MAX, 8, 7));
  ASSERT_EQ(another.bins().size(), 1u);
  EXPECT_EQ(another.bins()[0].outstanding.max, 7u);
}

struct NoCredits final : session::CreditSink {
  void OnChange(const CreditChange&) override {}
  void OnSummary(const session::Connection&, fabric::Side, const session::CreditSummary&) override {}
};

TEST(CreditPlotter, ConnectionsThatThereIsNoRoomForAreCounted) {
  NoCredits next;
  for (const auto& [memory, drawn] :
       std::vector<std::pair<uint64_t, size_t>>{{kAmple, CreditPlotter::kMost}, {5000, 9}}) {
    CreditPlotter plotter(next, memory);
    for (uint32_t id = 1; id <= 1000; ++id) {
      session::Connection connection;
      connection.info.id = id;
      CreditChange change = At(id, 8, 1);
      change.connection = id;
      plotter.OnChange(change);
      plotter.OnSummary(connection, connection.client, {});
    }
    EXPECT_LE(plotter.connections(), drawn);
    EXPECT_GE(plotter.connections(), 1u);
    EXPECT_EQ(plotter.connections() + plotter.left_out(), 1000u);
  }
}

TEST(CreditPlot, TimeThatGoesBackStaysInTheLastBin) {
  Budget budget(kAmple);
  CreditPlot plot(budget);
  plot.Add(At(5'000'000, 8, 1));
  plot.Add(At(4'000'000, 8, 2));
  EXPECT_EQ(plot.bins().size(), 1u);
  EXPECT_EQ(plot.bins()[0].outstanding.last, 2u);
  plot.Add(At(INT64_MAX, 8, 3));
  EXPECT_LE(plot.bins().size(), CreditPlot::kBins);
}

TEST(CreditSvg, AMillionCallsMakeASmallFile) {
  Budget budget(kAmple);
  CreditPlot plot(budget);
  for (int64_t i = 0; i < 1'000'000; ++i) {
    CreditChange change = At(i * 10'000, 16 + static_cast<uint32_t>(i % 3), static_cast<uint32_t>(i * 31 % 40));
    change.overrun = change.outstanding > 18u;
    plot.Add(change);
  }
  const std::string svg = Svg({&plot});
  EXPECT_LT(svg.size(), 300'000u);
  EXPECT_LT(Count(svg, "<title>"), 120u);  // marks stand apart
  EXPECT_EQ(Count(svg, "</svg>"), 1u);
}

TEST(CreditSvg, EveryKindOfMarkHasItsLaneAndShape) {
  Budget budget(kAmple);
  CreditPlot plot(budget), calm(budget);
  plot.Add(At(0, 4, 1));
  calm.Add(At(0, 4, 1));
  CreditChange change = At(1'000'000, 4, 5);
  change.overrun = true;
  plot.Add(change);
  change = At(2'000'000, 4, 5);
  change.event = Cause::kRnrNak;
  plot.Add(change);
  change = At(3'000'000, 0, 4);
  change.zero_grant = true;
  plot.Add(change);
  change = At(4'000'000, std::nullopt, std::nullopt);
  change.event = Cause::kGap;
  plot.Add(change);
  change = At(5'000'000, std::nullopt, std::nullopt);
  change.event = Cause::kClosed;
  change.lost = true;
  plot.Add(change);
  const std::string svg = Svg({&plot});
  for (const char* text :
       {"Call over the grant in frame 1001", "RNR NAK in frame 2001", "grant of no credits in frame 3001",
        "packets missing from the capture in frame 4001", "connection lost in frame 5001", "outstanding: not known",
        ">over grant<", ">zero grant<", "prefers-color-scheme: dark"})
    EXPECT_EQ(Count(svg, text), 1u + (std::string_view(text) == "outstanding: not known")) << text;
  const std::string without = Svg({&calm});
  EXPECT_EQ(Count(without, "over grant"), 0u);
  EXPECT_EQ(Count(without, "not known</title>"), 0u);
}

// Where nothing is known nothing is drawn.
TEST(CreditSvg, LinesStopWhereNothingIsKnown) {
  Budget budget(kAmple);
  CreditPlot plot(budget);
  plot.Add(At(0, 8, 2));
  plot.Add(At(1'000'000, std::nullopt, std::nullopt));
  plot.Add(At(9'000'000, 8, 1));
  plot.Add(At(10'000'000, 8, 0));
  const std::string svg = Svg({&plot});
  const size_t line = svg.rfind("class=\"line outstanding\"");  // behind the legend
  ASSERT_NE(line, std::string::npos);
  const std::string path = svg.substr(line, svg.find("/>", line) - line);
  EXPECT_EQ(Count(path, "M"), 2u);  // it begins twice
}

TEST(CreditSvg, NamesAreEscaped) {
  Budget budget(kAmple);
  CreditPlot plot(budget);
  plot.title = "a<b";
  plot.Add(At(0, 8, 1));
  const std::string svg = Svg({&plot}, "<x> & \"y\" \xff");
  EXPECT_EQ(svg.find("<x>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;x&gt; &amp; &quot;y&quot; \xef\xbf\xbd"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
}

TEST(CreditSvg, FewOfManyAreDrawnByPowersOfTwo) {
  Budget budget(kAmple);
  CreditPlot few(budget), many(budget);
  few.Add(At(0, 64, 2));
  many.Add(At(0, 64, 60));
  EXPECT_NE(Svg({&few}).find("powers of two"), std::string::npos);
  EXPECT_EQ(Svg({&many}).find("powers of two"), std::string::npos);
}

}  // namespace
}  // namespace stag::cli
