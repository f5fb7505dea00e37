// SPDX-License-Identifier: GPL-2.0-or-later
//
// Deliveries: what session/delivery finds out about the packets of one connection, for the RPCs that they belong to. As
// long as no packet is told (fabric::Sighting), it remembers what the RPCs would tell of them, and the decoder's own
// account of acknowledged Sends says when a Reply has arrived.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "session/delivery/delivery.h"
#include "session/rpcrdma/transaction_pool.h"

namespace stag::session {

// Something that its packets tell; the views are valid during the call.
class DeliveryNotes {
 public:
  virtual ~DeliveryNotes() = default;
  virtual void OnWait(const Wait& wait) = 0;
  virtual void OnSpurious(const Spurious& spurious) = 0;
};

class Deliveries final : delivery::Results {
 public:
  // `notes` must outlive this.
  Deliveries(bool iwarp, DeliveryNotes& notes);

  void OnSighting(const fabric::Sighting& sighting);
  // A Send or an RDMA packet is a part of the transaction `serial`.
  void Carry(const fabric::Event& event, uint64_t serial);
  // Of the Read Responses that a side sends.
  delivery::Lane LaneOfReads(fabric::Side sender) const {
    return iwarp_ ? delivery::Lane{sender, false} : delivery::Lane{static_cast<fabric::Side>(1 - sender), true};
  }
  // `frame` shows that the packet `number` of the lane had arrived.
  void Prove(const delivery::Lane& lane, uint32_t number, const FrameRef& frame);
  // The transaction has a Reply or RDMA_ERROR: whether all is known of what its packets waited for.
  bool IsKnown(const TransactionEntry& entry);
  // Fills Transaction::delivered and waits, and forgets it.
  void Take(TransactionEntry& entry);
  // No packet comes any more.
  void Finish();

  // Whether something was proven since the last call.
  bool TakeProof() { return delivery_ && delivery_->TakeProof(); }
  bool troubled() const { return delivery_ && delivery_->troubled(); }
  int64_t troubled_since() const { return delivery_ ? delivery_->troubled_since() : delivery::kNoTime; }
  uint64_t storage() const;
  // Whether what every RPC adds to has another size than at the last call.
  bool TakeGrowth();

  // Transactions that have ended, in the order of their ends, and whose packets are not known yet.
  std::vector<TransactionEntry*> ended;
  // By receiver: ConnectionInfo::sends_received.
  std::array<uint64_t, 2> received{};

 private:
  struct Carried {
    uint64_t first = 0, last = 0;  // numbers; if not placed_, `first` as on the wire, in the order of events
    uint64_t serial = 0;           // of the transaction
    uint32_t number = 0;           // `last` on the wire
    bool is_send = false;
  };
  struct Proof {
    delivery::Lane lane;
    uint32_t number = 0;  // on the wire
    FrameRef frame;
  };
  struct Waited {
    uint64_t serial = 0;
    Wait wait;
  };
  struct Delivered {
    delivery::Lane lane;
    delivery::Numbers numbers;
    FrameRef frame;
  };
  static constexpr size_t kMostCarried = 4096, kFewCarried = 256, kMostProofs = 256, kMostWaited = 4096,
                          kMostDelivered = 256;

  void Begin(bool resumes);
  void End();
  void Place();
  void ProveUpTo(uint64_t order);
  uint32_t mask() const { return iwarp_ ? UINT32_MAX : 0xffffff; }
  void OnWait(const delivery::Lane& lane, const delivery::Numbers& numbers, const FrameRef& due,
              const FrameRef& delivered, delivery::Cause cause) override;
  void OnDelivered(const delivery::Lane& lane, const delivery::Numbers& numbers, const FrameRef& frame) override;
  void OnSpurious(const delivery::Lane& lane, const delivery::Numbers& numbers, const FrameRef& first,
                  const FrameRef& copy) override;
  template <typename Fn>
  void ForEachCarried(const delivery::Lane& lane, const delivery::Numbers& numbers, Fn fn);
  delivery::Lane LaneOfReply(const TransactionEntry& entry) const {
    return {static_cast<fabric::Side>(1 - entry.requester), false};
  }

  const bool iwarp_;
  DeliveryNotes& notes_;
  std::unique_ptr<delivery::Delivery> delivery_;                // null: nothing is told, and nothing is unsettled
  bool telling_ = false;                                        // packets are told
  bool placed_ = false;                                         // carried_ has the numbers of delivery_
  size_t capacity_ = 0;                                         // at TakeGrowth
  std::vector<Proof> proofs_;                                   // the last ones ...
  size_t next_proof_ = 0;                                       // ... of which delivery_ has those before it
  std::array<std::vector<Carried>, delivery::kLanes> carried_;  // by lane; if placed_, numbers ascend
  std::vector<Waited> waited_;
  std::vector<Delivered> delivered_;
};

}  // namespace stag::session
