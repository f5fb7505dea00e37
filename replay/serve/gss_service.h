// SPDX-License-Identifier: GPL-2.0-or-later
//
// GssService: another Service for clients with RPCSEC_GSS (RFC 2203), too. Contexts are those of all its connections;
// Calls reach the other service as they are without: the credential is AUTH_NONE, the arguments are not wrapped. What
// is wrapped is not reduced (RFC 8166 section 8.2.2). Other Calls go straight through.
#pragma once

#include "protocol/rpc/message.h"
#include "replay/gss/acceptor.h"
#include "replay/rpcrdma/service.h"

namespace stag::serve {

class GssService final : public rpcrdma::Service {
 public:
  // Both must outlive it. Connections may be on different threads where those of `inner` may.
  GssService(rpcrdma::Service& inner, gss::Acceptor& acceptor) : inner_(inner), acceptor_(acceptor) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override;
  rpcrdma::Landing Land(uint64_t before, uint64_t item, uint64_t after) override {
    return inner_.Land(before, item, after);
  }
  std::unique_ptr<rpcrdma::Service> NewConnection() override;

 private:
  GssService(std::unique_ptr<rpcrdma::Service> connection, gss::Acceptor& acceptor)
      : connection_(std::move(connection)), inner_(*connection_), acceptor_(acceptor) {}

  std::unique_ptr<rpcrdma::Service> connection_;  // of `inner`, where it has some
  rpcrdma::Service& inner_;
  gss::Acceptor& acceptor_;
  std::vector<std::byte> plain_;  // the Call as `inner` gets it
};

}  // namespace stag::serve
