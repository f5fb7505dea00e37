// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/svg.h"

#include <algorithm>
#include <cmath>

#include "capture/file/output_file.h"
#include "cli/base/diagnostics.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

constexpr double kTitleHeight = 36;  // what a page leaves out, for it has headings

constexpr std::string_view kSharedLight = R"(
  svg { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
  .ground { fill: #ffffff; } .text { fill: #1f2328; } .muted { fill: #59636e; } .strong { font-weight: 600; }
  .title { font-size: 17px; font-weight: 600; }
  .grid { stroke: #e4e8ec; } .frame { stroke: #818b98; fill: none; } .hatch { stroke: #b6bec7; }
  .line { fill: none; stroke-linejoin: round; }
)";
constexpr std::string_view kSharedDark =
    R"(    .ground { fill: #0d1117; } .text { fill: #f0f6fc; } .muted { fill: #9198a1; }
    .grid { stroke: #262c36; } .frame { stroke: #656c76; } .hatch { stroke: #4b535d; }
)";

}  // namespace

void PutSvgText(std::string& out, double x, double y, std::string_view classes, std::string_view text,
                std::string_view anchor) {
  Put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, classes, anchor,
      Markup(text));
}

double NiceStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value * 0.999) return factor * power;
  return 10 * power;
}

double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(to_ns) - static_cast<uint64_t>(from_ns))) / 1e9;
}

double SvgTimeAxis::X(double seconds) const {
  return kSvgLeft + kSvgPlot * std::clamp((seconds - start) / length, 0.0, 1.0);
}

void SvgTimeAxis::Put(std::string& out, double bottom) const {
  const double step = NiceStep(length / 8);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-6)));
  const double first = std::ceil(start / step - 1e-6) * step;
  for (int i = 0; i < 20 && first + i * step <= start + length * 1.000001; ++i) {
    const double tick = first + i * step;
    stag::Put(out, "<path d=\"M{:.1f} {:.1f}v5\" class=\"frame\"/>\n", X(tick), bottom);
    PutSvgText(out, X(tick), bottom + 18, "muted", fmt::format("{:.{}f}", tick, decimals), "middle");
  }
  PutSvgText(out, kSvgLeft + kSvgPlot, bottom + 33, "muted", "seconds since the first frame", "end");
}

std::string SvgPlace::Id(std::string_view name) const {
  return kind.empty() ? std::string(name) : fmt::format("{}-{}-{}", name, kind, number);
}

void BeginSvg(std::string& out, double height, const std::string& title, const std::vector<std::string>& description,
              const SvgStyle& style, const SvgPlace& place) {
  const bool alone = place.kind.empty();
  const double top = alone ? 0 : kTitleHeight;
  if (alone) {
    Put(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\"", kSvgWidth, height);
  } else {
    Put(out, "<svg class=\"picture {}\"", place.kind);
  }
  Put(out,
      " viewBox=\"0 {} {} {}\" role=\"img\" aria-labelledby=\"{} {}\">\n<title id=\"{}\">{}</title>\n<desc id=\"{}\">",
      top, kSvgWidth, height - top, place.Id("title"), place.Id("desc"), place.Id("title"), Markup(title),
      place.Id("desc"));
  std::string_view separator;
  for (const std::string& line : description) {
    Put(out, "{}{}", separator, Markup(line));
    separator = "\n";
  }
  Put(out, "</desc>\n");
  if (alone) {
    Put(out, "<style>");
    Put(out, kSharedLight);
    Put(out, style.first);
    Put(out, "  @media (prefers-color-scheme: dark) {\n");
    Put(out, kSharedDark);
    Put(out, style.second);
    Put(out, "  }\n</style>\n");
  }
  Put(out, "<rect y=\"{}\" width=\"{}\" height=\"{}\" class=\"ground\"/>\n", top, kSvgWidth, height - top);
  if (alone) PutSvgText(out, kSvgLeft, 28, "text title", title);
}

void PutSvgStyle(std::string& out, std::string_view kind, const SvgStyle& style) {
  const auto put = [&](std::string_view rules) {
    while (!rules.empty()) {
      const size_t end = std::min(rules.find('}'), rules.size() - 1) + 1;
      std::string_view rule = rules.substr(0, end);
      rules.remove_prefix(end);
      rule.remove_prefix(std::min(rule.find_first_not_of(" \n"), rule.size()));
      if (rule.empty()) continue;
      const bool of_all = rule.starts_with("svg ");
      Put(out, "svg.{}{}{}\n", kind, of_all ? "" : " ", of_all ? rule.substr(4) : rule);
    }
  };
  put(kSharedLight);
  put(style.first);
  Put(out, "@media screen and (prefers-color-scheme: dark) {\n");
  put(kSharedDark);
  put(style.second);
  Put(out, "}\n");
}

bool WriteSvgFile(const std::string& file, const std::string& document) {
  const auto written = capture::WriteWhole(file, document);
  if (!written) ComplainText(written.error().message);
  return written.has_value();
}

}  // namespace stag::cli
