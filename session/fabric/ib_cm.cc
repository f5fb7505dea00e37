// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ib_cm.h"

#include <algorithm>

namespace stag::fabric {
namespace {

using ib::CmKind;
using ib::CmMessage;

constexpr uint32_t kMaxTicks = 64;  // InfiniBand packets that a message waits for the one it answers
constexpr int64_t kDisconnectGraceNs = 3'000'000'000;
constexpr uint8_t kServiceRc = 0;

}  // namespace

void IbCm::OnMessage(const CmMessage& m, const Seen& seen) {
  if (Handle(m, seen, true)) return RetryWaiting();
  if (waiting_.size() >= context_.limits().cm_waiting) Expire(0);
  Waiting& w = waiting_.emplace_back();
  w.private_data.assign(m.private_data.begin(), m.private_data.end());
  w.message = m;
  w.seen = seen;
}

// False: the message answers one that was not seen, and may wait for it.
bool IbCm::Handle(const CmMessage& m, const Seen& seen, bool wait) {
  switch (m.kind) {
    case CmKind::kRequest: return OnRequest(m, seen);
    case CmKind::kReply: return OnReply(m, seen, wait);
    case CmKind::kReadyToUse: return OnReady(m, seen, wait);
    case CmKind::kReject: return OnReject(m, seen);
    case CmKind::kDisconnectRequest:
    case CmKind::kDisconnectReply: return OnDisconnect(m, seen, wait);
    case CmKind::kMessageReceived: return true;  // asks for patience; tells nothing new
  }
  return true;
}

void IbCm::RetryWaiting() {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < waiting_.size() && !progress; ++i) {
      Waiting w = std::move(waiting_[i]);
      w.message.private_data = w.private_data;
      progress = Handle(w.message, w.seen, true);
      if (progress)
        waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
      else
        waiting_[i] = std::move(w);
    }
  }
}

void IbCm::Expire(size_t index) {
  Waiting w = std::move(waiting_[index]);
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(index));
  w.message.private_data = w.private_data;
  if (Handle(w.message, w.seen, false)) RetryWaiting();
}

void IbCm::BeforeNewFlow(const FlowKey& key) {
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting& w = waiting_[i];
    if (w.message.kind == CmKind::kReply && w.message.qp == key.destination_qp && w.seen.source == key.destination &&
        w.seen.destination == key.source)
      return Expire(i);
  }
}

void IbCm::Wait(int64_t now_ns) {
  for (Waiting& w : waiting_) ++w.ticks;
  while (!waiting_.empty() && waiting_.front().ticks > kMaxTicks) Expire(0);
  while (!closing_.empty() && now_ns - closing_.front().since_ns > kDisconnectGraceNs) {
    const ConnectionId id = closing_.front().connection;
    closing_.pop_front();
    closing_charge_.Set(closing_.size() * sizeof(Closing));
    Close(id, CloseReason::kDisconnect, context_.now());
  }
}

void IbCm::Finish() {
  while (!waiting_.empty()) Expire(0);
}

IbCm::Entry* IbCm::Find(const Address& owner, const Address& peer, uint32_t id) {
  Entry* const found = entries_.Find({owner, peer, id});
  return found != nullptr && flows_.FindLink(found->connection) != nullptr ? found : nullptr;
}

bool IbCm::IsLateCopy(const CmMessage& m, const Seen& seen) const {
  const Entry* const found = entries_.Find({seen.source, seen.destination, m.local_id});
  return found != nullptr && found->qp == m.qp && found->psn == m.starting_psn;
}

// Names the connection of `link`, unless that has very many names.
void IbCm::Add(IbLink& link, const Key& key, const Entry& entry) {
  if (link.exchange.ids >= kMostIds) return;
  ++link.exchange.ids;
  entries_.FindOrAdd(key) = entry;
  if (TooMany()) context_.Crowd();
}

void IbCm::Relieve() {
  if (!context_.budget().over() && !TooMany()) return;
  entries_.EraseIf([this](const Key&, const Entry& e) { return flows_.FindLink(e.connection) == nullptr; });
  std::erase_if(closing_, [this](const Closing& c) { return flows_.FindLink(c.connection) == nullptr; });
  closing_charge_.Set(closing_.size() * sizeof(Closing));
}

void IbCm::EmitSetup(IbLink& link, SetupMessage what, Side from, const CmMessage& m, const Seen& seen) {
  Setup setup;
  setup.message = what;
  setup.private_data = m.private_data;
  setup.private_data_fixed = true;
  setup.private_data_truncated = m.private_data_truncated;
  setup.reject_reason = m.reject_reason;
  if (what == SetupMessage::kRequest || what == SetupMessage::kReply) {
    setup.reads_served = m.responder_resources;
    setup.reads_issued = m.initiator_depth;
  }
  link.connection.EmitSetup(from, seen.frame, setup);
}

void IbCm::Close(ConnectionId id, CloseReason reason, const FrameRef& frame) {
  if (IbLink* link = flows_.FindLink(id)) flows_.Close(*link, reason, frame);
}

bool IbCm::OnRequest(const CmMessage& m, const Seen& seen) {
  if (m.service_type != kServiceRc) return true;
  context_.ack_timeouts().Note(seen.shown_source, seen.shown_destination, m.ack_timeout);
  IbLink* link = nullptr;
  if (Entry* known = Find(seen.source, seen.destination, m.local_id)) {
    if (known->qp == m.qp) return true;  // sent again
    link = flows_.FindLink(known->connection);
    if (known->qp != 0 || link->exchange.request) {
      Close(known->connection, CloseReason::kSuperseded, seen.frame);
      link = nullptr;
    }  // else its REP came first
  } else if (IsLateCopy(m, seen)) {
    return true;
  }
  if (link == nullptr) {
    ConnectionInfo info;
    info.fabric = seen.fabric;
    info.endpoint = {Endpoint{seen.shown_source, 0}, Endpoint{seen.shown_destination, 0}};
    info.roles_known = true;
    link = &flows_.NewLink(info);
  }
  ConnectionInfo& info = link->connection.info;
  info.endpoint[0].number = m.qp;
  info.service_port = ib::IpCmPort(m.service_id);
  info.service_id = m.service_id;
  info.ack_timeout_ns = AckTimeouts::Nanoseconds(m.ack_timeout);
  link->connection.SetPathMtu(m.path_mtu);
  link->connection.ExpectPsn(1, m.starting_psn, true);
  Add(*link, {seen.source, seen.destination, m.local_id}, {info.id, 0, m.qp, m.starting_psn});
  link->exchange.request = true;
  const FlowKey key{seen.destination, seen.source, m.qp};
  flows_.Vacate(key, *link, 1, seen.frame);
  EmitSetup(*link, SetupMessage::kRequest, 0, m, seen);
  flows_.Bind(key, *link, 1, seen.frame);
  return true;
}

bool IbCm::OnReply(const CmMessage& m, const Seen& seen, bool wait) {
  IbLink* link = nullptr;
  if (const Entry* active = Find(seen.destination, seen.source, m.remote_id)) {
    link = flows_.FindLink(active->connection);
  } else {
    if (Find(seen.source, seen.destination, m.local_id) != nullptr) return true;  // sent again
    if (IsLateCopy(m, seen)) return true;
    if (wait) return false;
    // The REQ was not captured: what the REP alone tells.
    if (flows_.FindLink(FlowKey{seen.destination, seen.source, m.qp}) != nullptr) return true;
    ConnectionInfo info;
    info.fabric = seen.fabric;
    info.endpoint = {Endpoint{seen.shown_destination, 0}, Endpoint{seen.shown_source, m.qp}};
    info.roles_known = true;
    link = &flows_.NewLink(info);
    Add(*link, {seen.destination, seen.source, m.remote_id}, {link->connection.info.id, 0, 0});
  }
  if (link->exchange.reply) return true;
  link->exchange.reply = true;
  Add(*link, {seen.source, seen.destination, m.local_id}, {link->connection.info.id, 1, m.qp, m.starting_psn});
  link->connection.ExpectPsn(0, m.starting_psn, true);
  if (link->connection.info.endpoint[1].number == 0) link->connection.info.endpoint[1].number = m.qp;
  const FlowKey key{seen.destination, seen.source, m.qp};
  flows_.Vacate(key, *link, 0, seen.frame);
  EmitSetup(*link, SetupMessage::kReply, 1, m, seen);
  flows_.Bind(key, *link, 0, seen.frame);
  return true;
}

bool IbCm::OnReady(const CmMessage& m, const Seen& seen, bool wait) {
  Entry* active = Find(seen.source, seen.destination, m.local_id);
  if (active == nullptr) return !wait || Find(seen.destination, seen.source, m.remote_id) != nullptr;
  IbLink& link = *flows_.FindLink(active->connection);
  if (link.exchange.ready) return true;
  if (!link.exchange.reply && wait) return false;  // the REP may follow
  link.exchange.ready = true;
  if (!link.exchange.reply) Add(link, {seen.destination, seen.source, m.remote_id}, {active->connection, 1, 0});
  EmitSetup(link, SetupMessage::kReady, 0, m, seen);
  link.connection.Open(seen.frame);
  return true;
}

bool IbCm::OnReject(const CmMessage& m, const Seen& seen) {
  Entry* entry = Find(seen.destination, seen.source, m.remote_id);
  Side from = entry != nullptr ? static_cast<Side>(1 - entry->owner) : Side{0};
  if (entry == nullptr && m.local_id != 0) {
    entry = Find(seen.source, seen.destination, m.local_id);
    if (entry != nullptr) from = entry->owner;
  }
  if (entry == nullptr) return false;
  IbLink& link = *flows_.FindLink(entry->connection);
  if (link.connection.opened()) return true;  // of a message that was sent again: the connection stands
  EmitSetup(link, SetupMessage::kReject, from, m, seen);
  Close(entry->connection, CloseReason::kRejected, seen.frame);
  return true;
}

bool IbCm::OnDisconnect(const CmMessage& m, const Seen& seen, bool wait) {
  bool request = m.kind == CmKind::kDisconnectRequest;
  ConnectionId id = 0;
  Side from = 0;
  if (Entry* mine = Find(seen.source, seen.destination, m.local_id)) {
    id = mine->connection;
    from = mine->owner;
  } else if (Entry* peers = Find(seen.destination, seen.source, m.remote_id)) {
    id = peers->connection;
    from = static_cast<Side>(1 - peers->owner);
  } else if (request) {
    // Joined mid-stream: a DREQ names the queue pair it is for.
    FlowKey key{seen.source, seen.destination, m.qp};
    IbLink* link = flows_.FindLink(key);
    if (link == nullptr) return true;
    id = link->connection.info.id;
    from = link->flow[0] != nullptr && link->flow[0]->key == key ? Side{0} : Side{1};
    Add(*link, {seen.source, seen.destination, m.local_id}, {id, from, 0});
    Add(*link, {seen.destination, seen.source, m.remote_id}, {id, static_cast<Side>(1 - from), m.qp});
  }
  if (id == 0) return true;
  IbLink& link = *flows_.FindLink(id);
  if (!request) {
    if (wait && !link.disconnecting) return false;  // the DREQ may follow
    EmitSetup(link, SetupMessage::kDisconnectReply, from, m, seen);
    Close(id, CloseReason::kDisconnect, seen.frame);
    return true;
  }
  if (link.exchange.disconnect[from]) return true;
  link.exchange.disconnect[from] = true;
  EmitSetup(link, SetupMessage::kDisconnectRequest, from, m, seen);
  if (!link.disconnecting) {
    closing_.push_back({id, seen.frame.time_ns});
    closing_charge_.Set(closing_.size() * sizeof(Closing));
    if (TooMany()) context_.Crowd();
  }
  link.disconnecting = true;
  return true;
}

}  // namespace stag::fabric
