// SPDX-License-Identifier: GPL-2.0-or-later
//
// The version that `stag --version` prints. STAG_VERSION comes from the build (the project's version).
#pragma once

namespace stag::cli {

inline constexpr const char* kVersionText = "stag " STAG_VERSION;

}  // namespace stag::cli
