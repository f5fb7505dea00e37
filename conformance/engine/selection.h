// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which checks run: --select and --ignore, and which rules a profile has in force.
#pragma once

#include <string_view>
#include <vector>

#include "conformance/engine/check.h"

namespace stag::conformance {

// An id, or the start of one: "WRLIST", "WRLIST-006".
bool Matches(std::string_view selector, std::string_view id);
bool IsSelected(std::string_view id, const std::vector<std::string>& select, const std::vector<std::string>& ignore);

// A rule is in force when one of its sources is a document of the profile, except as the catalogue's
// differs_between_docs and check texts say otherwise. `profile` is not kAuto.
bool IsInForce(const RuleInfo& rule, Profile profile);

}  // namespace stag::conformance
