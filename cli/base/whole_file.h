// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small files that are read as a whole: lists, baselines, results.
#pragma once

#include <string>

#include "protocol/base/result.h"

namespace stag::cli {

// The content of the file; the error is for people. A file of more than 256 MiB is an error.
Result<std::string> ReadWhole(const std::string& path);

}  // namespace stag::cli
