// SPDX-License-Identifier: GPL-2.0-or-later
//
// KeepLargeBlocksApart: for commands that follow connections. Large blocks that are freed go back to the system: small
// ones that live longer would otherwise stand between them, and what a command takes would be several times what it
// has. It costs live commands time, which take and give large blocks for each RPC.
#pragma once

#include <malloc.h>

namespace stag::cli {

inline void KeepLargeBlocksApart() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
#endif
}

}  // namespace stag::cli
