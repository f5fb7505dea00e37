// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/mount.h"

#include <optional>

#include "protocol/nfs/walk.h"
#include "replay/generate/caller.h"
#include "replay/generate/rpc_calls.h"
#include "replay/generate/tcp_client.h"

namespace stag::replay {
namespace {

// There are no Calls but those that Caller::Ask waits for.
struct NoAnswers final : AnswerSink {
  void OnAnswer(const Answer&) override {}
};

// What MOUNT at the address of NFS answers; nullopt: there is none.
std::optional<Result<std::vector<std::byte>>> MountOverRdma(Transport& transport, const LoadOptions& options,
                                                            const std::atomic<bool>& stop) {
  NoAnswers answers;
  Caller caller(transport, {options.to, options.requester, options.timeout, nullptr, options.crc, &stop}, answers);
  if (!caller.Connect()) return std::nullopt;
  std::vector<std::byte> message;
  RpcCalls(nfs::kMountProgram, kMountVersion, options.credential).Begin(kMountMnt, message);
  PutMntArguments(options.path, message);
  const auto results = caller.Ask({.message = message});
  if (!results) return std::nullopt;
  auto handle = TakeMntResults(*results, options.to.host, options.path);
  caller.Disconnect();
  return handle;
}

}  // namespace

Result<std::vector<std::byte>> FindDirectory(Transport& transport, const LoadOptions& options,
                                             const std::atomic<bool>& stop, uint16_t portmap_port) {
  std::optional<uint16_t> port = options.mount_port;
  if (!port) {
    const auto found = FindMountPort({options.to.host, portmap_port}, options.credential, options.timeout);
    if (!found) {
      if (auto answer = MountOverRdma(transport, options, stop)) return std::move(*answer);
      return tl::unexpected(found.error());
    }
    port = *found;
  }
  return Mount(options.to.host, port, options.path, options.credential, options.timeout);
}

}  // namespace stag::replay
