// SPDX-License-Identifier: GPL-2.0-or-later
//
// The key of a scrubbing: 64 hexadecimal digits in a file, or a random one.
#pragma once

#include <string>

#include "analysis/scrub/pseudonyms.h"
#include "protocol/base/result.h"

namespace stag::scrub {

Result<Pseudonyms::Key> RandomKey();
// The key in the file; where there is no such file, it is made, with mode 0600 and a random key, and `made` is set.
Result<Pseudonyms::Key> KeyFromFile(const std::string& path, bool& made);
// What is to be known of a key that was made.
std::string NewKeyText(const std::string& path);

}  // namespace stag::scrub
