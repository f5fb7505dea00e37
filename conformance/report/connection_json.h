// SPDX-License-Identifier: GPL-2.0-or-later
//
// A connection as JSON: a line of `stag connections`, and of the documents that `stag check` writes. Fields and their
// order are a contract with programs.
#pragma once

#include <optional>
#include <string>

#include "session/rpcrdma/connection.h"
#include "text/json.h"

namespace stag::conformance {

// The members of the object, from "type" to "last_time"; no braces. `file`: its name, where there are several.
void PutConnectionMembers(JsonWriter& json, const session::Connection& connection,
                          const std::optional<std::string>& file);

}  // namespace stag::conformance
