// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which checks run: --select and --ignore, and which rules a profile has in force.
#pragma once

#include <string_view>
#include <vector>

#include "conformance/engine/check.h"

namespace stag::conformance {

// An id, or the start of one: "WRLIST", "WRLIST-006". A level: "MUST". A document of the rule's sources, with or
// without a section, which holds its subsections: "RFC8797", "RFC8166:4.3" (and 4.3.1). Letters in upper case.
bool Matches(std::string_view selector, const RuleInfo& rule);
bool IsSelected(const RuleInfo& rule, const std::vector<std::string>& select, const std::vector<std::string>& ignore);

// A rule is in force when one of its sources is a document of the profile, except as the catalogue's
// `in_force` says otherwise. `profile` is not kAuto.
bool IsInForce(const RuleInfo& rule, Profile profile);

}  // namespace stag::conformance
