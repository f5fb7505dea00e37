// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reading JSON lines: baselines and lists of suppressions.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stag::conformance {

// Gives each line that is neither empty nor a comment (its first letter is #) to `take`, which returns what is wrong
// with it, or an empty string. The error is "LINE: what is wrong"; the names of files are the caller's.
Result<void> ForEachJsonLine(std::string_view text, const std::function<std::string(const nlohmann::json&)>& take);

// The member's text; empty when there is none or it is no string.
std::string StringMember(const nlohmann::json& object, const char* name);

// 16 lowercase hexadecimal digits.
bool IsFingerprint(std::string_view text);

}  // namespace stag::conformance
