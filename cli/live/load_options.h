// SPDX-License-Identifier: GPL-2.0-or-later
//
// Option texts of a load: mixes of operations, sizes, durations. Each returns the complaint, or empty.
#pragma once

#include <chrono>
#include <string>

#include "replay/generate/job.h"

namespace stag::cli {

// "read=70,write=20,getattr=10": relative weights, 0 to 1000000, one positive at least. A name without a number has 1.
std::string TakeMix(const std::string& text, generate::Mix& mix);
// "4K", "4K-1M" (uniform), "4K:50,64K:50" (with weights), "512-4K:9,1M:1". 1 byte to 64M.
std::string TakeSizes(const std::string& text, std::vector<generate::SizeRange>& sizes);
// "10", "10s", "1.5m", "250ms", "1h": more than 0, at most 365 days; a number alone is seconds.
std::string TakeDuration(const std::string& text, std::chrono::nanoseconds& duration);
std::string TakeDuration(const std::string& text, std::chrono::milliseconds& duration);  // rounded up
// An even number of hexadecimal digits.
std::string TakeHex(const std::string& text, size_t most_bytes, std::vector<std::byte>& bytes);

}  // namespace stag::cli
