// SPDX-License-Identifier: GPL-2.0-or-later
//
// Values as text. Each Put function appends to a string, so that a caller that keeps the string allocates nothing.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/bytes.h"

namespace stag {

// Appends formatted text. The format string is checked at compile time.
template <typename... Args>
void Put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}
// Appends the text as it is: braces are not doubled.
inline void Put(std::string& out, std::string_view text) { out.append(text); }

// A decimal number, filled on the left up to `width` characters.
void PutNumber(std::string& out, uint64_t value, size_t width = 0, char fill = ' ');
void PutSigned(std::string& out, int64_t value);
// A thousandth of `value`, with three decimals: -1234567 -> -1234.567.
void PutThousandths(std::string& out, int64_t value);
// A billionth of `value`, with nine decimals.
void PutBillionths(std::string& out, int64_t value);
// The last `digits` of a decimal number, filled with zeros on the left. Returns where they end.
char* PutDigits(char* to, uint64_t value, size_t digits);
// Lowercase hexadecimal digits without separators.
void PutHex(std::string& out, Bytes bytes);
// "0x" and eight digits.
void PutXid(std::string& out, uint32_t xid);

// A word as one gives it to a shell: 'my mount.pcap'.
void PutShellWord(std::string& out, std::string_view word);

// ISO 8601, UTC, nanoseconds: 2024-01-31T12:00:00.123456789Z.
void PutTime(std::string& out, int64_t time_ns);
// 950ns, 31.2us, 4.51ms, 2.04s: at most seven characters below a thousand seconds.
void PutDuration(std::string& out, int64_t ns);
std::string DurationText(int64_t ns);
// 512 B, 4.0 KiB, 1.9 MiB.
void PutSize(std::string& out, uint64_t bytes);
std::string SizeText(uint64_t bytes);

// "1 call", "2 calls". `noun` takes an s in the plural.
void PutCount(std::string& out, uint64_t n, std::string_view noun);
std::string Count(uint64_t n, std::string_view noun);
// 1234567 -> "1,234,567".
std::string Grouped(uint64_t value);
// "1 byte", "4,096 bytes".
std::string ByteCount(uint64_t value);

}  // namespace stag
