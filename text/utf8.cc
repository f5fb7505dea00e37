// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/utf8.h"

#include <cstdint>

namespace stag {

size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = at(0);
  size_t n = 0;
  uint32_t code = 0, least = 0;
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c <= 0xdf) n = 2, code = c & 0x1fu, least = 0x80;
  if (c >= 0xe0 && c <= 0xef) n = 3, code = c & 0x0fu, least = 0x800;
  if (c >= 0xf0 && c <= 0xf4) n = 4, code = c & 0x07u, least = 0x10000;
  if (n == 0 || text.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  return code >= least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

bool IsControl(std::string_view character) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0) < 0x20 || at(0) == 0x7f;
  if (character.size() == 2) {
    const unsigned code = (at(0) & 0x1fu) << 6 | (at(1) & 0x3fu);
    return code < 0xa0 || code == 0x61c;
  }
  if (character.size() != 3) return false;
  const unsigned code = (at(0) & 0x0fu) << 12 | (at(1) & 0x3fu) << 6 | (at(2) & 0x3fu);
  return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace stag
