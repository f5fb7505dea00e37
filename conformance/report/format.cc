// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/format.h"

#include <algorithm>
#include <chrono>

namespace stag::conformance {

namespace {

// Length of the UTF-8 sequence at the start of `s`; 0 when it is none (RFC 3629: no overlong forms, no surrogates).
size_t Utf8Length(std::string_view s) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned b = byte(0);
  const auto continuation = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return continuation(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if (!continuation(1) || !continuation(2)) return 0;
    if ((b == 0xe0 && byte(1) < 0xa0) || (b == 0xed && byte(1) >= 0xa0)) return 0;
    return 3;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if (!continuation(1) || !continuation(2) || !continuation(3)) return 0;
    if ((b == 0xf0 && byte(1) < 0x90) || (b == 0xf4 && byte(1) >= 0x90)) return 0;
    return 4;
  }
  return 0;
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

void AppendPadded(std::string& out, uint64_t value, size_t digits) {
  const std::string text = std::to_string(value);
  if (text.size() < digits) out.append(digits - text.size(), '0');
  out.append(text);
}

}  // namespace

void AppendJson(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const char ch = text.front();
    const size_t length = Utf8Length(text);
    if (length == 0) {
      out.append(kReplacement);
      text.remove_prefix(1);
      continue;
    }
    if (length > 1) {
      out.append(text.substr(0, length));
    } else if (ch == '"' || ch == '\\') {
      out.push_back('\\');
      out.push_back(ch);
    } else if (ch == '\n') {
      out.append("\\n");
    } else if (ch == '\t') {
      out.append("\\t");
    } else if (static_cast<unsigned char>(ch) < 0x20 || ch == 0x7f) {
      out.append("\\u00");
      out.push_back(kHex[(ch >> 4) & 15]);
      out.push_back(kHex[ch & 15]);
    } else {
      out.push_back(ch);
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

void AppendMarkup(std::string& out, std::string_view text) {
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
    const bool control = static_cast<unsigned char>(ch) < 0x20 || ch == 0x7f;
    const bool no_character = character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";  // U+FFFE, U+FFFF
    out.append(length == 0 || control || no_character ? kReplacement : character);
  }
}

std::string Markup(std::string_view text) {
  std::string out;
  AppendMarkup(out, text);
  return out;
}

void AppendHex(std::string& out, Bytes bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const std::byte b : bytes) {
    out.push_back(kHex[std::to_integer<unsigned>(b) >> 4]);
    out.push_back(kHex[std::to_integer<unsigned>(b) & 15]);
  }
}

void AppendTime(std::string& out, int64_t time_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds{time_ns}};
  const sys_days day = floor<days>(time);
  const year_month_day date{day};
  const auto rest = static_cast<uint64_t>((time - day).count());
  const int year = static_cast<int>(date.year());
  AppendPadded(out, static_cast<uint64_t>(year < 0 ? 0 : year), 4);
  out.push_back('-');
  AppendPadded(out, static_cast<unsigned>(date.month()), 2);
  out.push_back('-');
  AppendPadded(out, static_cast<unsigned>(date.day()), 2);
  out.push_back('T');
  const uint64_t seconds = rest / 1'000'000'000;
  AppendPadded(out, seconds / 3600, 2);
  out.push_back(':');
  AppendPadded(out, seconds / 60 % 60, 2);
  out.push_back(':');
  AppendPadded(out, seconds % 60, 2);
  out.push_back('.');
  AppendPadded(out, rest % 1'000'000'000, 9);
  out.push_back('Z');
}

std::string Styled(std::string_view text, Style style, bool color) {
  if (!color) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::kBold: code = "1"; break;
    case Style::kDim: code = "2"; break;
    case Style::kError: code = "1;31"; break;
    case Style::kWarning: code = "1;33"; break;
    case Style::kNote: code = "1;36"; break;
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

}  // namespace stag::conformance
