// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tables and references to frames, as the page of stag report has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stag::cli {

void PutNumberCell(std::string& out, std::string_view text, std::string_view classes = "");
void PutCountCell(std::string& out, uint64_t n, bool bad = false);

// Opens a panel with a table that can be moved where it is wide; rows follow, then EndTable. The panel stays open.
// `heads`: of the columns, with "|" between; "#" begins those of numbers, "=" those of bars.
void BeginTable(std::string& out, std::string_view label, std::string_view heads);
// `left_out`: rows; `command` has them all.
void EndTable(std::string& out, size_t left_out, std::string_view what, std::string_view command);

// The last part of a path.
std::string BaseName(const std::string& name);
// "frame N" of the file with the number `file`, and its name unless that is null.
std::string FrameText(uint64_t number, size_t file, const std::string* name);

}  // namespace stag::cli
