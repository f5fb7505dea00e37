// SPDX-License-Identifier: GPL-2.0-or-later
//
// What an NFSv3 client asks for over TCP before it goes on over RDMA: the port of MOUNT (portmap, RFC 1833 section 3),
// and the file handle of an exported directory (MOUNT, RFC 1813 appendix I). A Call at a time, with record marking (RFC
// 5531 section 11).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/nfs_client/rpc_calls.h"

namespace stag::nfs_client {

// The answer to one Call, which `message` is (its header included): the whole Reply. Errors: not reached, no answer
// within `patience`, something that is no RPC. From a reserved port where that is allowed: many servers ask for one.
// `cancel`, here and below: a descriptor; once it is readable, nothing is waited for; -1: none.
Result<std::vector<std::byte>> AskOverTcp(const endpoint::HostPort& to, Bytes message,
                                          std::chrono::milliseconds patience, int cancel = -1);

// Asks the portmapper (version 2) for the TCP port of MOUNT version 3.
Result<uint16_t> FindMountPort(const endpoint::HostPort& portmap, const Credential& credential,
                               std::chrono::milliseconds patience, int cancel = -1);

// MNT of MOUNT version 3 (RFC 1813 section 5.2.1): its arguments are appended to `out`; its results hold the file
// handle.
inline constexpr uint32_t kMountVersion = 3, kMountMnt = 1;
void PutMntArguments(const std::string& path, std::vector<std::byte>& out);
Result<std::vector<std::byte>> TakeMntResults(Bytes results, const std::string& host, const std::string& path);

// The file handle of `path` at `host`. `port`: of MOUNT; none: asked for at `portmap_port`. The error says why and what
// can be done.
Result<std::vector<std::byte>> Mount(const std::string& host, std::optional<uint16_t> port, const std::string& path,
                                     const Credential& credential, std::chrono::milliseconds patience,
                                     uint16_t portmap_port = 111, int cancel = -1);

}  // namespace stag::nfs_client
