// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sends: what kind of message each is, and what it begins or ends.
#include <algorithm>

#include "protocol/base/sequence.h"
#include "session/rpcrdma/rebuild.h"
#include "session/rpcrdma/session_impl.h"

namespace stag::session {

namespace {

using fabric::Event;
using rpcrdma::Header;

// How many events of its connection an orphan waits for its Call (frames swapped by the capture).
constexpr uint32_t kEarlyReplyPatience = 4;
constexpr size_t kKeptEarlyBytes = 4096;  // storage kept for the next orphan

// A Send whose end was lost is longer than what is known of it, by how much nobody knows: long enough that no parser
// takes its end for the message's.
uint64_t LostTail(const fabric::Send& send) { return send.missing == fabric::Missing::kLost ? uint64_t{1} << 32 : 0; }

}  // namespace

// Whether a Send can be nothing but RPC-over-RDMA version 1: used on connections that nothing else identified.
static bool IsProof(const Message& message) {
  const Header& header = message.header;
  if (header.status != ParseStatus::kOk || header.vers != rpcrdma::kVersion1) return false;
  if (header.proc == rpcrdma::kMsg && message.payload.size() >= 8) {
    const uint32_t type = LoadBe32(message.payload.data() + 4);
    if (LoadBe32(message.payload.data()) != header.xid) return false;
    if (type == rpc::kCall) return message.payload.size() >= 12 && LoadBe32(message.payload.data() + 8) == 2;
    return type == rpc::kReply && message.payload.size() >= 12 && LoadBe32(message.payload.data() + 8) <= 1;
  }
  // A long message: lists that fill the Send exactly and name at least one segment.
  if (header.proc != rpcrdma::kNomsg || header.length != message.length || header.credit == 0) return false;
  if (!header.reads.empty()) return header.reads.front().position == 0 && header.reads.front().target.length >= 40;
  return header.reply_chunk && header.reply_chunk->count > 0;
}

bool Session::Impl::IsNamed(const fabric::ConnectionInfo& info) const {
  const auto has = [](const std::vector<NumberRange>* ranges, uint32_t number) {
    return ranges && number != 0 && std::any_of(ranges->begin(), ranges->end(), [&](const NumberRange& range) {
             return range.first <= number && number <= range.last;
           });
  };
  const bool iwarp = info.fabric == fabric::FabricKind::kIwarp;
  return has(options.service_ports, info.service_port) ||
         std::any_of(info.endpoint.begin(), info.endpoint.end(), [&](const Endpoint& end) {
           return has(iwarp ? options.service_ports : options.queue_pairs, end.number);
         });
}

bool Session::Impl::Decode(ConnectionState& state, const Event& event) {
  message.frame = event.frame;
  message.first_frame = event.first_frame;
  message.from = event.from;
  const fabric::Send& send = event.send();
  message.bytes = send.bytes;
  message.length = send.length;
  message.missing = send.missing;
  message.invalidated = send.invalidated;
  message.role = Role::kUnknown;
  message.orphan = message.early = message.repeated = false;
  message.again = &event == &state.early.event;
  message.payload = {};
  message.payload_length = 0;
  if (message.call.words > 0) message.call = {};
  if (message.reply.words > 0) message.reply = {};
  const Header& header = message.header;
  rpcrdma::Decode(send.bytes, send.length + LostTail(send), message.header);
  if (header.status == ParseStatus::kOk && header.has_lists()) {
    message.payload = send.bytes.subspan(std::min<size_t>(header.length, send.bytes.size()));
    message.payload_length = send.length - std::min<uint64_t>(header.length, send.length);
  }
  if (state.connection.proof == Proof::kUnknown) {
    if (!IsProof(message) && !IsNamed(*event.connection)) return false;
    state.connection.proof = Proof::kRpcRdma;
  }
  if (message.payload.size() >= 8) {
    const uint32_t type = LoadBe32(message.payload.data() + 4);
    const uint64_t length = message.payload_length + LostTail(send);
    if (type == rpc::kCall) message.call = rpc::DecodeCall(message.payload, length);
    if (type == rpc::kReply) message.reply = rpc::DecodeReply(message.payload, length);
  }
  return true;
}

// Whether a message is a Call of GlusterFS; where it has chunks, a word more stands in front of it.
static bool IsForeign(const Message& message) {
  constexpr size_t kProgram = 12;  // bytes in front of it
  for (const size_t at : {size_t{0}, size_t{4}}) {
    if (message.payload.size() < at + kProgram + 4) return false;
    const std::byte* const words = message.payload.data() + at;
    if (LoadBe32(words + 4) == rpc::kCall && LoadBe32(words + 8) == 2 && rpc::IsGluster(LoadBe32(words + kProgram)))
      return true;
  }
  return false;
}

Role Session::Impl::RoleOf(const ConnectionState& state) const {
  const Header& header = message.header;
  const Connection& connection = state.connection;
  if (header.words < 4) return Role::kUnknown;
  if (header.proc == rpcrdma::kError) return Role::kError;
  if (header.proc == rpcrdma::kDone && header.vers == rpcrdma::kVersion1) return Role::kDone;
  if (header.status == ParseStatus::kOk && (header.proc == rpcrdma::kMsg || header.proc == rpcrdma::kMsgp) &&
      message.payload.size() >= 8) {
    const uint32_t type = LoadBe32(message.payload.data() + 4);
    if (type == rpc::kCall) return Role::kCall;
    if (type == rpc::kReply) return Role::kReply;
  }
  // No message type to read: what is outstanding tells, then the shape, then who speaks.
  if (state.outstanding[1 - message.from].Find(header.xid, [](TransactionEntry*) { return true; })) return Role::kReply;
  if (header.proc == rpcrdma::kNomsg && header.status == ParseStatus::kOk) {
    if (!header.reads.empty()) return Role::kCall;
    if (header.reply_chunk && !(connection.client_known && connection.client == message.from)) return Role::kReply;
  }
  return connection.client_known && connection.client == message.from ? Role::kCall : Role::kUnknown;
}

// A message that nothing but its shape and its sender shows to be a Call may answer a Call of the other side that was
// lost. One that the capture cut is taken for what its sender has sent so far; a client's Long Call has its shape.
bool Session::Impl::MayBeAnswer(const Connection& connection) const {
  const Header& header = message.header;
  if (!connection.lossy || message.call.words > 0) return false;
  if (message.missing != fabric::Missing::kNothing) return connection.backward_calls > 0;
  const bool of_client = connection.client_known && connection.client == message.from;
  const bool long_call = of_client && header.proc == rpcrdma::kNomsg && !header.reads.empty() && !message.invalidated &&
                         std::ranges::all_of(header.reads, [](const auto& read) { return read.position == 0; });
  return !long_call;
}

// Joined mid-stream: who is the client is told by the first message whose role is certain.
void Session::Impl::FindClient(ConnectionState& state) {
  Connection& connection = state.connection;
  if (connection.client_known) return;
  if (message.role == Role::kCall) {
    const bool callback = message.call.words >= 4 && nfs::IsCallbackProgram(message.call.program);
    connection.client = callback ? Side(1 - message.from) : message.from;
    connection.client_known = true;
  } else if (message.role == Role::kReply) {
    connection.client = Side(1 - message.from);
    connection.client_known = true;
  }
}

void Session::Impl::OnSend(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const bool was_proven = connection.proof == Proof::kRpcRdma;
  const uint64_t own_number = &event == &state.early.event ? state.early.number : ++state.sends[event.from];
  if (!Decode(state, event)) {
    ++connection.other_messages;
    return;
  }
  if (!was_proven) Notify([&](Observer& o) { o.OnConnection(connection, event); });
  message.role = RoleOf(state);
  if (ShowsNoCall(state)) {
    FlushEarly(state);
    (void)Decode(state, event);
    message.role = RoleOf(state);
  }
  send_number = own_number;
  FindClient(state);
  if (message.role == Role::kCall && !connection.foreign) connection.foreign = IsForeign(message);
  if (!message.again) Count(connection);

  switch (message.role) {
    case Role::kCall: Call(state, event); break;
    case Role::kReply:
    case Role::kError: OnAnswer(state, event); break;
    case Role::kDone: Done(state); break;
    case Role::kUnknown:
      connection.credits[0].known = connection.credits[1].known = false;  // it may be anything
      connection.unclear_messages = true;
      ++connection.coverage[message.from].unclear;
      MissAnswers(state, message.from, message.frame, {});
      Notify([&](Observer& o) { o.OnMessage(connection, message, nullptr); });
      break;
  }
  if (state.early.waiting && --state.early.patience == 0) FlushEarly(state);
}

void Session::Impl::Count(Connection& connection) {
  ++stats.messages;
  SideCounters& counters = connection.counters[message.from];
  ++counters.messages;
  counters.send_bytes += message.length;
  if (message.invalidated) ++counters.send_with_invalidate;
  if (message.missing != fabric::Missing::kNothing) ++connection.truncated_messages;
}

void Session::Impl::Call(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const Side requester = message.from;
  const Header& header = message.header;

  TransactionEntry* previous = nullptr;
  for (auto* table : {&state.outstanding[requester], &state.reading[requester]}) {
    table->Find(header.xid, [&](TransactionEntry* entry) { return previous = entry, true; });
    if (!previous) continue;
    message.repeated = message.repeated || previous->outcome == Outcome::kOutstanding;
    End(state, *previous, previous->outcome == Outcome::kOutstanding ? Outcome::kReissued : previous->outcome);
    previous = nullptr;
  }
  if (state.outstanding[requester].size() >= options.max_outstanding)
    End(state, *state.live.oldest(), Outcome::kEvicted);

  TransactionEntry& entry = *pool.Open();
  state.live.Push(&entry);
  entry.connection = connection.info.id;
  entry.slot = connection.info.slot;
  entry.serial = ++serial;
  entry.number = ++state.calls;
  entry.xid = header.xid;
  entry.requester = requester;
  entry.backward = connection.client_known && requester != connection.client;
  entry.uncertain = MayBeAnswer(connection);
  entry.disturbed = connection.disturbed || connection.info.rdma_hidden[1 - requester] || entry.uncertain;
  TakeSend(entry.call);

  entry.call.segments.Reserve(header.reads.size() + header.segments.size());
  TakeReadList(entry.call);
  const bool reduced = !entry.call.read_chunks.empty() && entry.call.read_chunks.back().position > 0;
  entry.call.form = header.proc == rpcrdma::kMsgp    ? CallForm::kMsgp
                    : header.proc == rpcrdma::kNomsg ? (reduced ? CallForm::kLongChunked : CallForm::kLong)
                    : reduced                        ? CallForm::kChunked
                                                     : CallForm::kShort;

  for (const ReadChunk& chunk : entry.call.read_chunks) entry.read_missing += chunk.length;
  const auto add_chunk = [&](const rpcrdma::Chunk& chunk, ListKind list, uint32_t number) {
    for (const rpcrdma::Segment& segment : header.Of(chunk)) {
      SegmentRecord& record = entry.call.segments.Add();
      record.segment = segment;
      record.list = list;
      record.chunk = number;
      record.bytes_kept = options.keep_bulk || list == ListKind::kReplyChunk;
    }
  };
  for (uint32_t c = 0; c < header.write_chunks.size(); ++c) add_chunk(header.write_chunks[c], ListKind::kWriteList, c);
  if (header.reply_chunk) add_chunk(*header.reply_chunk, ListKind::kReplyChunk, 0);

  if (header.proc == rpcrdma::kMsg || header.proc == rpcrdma::kMsgp) {
    entry.call.stream = message.payload;
    entry.call.KeepStream();
    entry.call.stream_length = message.payload_length + LostTail(event.send());
    entry.call.rpc = message.call.words > 0 ? rpc::OfCopy(message.call, message.payload, entry.call.stream)
                                            : rpc::DecodeCall(entry.call.stream, entry.call.stream_length);
  }
  if (header.proc == rpcrdma::kMsg && header.status == ParseStatus::kOk && entry.call.stream_length > 0)
    FollowCall(entry);
  entry.outstanding_at = state.outstanding[requester].Insert(header.xid, &entry);
  Register(state, entry, requester, false);
  CountGrowth(state, state.outstanding[requester], state.memory[requester]);
  if (state.in_doubt[requester] > 0) [[unlikely]]
    ProveByCall(state, entry);
  const size_t doubtful = state.in_doubt[requester] + state.proven[requester];
  if (doubtful == 0)
    state.most_at_once[requester] =
        std::max(state.most_at_once[requester], static_cast<uint32_t>(state.outstanding[requester].size()));
  const uint64_t peak_storage = state.peak[requester].storage();
  entry.peak_place = state.peak[requester].Add(static_cast<uint32_t>(state.outstanding[requester].size() - doubtful));
  if (state.peak[requester].storage() != peak_storage) [[unlikely]]
    CountStorage(state);
  if (entry.read_missing > 0) entry.CountCall();  // else when the Call is complete, right now
  ++connection.calls;
  if (entry.backward) ++connection.backward_calls;

  entry.call_number = static_cast<uint32_t>(send_number);
  CreditState& credits = connection.credits[requester];
  // An acknowledgement in a frame of its own right before the Call may have come behind it: captures swap frames.
  const fabric::ConnectionInfo& ends = *event.connection;
  if (!ends.acknowledged_right_before[requester]) credits.received.Acknowledge(ends.sends_received[requester]);
  const bool first = !credits.requested.any && !credits.granted.any;
  if (first && connection.setup_seen && !connection.lossy && !connection.unclear_messages)
    credits.StartCounting(1);  // RFC 8166 section 3.3.3
  entry.call_last = event.last_number;
  CarryCall(state, entry, event);
  Notify([&](Observer& o) { o.OnMessage(connection, message, &entry); });
  credits.OnCall(header.credit);
  if (entry.read_missing == 0) CompleteCall(state, entry);

  // The events of the other side came first, where the order of the two is lost.
  if (connection.coverage[1 - requester].gap_in > entry.call.frame.order()) DoubtAnswer(state, entry, {});
  if (state.early.waiting && state.early.xid == header.xid && state.early.event.from != requester) FlushEarly(state);
}

// What a transaction keeps of the Send of its Call or Reply.
void Session::Impl::TakeSend(Half& half) const {
  half.frame = message.frame;
  half.first_frame = message.first_frame;
  half.header = message.header;
  half.send_length = message.length;
  half.send_missing = message.missing != fabric::Missing::kNothing;
  half.end_missing = message.missing == fabric::Missing::kLost;
}

// The chunks of the Read list, and its segments in list order: the first records of the half, which has none yet.
void Session::Impl::TakeReadList(Half& half) const {
  if (half.header.reads.empty()) return;
  GroupReadChunks(half.header.reads, half.read_chunks);
  half.segments.Reserve(half.header.reads.size());
  for (const rpcrdma::ReadSegment& read : half.header.reads) {
    SegmentRecord& record = half.segments.Add();
    record.segment = read.target;
    record.list = ListKind::kReadList;
    record.position = read.position;
    record.bytes_kept = options.keep_bulk || read.position == 0;
  }
  for (uint32_t c = 0; c < half.read_chunks.size(); ++c)
    for (uint32_t index : half.read_chunks[c].segments) half.segments[index].chunk = c;
}

void Session::Impl::CompleteCall(ConnectionState& state, TransactionEntry& entry) {
  if (entry.call.ready) return;
  entry.call.ready = true;
  RebuildCall(entry);
  entry.CountCall();
  Notify([&](Observer& o) { o.OnCallComplete(state.connection, entry); });
}

void Session::Impl::OnAnswer(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const Side requester = Side(1 - message.from);
  TransactionEntry* found = nullptr;
  state.outstanding[requester].Find(message.header.xid, [&](TransactionEntry* entry) { return found = entry, true; });
  if (!found) return Orphan(state, event);

  if (message.again) --connection.replies_without_call;
  TransactionEntry& entry = *found;
  TakeSend(entry.reply);
  if (state.in_doubt[requester] > 0) [[unlikely]]
    ProveByAnswer(state, entry);
  entry.reply.invalidated = message.invalidated;
  CompleteCall(state, entry);
  TakeReply(entry, event);
  entry.reply_number = event.last_number;
  entry.reply_send = send_number;
  CarryReply(state, entry, event);

  Notify([&](Observer& o) { o.OnMessage(connection, message, &entry); });
  CreditState& credits = connection.credits[requester];
  TakeGrant(credits, !entry.counted_out, send_number);
  // Who answers has looked at the Call, and at all that came before it.
  connection.credits[message.from].window.Arrive(NearestPosition<32>(state.sends[requester], entry.call_number));
  // Drained: but when the capture lost something before, a Call that was not seen may be outstanding still.
  const uint32_t own = entry.counted_out ? 0 : 1;
  const bool drained = credits.outstanding == own && !connection.disturbed;
  if (drained && !credits.known) credits.StartCounting(credits.granted.max);
  ++(message.role == Role::kError ? connection.errors : connection.replies);
  entry.outcome = message.role == Role::kError ? Outcome::kErrored : Outcome::kReplied;
  if (entry.reply.read_chunks.empty()) {
    End(state, entry, entry.outcome);
    return;
  }
  // Read-Read (draft-08 section 3.5): the requester now reads, then sends RDMA_DONE.
  Unlist(state.outstanding[requester], entry.outstanding_at);
  credits.outstanding -= own;
  entry.reading_at = state.reading[requester].Insert(entry.xid, found);
  Register(state, entry, message.from, true);
  CountGrowth(state, state.reading[requester], state.memory[message.from]);
  entry.CountReply();
}

// What the message to a requester says of its credits. An RDMA_ERROR that states none leaves the grant as it is.
void Session::Impl::TakeGrant(CreditState& credits, bool ends_call, uint64_t of) const {
  const Header& header = message.header;
  if (message.role == Role::kReply) credits.replied = true;
  if (header.words < 3) return;
  if (message.role == Role::kReply || header.credit > 0) {
    credits.OnGrant(header.credit, ends_call, of);
  } else if (credits.known) {
    credits.Add(credits.granted.any ? credits.granted.last : 1, ends_call, of);
  }
}

void Session::Impl::TakeReply(TransactionEntry& entry, const Event& event) {
  const Header& header = message.header;
  if (message.role == Role::kError) {
    entry.reply.form = ReplyForm::kError;
    return;
  }
  const auto returned = header.reply_chunk ? header.Of(*header.reply_chunk) : std::span<const rpcrdma::Segment>();
  const bool put_together = (returned.size() > 1 && returned[1].length > 0) || !header.reads.empty();
  if (put_together && entry.reply.storage.capacity() == 0) entry.reply.storage = pool.TakeStream();
  if (header.proc != rpcrdma::kNomsg) {
    entry.reply.stream = message.payload;
    entry.reply.stream_length = message.payload_length + LostTail(event.send());
    if (!header.reads.empty()) entry.reply.KeepStream();  // beyond this event
    if (header.status == ParseStatus::kOk)
      entry.reply.rpc = message.reply.words > 0 ? rpc::OfCopy(message.reply, message.payload, entry.reply.stream)
                                                : rpc::DecodeReply(entry.reply.stream, entry.reply.stream_length);
  }
  TakeReadList(entry.reply);
  bool reduced = !entry.reply.read_chunks.empty() && entry.reply.read_chunks.back().position > 0;
  for (const rpcrdma::Chunk& chunk : header.write_chunks)
    for (const rpcrdma::Segment& segment : header.Of(chunk)) reduced = reduced || segment.length > 0;
  entry.reply.form = header.proc == rpcrdma::kNomsg ? (reduced ? ReplyForm::kLongChunked : ReplyForm::kLong)
                     : reduced                      ? ReplyForm::kChunked
                                                    : ReplyForm::kShort;
  RebuildReply(entry);
}

void Session::Impl::Done(ConnectionState& state) {
  TransactionEntry* found = nullptr;
  state.reading[message.from].Find(message.header.xid, [&](TransactionEntry* entry) { return found = entry, true; });
  if (found) found->done_seen = true;
  Notify([&](Observer& o) { o.OnMessage(state.connection, message, found); });
  if (found) End(state, *found, found->outcome);
}

void Session::Impl::Orphan(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  for (const EndedTransaction& ended : state.ended)
    if (ended.replied && ended.xid == message.header.xid && ended.requester != message.from) message.repeated = true;
  message.orphan = true;
  if (message.again) {
    Notify([&](Observer& o) { o.OnOrphan(connection, message); });
  } else {
    ++connection.replies_without_call;
    message.early = MayPrecedeItsCall(state);
    if (message.early) Keep(state, event);
    Notify([&](Observer& o) { o.OnMessage(connection, message, nullptr); });
    if (message.early) return;
  }
  CreditState& credits = connection.credits[1 - message.from];
  TakeGrant(credits, false, send_number);
  if (!connection.setup_seen || connection.lossy) credits.known = false;  // its Call was outstanding
}

// An orphan on a connection followed from its start is odd: perhaps the capture swapped two frames and the Call comes
// next. Not when its sender shows that it had received nothing that was not seen.
bool Session::Impl::MayPrecedeItsCall(const ConnectionState& state) const {
  const Connection& connection = state.connection;
  return connection.setup_seen && !connection.lossy && !message.repeated && !state.early.waiting &&
         connection.info.acknowledged_in[message.from] < message.frame.order();
}

void Session::Impl::Keep(ConnectionState& state, const Event& event) {
  EarlyReply& early = state.early;
  early.waiting = true;
  early.xid = message.header.xid;
  early.patience = kEarlyReplyPatience;
  early.number = send_number;
  early.event = event;
  early.bytes.assign(message.bytes.begin(), message.bytes.end());
  CountStorage(state);
  std::get<fabric::Send>(early.event.what).bytes = early.bytes;
  early.event.connection = &state.connection.info;
}

// No Call is to come for the reply that waits: the side that should have called sends something else. Only where it had
// no other Calls outstanding, of which several may have been overtaken.
bool Session::Impl::ShowsNoCall(const ConnectionState& state) const {
  const EarlyReply& early = state.early;
  if (!early.waiting || message.from == early.event.from) return false;
  const bool same = message.header.words > 0 && message.header.xid == early.xid;
  if (same) return message.role != Role::kCall;
  return state.connection.credits[message.from].outstanding == 0;
}

void Session::Impl::FlushEarly(ConnectionState& state) {
  if (!state.early.waiting) return;
  state.early.waiting = false;
  state.early.event.now = state.connection.now;
  OnSend(state, state.early.event);
  if (state.early.bytes.capacity() <= kKeptEarlyBytes) return;
  std::vector<std::byte>().swap(state.early.bytes);
  CountStorage(state);
}

}  // namespace stag::session
