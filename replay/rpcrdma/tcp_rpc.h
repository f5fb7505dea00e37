// SPDX-License-Identifier: GPL-2.0-or-later
//
// TcpRpc: a small ONC RPC server on TCP, with record marking (RFC 5531 section 11). For MOUNT, which clients of NFS
// over RDMA ask for over TCP, and for the callbacks of NFSv4.0. Never blocks. Bounded: connections (a new
// one takes the place of the one that is silent for longest), bytes of a record, answers of each in a turn, and how
// long one may take for its next Call.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <vector>

#include "protocol/base/result.h"
#include "replay/endpoint/endpoint.h"
#include "replay/rpcrdma/responder.h"

namespace stag::rpcrdma {

class TcpRpc {
 public:
  // Errors: the address cannot be had. `service` must outlive it. `idle`: a connection without a whole Call for longer
  // is ended.
  static Result<std::unique_ptr<TcpRpc>> Listen(const endpoint::HostPort& at, Service& service,
                                                std::chrono::milliseconds idle = std::chrono::minutes(1));
  ~TcpRpc();
  uint16_t port() const { return port_; }
  // What poll(2) is to look at before the next Poll.
  void AddTo(std::vector<pollfd>& all) const;
  // Whether there may be more to do at once: of each peer a few Calls are answered.
  bool Poll();

 private:
  struct Peer;
  TcpRpc(int socket, uint16_t port, Service& service, std::chrono::milliseconds idle);
  void AcceptAll();
  enum class Left : uint8_t { kNothing, kMore, kGone };
  Left Serve(Peer& peer);
  bool Answer(Peer& peer, int& answers);

  const int socket_;
  const uint16_t port_;
  Service& service_;
  const std::chrono::milliseconds idle_;
  ServiceReply reply_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::chrono::steady_clock::time_point accept_again_;  // there were no descriptors
};

}  // namespace stag::rpcrdma
