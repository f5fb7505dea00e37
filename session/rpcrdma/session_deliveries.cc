// SPDX-License-Identifier: GPL-2.0-or-later
//
// Session: which frames delivered what of a connection. A transaction that was answered waits until that is known.
#include <algorithm>

#include "session/rpcrdma/session_impl.h"

namespace stag::session {

namespace {

using fabric::Event;
using fabric::EventKind;

constexpr size_t kMostEnded = 1024;
constexpr uint32_t kCountEvery = 256;  // sightings

const FrameRef& FirstFrame(const Event& event) {
  return event.first_frame.number != 0 ? event.first_frame : event.frame;
}

}  // namespace

class Session::Impl::Notes final : public DeliveryNotes {
 public:
  Notes(Impl& impl, Connection& connection) : impl_(impl), connection_(connection) {}
  void OnWait(const Wait& wait) override {
    impl_.Notify([&](Observer& o) { o.OnWait(connection_, wait); });
  }
  void OnSpurious(const Spurious& spurious) override {
    ++connection_.spurious[spurious.from];
    impl_.Notify([&](Observer& o) { o.OnSpurious(connection_, spurious); });
  }

 private:
  Impl& impl_;
  Connection& connection_;
};

void Session::Impl::OnSighting(const fabric::Sighting& sighting) {
  if (patient.empty() || sighting.slot >= connections.size() || !connections[sighting.slot]) return;
  ConnectionState& state = *connections[sighting.slot];
  Connection& connection = state.connection;
  if (connection.info.id != sighting.connection) return;
  if (!state.deliveries) return;
  if (sighting.frame.order() > now.order()) now = connection.now = sighting.frame;
  state.deliveries->OnSighting(sighting);
  if (state.deliveries->troubled() || connection.troubled_since != delivery::kNoTime)
    connection.troubled_since = state.deliveries->troubled_since();
  if (++state.sightings % kCountEvery == 0) CountStorage(state);
  if (state.deliveries->TakeProof() && !state.deliveries->ended.empty()) EndKnown(state);
}

void Session::Impl::CarryCall(ConnectionState& state, TransactionEntry& entry, const Event& event) {
  if (!state.deliveries) {
    if (patient.empty() || state.deliveries_given_up || state.connection.proof != Proof::kRpcRdma) return;
    const bool iwarp = state.connection.info.fabric == fabric::FabricKind::kIwarp;
    state.notes = std::make_unique<Notes>(*this, state.connection);
    state.deliveries = std::make_unique<Deliveries>(iwarp, *state.notes);
  }
  state.deliveries->Carry(event, entry.serial);
  if (state.deliveries->TakeGrowth()) CountStorage(state);
  // The Call uses the slot of an earlier one again: its requester has the Reply to that (RFC 8881 section 2.10.6.1).
  const SlotUse& slot = entry.call.slot;
  if (!slot.known) return;
  for (TransactionEntry* ended : state.deliveries->ended) {
    const SlotUse& earlier = ended->call.slot;
    if (ended->requester == entry.requester && earlier.known && earlier.slot == slot.slot &&
        earlier.sequence + 1 == slot.sequence && earlier.session == slot.session) {
      ended->reply_proven = true;
      state.deliveries->Prove({static_cast<Side>(1 - entry.requester), false}, ended->reply_number, FirstFrame(event));
    }
  }
}

// Whatever its responder sends for a Call shows that the Call had arrived.
void Session::Impl::ProveCall(ConnectionState& state, TransactionEntry& entry, const Event& event) {
  if (entry.call_proven) return;
  entry.call_proven = true;
  state.deliveries->Prove({entry.requester, false}, entry.call_last, FirstFrame(event));
}

void Session::Impl::CarryReply(ConnectionState& state, TransactionEntry& entry, const Event& event) {
  if (!state.deliveries) return;
  state.deliveries->Carry(event, entry.serial);
  ProveCall(state, entry, event);
  if (!entry.was_read) return;
  state.deliveries->Prove(state.deliveries->LaneOfReads(entry.requester), entry.read_number, FirstFrame(event));
}

void Session::Impl::CarryRdma(ConnectionState& state, TransactionEntry& entry, const Event& event) {
  state.deliveries->Carry(event, entry.serial);
  if (event.from != entry.requester) {
    ProveCall(state, entry, event);
  } else if (event.kind() == EventKind::kReadResponse) {
    entry.was_read = true;
    entry.read_number = event.last_number;
  }
}

// Tells of the transactions that have ended and of which all is known, in the order of their ends.
void Session::Impl::EndKnown(ConnectionState& state) {
  const std::vector<TransactionEntry*>& ended = state.deliveries->ended;
  size_t known = 0;
  while (known < ended.size() && (ended.size() - known > kMostEnded || state.deliveries->IsKnown(*ended[known])))
    ++known;
  EndFirst(state, known);
}

void Session::Impl::EndAwaited(ConnectionState& state) {
  if (state.deliveries) EndFirst(state, state.deliveries->ended.size());
}

// The first `count` that have ended.
void Session::Impl::EndFirst(ConnectionState& state, size_t count) {
  std::vector<TransactionEntry*>& ended = state.deliveries->ended;
  for (size_t i = 0; i < count; ++i) {
    state.deliveries->Take(*ended[i]);
    TellEnd(patient, state.connection, *ended[i]);
    Retire(state, *ended[i]);
  }
  ended.erase(ended.begin(), ended.begin() + static_cast<ptrdiff_t>(count));
}

// Memory is short.
void Session::Impl::GiveUpDeliveries(ConnectionState& state) {
  if (!state.deliveries) return;
  EndAwaited(state);
  state.deliveries.reset();
  state.deliveries_given_up = true;
  state.connection.troubled_since = delivery::kNoTime;
  ++stats.copies_given_up;
}

}  // namespace stag::session
