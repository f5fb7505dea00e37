// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a terminal shows a severity.
#pragma once

#include "conformance/engine/finding.h"
#include "text/terminal.h"

namespace stag::conformance {

inline TextStyle SeverityStyle(Severity severity) {
  return severity == Severity::kError     ? TextStyle::kError
         : severity == Severity::kWarning ? TextStyle::kWarning
                                          : TextStyle::kNote;
}

}  // namespace stag::conformance
