// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/put.h"

#include <array>
#include <chrono>
#include <cstring>

namespace stag {
namespace {

// `value` as a number of `unit`, which is ten to the power of `digits`.
void PutFraction(std::string& out, int64_t value, uint64_t unit, size_t digits) {
  const uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const fmt::format_int whole(magnitude / unit);
  char text[40];
  char* to = text;
  if (value < 0) *to++ = '-';
  std::memcpy(to, whole.data(), whole.size());
  to += whole.size();
  *to++ = '.';
  to = PutDigits(to, magnitude % unit, digits);
  out.append(text, static_cast<size_t>(to - text));
}

}  // namespace

void PutNumber(std::string& out, uint64_t value, size_t width, char fill) {
  const fmt::format_int digits(value);
  if (digits.size() < width) out.append(width - digits.size(), fill);
  out.append(digits.data(), digits.size());
}

void PutSigned(std::string& out, int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

void PutThousandths(std::string& out, int64_t value) { PutFraction(out, value, 1000, 3); }
void PutBillionths(std::string& out, int64_t value) { PutFraction(out, value, 1'000'000'000, 9); }

void PutHex(std::string& out, Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  const size_t start = out.size();
  out.resize(start + 2 * bytes.size());
  char* to = out.data() + start;
  for (const std::byte b : bytes) {
    *to++ = kDigits[std::to_integer<unsigned>(b) >> 4];
    *to++ = kDigits[std::to_integer<unsigned>(b) & 15];
  }
}

void PutXid(std::string& out, uint32_t xid) {
  std::byte bytes[4];
  StoreBe32(bytes, xid);
  out.append("0x", 2);
  PutHex(out, bytes);
}

char* PutDigits(char* to, uint64_t value, size_t digits) {
  for (size_t i = digits; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

void PutTime(std::string& out, int64_t time_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds{time_ns}};
  const sys_days day = floor<days>(time);
  const year_month_day date{day};
  const auto rest = static_cast<uint64_t>((time - day).count());
  const uint64_t seconds = rest / 1'000'000'000;
  char text[] = "0000-00-00T00:00:00.000000000Z";
  PutDigits(text, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  PutDigits(text + 5, static_cast<unsigned>(date.month()), 2);
  PutDigits(text + 8, static_cast<unsigned>(date.day()), 2);
  PutDigits(text + 11, seconds / 3600, 2);
  PutDigits(text + 14, seconds / 60 % 60, 2);
  PutDigits(text + 17, seconds % 60, 2);
  PutDigits(text + 20, rest % 1'000'000'000, 9);
  out.append(text, sizeof text - 1);
}

void PutDuration(std::string& out, int64_t ns) {
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

void PutSize(std::string& out, uint64_t bytes) {
  if (bytes < 1024) return Put(out, "{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  while (value >= 1023.95 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  Put(out, "{:.1f} {}", value, kUnits[unit]);
}

void PutCount(std::string& out, uint64_t n, std::string_view noun) {
  PutNumber(out, n);
  out.append(" ").append(noun).append(n == 1 ? "" : "s");
}

std::string Count(uint64_t n, std::string_view noun) {
  std::string out;
  PutCount(out, n, noun);
  return out;
}

std::string Grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

void PutShellWord(std::string& out, std::string_view word) {
  constexpr std::string_view kUnquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kUnquoted) == std::string_view::npos) {
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

std::string ByteCount(uint64_t value) { return Grouped(value) + (value == 1 ? " byte" : " bytes"); }

std::string DurationText(int64_t ns) {
  std::string text;
  PutDuration(text, ns);
  return text;
}

std::string SizeText(uint64_t bytes) {
  std::string text;
  PutSize(text, bytes);
  return text;
}

}  // namespace stag
