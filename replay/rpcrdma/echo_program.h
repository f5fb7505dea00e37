// SPDX-License-Identifier: GPL-2.0-or-later
//
// ECHO: an RPC program of Stag's own, for payload without any meaning.
//
//     program STAG_ECHO {
//       version STAG_ECHO_V1 {
//         void NULL(void) = 0;
//         opaque<> ECHO(opaque<>) = 1;      returns its argument
//       } = 1;
//     } = 0x20020049;                       in the range that RFC 5531 section 8.3 leaves to users
//
// There is no Upper-Layer Binding (RFC 8166 section 6): nothing is DDP-eligible. Arguments come inline or by a Position
// Zero Read chunk, results go inline or by a Reply chunk.
#pragma once

#include <cstdint>

namespace stag::rpcrdma {

inline constexpr uint32_t kEchoProgram = 0x20020049, kEchoVersion = 1, kEchoProcedure = 1;

}  // namespace stag::rpcrdma
