// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sizes, durations and times of day, as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/base/words.h"

namespace stag {

// Bytes: a number and perhaps K, M, G or T (powers of 1024); nullopt when `text` is none.
std::optional<uint64_t> ParseSize(std::string_view text);

// Nanoseconds: a number, which may have a fraction, and ns, us, ms, s (also when left out), m, h or d; nullopt when
// `text` is none, or over 100 years.
std::optional<int64_t> ParseDuration(std::string_view text);

// Nanoseconds: a number of seconds with up to nine decimals, exactly.
std::optional<int64_t> ParseSeconds(std::string_view text);

// Nanoseconds since 1970: 2024-01-31T12:00:00.123456789Z, in UTC; a blank may stand for the T, seconds, their fraction
// and the Z may be left out.
std::optional<int64_t> ParseIsoTime(std::string_view text);

}  // namespace stag
