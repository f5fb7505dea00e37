// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/finding.h"

namespace stag::conformance {

std::string_view CertaintyName(Certainty certainty) { return certainty == Certainty::kProven ? "proven" : "presumed"; }

std::string MessageText(const Finding& finding) {
  if (finding.certainty == Certainty::kProven) return finding.message;
  return finding.message + ". Presumed: " + finding.unseen;
}

}  // namespace stag::conformance
