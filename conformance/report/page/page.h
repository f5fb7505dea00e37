// SPDX-License-Identifier: GPL-2.0-or-later
//
// The style and the script of the HTML report (page.css, page.js), made into strings when building.
#pragma once

#include <string_view>

namespace stag::conformance {

extern const std::string_view kPageStyle, kPageScript;
// "sha256-...", as a Content-Security-Policy names them.
extern const std::string_view kPageStyleHash, kPageScriptHash;

}  // namespace stag::conformance
