// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbCm: follows the exchanges of CM messages (IBA section 12.9) and opens, names and closes connections by them.
// Messages are sent unreliably, so copies are ignored; one that comes before the message it answers (frames captured
// out of order) waits a little for it; a connection of which only part of the exchange was captured is set up as far as
// that tells.
#pragma once

#include <deque>
#include <vector>

#include "protocol/ib/cm.h"
#include "session/fabric/ib_flows.h"

namespace stag::fabric {

class IbCm {
 public:
  // Where a CM message was seen. `source` and `destination`: as flows are keyed; `shown_*`: as events show them.
  struct Seen {
    Address source, destination, shown_source, shown_destination;
    FabricKind fabric = FabricKind::kRoceV2;
    FrameRef frame;
  };

  IbCm(TrackerContext& context, IbFlows& flows)
      : context_(context), flows_(flows), entries_(context.budget(), SIZE_MAX), closing_charge_(context.budget()) {}

  // Nothing of `message` is kept past the call; what must wait is copied.
  void OnMessage(const ib::CmMessage& message, const Seen& seen);
  bool waiting() const { return !waiting_.empty(); }
  // Called before a packet of a flow that nobody knows yet: a REP that waits for its REQ may name its queue pair.
  void BeforeNewFlow(const FlowKey& key);
  // Called per frame: time and messages that waited too long.
  void Tick(int64_t now_ns) {
    if (!waiting_.empty() || !closing_.empty()) Wait(now_ns);
  }
  // Between packets: forgets connections that have ended, where there are many of them or memory is short.
  void Relieve();
  void Finish();

 private:
  static constexpr size_t kMostIds = 8;  // communication ids that are remembered of one connection

  struct Key {
    Address owner, peer;
    uint32_t id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return FlowKeyHash()({key.owner, key.peer, key.id}); }
  };
  // One communication id of one side.
  struct Entry {
    ConnectionId connection = 0;
    Side owner = 0;
    uint32_t qp = 0, psn = 0;  // named by its owner's REQ or REP; 0: not seen
  };
  struct Waiting {
    ib::CmMessage message;
    std::vector<std::byte> private_data;
    Seen seen;
    uint32_t ticks = 0;
  };

  // `wait`: a message that nothing is known of may still wait for what it answers.
  bool Handle(const ib::CmMessage& m, const Seen& seen, bool wait);
  bool OnRequest(const ib::CmMessage& m, const Seen& seen);
  bool OnReply(const ib::CmMessage& m, const Seen& seen, bool wait);
  bool OnReady(const ib::CmMessage& m, const Seen& seen, bool wait);
  bool OnReject(const ib::CmMessage& m, const Seen& seen);
  bool OnDisconnect(const ib::CmMessage& m, const Seen& seen, bool wait);
  Entry* Find(const Address& owner, const Address& peer, uint32_t id);
  // A REQ or REP of a connection that has ended meanwhile.
  bool IsLateCopy(const ib::CmMessage& m, const Seen& seen) const;
  void Add(IbLink& link, const Key& key, const Entry& entry);
  bool TooMany() const {
    return entries_.size() > kMostIds * flows_.links() + context_.limits().cm_ended ||
           closing_.size() > flows_.links() + context_.limits().cm_ended;
  }
  void EmitSetup(IbLink& link, SetupMessage what, Side from, const ib::CmMessage& m, const Seen& seen);
  void Close(ConnectionId id, CloseReason reason, const FrameRef& frame);
  void Wait(int64_t now_ns);
  void RetryWaiting();
  void Expire(size_t index);

  TrackerContext& context_;
  IbFlows& flows_;
  ChargedMap<Key, Entry, KeyHash> entries_;
  std::vector<Waiting> waiting_;
  struct Closing {
    ConnectionId connection;
    int64_t since_ns;
  };
  std::deque<Closing> closing_;  // a DREQ was seen, no DREP yet; also connections that are gone
  Charge closing_charge_;
};

}  // namespace stag::fabric
