// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/terminal.h"

namespace stag {

std::string Styled(std::string_view text, TextStyle style, bool color) {
  if (!color) return std::string(text);
  const char* code = "";
  switch (style) {
    case TextStyle::kBold: code = "1"; break;
    case TextStyle::kDim: code = "2"; break;
    case TextStyle::kError: code = "1;31"; break;
    case TextStyle::kWarning: code = "1;33"; break;
    case TextStyle::kNote: code = "1;36"; break;
  }
  return std::string("\033[").append(code).append("m").append(text).append("\033[0m");
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& ch : out)
    if (static_cast<unsigned char>(ch) < 0x20 || ch == 0x7f) ch = '?';
  return out;
}

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = 0;
  const auto new_line = [&] {
    if (!out.empty()) out.push_back('\n');
    out.append(indent, ' ');
    column = indent;
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    new_line();
    while (!line.empty()) {
      const size_t space = line.find(' ');
      const std::string_view word = line.substr(0, space);
      line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
      if (word.empty()) continue;
      if (column > indent && column + 1 + word.size() > width) new_line();
      if (column > indent) {
        out.push_back(' ');
        ++column;
      }
      out.append(word);
      column += word.size();
    }
  }
  out.push_back('\n');
  return out;
}

}  // namespace stag
