// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ib_flows.h"

#include <algorithm>

namespace stag::fabric {
namespace {

using ib::Operation;
using ib::PsnDistance;

constexpr int64_t kMaxSearchNs = 10'000'000'000;
constexpr size_t kMaxScan = 256 << 10;  // bytes of Sends searched for a handle, per packet
constexpr uint32_t kMaxIgnored = 256;
constexpr int64_t kIgnoreNs = 10'000'000'000;
// With its places in links_, silent_ and searching_, and the list of packets that wait.
constexpr uint64_t kLinkCost = sizeof(IbLink) + 2 * IbConnection::kRecentCost + 1024;
constexpr int32_t kNear = 1 << 16;
constexpr size_t kMaxForgotten = 1024;  // connections that are gone and still have a Silence

bool IsTransportStart(const RcPacket& p) { return p.Is(Operation::kSend) && p.info->first && p.data.size() >= 16; }

uint32_t FirstWord(const RcPacket& p) { return LoadBe32(p.data.data()); }

void Add(Evidence& e, const RcPacket& p) {
  if (p.info->response) return;
  e.psns[e.psn_count++ % Evidence::kPsns] = p.psn();
  if (IsTransportStart(p)) e.xids[e.xid_count++ % Evidence::kXids] = FirstWord(p);
}

template <size_t kSize>
bool Contains(const std::array<uint32_t, kSize>& ring, size_t count, uint32_t value) {
  auto end = ring.begin() + static_cast<ptrdiff_t>(std::min(count, kSize));
  return std::find(ring.begin(), end, value) != end;
}

// Is memory at `reth` named in the Send as an RPC-over-RDMA segment: handle, length, offset?
bool Offers(const RcPacket& send, const ib::Reth& reth) {
  for (size_t i = 0; i + 16 <= send.data.size(); i += 4) {
    const std::byte* p = send.data.data() + i;
    if (LoadBe32(p) != reth.key) continue;
    uint64_t offset = LoadBe64(p + 8);
    if (reth.address >= offset && reth.address - offset < std::max(LoadBe32(p + 4), 1u)) return true;
  }
  return false;
}

// `scan`: bytes of held Sends that may still be searched; what is past it is not found.
bool Answers(const Flow& candidate, const RcPacket& p, size_t& scan) {
  const Evidence& e = *candidate.evidence;
  if (p.info->response) return !p.IsSequenceNak() && Contains(e.psns, e.psn_count, p.psn());
  if (IsTransportStart(p)) return FirstWord(p) != 0 && Contains(e.xids, e.xid_count, FirstWord(p));
  if (!p.info->reth || p.reth.length == 0) return false;
  return std::any_of(candidate.held.rbegin(), candidate.held.rend(), [&](const HeldPtr& held) {
    size_t size = held->packet.data.size();
    if (!held->packet.Is(Operation::kSend) || size > scan) return false;
    scan -= size;
    return Offers(held->packet, p.reth);
  });
}

}  // namespace

IbLink::IbLink(TrackerContext& context, HoldPool& pool, IbOriginals& originals)
    : charge(context.budget(), kLinkCost), connection(context, pool, originals), since(context.now().order()) {}

size_t FlowKeyHash::operator()(const FlowKey& key) const {
  return static_cast<size_t>(MixHash(MixHash(key.destination_qp, key.source), key.destination));
}

// Now and then, with the time of the newest packet.
void IbFlows::Check(int64_t now_ns) {
  GiveUpOld(now_ns);
  if (packets_ % kCheckAllEvery != 0) return;
  for (auto& [id, link] : links_) link->connection.CheckTime(now_ns);
}

void IbFlows::OnPacket(const FlowEnds& ends, RcPacket& p) {
  if (++packets_ % kCheckEvery == 0) Check(p.frame.time_ns);
  const uint32_t destination_qp = p.bth.destination_qp;
  Flow*& recent = recent_[PlaceOf(ends.source, destination_qp)];
  if (!recent || !recent->Is(ends.source, ends.destination, destination_qp)) {
    recent = &FindOrAdd({ends.source, ends.destination, destination_qp});
  }
  Flow& flow = *recent;
  if (flow.state == Flow::State::kPaired) {
    p.from = flow.from;
    return flow.link->connection.OnPacket(p);
  }
  if (flow.state == Flow::State::kClosed) {
    if (flow.ignored < kMaxIgnored && p.frame.time_ns - flow.since_ns < kIgnoreNs) {
      ++flow.ignored;
      p.from = flow.from;
      if (flow.closed_track != 0) context_.packets()->OnPacket(flow.closed_track, p);
      return;
    }
    flow.state = Flow::State::kSearching;
    flow.closed_track = 0;
    flow.since_ns = p.frame.time_ns;
    flow.fabric = ends.fabric;
    flow.source = {ends.shown_source, 0};
    flow.destination = {ends.shown_destination, destination_qp};
    searching_.push_back(&flow);
  }
  Search(flow, p);
}

void IbFlows::OnNotification(const FlowKey& key, const FrameRef& frame) {
  Flow* const found = flows_.Find(key);
  if (!found) return;
  Flow& flow = *found;
  if (flow.state == Flow::State::kSearching) {
    if (flow.notifications.size() < context_.limits().held_packets &&
        flow.evidence_charge.TryAdd(2 * sizeof(FrameRef))) {
      flow.notifications.push_back(frame);
    } else {
      ++context_.stats().dropped_for_memory;
    }
  } else if (const PacketObserver::Track track = flow.link ? flow.link->connection.track() : flow.closed_track) {
    context_.packets()->OnCongestionNotification(track, flow.from, frame);
  }
}

void IbFlows::FeedNotifications(Flow& flow) {
  for (const FrameRef& frame : flow.notifications)
    context_.packets()->OnCongestionNotification(flow.link->connection.track(), flow.from, frame);
  std::vector<FrameRef>().swap(flow.notifications);
  flow.evidence_charge.Set(flow.evidence ? sizeof(Evidence) : 0);
}

void IbFlows::OnCutPacket(const FlowKey& key, RcPacket& p) {
  const Flow* const found = flows_.Find(key);
  if (!found || found->state == Flow::State::kSearching) return;
  const Flow& flow = *found;
  p.from = flow.from;
  if (const PacketObserver::Track track = flow.link ? flow.link->connection.track() : flow.closed_track)
    context_.packets()->OnPacket(track, p);
}

Flow& IbFlows::FindOrAdd(const FlowKey& key) {
  const size_t before = flows_.size();
  Flow& flow = flows_.FindOrAdd(key, context_.budget());
  if (flows_.size() == before) return flow;
  if (flows_.full()) context_.Crowd();
  flow.key = key;
  flow.state = Flow::State::kClosed;  // becomes kSearching with the packet
  flow.ignored = kMaxIgnored;
  return flow;
}

void IbFlows::ForgetEvidence(Flow& flow) {
  flow.evidence.reset();
  flow.evidence_charge.Set(flow.notifications.capacity() * sizeof(FrameRef));
}

void IbFlows::Search(Flow& flow, const RcPacket& p) {
  if (!flow.evidence) {
    flow.evidence_charge.Add(sizeof(Evidence));
    flow.evidence = std::make_unique<Evidence>();
  }
  Add(*flow.evidence, p);
  if (flow.held.empty() && flow.state == Flow::State::kSearching) flow.since_ns = p.frame.time_ns;
  if (Flow* partner = FindPartner(flow, p)) Pair(flow, *partner);
  if (flow.state == Flow::State::kSearching) {
    bool full = flow.held.size() >= context_.limits().held_packets ||
                flow.held_bytes + p.data.size() > context_.limits().held_bytes;
    HeldPtr held = full ? nullptr : pool_.Copy(p);
    if (held) {
      flow.held_bytes += p.data.size();
      flow.held.push_back(std::move(held));
      return;
    }
    GoAlone(flow);
  }
  RcPacket now = p;
  now.from = flow.from;
  flow.link->connection.OnPacket(now);
}

// The one opposite flow without partner that the packet answers; null when there is none or more than one.
Flow* IbFlows::FindPartner(Flow& flow, const RcPacket& p) {
  Flow* partner = nullptr;
  size_t scan = kMaxScan;
  for (Flow* other : searching_) {
    if (other == &flow || !other->evidence || !(other->key.source == flow.key.destination) ||
        !(other->key.destination == flow.key.source) || (other->link != nullptr && flow.link != nullptr))
      continue;
    if (!Answers(*other, p, scan)) continue;
    if (partner != nullptr) return nullptr;
    partner = other;
  }
  return partner;
}

void IbFlows::Pair(Flow& a, Flow& b) {
  Flow& linked = b.link != nullptr ? b : a;
  Flow& other = &linked == &a ? b : a;
  if (linked.link == nullptr) {
    // No connection yet: side 0 is whose request was seen first.
    auto first_request = [](const Flow& f) {
      for (const HeldPtr& held : f.held)
        if (!held->packet.info->response) return held->packet.frame.order();
      return UINT64_MAX;
    };
    Flow& first = first_request(b) < first_request(a) ? b : a;
    ConnectionInfo info;
    info.fabric = first.fabric;
    info.endpoint = {first.source, first.destination};
    first.link = &NewLink(info);
    first.from = 0;
    first.link->flow[0] = &first;
    if (&first != &linked) return Pair(first, linked);
  }
  IbLink& link = *linked.link;
  other.link = &link;
  other.from = static_cast<Side>(1 - linked.from);
  link.flow[other.from] = &other;
  link.connection.info.endpoint[linked.from].number = other.key.destination_qp;
  link.connection.info.endpoint[other.from].number = linked.key.destination_qp;
  Feed(link);
}

// Both flows are known now: what they held goes to the connection, in frame order.
void IbFlows::Feed(IbLink& link) {
  std::vector<HeldPtr> all;
  for (Flow* flow : link.flow) {
    if (flow == nullptr) continue;
    if (link.complete()) {
      StopSearching(*flow);
      flow->state = Flow::State::kPaired;
      ForgetEvidence(*flow);
    }
    FeedNotifications(*flow);
    // Frames may be out of order: the lowest PSN is the first.
    const RcPacket* first = nullptr;
    for (HeldPtr& held : flow->held) {
      held->packet.from = flow->from;
      const RcPacket& p = held->packet;
      if (p.info->response) continue;
      int32_t distance = first == nullptr ? -1 : PsnDistance(p.psn(), first->psn());
      if (distance < 0 && distance > -kNear) first = &p;
    }
    if (first != nullptr && !link.connection.KnowsPsn(flow->from)) link.connection.ExpectPsn(flow->from, first->psn());
    std::move(flow->held.begin(), flow->held.end(), std::back_inserter(all));
    std::vector<HeldPtr>().swap(flow->held);
    flow->held_bytes = 0;
  }
  std::stable_sort(all.begin(), all.end(), [](const HeldPtr& a, const HeldPtr& b) {
    return a->packet.frame.order() < b->packet.frame.order();
  });
  for (HeldPtr& held : all) {
    link.connection.OnHeldPacket(held->packet);
    pool_.Keep(std::move(held));
  }
}

void IbFlows::GoAlone(Flow& flow) {
  flow.state = Flow::State::kAlone;
  if (flow.link == nullptr) {
    ConnectionInfo info;
    info.fabric = flow.fabric;
    info.endpoint = {flow.source, flow.destination};
    flow.link = &NewLink(info);
    flow.from = 0;
    flow.link->flow[0] = &flow;
  }
  Feed(*flow.link);
}

void IbFlows::StopSearching(Flow& flow) { std::erase(searching_, &flow); }

// Flows that searched for too long, or are too many.
void IbFlows::GiveUpOld(int64_t now_ns) {
  for (size_t i = 0; i < searching_.size();) {
    Flow& flow = *searching_[i];
    bool many = searching_.size() > context_.limits().searching;
    bool old = !flow.held.empty() && now_ns - flow.since_ns > kMaxSearchNs;
    if (flow.state == Flow::State::kSearching && (old || many)) GoAlone(flow);
    if (many) {
      ForgetEvidence(flow);
      StopSearching(flow);
    } else {
      ++i;
    }
  }
}

// One sixteenth more than it takes, so that it is not done for each packet.
void IbFlows::Relieve() {
  if (!context_.budget().over() && !flows_.full()) return;
  pool_.Clear();
  const Budget& budget = context_.budget();
  const size_t flows = flows_.most() - flows_.most() / 16;
  if (!budget.over() && !flows_.full()) return;
  ForgetEnded();
  const uint64_t bytes = budget.limit() - budget.limit() / 16;
  if (!budget.over() && !flows_.full()) return;
  while ((budget.used() > bytes || flows_.size() > flows) && links_.size() > 1) EvictOne();
}

void IbFlows::ForgetEnded() {
  recent_.fill(nullptr);
  flows_.EraseIf([](const FlowKey&, const Flow& flow) { return flow.state == Flow::State::kClosed; });
}

// Closes the connection that has been silent for longest, and forgets its flows; there is one.
void IbFlows::EvictOne() {
  for (;;) {
    std::pop_heap(silent_.begin(), silent_.end());
    Silence& longest = silent_.back();
    IbLink* link = FindLink(longest.connection);
    const uint64_t last = link == nullptr ? 0 : link->last_frame();
    if (last > longest.since) {
      longest.since = last;
      std::push_heap(silent_.begin(), silent_.end());
      continue;
    }
    silent_.pop_back();
    if (link == nullptr) continue;
    const std::array<Flow*, 2> flows = link->flow;
    Close(*link, CloseReason::kEvicted, context_.now());
    for (const Flow* flow : flows)
      if (flow) flows_.Erase(FlowKey(flow->key));
    return;
  }
}

IbLink& IbFlows::NewLink(const ConnectionInfo& info) {
  auto link = std::make_unique<IbLink>(context_, pool_, originals_);
  link->connection.info = info;
  context_.OpenConnection(link->connection.info);
  if (context_.packets()) context_.packets()->OnConnection(link->connection.track(), link->connection.info, 0);
  IbLink& result = *link;
  links_.emplace(result.connection.info.id, std::move(link));
  if (silent_.size() > 2 * links_.size() + kMaxForgotten) {
    std::erase_if(silent_, [this](const Silence& s) { return !links_.contains(s.connection); });
    std::make_heap(silent_.begin(), silent_.end());
  }
  silent_.push_back({result.since, result.connection.info.id});
  std::push_heap(silent_.begin(), silent_.end());
  return result;
}

IbLink* IbFlows::FindLink(ConnectionId id) {
  auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

IbLink* IbFlows::FindLink(const FlowKey& key) {
  Flow* const found = flows_.Find(key);
  if (found == nullptr) return nullptr;
  if (found->state == Flow::State::kSearching && found->link == nullptr) GoAlone(*found);
  return found->link;
}

void IbFlows::Vacate(const FlowKey& key, const IbLink& link, Side side, const FrameRef& frame) {
  Flow* const found = flows_.Find(key);
  if (found == nullptr || found->link == &link) return;
  Flow& flow = *found;
  // Packets of this flow came already: of an older connection, or of this one when frames were captured out of order.
  bool of_this = std::all_of(flow.held.begin(), flow.held.end(), [&](const HeldPtr& held) {
    return held->packet.info->response || link.connection.MayBeginWith(side, held->packet.psn());
  });
  if (flow.state == Flow::State::kSearching && flow.link == nullptr && !of_this) GoAlone(flow);
  if (flow.link != nullptr) Close(*flow.link, CloseReason::kSuperseded, frame);
}

void IbFlows::Bind(const FlowKey& key, IbLink& link, Side side, const FrameRef& frame) {
  if (link.flow[side] != nullptr) return;
  Vacate(key, link, side, frame);
  Flow& flow = FindOrAdd(key);
  if (flow.link == &link) return;
  flow.link = &link;
  flow.from = side;
  flow.fabric = link.connection.info.fabric;
  flow.source = link.connection.info.endpoint[side];
  flow.destination = link.connection.info.endpoint[1 - side];
  flow.state = Flow::State::kSearching;
  ForgetEvidence(flow);
  StopSearching(flow);
  link.flow[side] = &flow;
  if (link.complete()) return Feed(link);
  flow.since_ns = frame.time_ns;
  searching_.push_back(&flow);
}

void IbFlows::Close(IbLink& link, CloseReason reason, const FrameRef& frame) {
  Feed(link);
  link.connection.Close(reason, frame);
  context_.CloseConnection(link.connection.info);
  for (Flow* flow : link.flow) {
    if (flow == nullptr) continue;
    StopSearching(*flow);
    flow->state = Flow::State::kClosed;
    flow->link = nullptr;
    flow->closed_track = link.connection.track();
    ForgetEvidence(*flow);
    flow->since_ns = frame.time_ns;
    flow->ignored = 0;
  }
  links_.erase(link.connection.info.id);
}

void IbFlows::Finish() {
  std::vector<Flow*> left = searching_;
  for (Flow* flow : left)
    if (flow->state == Flow::State::kSearching && !flow->held.empty()) GoAlone(*flow);
  while (!links_.empty()) {
    IbLink& link = *links_.begin()->second;
    Close(link, link.disconnecting ? CloseReason::kDisconnect : CloseReason::kEndOfCapture, context_.now());
  }
  recent_.fill(nullptr);
  flows_.Clear();
  pool_.Clear();
  searching_.clear();
}

}  // namespace stag::fabric
