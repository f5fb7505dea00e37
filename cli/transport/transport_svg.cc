// SPDX-License-Identifier: GPL-2.0-or-later
//
// WriteTransportSvg: TransportPlots as a picture, as tcptrace draws them: what is sent goes up from left to right, what
// is acknowledged follows as a line, and what goes wrong stands where and when it does. What colours show, shapes and
// words show, too.
#include <algorithm>
#include <array>
#include <cmath>

#include "cli/base/svg.h"
#include "cli/transport/transport_plot.h"
#include "protocol/ib/transport.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using transport::Note;
using Bin = TransportPlot::Bin;
using Kind = transport::Note::Kind;
using Mark = TransportPlot::Mark;

constexpr double kTitle = 44, kHeight = 260, kAxis = 44, kPanel = kTitle + kHeight + kAxis;

constexpr std::string_view kLight = R"(
  .sent { stroke: #1f2328; stroke-width: 1.6; } .acknowledged { stroke: #1a7f37; stroke-width: 1.2; }
  .again { stroke: #cf222e; stroke-width: 2; fill: none; } .repeated { stroke: #bc4c00; stroke-width: 2; fill: none; }
  .late { fill: #0969da; } .nak { stroke: #8250df; stroke-width: 2.2; fill: none; }
  .wait { stroke: #8250df; stroke-width: 3; stroke-opacity: .45; } .congestion { fill: #9a6700; }
)";
constexpr std::string_view kDark =
    R"(    .sent { stroke: #f0f6fc; } .acknowledged { stroke: #3fb950; } .again { stroke: #ff7b72; }
    .repeated { stroke: #f0883e; } .late { fill: #58a6ff; } .nak { stroke: #bc8cff; } .wait { stroke: #bc8cff; }
    .congestion { fill: #e3b341; }
)";

// How a kind of mark is drawn around a point, and what the legend calls it.
struct Shape {
  Kind kind;
  std::string_view classes, name;
  std::string_view path;  // behind "M x y"
};
constexpr std::array<Shape, 10> kShapes = {{
    {Kind::kRetransmission, "again", "sent again", "m-4 -4h8m-4 0v8m-4 0h8"},
    {Kind::kRepeatedResponse, "repeated", "answer again", "m-4 0h8m-4 -4v8"},
    {Kind::kOutOfOrder, "late", "out of order", "m-3 0l3 -3l3 3l-3 3z"},
    {Kind::kNak, "nak", "NAK", "m-4 -4l8 8m0 -8l-8 8"},
    {Kind::kRnrEnd, "wait", "RNR wait", ""},
    {Kind::kCongestion, "congestion", "congestion mark", "m-4 3l4 -7l4 7z"},
    {Kind::kNotification, "congestion", "notification", "m-4 -3l4 7l4 -7z"},
    {Kind::kZeroWindow, "nak", "zero window", "m-3 -3h6v6h-6z"},
    {Kind::kReset, "again", "reset", "m-4 -4l8 8m0 -8l-8 8"},
    {Kind::kCrcError, "again", "CRC error", "m0 -5v6m0 2v2"},
}};

const Shape* ShapeOf(Kind kind) {
  const auto found = std::ranges::find(kShapes, kind, &Shape::kind);
  return found == kShapes.end() ? nullptr : &*found;
}

std::string_view NakName(uint8_t syndrome) {
  if (ib::KindOf(syndrome) == ib::AethKind::kRnrNak) return "RNR NAK";
  switch (syndrome & 31) {
    case ib::kNakSequence: return "sequence NAK";
    case ib::kNakRemoteAccess: return "remote access NAK";
    case ib::kNakRemoteOperation: return "remote operation NAK";
    default: return "invalid request NAK";
  }
}

std::string TitleOf(const Mark& mark, bool bytes) {
  const Note& note = mark.note;
  const uint64_t number = bytes ? mark.position & 0xffffffff : mark.position & ib::kPsnMask;
  const std::string what = fmt::format("{} {}", bytes ? "sequence number" : "PSN", number);
  std::string text;
  switch (note.kind) {
    case Kind::kNak: text = fmt::format("{}, {}", NakName(note.syndrome), what); break;
    case Kind::kRnrEnd: {
      text = fmt::format("{} waited for a receive: ", what);
      PutDuration(text, note.duration_ns());
      break;
    }
    case Kind::kNotification:
    case Kind::kZeroWindow:
    case Kind::kReset:
    case Kind::kCrcError: text = ShapeOf(note.kind)->name; break;
    default: text = fmt::format("{} {}", what, ShapeOf(note.kind)->name);
  }
  text += fmt::format(", frame {}", note.frame.number);
  if (note.original != 0) text += fmt::format(", first in frame {}", note.original);
  if (note.changed) text += ", with other bytes";
  return text;
}

class Panel {
 public:
  Panel(std::string& out, const TransportPlot& plot, const std::vector<const TransportPlot*>& plots, int64_t origin_ns,
        double top)
      : out_(out), plot_(plot), origin_ns_(origin_ns), top_(top + kTitle) {
    int64_t start = plot.start_ns(), end = plot.end_ns();
    for (const TransportPlot* other : plots) {
      if (other->connection != plot.connection) continue;
      start = std::min(start, other->start_ns());
      end = std::max(end, other->end_ns());
    }
    axis_ = {SecondsBetween(origin_ns, start), std::max(SecondsBetween(start, end), 1e-6)};
    bins_start_ = SecondsBetween(origin_ns, plot.start_ns());
    range_ = std::max(static_cast<double>(plot.last() - plot.first()), 1.0);
  }

  void Write() {
    Put(out_,
        "<text x=\"{}\" y=\"{:.1f}\"><tspan class=\"text strong\">{}</tspan><tspan class=\"muted\" "
        "dx=\"14\">{}</tspan></text>\n",
        kSvgLeft, top_ - kTitle + 14, Markup(plot_.title), Markup(plot_.ends));
    PutSvgText(out_, kSvgLeft, top_ - kTitle + 31, "muted", plot_.figures);
    WriteAxes();
    WriteSent();
    WriteAcknowledged();
    for (const Mark& mark : plot_.marks()) WriteMark(mark);
    Put(out_, "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n", kSvgLeft, top_, kSvgPlot,
        kHeight);
  }

 private:
  double X(int64_t time_ns) const { return axis_.X(SecondsBetween(origin_ns_, time_ns)); }
  double BinX(size_t bin) const {
    return axis_.X(bins_start_ + static_cast<double>(bin) * static_cast<double>(plot_.bin_ns()) / 1e9);
  }
  double Y(uint64_t position) const {
    const uint64_t at = std::clamp(position, plot_.first(), plot_.last());
    return top_ + 4 + (kHeight - 8) * (1 - static_cast<double>(at - plot_.first()) / range_);
  }

  void WriteAxes() {
    const double step = std::max(NiceStep(range_ / 6), 1.0);
    for (int i = 0; i * step <= range_ * 1.000001; ++i) {
      const double tick = i * step;
      const double y = Y(plot_.first() + static_cast<uint64_t>(tick));
      Put(out_, "<path d=\"M{} {:.1f}h{}\" class=\"grid\"/>\n", kSvgLeft, y, kSvgPlot);
      PutSvgText(out_, kSvgLeft - 8, y + 4, "muted", Grouped(static_cast<uint64_t>(tick)), "end");
    }
    Put(out_,
        "<text transform=\"translate(16 {:.1f}) rotate(-90)\" class=\"muted\" text-anchor=\"middle\">{} since {}"
        "</text>\n",
        top_ + kHeight / 2, plot_.bytes ? "bytes" : "packets",
        plot_.bytes ? plot_.first() & 0xffffffff : plot_.first() & ib::kPsnMask);
    axis_.Put(out_, top_ + kHeight);
  }

  // A bar for each bin, from the first to the last that was new in it.
  void WriteSent() {
    std::string path;
    for (size_t i = 0; i < plot_.bins().size(); ++i) {
      const Bin& bin = plot_.bins()[i];
      if (bin.begin > bin.end) continue;
      const double from = Y(bin.begin), to = std::min(Y(bin.end), from - 1);
      Put(path, "M{:.1f} {:.1f}V{:.1f}", BinX(i), from, to);
    }
    if (!path.empty()) Put(out_, "<path class=\"line sent\" d=\"{}\"/>\n", path);
  }

  void WriteAcknowledged() {
    std::string path;
    uint64_t highest = 0;
    for (size_t i = 0; i < plot_.bins().size(); ++i) {
      const Bin& bin = plot_.bins()[i];
      if (bin.acknowledged <= highest || bin.acknowledged < plot_.first()) continue;
      if (path.empty()) {
        Put(path, "M{:.1f} {:.1f}", BinX(i), Y(bin.acknowledged));
      } else {
        Put(path, "H{:.1f}V{:.1f}", BinX(i), Y(bin.acknowledged));
      }
      highest = bin.acknowledged;
    }
    if (!path.empty()) Put(out_, "<path class=\"line acknowledged\" d=\"{}\"/>\n", path);
  }

  void WriteMark(const Mark& mark) {
    const Shape* const shape = ShapeOf(mark.note.kind);
    if (!shape) return;
    const double x = X(mark.note.frame.time_ns), y = Y(mark.position);
    Put(out_, "<path class=\"{}\" d=\"M{:.1f} {:.1f}", shape->classes, x, y);
    if (mark.note.kind == Kind::kRnrEnd) {
      const double from = X(mark.note.frame.time_ns - std::min(mark.note.duration_ns(), mark.note.frame.time_ns));
      Put(out_, "H{:.1f}", from);
    } else {
      Put(out_, shape->path);
    }
    Put(out_, "\"><title>{}</title></path>\n", Markup(TitleOf(mark, plot_.bytes)));
  }

  std::string& out_;
  const TransportPlot& plot_;
  const int64_t origin_ns_;
  SvgTimeAxis axis_;
  double bins_start_ = 0;  // in seconds since the first frame
  double top_, range_ = 1;
};

// Of what there is.
void PutLegend(std::string& out, const std::vector<const TransportPlot*>& plots) {
  double x = kSvgLeft;
  constexpr double kY = 52;
  const auto label = [&](std::string_view text) {
    PutSvgText(out, x + 16, kY + 4, "text", text);
    x += 16 + 7.2 * static_cast<double>(text.size()) + 18;
  };
  Put(out, "<path d=\"M{} {}v12\" class=\"line sent\"/>\n", x + 6, kY - 6);
  label("sent");
  Put(out, "<path d=\"M{} {}h12\" class=\"line acknowledged\"/>\n", x, kY);
  label("acknowledged");
  for (const Shape& shape : kShapes) {
    const auto has = [&](const TransportPlot* plot) {
      return std::ranges::any_of(plot->marks(), [&](const Mark& mark) { return mark.note.kind == shape.kind; });
    };
    if (std::ranges::none_of(plots, has)) continue;
    Put(out, "<path d=\"M{} {}{}\" class=\"{}\"/>\n", x + 6, kY, shape.path.empty() ? "m-6 0h12" : shape.path,
        shape.classes);
    label(shape.name);
  }
}

}  // namespace

const SvgStyle kTransportStyle{kLight, kDark};

void WriteTransportSvg(std::string& out, const std::vector<const TransportPlot*>& plots, int64_t origin_ns,
                       const std::string& name, const SvgPlace& place) {
  std::vector<std::string> description = {
      "What each side sent over time, what was acknowledged of it, retransmissions, NAKs and marks of congestion."};
  for (const TransportPlot* plot : plots) description.push_back(plot->title + ": " + plot->figures + ".");
  BeginSvg(out, kSvgHead + kPanel * static_cast<double>(plots.size()), "Transport: " + name, description,
           kTransportStyle, place);
  PutLegend(out, plots);
  double top = kSvgHead;
  for (const TransportPlot* plot : plots) {
    Panel(out, *plot, plots, origin_ns, top).Write();
    top += kPanel;
  }
  Put(out, "</svg>\n");
}

}  // namespace stag::cli
