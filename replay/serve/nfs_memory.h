// SPDX-License-Identifier: GPL-2.0-or-later
//
// `--mode nfs-memory`: NFSv3 (RFC 1813) and its MOUNT protocol on a MemoryFs, for RPC-over-RDMA; and MOUNT alone, for a
// TCP port, where clients ask for it.
#pragma once

#include "protocol/base/result.h"
#include "replay/serve/memory_fs.h"
#include "replay/serve/rpc_service.h"

namespace stag::serve {

inline constexpr uint32_t kLargestTransfer = 1 << 20;

// `fs` must outlive the services. `max_transfer`: rtmax and wtmax of FSINFO, bytes.
std::unique_ptr<RpcService> MakeNfsMemoryService(MemoryFs& fs, uint32_t max_transfer = kLargestTransfer);
std::unique_ptr<RpcService> MakeMountService(MemoryFs& fs);
// Whose only directory has this handle, which must outlive it.
std::unique_ptr<RpcService> MakeMountService(Bytes root);

std::unique_ptr<RpcProgram> MakeMountProgram(MemoryFs& fs);

// A file of `size` bytes in the root directory; the byte at offset i is i mod 251. Errors: the name, no memory.
Result<void> AddPatternFile(MemoryFs& fs, std::string_view name, uint64_t size);
// What is below `directory` of this machine: directories, regular files, symbolic links; anything else is left out.
Result<void> AddDirectory(MemoryFs& fs, const std::string& directory);

}  // namespace stag::serve
