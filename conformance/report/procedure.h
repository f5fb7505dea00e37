// SPDX-License-Identifier: GPL-2.0-or-later
//
// Procedures of RPC programs as people name them.
#pragma once

#include <string>

#include "conformance/engine/finding.h"

namespace stag::conformance {

// "NFSv3 READ", "NFSv4 COMPOUND"; with numbers where a name is unknown: "program 395000 v1 procedure 7".
std::string ProcedureText(const Procedure& procedure);

}  // namespace stag::conformance
