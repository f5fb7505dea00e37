// SPDX-License-Identifier: GPL-2.0-or-later
//
// What --select, --ignore, --explain and --dangerous of stag probe can name: for their checks, and for completion.
#pragma once

#include <string>
#include <vector>

namespace stag::cli {

// Of servers, then of clients.
std::vector<std::string> ProbeIds();
// Topics, sections of specifications with those above them ("rfc8166", "rfc8166-4", "rfc8166-4.4"), and ids.
std::vector<std::string> ProbeSelectors();
// Empty: `selector` selects a probe. Otherwise why not, and what may have been meant.
std::string WhyNoSelector(const std::string& selector);

}  // namespace stag::cli
