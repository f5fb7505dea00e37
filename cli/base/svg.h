// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the pictures that commands draw have in common: words and colours, and panels with a time axis. Light and dark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stag::cli {

// How wide a picture is, and where its panels begin and end.
inline constexpr double kSvgWidth = 960, kSvgLeft = 92, kSvgRight = 20, kSvgPlot = kSvgWidth - kSvgLeft - kSvgRight;
inline constexpr double kSvgHead = 74;  // above the first panel: title and legend

void PutSvgText(std::string& out, double x, double y, std::string_view classes, std::string_view text,
                std::string_view anchor = "start");

// The least of 1, 2, 5 times a power of ten that is at least `value`.
double NiceStep(double value);

// From one time to another, as a picture shows it.
double SecondsBetween(int64_t from_ns, int64_t to_ns);

// The horizontal axis of a panel, in seconds since the first frame.
struct SvgTimeAxis {
  double start = 0, length = 1;
  double X(double seconds) const;
  // Ticks and numbers below `bottom`.
  void Put(std::string& out, double bottom) const;
};

// More rules of CSS for the pictures of a kind: one rule a line; the second for a dark ground.
using SvgStyle = std::pair<std::string_view, std::string_view>;

// Where a picture stands: in a file of its own, or in a page, whose style has the rules of its kind, and whose ids are
// unique.
struct SvgPlace {
  std::string_view kind;  // class of the picture; empty: a file of its own
  size_t number = 0;      // of the picture in the page
  // "title-latency-1"; "title" in a file of its own.
  std::string Id(std::string_view name) const;
};

// Opens the picture: title, description, ground; styles, in a file of its own. `description`: a line for each panel.
// The title is drawn in a file of its own; the legend is not.
void BeginSvg(std::string& out, double height, const std::string& title, const std::vector<std::string>& description,
              const SvgStyle& style, const SvgPlace& place = {});

// The rules that a page needs for pictures of that kind.
void PutSvgStyle(std::string& out, std::string_view kind, const SvgStyle& style);

// Writes the document; false, with a complaint, when the file cannot be written.
bool WriteSvgFile(const std::string& file, const std::string& document);

}  // namespace stag::cli
