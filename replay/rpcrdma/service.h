// SPDX-License-Identifier: GPL-2.0-or-later
//
// Service: what answers the Calls of a Responder; and ServiceReply, its answer: an RPC Reply whose large results may
// stay where they are. Memory that a Service lends is registered with each connection that sends from it, for local use
// only: the peer gets no handle to it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::rpcrdma {

// Whose memory was lent. Threads: any.
class Lender {
 public:
  // Nothing reads or writes `bytes`, which were lent, any more.
  virtual void Return(Bytes bytes) = 0;

 protected:
  ~Lender() = default;
};

// A result that may go by a Write chunk (RFC 8267): `length` bytes at `offset` of the unreduced Reply, just behind its
// count, padding not included.
struct ResultItem {
  uint64_t offset = 0;
  uint32_t length = 0;
};

// Bytes of a Reply that are not in its message.
struct ReplyView {
  uint64_t at = 0;  // they stand in front of this byte of the message
  Bytes bytes;
  MutableBytes memory;  // registered as a whole, once for each connection: it outlives the connection. Empty: the bytes
                        // are the Call's
};

// One Reply: an unreduced RPC message, XDR padding included, and its eligible results in order. Whoever destroys or
// clears it gives back what was lent, so that is done once the RDMA Writes and the Send of the Reply are complete.
struct ServiceReply {
  std::vector<std::byte> message;
  std::vector<ReplyView> views;  // in order of `at`; with them the Reply is unreduced
  Lender* lender = nullptr;      // of the views; nullptr: they are not counted
  std::vector<ResultItem> items;
  bool refused = false;  // ERR_CHUNK instead (RFC 8166 section 4.5.3)
  // RPC Calls that are made in the backward direction (RFC 8167) behind it; what the peer replies to them is discarded.
  // They go inline; what does not fit is left out, and counted as dropped.
  std::vector<std::vector<std::byte>> callbacks;

  ServiceReply() = default;
  ServiceReply(const ServiceReply&) = delete;
  ServiceReply& operator=(const ServiceReply&) = delete;
  ~ServiceReply() { ReturnViews(); }
  void Clear() {
    message.clear(), items.clear(), callbacks.clear(), refused = false;
    ReturnViews();
  }
  // Bytes of the unreduced Reply.
  uint64_t size() const;
  // Copies the views into the message, and gives them back. Returns how many bytes these were.
  uint64_t Flatten();

 private:
  void ReturnViews();
};

// Memory of a Service's for one Call; given back when it is destroyed.
class Landing {
 public:
  Landing() = default;
  // `call`: the bytes of the unreduced Call; `memory`: what is registered, as that of a ReplyView.
  Landing(MutableBytes call, MutableBytes memory, Lender& lender) : call_(call), memory_(memory), lender_(&lender) {}
  Landing(Landing&& other) noexcept { *this = std::move(other); }
  Landing& operator=(Landing&& other) noexcept {
    std::swap(call_, other.call_), std::swap(memory_, other.memory_), std::swap(lender_, other.lender_);
    return *this;
  }
  ~Landing() { Return(); }
  explicit operator bool() const { return lender_ != nullptr; }
  MutableBytes call() const { return call_; }
  MutableBytes memory() const { return memory_; }
  void Return() {
    if (lender_) std::exchange(lender_, nullptr)->Return(call_);
  }

 private:
  MutableBytes call_, memory_;
  Lender* lender_ = nullptr;
};

class Service {
 public:
  virtual ~Service() = default;
  // `call`: the unreduced RPC Call; valid as long as the reply has views of it, otherwise during the call. Fills
  // `reply` (handed over empty, its storage is reused); left empty, and not refused: the Call is not answered.
  virtual void OnCall(Bytes call, ServiceReply& reply) = 0;
  // Where a Call is to land of which `item` bytes, with `before` bytes in front of them and `after` behind, come by
  // RDMA Read: in memory that the Service keeps, if it wants the item without copying it. None: the Responder has its
  // own.
  virtual Landing Land(uint64_t /*before*/, uint64_t /*item*/, uint64_t /*after*/) { return {}; }
  // What answers a new connection, when connections have a state of their own; nullptr: this one. Must not outlive it.
  virtual std::unique_ptr<Service> NewConnection() { return nullptr; }
};

}  // namespace stag::rpcrdma
