// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/command_line.h"

#include <fstream>
#include <string_view>

namespace stag::cli {
namespace {

void PutQuoted(std::string& out, std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    out.append(word);
    return;
  }
  out.push_back('\'');
  for (const char c : word) {
    if (c == '\'') {
      out.append("'\\''");
    } else {
      out.push_back(c);
    }
  }
  out.push_back('\'');
}

}  // namespace

std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string out = "stag", word;
  for (bool first = true; std::getline(file, word, '\0'); first = false) {
    if (first) continue;  // wherever the program is
    out.push_back(' ');
    PutQuoted(out, word);
  }
  return out;
}

}  // namespace stag::cli
