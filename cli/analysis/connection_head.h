// SPDX-License-Identifier: GPL-2.0-or-later
//
// The line that names a connection in text: its number, fabric and ends, from the client to the server.
#pragma once

#include "cli/base/output.h"
#include "session/rpcrdma/connection.h"

namespace stag::cli {

void PutConnectionHead(std::string& out, const session::Connection& connection, const Style& style);

}  // namespace stag::cli
