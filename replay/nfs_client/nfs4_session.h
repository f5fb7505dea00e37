// SPDX-License-Identifier: GPL-2.0-or-later
//
// An NFSv4.1 session of one connection (RFC 8881 section 2.10): its client id, and its slots, of which each outstanding
// COMPOUND takes one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "replay/nfs_client/caller.h"
#include "replay/nfs_client/nfs4_calls.h"

namespace stag::nfs_client {

class Nfs4Session {
 public:
  // `owner`: of the client, unlike any other's; `requests`: outstanding at a time; `bytes`: of the largest READ or
  // WRITE.
  Nfs4Session(const RpcCalls& calls, std::string owner, uint32_t requests, uint32_t bytes)
      : calls_(calls),
        owner_(std::move(owner)),
        wanted_{bytes + kOverhead, bytes + kOverhead, 0, kOperations, requests} {}

  // EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE. What the server still had of this client goes.
  Result<void> Begin(Caller& caller);
  // DESTROY_SESSION, DESTROY_CLIENTID.
  Result<void> End(Caller& caller);

  bool Ready() const { return !free_.empty(); }
  // Takes a slot.
  nfs4::Sequence Take();
  // Gives it back. `executed`: the SEQUENCE was, so that the slot's sequence number goes on.
  void Release(uint32_t slot, bool executed);

  // One COMPOUND, SEQUENCE first: `add` puts the rest, `take` reads its results (false: `what` failed). Waits while the
  // server says NFS4ERR_GRACE or NFS4ERR_DELAY.
  Result<void> Ask(Caller& caller, std::string_view what, const std::function<void(nfs4::Compound&)>& add,
                   const std::function<bool(nfs4::CompoundResults&)>& take, bool although_stopped = false);

  uint64_t client() const { return client_; }
  const std::string& owner() const { return owner_; }
  // The largest READ and WRITE that the session allows, bytes.
  uint32_t read_max() const { return granted_.response_bytes > kOverhead ? granted_.response_bytes - kOverhead : 0; }
  uint32_t write_max() const { return granted_.request_bytes > kOverhead ? granted_.request_bytes - kOverhead : 0; }
  uint32_t slots() const { return static_cast<uint32_t>(sequences_.size()); }

 private:
  static constexpr uint32_t kOverhead = 4096, kOperations = 8;

  const RpcCalls& calls_;
  const std::string owner_;
  const nfs4::Channel wanted_;
  nfs4::Channel granted_;
  nfs4::SessionId session_{};
  uint64_t client_ = 0;
  std::vector<uint32_t> sequences_;  // the next of each slot
  std::vector<bool> taken_;
  std::vector<uint32_t> free_;
  std::vector<std::byte> message_;
};

// "NFS4ERR_STALE from PUTFH"; "results that cannot be read".
std::string FailureText(const nfs4::CompoundResults& results);

}  // namespace stag::nfs_client
