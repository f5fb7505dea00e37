// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbFlows: which packets belong to which connection. A packet names only the queue pair it is for, so what can be told
// apart at first are flows: source, destination, destination queue pair. A connection has two. CM messages name both
// (IbCm binds them); without CM, flows are held back until something in one proves that it answers the other:
//   1. a response carries the PSN of a request of exactly one opposite flow;
//   2. a Send begins with the same word (the XID of RPC-over-RDMA) as a Send of exactly one opposite flow;
//   3. an RDMA operation names memory that a Send of exactly one opposite flow offered (handle, length, offset).
// A flow that finds no partner in time (the capture sees one direction only) becomes a connection with one known side,
// and may still find it later.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "protocol/base/charged_map.h"
#include "session/fabric/ib_connection.h"

namespace stag::fabric {

struct FlowKey {
  Address source, destination;
  uint32_t destination_qp = 0;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};
struct FlowKeyHash {
  size_t operator()(const FlowKey& key) const;
};

struct IbLink;

// Between whom a packet goes: as flows are keyed, and as events show it. Valid while the packet is processed.
struct FlowEnds {
  const Address &source, &destination;
  const Address &shown_source, &shown_destination;
  FabricKind fabric = FabricKind::kRoceV2;
};

// What later packets of the opposite direction may prove to belong to.
struct Evidence {
  static constexpr size_t kPsns = 256, kXids = 64;
  std::array<uint32_t, kPsns> psns{};
  std::array<uint32_t, kXids> xids{};
  size_t psn_count = 0, xid_count = 0;
};

struct Flow {
  explicit Flow(Budget& budget) : evidence_charge(budget) {}
  enum class State : uint8_t {
    kSearching,  // no partner yet: packets are held
    kAlone,      // no partner found: processed as one side of a connection
    kPaired,
    kClosed,  // of a connection that ended: stragglers are ignored for a while
  };
  FlowKey key;
  State state = State::kSearching;
  IbLink* link = nullptr;
  Side from = 0;                 // the sending side, when there is a link
  Endpoint source, destination;  // as events show them
  FabricKind fabric = FabricKind::kRoceV2;
  std::vector<HeldPtr> held;
  uint64_t held_bytes = 0;
  std::unique_ptr<Evidence> evidence;
  Charge evidence_charge;  // with the notifications that wait
  int64_t since_ns = 0;    // kSearching: time of the first packet; kClosed: when
  uint32_t ignored = 0;
  // For a PacketObserver. kClosed: the connection that ended (0: none); kSearching: notifications that wait.
  PacketObserver::Track closed_track = 0;
  std::vector<FrameRef> notifications;

  bool Is(const Address& from_source, const Address& to_destination, uint32_t destination_qp) const {
    return key.destination_qp == destination_qp && key.source == from_source && key.destination == to_destination;
  }
};

// Which messages of its CM exchange were seen.
struct CmExchange {
  bool request = false, reply = false, ready = false;
  std::array<bool, 2> disconnect{};
  uint8_t ids = 0;  // communication ids that are remembered
};

struct IbLink {
  IbLink(TrackerContext& context, HoldPool& pool, IbOriginals& originals);
  Charge charge;
  IbConnection connection;
  std::array<Flow*, 2> flow{};
  CmExchange exchange;
  bool disconnecting = false;
  uint64_t since = 0;  // the frame that it was made in: its order
  uint64_t last_frame() const { return std::max(since, connection.last_frame().order()); }
  bool complete() const { return flow[0] != nullptr && flow[1] != nullptr; }
};

class IbFlows {
 public:
  explicit IbFlows(TrackerContext& context)
      : context_(context),
        pool_(context),
        originals_(context.limits().originals),
        flows_(context.budget(), context.limits().flows) {}

  // A packet of a reliable connection; `packet.from` is not read.
  void OnPacket(const FlowEnds& ends, RcPacket& packet);
  // The same for most packets: of a flow that has its connection and was seen lately. False: it is another, and nothing
  // was done.
  bool OnFamiliar(const Address& source, const Address& destination, RcPacket& packet) {
    const uint32_t destination_qp = packet.bth.destination_qp;
    const Flow* flow = recent_[PlaceOf(source, destination_qp)];
    if (!flow || flow->state != Flow::State::kPaired || (packets_ + 1) % kCheckEvery == 0 ||
        !flow->Is(source, destination, destination_qp))
      return false;
    ++packets_;
    packet.from = flow->from;
    flow->link->connection.OnPacket(packet);
    return true;
  }
  bool Knows(const FlowKey& key) const { return flows_.Find(key) != nullptr; }
  size_t links() const { return links_.size(); }
  // Packets that only a PacketObserver sees, if they are of a known flow: a congestion notification, or a packet of
  // which the capture has a part of the headers.
  void OnNotification(const FlowKey& key, const FrameRef& frame);
  void OnCutPacket(const FlowKey& key, RcPacket& packet);

  // A new connection without flows; `info.id` is filled in.
  IbLink& NewLink(const ConnectionInfo& info);
  // Null when it was closed.
  IbLink* FindLink(ConnectionId id);
  // The connection that packets of a flow belong to; null when there is none.
  IbLink* FindLink(const FlowKey& key);
  // Closes the connection that has this flow, unless that is `link`, whose `side` is going to have it.
  void Vacate(const FlowKey& key, const IbLink& link, Side side, const FrameRef& frame);
  // Tells that packets of this flow are sent by `side` of `link`; vacates it first. What was held comes out when `link`
  // is complete by it.
  void Bind(const FlowKey& key, IbLink& link, Side side, const FrameRef& frame);
  void Close(IbLink& link, CloseReason reason, const FrameRef& frame);
  // Between packets: gives up what is over the memory budget or the number of flows: first what has ended, then the
  // connections that have been silent for longest, but one. No other function gives a connection up for memory.
  void Relieve();
  // End of capture.
  void Finish();

 private:
  static constexpr uint64_t kCheckEvery = 64, kCheckAllEvery = 1024;  // packets; the second a multiple of the first
  void Check(int64_t now_ns);
  Flow& FindOrAdd(const FlowKey& key);
  void Search(Flow& flow, const RcPacket& packet);
  Flow* FindPartner(Flow& flow, const RcPacket& packet);
  void Pair(Flow& a, Flow& b);
  void GoAlone(Flow& flow);
  void Hold(Flow& flow, const RcPacket& packet);
  void Feed(IbLink& link);
  void FeedNotifications(Flow& flow);
  void StopSearching(Flow& flow);
  void ForgetEvidence(Flow& flow);
  void GiveUpOld(int64_t now_ns);
  void ForgetEnded();
  void EvictOne();

  TrackerContext& context_;
  HoldPool pool_;
  IbOriginals originals_;
  ChargedMap<FlowKey, Flow, FlowKeyHash> flows_;
  std::map<ConnectionId, std::unique_ptr<IbLink>> links_;  // ordered: closed in this order at the end
  // Each connection, with a frame after which it may have been silent: a heap, the earliest on top. What is outdated is
  // put right when it comes to the top.
  struct Silence {
    uint64_t since = 0;
    ConnectionId connection = 0;
    bool operator<(const Silence& other) const { return since > other.since; }
  };
  std::vector<Silence> silent_;
  std::vector<Flow*> searching_;  // kSearching and kAlone, oldest first
  // Flows of the last packets, by low bits of queue pair and source: most packets need no look into the table.
  std::array<Flow*, 16> recent_{};
  static size_t PlaceOf(const Address& source, uint32_t destination_qp) {
    return (destination_qp + std::to_integer<size_t>(source.bytes[3] ^ source.bytes[15])) % 16;
  }
  uint64_t packets_ = 0;
};

}  // namespace stag::fabric
