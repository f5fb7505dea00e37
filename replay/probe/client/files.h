// SPDX-License-Identifier: GPL-2.0-or-later
//
// The NFSv3 export that clients are probed with.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "replay/serve/nfs_memory.h"

namespace stag::probe::client {

// Files of a pattern (AddPatternFile): twelve small ones, so that a listing is too large for a Reply of 1024 bytes and
// not for one of 4096, and "data", of 1 MiB. And kLink, to it.
inline constexpr std::string_view kLink = "link", kLinkTarget = "data";
Result<void> Furnish(serve::MemoryFs& fs);
// The file handle of the root directory.
std::vector<std::byte> RootHandle(serve::MemoryFs& fs);

}  // namespace stag::probe::client
