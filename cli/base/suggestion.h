// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a person may have meant who mistyped a command or an option, or who gave a file alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stag::cli {

// The one of `words` that `word` is most likely a mistyped form of, by the letters that are missing, wrong, added or
// swapped, or that alone begins with it; empty: none is like it.
std::string ClosestWord(std::string_view word, const std::vector<std::string>& words);

// Whether there is something at `path` that can be read as a file.
bool IsFile(const std::string& path);

}  // namespace stag::cli
