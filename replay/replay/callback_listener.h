// SPDX-License-Identifier: GPL-2.0-or-later
//
// CallbackListener: where the server calls a replaying client of NFSv4.0 back: over TCP, at a port and with the address
// of this machine that leads to the server (RFC 7530 section 10.2.1). Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "replay/replay/callbacks.h"
#include "replay/rpcrdma/tcp_rpc.h"

namespace stag::replay {

class CallbackListener final : private rpcrdma::Service {
 public:
  // `server`: of the client. `callbacks` must outlive it. The error is for people.
  static Result<std::unique_ptr<CallbackListener>> Listen(const endpoint::HostPort& server, Callbacks& callbacks);
  // For SETCLIENTID: "tcp", "10.0.0.2.203.17" (RFC 5665 section 5.2.3).
  const std::string& netid() const { return netid_; }
  const std::string& address() const { return address_; }
  void Poll() { tcp_->Poll(); }
  uint64_t calls() const { return calls_; }  // of the server, so far

 private:
  explicit CallbackListener(Callbacks& callbacks) : callbacks_(callbacks) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override;

  Callbacks& callbacks_;
  std::unique_ptr<rpcrdma::TcpRpc> tcp_;
  std::string netid_, address_;
  uint64_t calls_ = 0;
};

}  // namespace stag::replay
