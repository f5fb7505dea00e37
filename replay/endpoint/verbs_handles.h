// SPDX-License-Identifier: GPL-2.0-or-later
//
// Owned<T>: what libibverbs and librdmacm make, with an owner. Members of a class are to be declared in the order in
// which they are made: they go in the reverse one.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

namespace stag::endpoint {

struct VerbsCloser {
  void operator()(ibv_context* p) const { (void)::ibv_close_device(p); }
  void operator()(ibv_pd* p) const { (void)::ibv_dealloc_pd(p); }
  void operator()(ibv_mr* p) const { (void)::ibv_dereg_mr(p); }
  void operator()(ibv_mw* p) const { (void)::ibv_dealloc_mw(p); }
  void operator()(ibv_comp_channel* p) const { (void)::ibv_destroy_comp_channel(p); }
  void operator()(ibv_cq* p) const { (void)::ibv_destroy_cq(p); }
  void operator()(rdma_event_channel* p) const { ::rdma_destroy_event_channel(p); }
  void operator()(rdma_cm_id* p) const { (void)::rdma_destroy_id(p); }  // its queue pair must have gone
  void operator()(rdma_cm_event* p) const { (void)::rdma_ack_cm_event(p); }
};

template <typename T>
using Owned = std::unique_ptr<T, VerbsCloser>;

// The queue pair of an id, which librdmacm keeps in it.
class OwnedQueuePair {
 public:
  OwnedQueuePair() = default;
  OwnedQueuePair(const OwnedQueuePair&) = delete;
  OwnedQueuePair& operator=(const OwnedQueuePair&) = delete;
  ~OwnedQueuePair() {
    if (id_) ::rdma_destroy_qp(id_);
  }
  void Own(rdma_cm_id* id) { id_ = id; }
  ibv_qp* operator->() const { return id_->qp; }
  ibv_qp* get() const { return id_ ? id_->qp : nullptr; }

 private:
  rdma_cm_id* id_ = nullptr;
};

// The next event of a channel that does not block; null: there is none.
inline Owned<rdma_cm_event> NextCmEvent(rdma_event_channel* channel) {
  rdma_cm_event* event = nullptr;
  return Owned<rdma_cm_event>(::rdma_get_cm_event(channel, &event) == 0 ? event : nullptr);
}

}  // namespace stag::endpoint
