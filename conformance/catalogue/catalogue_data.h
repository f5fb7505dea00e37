// SPDX-License-Identifier: GPL-2.0-or-later
//
// What generate.py makes from rules.yaml and advice.yaml. The rules are for the catalogue; everyone else uses
// Catalogue() and FindRule().
#pragma once

#include "conformance/engine/finding.h"

namespace stag::conformance::catalogue {

// In the order of the file; `implemented` and `not_checked` are not filled.
std::span<const RuleInfo> Rules();

// Rules that one event can break together: the first that it breaks is reported, the others are named in see_also.
std::span<const std::span<const std::string_view>> EventGroups();

}  // namespace stag::conformance::catalogue
