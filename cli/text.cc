// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/text.h"

#include <array>
#include <ctime>

namespace stag::cli {

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

void PutJson(Buffer& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    size_t n = 1;
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      Put(out, "\\u{:04x}", static_cast<unsigned char>(c));
    } else if ((n = Utf8Length(text)) > 0) {
      Put(out, text.substr(0, n));
    } else {
      Put(out, "\\ufffd");
      n = 1;
    }
    text.remove_prefix(n);
  }
  out.push_back('"');
}

void PutNumber(Buffer& out, uint64_t value, size_t width, char fill) {
  const fmt::format_int digits(value);
  for (size_t n = digits.size(); n < width; ++n) out.push_back(fill);
  out.append(digits.data(), digits.data() + digits.size());
}

void PutHex(Buffer& out, Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::byte b : bytes) {
    out.push_back(kDigits[std::to_integer<unsigned>(b) >> 4]);
    out.push_back(kDigits[std::to_integer<unsigned>(b) & 15]);
  }
}

void PutTime(Buffer& out, int64_t time_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = time_ns / kSecond, rest = time_ns % kSecond;
  if (rest < 0) --seconds, rest += kSecond;
  const std::time_t t = seconds;
  std::tm tm{};
  gmtime_r(&t, &tm);
  Put(out, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
      tm.tm_min, tm.tm_sec, rest);
}

void PutDuration(Buffer& out, int64_t ns) {
  const double v = static_cast<double>(ns);
  const double magnitude = v < 0 ? -v : v;
  const auto put = [&](double value, const char* unit) {
    const double m = value < 0 ? -value : value;
    Put(out, "{:.{}f}{}", value, m < 9.995 ? 2 : m < 99.95 ? 1 : 0, unit);
  };
  if (magnitude < 1e3) {
    Put(out, "{}ns", ns);
  } else if (magnitude < 999.5e3) {
    put(v / 1e3, "us");
  } else if (magnitude < 999.5e6) {
    put(v / 1e6, "ms");
  } else {
    put(v / 1e9, "s");
  }
}

void PutSize(Buffer& out, uint64_t bytes) {
  if (bytes < 1024) {
    Put(out, "{} B", bytes);
    return;
  }
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  while (value >= 1023.95 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  Put(out, "{:.1f} {}", value, kUnits[unit]);
}

void PutCount(Buffer& out, uint64_t n, std::string_view noun) { Put(out, "{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string Count(uint64_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

}  // namespace stag::cli
