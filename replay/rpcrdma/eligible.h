// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which arguments a Call may reduce (RFC 8166 section 6.1): those that RFC 8267 names, for NFS and its companions.
#pragma once

#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {

// False when a Read chunk of `header` at a Position other than zero is not such an argument. `call`: the unreduced RPC
// Call. True for programs without a known binding, and for arguments that cannot be read to their end.
bool ReducesOnlyEligible(const rpcrdma::Header& header, Bytes call);

}  // namespace stag::rpcrdma
