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

// Opens the document: title, description, styles, ground. `style`: more rules of CSS, the second for dark ones.
// `description`: a line for each panel. The picture's title is drawn; the legend is not.
void BeginSvg(std::string& out, double height, const std::string& title, const std::vector<std::string>& description,
              std::pair<std::string_view, std::string_view> style);

// Writes the document; false, with a complaint, when the file cannot be written.
bool WriteSvgFile(const std::string& file, const std::string& document);

}  // namespace stag::cli
