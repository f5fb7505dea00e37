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
#include "replay/rpcrdma/chunk_memory.h"
#include "replay/rpcrdma/service.h"

namespace stag::rpcrdma {

struct ResponderOptions {
  uint32_t credits = 64;            // granted in every message; receives that are posted
  uint32_t send_size = 4096;        // largest Send of this side, and ...
  uint32_t receive_size = 4096;     // ... its receives (RFC 8797 section 4)
  bool remote_invalidation = true;  // the R flag, and use of it where both sides set it
  bool send_private_data = true;
  uint32_t max_message = 4 << 20;      // bytes of a Call, its chunks included; larger ones get ERR_CHUNK
  std::chrono::microseconds delay{0};  // before each Reply
  // For what Calls take; shared with other connections, and must outlive them. nullptr: of the Responder's own.
  ChunkMemory* memory = nullptr;
};

struct ResponderStats {
  uint64_t calls = 0, replies = 0, err_vers = 0, err_chunk = 0, dropped = 0, callbacks = 0;
  uint64_t received_bytes = 0, sent_bytes = 0;  // RPC messages, unreduced
  uint64_t copied_bytes = 0;  // of views that could not go out from where they lie: not registered, too many pieces
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
  // A Call is under way, or waits.
  bool busy() const;
  const ResponderStats& stats() const;
  endpoint::Endpoint& endpoint();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::rpcrdma
