// SPDX-License-Identifier: GPL-2.0-or-later
//
// Values as text: what people read (sizes, durations, addresses) and what JSON lines hold. Everything appends to a
// Buffer, so that hot paths allocate nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "protocol/base/bytes.h"
#include "session/fabric/names.h"

namespace stag::cli {

// A decimal number, filled on the left up to `width` characters.
void PutNumber(Buffer& out, uint64_t value, size_t width = 0, char fill = ' ');

// Bytes of the well-formed UTF-8 sequence at the start of `text` (not empty); 0 when there is none.
size_t Utf8Length(std::string_view text);
// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void PutJson(Buffer& out, std::string_view text);
// "null" or the value.
template <typename T>
void PutJson(Buffer& out, const std::optional<T>& value) {
  if (value) {
    Put(out, "{}", *value);
  } else {
    Put(out, "null");
  }
}
void PutHex(Buffer& out, Bytes bytes);  // lowercase, no separators

// ISO 8601, UTC, nanoseconds: 2024-01-31T12:00:00.123456789Z.
void PutTime(Buffer& out, int64_t time_ns);
// 950ns, 31.2us, 4.51ms, 2.04s: at most seven characters below a thousand seconds.
void PutDuration(Buffer& out, int64_t ns);
// 512 B, 4.0 KiB, 1.9 MiB.
void PutSize(Buffer& out, uint64_t bytes);

// "1 call", "2 calls". `noun` takes an s in the plural.
void PutCount(Buffer& out, uint64_t n, std::string_view noun);
std::string Count(uint64_t n, std::string_view noun);

using fabric::AddressText;
using fabric::EndpointText;
using fabric::FabricName;

}  // namespace stag::cli
