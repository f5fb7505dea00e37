// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/terminal.h"

#include <algorithm>

#include "text/utf8.h"

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

namespace {

// Whether all of it is ASCII without controls; with `lines`, but for line feeds and tabs.
bool IsPlain(std::string_view text, bool lines) {
  return std::ranges::all_of(text, [lines](char c) {
    if (c >= ' ' && c <= '~') [[likely]]
      return true;
    return lines && (c == '\n' || c == '\t');
  });
}

// The length of the sequence that sets colours at the start of `text`; 0: there is none.
size_t StyleLength(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string Replaced(std::string_view text, bool lines, bool styled) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t style = styled ? StyleLength(text) : 0;
    const bool line_end = lines && text.starts_with("\r\n");
    const size_t length = style > 0 ? style : line_end ? 2 : Utf8Length(text);
    const std::string_view character = text.substr(0, length > 0 ? length : 1);
    text.remove_prefix(character.size());
    const bool stays = style > 0 || line_end || (lines && (character == "\n" || character == "\t")) ||
                       (length > 0 && !IsControl(character));
    stays ? out.append(character) : out.append("?");
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) {
  return IsPlain(text, false) ? std::string(text) : Replaced(text, false, false);
}

void MakePrintable(std::string& text, bool styled) {
  if (!IsPlain(text, true)) text = Replaced(text, true, styled);
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
