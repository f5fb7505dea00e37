// SPDX-License-Identifier: GPL-2.0-or-later
//
// WriteSvg: CreditPlots as a picture. One panel per plot: step lines for what is granted, requested and outstanding
// over time; above them a lane for each kind of event that there is; hatched where the history is not known. What
// colours show, shapes and words show, too. Light and dark.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cli/base/svg.h"
#include "cli/credits/credit_plot.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using Bin = CreditPlot::Bin;
using Course = CreditPlot::Course;
using Marks = CreditPlot::Marks;

constexpr double kLeft = kSvgLeft, kPlot = kSvgPlot, kTitle = 44, kLane = 15, kHeight = 168, kAxis = 44;
constexpr double kApart = 10;  // least distance of two marks in a lane

// Colours on a light and on a dark ground.
constexpr std::string_view kLight = R"(
  .granted { stroke: #0969da; stroke-width: 2; } .requested { stroke: #6e7781; stroke-dasharray: 6 4; }
  .outstanding { stroke: #bc4c00; stroke-width: 1.3; } .area { fill: #bc4c00; fill-opacity: .18; }
  .overrun { fill: #cf222e; stroke: #cf222e; } .nak { stroke: #8250df; stroke-width: 2.2; fill: none; }
  .zero { stroke: #9a6700; stroke-width: 2; fill: none; } .gap { fill: #59636e; }
  .lost { fill: #1f2328; stroke: #1f2328; }
  .fall { stroke-width: 1; stroke-opacity: .35; stroke-dasharray: 2 3; }
)";
constexpr std::string_view kDark = R"(    .granted { stroke: #58a6ff; } .requested { stroke: #9198a1; }
    .outstanding { stroke: #f0883e; } .area { fill: #f0883e; fill-opacity: .22; }
    .overrun { fill: #ff7b72; stroke: #ff7b72; } .nak { stroke: #bc8cff; } .zero { stroke: #e3b341; }
    .gap { fill: #9198a1; } .lost { fill: #f0f6fc; stroke: #f0f6fc; }
)";

// Numbers of Calls up the side: linear, or by powers of two where few are outstanding of many.
class Scale {
 public:
  explicit Scale(const CreditPlot& plot) {
    uint32_t outstanding = 0, most = 1;
    for (const Bin& bin : plot.bins()) {
      outstanding = std::max(outstanding, bin.outstanding.max);
      most = std::max({most, bin.outstanding.max, bin.granted.max, bin.requested.max});
    }
    logarithmic_ = most >= 8 && outstanding < most / 4;
    if (logarithmic_) {
      top_ = std::log2(1.0 + most) * 1.06;
      const unsigned bits = std::bit_width(most);
      const unsigned step = bits > 9 ? 2 : 1;
      for (unsigned bit = 0; bit < bits; bit += step) ticks_.push_back(uint32_t{1} << bit);
      ticks_.insert(ticks_.begin(), 0);
      return;
    }
    top_ = most * 1.1;
    const auto step = static_cast<uint64_t>(std::max(1.0, NiceStep(most / 5.0)));
    const auto last = static_cast<uint64_t>(top_);
    for (uint64_t tick = 0; tick <= last; tick += step) ticks_.push_back(static_cast<uint32_t>(tick));
  }
  // 0 at the bottom to 1 at the top.
  double At(uint32_t value) const { return (logarithmic_ ? std::log2(1.0 + value) : value) / top_; }
  const std::vector<uint32_t>& ticks() const { return ticks_; }
  bool logarithmic() const { return logarithmic_; }

 private:
  bool logarithmic_ = false;
  double top_ = 1;
  std::vector<uint32_t> ticks_;
};

struct Lane {
  Marks Bin::*marks;
  std::string_view label, what, classes;
  void (*put)(std::string& out, double x, double y);
};

constexpr std::array<Lane, 5> kLanes = {{
    {&Bin::overruns, "over grant", "Call over the grant", "overrun",
     [](std::string& out, double x, double y) { Put(out, "<path d=\"M{:.1f} {:.1f}h9l-4.5 8z\"/>", x - 4.5, y - 4); }},
    {&Bin::rnr_naks, "RNR NAK", "RNR NAK", "nak",
     [](std::string& out, double x, double y) {
       Put(out, "<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\"/>", x - 4, y - 4);
     }},
    {&Bin::zero_grants, "zero grant", "grant of no credits", "zero",
     [](std::string& out, double x, double y) { Put(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>", x, y); }},
    {&Bin::gaps, "gap", "packets missing from the capture", "gap",
     [](std::string& out, double x, double y) {
       Put(out, "<path d=\"M{:.1f} {:.1f}h2v9h-2zm4 0h2v9h-2z\"/>", x - 3, y - 4.5);
     }},
    {&Bin::lost, "lost", "connection lost", "lost",
     [](std::string& out, double x, double y) { Put(out, "<path d=\"M{:.1f} {:.1f}h8v8h-8z\"/>", x - 4, y - 4); }},
}};

bool Has(const CreditPlot& plot, const Lane& lane) {
  return std::ranges::any_of(plot.bins(), [&](const Bin& bin) { return (bin.*lane.marks).count > 0; });
}

class Panel {
 public:
  Panel(std::string& out, const CreditPlot& plot, const std::vector<const CreditPlot*>& plots, int64_t origin_ns,
        double top, const std::string& unknown)
      : out_(out), plot_(plot), unknown_(unknown), scale_(plot) {
    int64_t start = plot.start_ns(), end = plot.end_ns();
    for (const CreditPlot* other : plots) {
      if (other->connection != plot.connection) continue;
      start = std::min(start, other->start_ns());
      end = std::max(end, other->end_ns());
    }
    axis_ = {SecondsBetween(origin_ns, start), std::max(SecondsBetween(start, end), 1e-6)};
    bins_start_ = SecondsBetween(origin_ns, plot.start_ns());
    for (const Lane& lane : kLanes) lanes_ += Has(plot, lane);
    top_ = top + kTitle + kLane * static_cast<double>(lanes_);
  }
  static double HeightOf(const CreditPlot& plot) {
    double lanes = 0;
    for (const Lane& lane : kLanes) lanes += Has(plot, lane);
    return kTitle + kLane * lanes + kHeight + kAxis;
  }

  void Write() {
    const double title = top_ - kLane * static_cast<double>(lanes_) - kTitle;
    Put(out_,
        "<text x=\"{}\" y=\"{:.1f}\"><tspan class=\"text strong\">{}</tspan><tspan class=\"muted\" "
        "dx=\"14\">{}</tspan></text>\n",
        kLeft, title + 14, Markup(plot_.title), Markup(plot_.ends));
    PutSvgText(out_, kLeft, title + 31, "muted", plot_.figures);
    WriteAxes();
    WriteUnknown();
    WriteCourse(&Bin::requested, "requested", false);
    WriteCourse(&Bin::outstanding, "outstanding", true);
    WriteCourse(&Bin::granted, "granted", false);
    WriteLanes();
    Put(out_, "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n", kLeft, top_, kPlot,
        kHeight);
  }

 private:
  double X(double seconds) const { return axis_.X(seconds); }
  double BinX(size_t bin) const {
    return X(bins_start_ + static_cast<double>(bin) * static_cast<double>(plot_.bin_ns()) / 1e9);
  }
  double Y(uint32_t value) const { return top_ + kHeight * (1 - scale_.At(value)); }
  double bottom() const { return top_ + kHeight; }

  void WriteAxes() {
    for (const uint32_t tick : scale_.ticks()) {
      Put(out_, "<path d=\"M{} {:.1f}h{}\" class=\"grid\"/>\n", kLeft, Y(tick), kPlot);
      PutSvgText(out_, kLeft - 8, Y(tick) + 4, "muted", fmt::format("{}", tick), "end");
    }
    Put(out_,
        "<text transform=\"translate(22 {:.1f}) rotate(-90)\" class=\"muted\" "
        "text-anchor=\"middle\">credits{}</text>\n",
        top_ + kHeight / 2, scale_.logarithmic() ? ", powers of two" : "");
    axis_.Put(out_, bottom());
  }

  // Where the number of outstanding Calls is not known.
  void WriteUnknown() {
    double from = -1;
    const auto put = [&](double to) {
      if (from < 0) return;
      Put(out_,
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"url(#{})\">"
          "<title>outstanding: not known</title></rect>\n",
          from, top_, std::max(to - from, 1.0), kHeight, unknown_);
      if (to - from > 130)
        PutSvgText(out_, (from + to) / 2, top_ + kHeight / 2, "muted", "outstanding: not known", "middle");
      from = -1;
    };
    const auto& bins = plot_.bins();
    for (size_t i = 0; i < bins.size(); ++i) {
      const Course& course = bins[i].outstanding;
      if (course.any && !course.unknown) put(BinX(i));
      if (course.unknown && from < 0) from = BinX(i);
    }
    put(kLeft + kPlot);
  }

  // A step line; in a bin with several values, all that is between the least and the greatest.
  void WriteCourse(Course Bin::*which, std::string_view classes, bool filled) {
    std::string line, area;
    bool drawing = false;
    const auto stop = [&](double x) {
      if (!drawing) return;
      Put(line, "H{:.1f}", x);
      Put(area, "H{:.1f}V{:.1f}Z", x, bottom());
      drawing = false;
    };
    const auto& bins = plot_.bins();
    uint32_t last = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      const Course& course = bins[i].*which;
      const double x = BinX(i);
      if (course.any) {
        if (!drawing) {
          Put(line, "M{:.1f} {:.1f}", x, Y(course.first));
          Put(area, "M{:.1f} {:.1f}V{:.1f}", x, bottom(), Y(course.first));
          last = course.first;
          drawing = true;
        }
        if (course.min != last || course.max != last) {
          for (std::string* path : {&line, &area}) {
            Put(*path, "H{:.1f}", x);
            if (course.first != last) Put(*path, "V{:.1f}", Y(course.first));
            if (course.min != course.max)
              Put(*path, "V{:.1f}V{:.1f}V{:.1f}", Y(course.min), Y(course.max), Y(course.last));
          }
          last = course.last;
        }
      }
      if (course.unknown) stop(x);
    }
    stop(X(axis_.start + axis_.length));
    if (line.size() == 0) return;
    if (filled) Put(out_, "<path class=\"area\" d=\"{}\"/>\n", area);
    Put(out_, "<path class=\"line {}\" d=\"{}\"/>\n", classes, line);
  }

  void WriteLanes() {
    double y = top_ - kLane * (static_cast<double>(lanes_) - 0.5);
    for (const Lane& lane : kLanes) {
      if (!Has(plot_, lane)) continue;
      PutSvgText(out_, kLeft - 8, y + 4, "muted", lane.label, "end");
      Put(out_, "<g class=\"{}\">\n", lane.classes);
      Marks together;
      double at = 0;
      const auto put = [&] {
        if (together.count == 0) return;
        Put(out_, "<g><title>");
        if (together.count > 1) {
          Put(out_, "{} times {}, first in frame {}", together.count, lane.what, together.frame);
        } else {
          Put(out_, "{} in frame {}", lane.what, together.frame);
        }
        Put(out_, "</title>");
        lane.put(out_, at, y);
        Put(out_, "<path class=\"fall\" d=\"M{:.1f} {:.1f}V{:.1f}\"/></g>\n", at, y + 6, bottom());
        together = {};
      };
      for (size_t i = 0; i < plot_.bins().size(); ++i) {
        const Marks& marks = plot_.bins()[i].*lane.marks;
        if (marks.count == 0) continue;
        if (BinX(i) - at > kApart) put();
        if (together.count == 0) at = BinX(i);
        together.Append(marks);
      }
      put();
      Put(out_, "</g>\n");
      y += kLane;
    }
  }

  std::string& out_;
  const CreditPlot& plot_;
  const std::string& unknown_;  // the id of the pattern of what is not known
  const Scale scale_;
  SvgTimeAxis axis_;
  double bins_start_ = 0;  // in seconds since the first frame
  double top_ = 0;
  int lanes_ = 0;
};

void PutLegend(std::string& out, const std::string& unknown) {
  double x = kLeft;
  constexpr double kY = 52;
  const auto label = [&](std::string_view text) {
    PutSvgText(out, x + 34, kY + 4, "text", text);
    x += 34 + 7.2 * static_cast<double>(text.size()) + 22;
  };
  Put(out, "<path d=\"M{} {}h26\" class=\"line granted\"/>\n", x, kY);
  label("granted");
  Put(out, "<path d=\"M{} {}h26\" class=\"line requested\"/>\n", x, kY);
  label("requested");
  Put(out, "<path d=\"M{} {}h26v8h-26z\" class=\"area\"/><path d=\"M{} {}h26\" class=\"line outstanding\"/>\n", x,
      kY - 3, x, kY - 3);
  label("outstanding");
  Put(out, "<rect x=\"{}\" y=\"{}\" width=\"26\" height=\"11\" fill=\"url(#{})\"/>\n", x, kY - 5, unknown);
  label("not known");
}

}  // namespace

const SvgStyle kCreditsStyle{kLight, kDark};

void WriteSvg(std::string& out, const std::vector<const CreditPlot*>& plots, int64_t origin_ns, const std::string& name,
              const SvgPlace& place) {
  const std::string unknown = place.Id("unknown");
  double height = kSvgHead;
  std::vector<std::string> description = {"Requested and granted credits and outstanding Calls over time."};
  for (const CreditPlot* plot : plots) {
    height += Panel::HeightOf(*plot);
    description.push_back(plot->title + ": " + plot->figures + ".");
  }
  BeginSvg(out, height, "Credits: " + name, description, kCreditsStyle, place);
  Put(out,
      "<defs><pattern id=\"{}\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><path d=\"M0 0v7\" class=\"hatch\" stroke-width=\"2\"/></pattern></defs>\n",
      unknown);
  PutLegend(out, unknown);
  double top = kSvgHead;
  for (const CreditPlot* plot : plots) {
    Panel(out, *plot, plots, origin_ns, top, unknown).Write();
    top += Panel::HeightOf(*plot);
  }
  Put(out, "</svg>\n");
}

}  // namespace stag::cli
