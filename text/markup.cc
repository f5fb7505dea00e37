// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/markup.h"

#include <algorithm>

#include "text/utf8.h"

namespace stag {

void PutMarkup(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const char ch = text.front();
    const size_t length = Utf8Length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(character.size());
    switch (ch) {
      case '&': out.append("&amp;"); continue;
      case '<': out.append("&lt;"); continue;
      case '>': out.append("&gt;"); continue;
      case '"': out.append("&quot;"); continue;
      case '\'': out.append("&#39;"); continue;
      case '\n': out.append("&#10;"); continue;
      case '\t': out.append("&#9;"); continue;
      default: break;
    }
    const bool no_character = character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";  // U+FFFE, U+FFFF
    out.append(length == 0 || IsControl(character) || no_character ? kReplacementCharacter : character);
  }
}

std::string Markup(std::string_view text) {
  std::string out;
  PutMarkup(out, text);
  return out;
}

}  // namespace stag
