// SPDX-License-Identifier: GPL-2.0-or-later
//
// Responder: the answering side of one live connection (RFC 8166). RPC-over-RDMA messages in; Calls, with their Read
// chunks pulled and put in place, to a Service; its Replies out: eligible results by RDMA Write, the rest inline or in
// the Reply chunk. Answers what it cannot use with ERR_VERS or ERR_CHUNK (section 4.5), and trusts nothing that the
// peer sends. Threads: as its Endpoint, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/base/bytes.h"
#include "replay/endpoint/endpoint.h"

namespace stag::rpcrdma {

struct ResponderOptions {
  uint32_t credits = 64;            // granted in every message; receives that are posted
  uint32_t send_size = 4096;        // largest Send of this side, and ...
  uint32_t receive_size = 4096;     // ... its receives (RFC 8797 section 4)
  bool remote_invalidation = true;  // the R flag, and use of it where both sides set it
  bool send_private_data = true;
  uint32_t max_message = 4 << 20;      // bytes of a Call, its chunks included; larger ones get ERR_CHUNK
  std::chrono::microseconds delay{0};  // before each Reply
};

// A result that may go by a Write chunk (RFC 8267): `length` bytes at `offset` of the Reply, just behind its count,
// padding not included.
struct ResultItem {
  uint64_t offset = 0;
  uint32_t length = 0;
};

// One Reply: an unreduced RPC message, XDR padding included, and its eligible results in order.
struct ServiceReply {
  std::vector<std::byte> message;
  std::vector<ResultItem> items;
  bool refused = false;  // ERR_CHUNK instead (RFC 8166 section 4.5.3)
  // RPC Calls that are made in the backward direction (RFC 8167) behind it; what the peer replies to them is discarded.
  // They go inline; what does not fit is left out, and counted as dropped.
  std::vector<std::vector<std::byte>> callbacks;
  void Clear() { message.clear(), items.clear(), callbacks.clear(), refused = false; }
};

class Service {
 public:
  virtual ~Service() = default;
  // `call`: the unreduced RPC Call; valid during the call. Fills `reply` (handed over empty, its storage is reused);
  // left empty, and not refused: the Call is not answered.
  virtual void OnCall(Bytes call, ServiceReply& reply) = 0;
  // What answers a new connection, when connections have a state of their own; nullptr: this one. Must not outlive it.
  virtual std::unique_ptr<Service> NewConnection() { return nullptr; }
};

struct ResponderStats {
  uint64_t calls = 0, replies = 0, err_vers = 0, err_chunk = 0, dropped = 0, callbacks = 0;
  uint64_t received_bytes = 0, sent_bytes = 0;  // RPC messages, unreduced
};

class Responder {
 public:
  static std::vector<std::byte> PrivateData(const ResponderOptions& options);
  static void Prepare(const ResponderOptions& options, endpoint::EndpointOptions& endpoint);

  Responder(std::unique_ptr<endpoint::Endpoint> endpoint, const ResponderOptions& options, Service& service);
  ~Responder();

  // Does what there is to do; waits up to `wait` for the first. Returns how many Calls were answered; see open().
  size_t Poll(std::chrono::microseconds wait);
  // For waiting on several connections: how long nothing has to be polled unless the endpoint's descriptor() says so.
  // 0: there may be more to do at once.
  std::chrono::microseconds rest() const;
  bool open() const;
  const ResponderStats& stats() const;
  endpoint::Endpoint& endpoint();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::rpcrdma
