// SPDX-License-Identifier: GPL-2.0-or-later
//
// PutLatencySvg. Times go up by powers of ten, percentiles to the right by how few values are above them. What colours
// show, words show, too.
#include <algorithm>
#include <cmath>

#include "cli/base/svg.h"
#include "cli/latency/latency_course.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

constexpr double kLeft = kSvgLeft, kLegend = 190, kPlot = kSvgPlot - kLegend;
constexpr double kHeight = 260, kAxis = 62;
constexpr size_t kCurves = 6;

// Colours on a light and on a dark ground.
constexpr std::string_view kLight = R"(
  .line { stroke-width: 1.6; } .before { stroke-dasharray: 6 4; }
  .c0 { stroke: #0969da; } .c1 { stroke: #bc4c00; } .c2 { stroke: #1a7f37; }
  .c3 { stroke: #8250df; } .c4 { stroke: #9a6700; } .c5 { stroke: #59636e; }
  .most { stroke: none; fill: #cf222e; }
)";
constexpr std::string_view kDark = R"(    .c0 { stroke: #58a6ff; } .c1 { stroke: #f0883e; } .c2 { stroke: #3fb950; }
    .c3 { stroke: #bc8cff; } .c4 { stroke: #e3b341; } .c5 { stroke: #9198a1; }
    .most { fill: #ff7b72; }
)";

// Times up the side.
class Scale {
 public:
  Scale(double top, uint64_t least, uint64_t most)
      : top_(top),
        low_(static_cast<int>(std::floor(std::log10(std::max<double>(static_cast<double>(least), 1))))),
        high_(std::max(static_cast<int>(std::ceil(std::log10(std::max<double>(static_cast<double>(most), 1)))),
                       low_ + 1)) {}
  double Y(uint64_t ns) const {
    const double at = (std::log10(std::max<double>(static_cast<double>(ns), 1)) - low_) / (high_ - low_);
    return top_ + kHeight * (1 - std::clamp(at, 0.0, 1.0));
  }
  void Put(std::string& out) const {
    for (int power = low_; power <= high_; ++power) {
      const auto ns = static_cast<uint64_t>(std::llround(std::pow(10, power)));
      std::string label;
      PutDuration(label, static_cast<int64_t>(ns));
      stag::Put(out, "<path d=\"M{} {:.1f}h{}\" class=\"grid\"/>\n", kLeft, Y(ns), kPlot);
      PutSvgText(out, kLeft - 8, Y(ns) + 4, "muted", label, "end");
    }
    stag::Put(out, "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n", kLeft, top_, kPlot,
              kHeight);
  }

 private:
  double top_;
  int low_, high_;  // powers of ten
};

// The percentiles that curves go through: half of what is left each time, as far as there are values.
std::vector<uint64_t> Points(const analysis::TimeHistogram& times) {
  std::vector<uint64_t> points;
  for (const uint64_t thousandths : {0u, 100u, 250u, 500u, 750u, 900u, 950u, 975u, 990u, 995u, 999u, 1000u})
    if (thousandths <= 500 || times.count() * (1000 - thousandths) >= 1000 || thousandths == 1000)
      points.push_back(thousandths);
  return points;
}

// 0 %: left; 50, 90, 99, 99.9 %: at equal steps by powers of ten; 100 %: right.
double PercentileX(uint64_t thousandths) {
  constexpr double kMost = 3.5;
  const double rest = std::max(1 - static_cast<double>(thousandths) / 1000, 1e-9);
  return kLeft + kPlot * std::min(-std::log10(rest), kMost) / kMost;
}

void PutCurves(std::string& out, const analysis::LatencyTable& table, const analysis::LatencyTable* against,
               double top) {
  std::vector<std::string> keys = table.Keys();
  if (keys.size() > kCurves) keys.resize(kCurves);
  uint64_t least = UINT64_MAX, most = 1;
  for (const std::string& key : keys) {
    const analysis::TimeHistogram& times = table.Row(key).times[0];
    least = std::min(least, times.Percentile(0));
    most = std::max(most, times.max());
  }
  const Scale scale(top, keys.empty() ? 1 : least, most);
  scale.Put(out);
  for (const auto& [thousandths, label] : {std::pair<uint64_t, std::string_view>{0, "0 %"},
                                           {500, "50"},
                                           {900, "90"},
                                           {990, "99"},
                                           {999, "99.9"},
                                           {1000, "100 %"}}) {
    Put(out, "<path d=\"M{:.1f} {:.1f}v5\" class=\"frame\"/>\n", PercentileX(thousandths), top + kHeight);
    PutSvgText(out, PercentileX(thousandths), top + kHeight + 18, "muted", label, "middle");
  }
  PutSvgText(out, kLeft + kPlot, top + kHeight + 35, "muted", "percentile of the round-trip times", "end");
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto put = [&](const analysis::LatencyTable& from, std::string_view classes) {
      const analysis::LatencyHistograms* const row = from.Find(keys[i]);
      if (!row || row->times[0].count() == 0) return;
      std::string path;
      for (const uint64_t thousandths : Points(row->times[0])) {
        Put(path, "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", PercentileX(thousandths),
            scale.Y(row->times[0].Percentile(thousandths)));
      }
      Put(out, "<path class=\"line c{} {}\" d=\"{}\"><title>{}</title></path>\n", i, classes, path, Markup(keys[i]));
    };
    put(table, "");
    if (against) put(*against, "before");
    const double y = top + 14 + 20 * static_cast<double>(i);
    Put(out, "<path class=\"line c{}\" d=\"M{} {}h24\"/>\n", i, kLeft + kPlot + 14, y - 4);
    PutSvgText(out, kLeft + kPlot + 44, y, "text", keys[i].substr(0, 24));
  }
  if (against) {
    const double y = top + 14 + 20 * static_cast<double>(keys.size());
    Put(out, "<path class=\"line c5 before\" d=\"M{} {}h24\"/>\n", kLeft + kPlot + 14, y - 4);
    PutSvgText(out, kLeft + kPlot + 44, y, "text", "the other capture");
  }
}

void PutCourse(std::string& out, const LatencyCourse& course, double top) {
  uint64_t least = UINT64_MAX, most = 1;
  for (const analysis::TimeHistogram& bin : course.bins()) {
    if (bin.count() == 0) continue;
    least = std::min(least, bin.Percentile(500));
    most = std::max(most, bin.max());
  }
  const Scale scale(top, least == UINT64_MAX ? 1 : least, most);
  scale.Put(out);
  const auto bins = static_cast<double>(std::max<size_t>(course.bins().size(), 1));
  const double length = bins * static_cast<double>(course.bin_ns()) / 1e9;
  const auto x_of = [&](double bin) { return kLeft + kPlot * bin / bins; };
  const double step = NiceStep(length / 8);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-6)));
  for (int i = 0; i < 20 && i * step <= length * 1.000001; ++i) {
    const double x = kLeft + kPlot * i * step / length;
    Put(out, "<path d=\"M{:.1f} {:.1f}v5\" class=\"frame\"/>\n", x, top + kHeight);
    PutSvgText(out, x, top + kHeight + 18, "muted", fmt::format("{:.{}f}", i * step, decimals), "middle");
  }
  PutSvgText(out, kLeft + kPlot, top + kHeight + 35, "muted", "seconds since the first Reply", "end");
  std::string median, p99;
  for (size_t i = 0; i < course.bins().size(); ++i) {
    const analysis::TimeHistogram& bin = course.bins()[i];
    if (bin.count() == 0) continue;
    const double x = x_of(static_cast<double>(i) + 0.5);
    Put(median, "{}{:.1f} {:.1f}", median.empty() ? "M" : "L", x, scale.Y(bin.Percentile(500)));
    Put(p99, "{}{:.1f} {:.1f}", p99.empty() ? "M" : "L", x, scale.Y(bin.Percentile(990)));
    Put(out, "<circle class=\"most\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.8\"/>\n", x, scale.Y(bin.max()));
  }
  if (!median.empty()) {
    Put(out, "<path class=\"line c1\" d=\"{}\"/>\n<path class=\"line c0\" d=\"{}\"/>\n", p99, median);
  }
  const double x = kLeft + kPlot + 14;
  Put(out, "<circle class=\"most\" cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", x + 12, top + 10);
  PutSvgText(out, x + 30, top + 14, "text", "longest");
  Put(out, "<path class=\"line c1\" d=\"M{} {}h24\"/>\n", x, top + 30);
  PutSvgText(out, x + 30, top + 34, "text", "99th percentile");
  Put(out, "<path class=\"line c0\" d=\"M{} {}h24\"/>\n", x, top + 50);
  PutSvgText(out, x + 30, top + 54, "text", "median");
}

}  // namespace

const SvgStyle kLatencyStyle{kLight, kDark};

void PutLatencySvg(std::string& out, const analysis::LatencyTable& table, const analysis::LatencyTable* against,
                   const LatencyCourse& course, const std::string& name, const SvgPlace& place) {
  BeginSvg(out, kSvgHead + 2 * kHeight + kAxis + 72, "Latency: " + name,
           {"Percentiles of the round-trip times of " + Count(table.count(), "RPC") + ", and these over time."},
           kLatencyStyle, place);
  PutSvgText(out, kLeft, kSvgHead - 8, "text strong", "Percentiles");
  PutCurves(out, table, against, kSvgHead);
  const double second = kSvgHead + kHeight + kAxis + 24;
  PutSvgText(out, kLeft, second - 8, "text strong", "Over time");
  PutCourse(out, course, second);
  Put(out, "</svg>\n");
}

}  // namespace stag::cli
