// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/mount.h"

#include <optional>

#include "protocol/nfs/walk.h"
#include "replay/nfs_client/caller.h"
#include "replay/nfs_client/rpc_calls.h"
#include "replay/nfs_client/tcp_client.h"

namespace stag::generate {
namespace {

// There are no Calls but those that Caller::Ask waits for.
struct NoAnswers final : rpcrdma::AnswerSink {
  void OnAnswer(const rpcrdma::Answer&) override {}
};

// What MOUNT at the address of NFS answers; nullopt: there is none.
std::optional<Result<std::vector<std::byte>>> MountOverRdma(endpoint::Transport& transport, const LoadOptions& options,
                                                            const std::atomic<bool>& stop) {
  NoAnswers answers;
  nfs_client::Caller caller(
      transport, {options.to, options.requester, options.timeout, nullptr, options.crc, &stop, options.cancel},
      answers);
  if (!caller.Connect()) return std::nullopt;
  std::vector<std::byte> message;
  nfs_client::RpcCalls(nfs::kMountProgram, nfs_client::kMountVersion, options.credential)
      .Begin(nfs_client::kMountMnt, message);
  nfs_client::PutMntArguments(options.path, message);
  const auto results = caller.Ask({.message = message});
  if (!results) return std::nullopt;
  auto handle = nfs_client::TakeMntResults(*results, options.to.host, options.path);
  caller.Disconnect();
  return handle;
}

}  // namespace

Result<std::vector<std::byte>> FindDirectory(endpoint::Transport& transport, const LoadOptions& options,
                                             const std::atomic<bool>& stop, uint16_t portmap_port) {
  std::optional<uint16_t> port = options.mount_port;
  if (!port) {
    const auto found =
        nfs_client::FindMountPort({options.to.host, portmap_port}, options.credential, options.timeout, options.cancel);
    if (!found) {
      if (auto answer = MountOverRdma(transport, options, stop)) return std::move(*answer);
      return tl::unexpected(found.error());
    }
    port = *found;
  }
  return nfs_client::Mount(options.to.host, port, options.path, options.credential, options.timeout, portmap_port,
                           options.cancel);
}

}  // namespace stag::generate
