// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/session.h"

#include <algorithm>
#include <bit>

#include "protocol/base/check.h"
#include "session/rpcrdma/rebuild.h"
#include "session/rpcrdma/session_impl.h"

namespace stag::session {

namespace {

using fabric::Event;
using fabric::EventKind;

// How many ended transactions whose segments may see late RDMA operations are kept in all; and how many of which the
// Call is older than `kLateNs`: so few stay in the processor's cache.
constexpr size_t kRetiredInAll = 2048, kOldRetiredInAll = 256;
constexpr int64_t kLateNs = 1'000'000'000;
constexpr size_t kMaxRetiredSegments = 256;
constexpr uint64_t kFewestOfSample = 100;  // packets of a connection that may be a sample

// No RPC-over-RDMA message comes behind a disconnect. Behind others one may: captures swap a ready-to-use and a Send.
bool EndsMessages(fabric::SetupMessage message) {
  return message == fabric::SetupMessage::kDisconnectRequest || message == fabric::SetupMessage::kDisconnectReply;
}

}  // namespace

void Session::Impl::OnEvent(const Event& event) {
  ConnectionState& state = Find(event);
  Connection& connection = state.connection;
  connection.now = now = event.now;
  if (event.frame.order() > connection.last_frame.order()) connection.last_frame = event.frame;

  connection.info.acknowledged_in = event.connection->acknowledged_in;
  if (state.deliveries && !state.deliveries->ended.empty()) {
    state.deliveries->received = event.connection->sends_received;
    EndKnown(state);
  }

  const EventKind kind = event.kind();
  if (state.early.waiting) {
    const Event& early = state.early.event;
    const bool sure = connection.info.acknowledged_in[early.from] >= early.frame.order();
    const bool ends = kind == EventKind::kSetup && EndsMessages(event.setup().message);
    if (sure || ends || (kind != EventKind::kSend && --state.early.patience == 0)) FlushEarly(state);
  }

  if (kind >= EventKind::kSend && kind <= EventKind::kReadResponse) connection.coverage[event.from].last = event.frame;
  switch (kind) {
    case EventKind::kSetup:
    case EventKind::kOpened: return OnSetup(state, event);
    case EventKind::kClosed: return Close(state, event);
    case EventKind::kSend: return OnSend(state, event);
    case EventKind::kWrite:
    case EventKind::kReadRequest:
    case EventKind::kReadResponse: return OnRdma(state, event);
    case EventKind::kNak:
      ++connection.counters[event.from].naks;
      return Notify([&](Observer& o) { o.OnNak(connection, event); });
    case EventKind::kGap: return OnGap(state, event);
    case EventKind::kAnomaly: return Notify([&](Observer& o) { o.OnAnomaly(connection, event); });
  }
}

// Creates it with its first event.
inline ConnectionState& Session::Impl::Find(const Event& event) {
  const fabric::ConnectionInfo& info = *event.connection;
  ConnectionState* const known = info.slot < connections.size() ? connections[info.slot].get() : nullptr;
  ConnectionState& state = known ? *known : Create(event);
  STAG_CHECK(state.connection.info.id == info.id);
  return state;
}

ConnectionState& Session::Impl::Create(const Event& event) {
  const fabric::ConnectionInfo& info = *event.connection;
  if (info.slot >= connections.size()) connections.resize(info.slot + 1);
  std::unique_ptr<ConnectionState>& state = connections[info.slot];
  state = std::make_unique<ConnectionState>(budget);
  CountStorage(*state);
  state->connection.info.id = info.id;
  state->connection.info.slot = info.slot;
  state->connection.first_frame = event.first_frame.number ? event.first_frame : event.frame;
  ++open;
  return *state;
}

void Session::Impl::OnSetup(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  connection.info = *event.connection;
  if (connection.info.roles_known) {
    connection.client_known = true;
    connection.client = 0;
  } else if (connection.info.service_port == rpcrdma::kServicePort) {
    connection.client_known = true;  // side 1 has the service port
    connection.client = 0;
  }
  if (event.kind() == EventKind::kOpened) {
    connection.opened = true;
    // Joined mid-stream: what came before is as good as lost, until the first Calls that were seen have ended.
    if (!connection.setup[0].seen && !connection.setup[1].seen) connection.disturbed = true;
  }
  if (const auto* stated = std::get_if<fabric::Setup>(&event.what)) {
    const bool carries_settings =
        stated->message == fabric::SetupMessage::kRequest || stated->message == fabric::SetupMessage::kReply;
    if (carries_settings) {
      SetupData& setup = connection.setup[event.from];
      setup.seen = true;
      setup.truncated = stated->private_data_truncated;
      setup.frame = event.frame;
      setup.bytes.assign(stated->private_data.begin(), stated->private_data.end());
      CountStorage(state);
      setup.fixed_size = stated->private_data_fixed;
      setup.search = rpcrdma::FindPrivateData(setup.bytes);
      setup.reads_served = stated->reads_served;
      setup.reads_issued = stated->reads_issued;
      if (setup.has_data()) connection.proof = Proof::kRpcRdma;
    } else if (stated->message == fabric::SetupMessage::kReject) {
      connection.rejected = true;
      connection.reject_reason = stated->reject_reason;
    }
  }
  connection.setup_seen = connection.setup[0].seen && connection.setup[1].seen;
  if (connection.info.service_port == rpcrdma::kServicePort || IsNamed(connection.info)) {
    connection.proof = Proof::kRpcRdma;
  }
  Notify([&](Observer& o) { o.OnConnection(connection, event); });
}

void Session::Impl::OnGap(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  ++connection.counters[event.from].gaps;
  const fabric::Gap& gap = event.gap();
  if (gap.of != fabric::Gap::Of::kResponses) {
    ++(gap.of == fabric::Gap::Of::kNumbers ? connection.coverage[event.from].gaps
                                           : connection.coverage[event.from].unclear);
    MissAnswers(state, event.from, event.frame, gap.acknowledged);
  }
  Lose(state);
  Notify([&](Observer& o) { o.OnGap(connection, event); });
}

void Session::Impl::Lose(ConnectionState& state) {
  Connection& connection = state.connection;
  connection.lossy = connection.disturbed = true;
  connection.credits[0].known = connection.credits[1].known = false;
  // Those that are older were there at the last one, too.
  for (TransactionEntry* entry = state.live.newest(); entry && entry->serial > state.gap_serial;
       entry = entry->previous)
    entry->disturbed = true;
  state.gap_serial = serial;
}

void Session::Impl::Close(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const fabric::Closed& closed = event.closed();
  const fabric::CloseReason reason = closed.reason;
  FlushEarly(state);
  connection.packets = closed.packets;
  for (size_t side = 0; side < 2 && closed.packets > 0; ++side) {
    const fabric::Extent& extent = closed.extent[side];
    connection.coverage[side].heard = extent.heard;
    connection.coverage[side].sampled = closed.packets >= kFewestOfSample && extent.missing > extent.numbers / 10;
  }
  connection.closed = true;
  connection.close_reason = reason;
  connection.close_frame = event.frame;
  if (state.deliveries) state.deliveries->Finish();
  EndAwaited(state);
  state.deliveries.reset();
  connection.troubled_since = delivery::kNoTime;
  while (TransactionEntry* entry = state.live.oldest())
    End(state, *entry, entry->outcome == Outcome::kOutstanding ? Outcome::kUnanswered : entry->outcome);
  for (size_t side = 0; side < 2; ++side) connection.credits[side].max_outstanding = state.peak[side].peak();
  if (connection.proof == Proof::kRpcRdma) {
    ++stats.connections;
    CountJudged(state);
  }
  Notify([&](Observer& o) { o.OnConnectionClosed(connection, event); });
  for (const EndedTransaction& ended : state.ended)
    if (ended.entry) Forget(state, *ended.entry);
  --open;
  connection_bytes -= state.charge.bytes();
  connections[connection.info.slot].reset();
}

void Session::Impl::CountJudged(ConnectionState& state, const TransactionEntry& entry) {
  Judged& judged = state.judged;
  ++judged.rpcs;
  const bool whole = entry.call.complete && entry.reply.complete;
  if (entry.outcome == Outcome::kEvicted) {
    ++judged.dropped;
  } else if (IsCut(entry)) {
    ++judged.cut;
  } else if (entry.answer == Answer::kNotCaptured || entry.call.end_missing || entry.reply.end_missing ||
             (entry.disturbed && entry.outcome == Outcome::kReplied && !whole)) {
    ++judged.missing;
  }
}

void Session::Impl::CountJudged(const ConnectionState& state) {
  const Connection& connection = state.connection;
  Judged judged = state.judged;
  const uint64_t orphans = connection.one_sided() || connection.sampled() ? connection.replies_without_call : 0;
  judged.rpcs += orphans;
  judged.missing += orphans;
  if (connection.foreign) {
    judged = {.rpcs = judged.rpcs, .foreign = judged.rpcs};
  } else if (connection.one_sided()) {
    judged = {.rpcs = judged.rpcs, .one_direction = judged.rpcs};
  } else if (connection.sampled()) {
    judged = {.rpcs = judged.rpcs, .cut = judged.cut, .sampled = judged.missing, .dropped = judged.dropped};
  }
  stats.judged += judged;
}

// --- The end of transactions

void Session::Impl::End(ConnectionState& state, TransactionEntry& entry, Outcome outcome) {
  Connection& connection = state.connection;
  if (entry.outstanding_at >= 0 && !entry.counted_out && connection.credits[entry.requester].outstanding > 0)
    --connection.credits[entry.requester].outstanding;
  Unlist(state.outstanding[entry.requester], entry.outstanding_at);
  Unlist(state.reading[entry.requester], entry.reading_at);
  entry.outcome = outcome;
  entry.answer = AnswerOf(connection, entry);
  if (entry.answer == Answer::kPending) entry.waited_ns = Elapsed(entry.call.frame, connection.close_frame);
  SettleAnswer(state, entry);
  CompleteCall(state, entry);
  if (!entry.reply.read_chunks.empty()) RebuildReply(entry);  // with what the requester has read meanwhile
  ++stats.transactions;
  CountJudged(state, entry);
  if (outcome == Outcome::kEvicted) {
    ++stats.evicted_transactions;
    ++connection.evicted_transactions;
  }
  static_assert(std::has_single_bit(kEnded));  // what counts them goes round
  entry.ended_at = state.endings++;
  EndedTransaction& ended = state.EndedAt(entry.ended_at);
  if (ended.entry) Forget(state, *ended.entry);
  ended = {entry.xid, entry.requester, entry.reply.frame.number != 0, nullptr};
  const bool awaited = state.deliveries && entry.reply.frame.number != 0 && outcome != Outcome::kEvicted;
  if (awaited) {
    TellEnd(prompt, connection, entry);
  } else {
    Notify([&](Observer& o) { o.OnTransaction(connection, entry); });
  }
  if (connection.credits[0].outstanding == 0 && connection.credits[1].outstanding == 0) connection.disturbed = false;
  if (outcome == Outcome::kEvicted) Lose(state);
  state.live.Remove(&entry);
  if (!awaited) return Retire(state, entry);
  entry.ending = entry.retired = true;
  if (!bytes_later) {
    entry.reply.ForgetStream();
  } else if (entry.reply.storage.empty()) {
    entry.reply.KeepStream();
  }
  entry.CountReply();
  state.deliveries->ended.push_back(&entry);
  EndKnown(state);
}

// Nothing more is told of a transaction, but for late RDMA operations on its segments.
void Session::Impl::Retire(ConnectionState& state, TransactionEntry& entry) {
  pool.Retire(&entry);
  entry.ending = false;
  const bool no_segments = entry.call.segments.empty() && entry.reply.segments.empty();
  const bool crowded_out = state.endings - entry.ended_at > kEnded;
  if (no_segments || crowded_out || entry.call.segments.size() > kMaxRetiredSegments) {
    Forget(state, entry);
  } else {
    state.EndedAt(entry.ended_at).entry = &entry;
  }
  while (pool.retired() > kOldRetiredInAll) {
    TransactionEntry* const oldest = pool.oldest_retired();
    const bool old = Elapsed(oldest->call.frame, now).value_or(0) > kLateNs;
    if (!old && pool.retired() <= kRetiredInAll) break;
    Forget(*connections[oldest->slot], *oldest);
  }
}

void Session::Impl::Forget(ConnectionState& state, TransactionEntry& entry) {
  if (EndedTransaction& ended = state.EndedAt(entry.ended_at); ended.entry == &entry) ended.entry = nullptr;
  Unregister(state, entry, entry.requester, false);
  Unregister(state, entry, Side(1 - entry.requester), true);
  pool.Recycle(&entry);
}

// First storage that is not in use, then transactions that have ended, then the oldest that have not, but one.
void Session::Impl::GiveUp() {
  pool.DropSpare();
  if (budget.over() && now.order() >= trimmed_in + open) {  // so that it costs no more than the frames
    trimmed_in = now.order();
    for (const std::unique_ptr<ConnectionState>& state : connections) {
      if (!state) continue;
      GiveUpDeliveries(*state);
      for (size_t side = 0; side < 2; ++side) {
        state->outstanding[side].Trim();
        state->reading[side].Trim();
        state->memory[side].Trim();
      }
      CountStorage(*state);
    }
  }
  while (budget.over()) {
    if (TransactionEntry* const ended = pool.oldest_retired()) {
      Forget(*connections[ended->slot], *ended);
      continue;
    }
    if (pool.live() < 2) return;
    TransactionEntry& oldest = *pool.oldest();
    ConnectionState& owner = *connections[oldest.slot];
    owner.connection.now = now;
    if (oldest.ending) {
      EndAwaited(owner);
    } else {
      End(owner, oldest, Outcome::kEvicted);
    }
  }
}

Session::Session(const SessionOptions& options, std::vector<Observer*> observers)
    : impl_(std::make_unique<Impl>(options, std::move(observers))) {}
Session::~Session() = default;
void Session::OnRecovery(const fabric::Recovery& recovery) {
  if (recovery.slot >= impl_->connections.size() || !impl_->connections[recovery.slot]) return;
  const Connection& connection = impl_->connections[recovery.slot]->connection;
  if (connection.info.id == recovery.connection)
    impl_->Notify([&](Observer& o) { o.OnRecovery(connection, recovery); });
}

void Session::OnSighting(const fabric::Sighting& sighting) {
  impl_->OnSighting(sighting);
  impl_->Relieve();
}

void Session::OnAside(const fabric::Aside& aside) {
  impl_->Notify([&](Observer& o) { o.OnAside(aside); });
}
void Session::OnEvent(const fabric::Event& event) {
  impl_->OnEvent(event);
  impl_->Relieve();
}

void Session::Finish() {
  // Decoder::Finish closes every connection; one that is still open was never closed by its producer.
  for (size_t slot = 0; slot < impl_->connections.size(); ++slot) {
    if (!impl_->connections[slot]) continue;
    const Connection& connection = impl_->connections[slot]->connection;
    impl_->OnEvent({connection.info, 0, {}, connection.now, fabric::Closed{}});
  }
}

bool Session::wants_deliveries() const { return !impl_->patient.empty(); }
const SessionStats& Session::stats() const { return impl_->stats; }

}  // namespace stag::session
