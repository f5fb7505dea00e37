// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/session.h"

#include <algorithm>
#include <unordered_map>

#include "session/rpcrdma/live.h"
#include "session/rpcrdma/multi_map.h"
#include "session/rpcrdma/rebuild.h"

namespace stag::session {

namespace {

using fabric::Event;
using fabric::EventKind;
using rpcrdma::Header;

// What a connection and a transaction are counted for beside their payload bytes.
constexpr uint64_t kConnectionCost = 4096;
constexpr uint64_t kTransactionCost = 2048;
constexpr uint64_t kSegmentCost = sizeof(SegmentRecord) + 96;  // with its places in the header and in the tables
// How many ended transactions a connection remembers, and all together, to tell late RDMA operations.
constexpr size_t kRetired = 32;
constexpr size_t kRetiredInAll = 2048;
constexpr size_t kMaxRetiredSegments = 256;
// How many events of its connection an unexpected reply waits for its Call (frames swapped by the capture).
// More segments under one handle, or more stretches of one segment, are not looked through, whatever is done to them.
constexpr uint32_t kMaxSearched = 4096;
constexpr size_t kMaxStretches = 4096;
constexpr uint32_t kEarlyReplyPatience = 4;

struct SegmentRef {
  Live* live = nullptr;
  uint32_t index = 0;
  bool of_reply = false;  // in Transaction::reply_segments (legacy)
};

std::vector<SegmentRecord>& RecordsOf(const SegmentRef& ref) {
  return ref.of_reply ? ref.live->reply_segments : ref.live->segments;
}

// A reply that came before its Call, with its bytes.
struct EarlyReply {
  bool waiting = false;
  uint32_t xid = 0;
  uint32_t patience = 0;
  Event event;
  std::vector<std::byte> bytes;
};

struct ConnectionState {
  Connection connection;
  std::array<MultiMap<Live*>, 2> outstanding;  // by requesting side: xid
  std::array<MultiMap<Live*>, 2> reading;      // legacy replies whose Read list waits for RDMA_DONE, by requesting side
  std::array<MultiMap<SegmentRef>, 2> memory;  // by owning side: handle
  EarlyReply early;
  SegmentRef last_hit;      // the segment that the previous RDMA packet touched ...
  Side last_hit_owner = 0;  // ... and whose memory it is
  uint64_t gap_serial = 0;  // the newest transaction when something was last lost
  OnConnection live;        // transactions that have not ended
  OnConnection retired;     // and the last that have
};

// A Send whose end was lost is longer than what is known of it, by how much nobody knows: long enough that no parser
// takes its end for the message's.
uint64_t LostTail(const Event& event) { return event.missing == fabric::Missing::kLost ? uint64_t{1} << 32 : 0; }

bool Holds(const SegmentRecord& record, uint32_t handle, uint64_t offset) {
  return record.segment.handle == handle && offset >= record.segment.offset &&
         (offset - record.segment.offset < record.segment.length ||
          (record.segment.length == 0 && offset == record.segment.offset));
}

template <typename Value>
void Unlist(MultiMap<Value>& table, int32_t& at) {
  if (at >= 0) table.EraseAt(at);
  at = -1;
}

bool IsScattered(const SegmentRecord& record) {
  return record.moved.ranges().size() >= kMaxStretches || record.requested.ranges().size() >= kMaxStretches;
}

bool CanBe(EventKind kind, ListKind list) {
  return kind == EventKind::kWrite ? list != ListKind::kReadList : list == ListKind::kReadList;
}

}  // namespace

struct Session::Impl {
  Impl(const SessionOptions& session_options, std::vector<Observer*> session_observers)
      : options(session_options), observers(std::move(session_observers)) {}

  template <typename Fn>
  void Notify(Fn fn) {
    for (Observer* observer : observers) fn(*observer);
  }

  void OnEvent(const Event& event);
  void OnSetup(ConnectionState& state, const Event& event);
  void OnSend(ConnectionState& state, const Event& event);
  void OnRdma(ConnectionState& state, const Event& event);
  void OnGap(ConnectionState& state, const Event& event);
  void Close(ConnectionState& state, const Event& event);

  // Parts of OnSend.
  bool IsNamed(const fabric::ConnectionInfo& info) const;
  bool Decode(ConnectionState& state, const Event& event);
  Role RoleOf(const ConnectionState& state) const;
  void FindClient(ConnectionState& state);
  void Call(ConnectionState& state, const Event& event);
  void Answer(ConnectionState& state, const Event& event);
  void Done(ConnectionState& state);
  void Orphan(ConnectionState& state, const Event& event);
  bool ShowsNoCall(const ConnectionState& state) const;
  void FlushEarly(ConnectionState& state);

  void CompleteCall(ConnectionState& state, Live& live);
  void TakeGrant(CreditState& credits, bool ends_call) const;
  void TakeReply(Live& live, const Event& event);
  void TakeReadList(const Header& header, const std::vector<ReadChunk>& chunks,
                    std::vector<SegmentRecord>& records) const;
  void End(ConnectionState& state, Live& live, Outcome outcome);
  void Forget(ConnectionState& state, Live& live);
  void Register(ConnectionState& state, Live& live, Side owner, bool of_reply);
  void Unregister(ConnectionState& state, Live& live, Side owner, bool of_reply);
  SegmentRef Lookup(ConnectionState& state, Side owner, const Event& event, bool& gave_up);
  void Store(Live& live, SegmentRecord& record, uint64_t at, Bytes bytes);
  void MakeRoom(uint64_t bytes, const Live* except);

  SessionOptions options;
  std::vector<Observer*> observers;
  SessionStats stats;
  Ledger ledger;
  std::unordered_map<ConnectionId, std::unique_ptr<ConnectionState>> connections;
  ConnectionState* last = nullptr;
  Message message;
  uint64_t serial = 0;
};

void Session::Impl::OnEvent(const Event& event) {
  const ConnectionId id = event.connection->id;
  if (!last || last->connection.info.id != id) {
    std::unique_ptr<ConnectionState>& slot = connections[id];
    if (!slot) {
      slot = std::make_unique<ConnectionState>();
      slot->connection.info.id = id;
      slot->connection.first_frame = event.first_frame.number ? event.first_frame : event.frame;
    }
    last = slot.get();
  }
  ConnectionState& state = *last;
  Connection& connection = state.connection;
  connection.now = event.now;
  if (event.frame.number > connection.last_frame.number) connection.last_frame = event.frame;

  if (state.early.waiting && event.kind != EventKind::kSend && --state.early.patience == 0) FlushEarly(state);

  switch (event.kind) {
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
  }
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
  if (event.kind == EventKind::kOpened) {
    connection.opened = true;
    // Joined mid-stream: what came before is as good as lost, until the first Calls that were seen have ended.
    if (!connection.setup[0].seen && !connection.setup[1].seen) connection.disturbed = true;
  }
  if (event.kind == EventKind::kSetup) {
    const bool carries_settings =
        event.setup == fabric::SetupMessage::kRequest || event.setup == fabric::SetupMessage::kReply;
    if (carries_settings) {
      SetupData& setup = connection.setup[event.from];
      setup.seen = true;
      setup.truncated = event.private_data_truncated;
      setup.frame = event.frame;
      setup.bytes.assign(event.private_data.begin(), event.private_data.end());
      setup.fixed_size = event.private_data_fixed;
      setup.search = rpcrdma::FindPrivateData(setup.bytes);
      setup.reads_served = event.reads_served;
      setup.reads_issued = event.reads_issued;
      if (setup.has_data()) connection.proof = Proof::kRpcRdma;
    } else if (event.setup == fabric::SetupMessage::kReject) {
      connection.rejected = true;
      connection.reject_reason = event.reject_reason;
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
  connection.lossy = connection.disturbed = true;
  connection.credits[0].known = connection.credits[1].known = false;
  // Those that are older were there at the last one, too.
  for (Live* live = state.live.newest(); live && live->serial > state.gap_serial; live = live->previous)
    live->disturbed = true;
  state.gap_serial = serial;
  Notify([&](Observer& o) { o.OnGap(connection, event); });
}

void Session::Impl::Close(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  if (event.close_reason == fabric::CloseReason::kEndOfCapture && state.early.waiting) {
    // Only counted: what nothing but the end of the capture shows is not given out.
    state.early.waiting = false;
    ++connection.replies_without_call;
    ++connection.counters[state.early.event.from].messages;
    connection.counters[state.early.event.from].send_bytes += state.early.event.length;
  }
  FlushEarly(state);
  while (Live* live = state.live.oldest())
    End(state, *live, live->outcome == Outcome::kOutstanding ? Outcome::kUnanswered : live->outcome);
  connection.closed = true;
  connection.close_reason = event.close_reason;
  connection.close_frame = event.frame;
  if (connection.proof == Proof::kRpcRdma) ++stats.connections;
  Notify([&](Observer& o) { o.OnConnectionClosed(connection, event); });
  while (Live* live = state.retired.oldest()) Forget(state, *live);
  last = nullptr;
  connections.erase(connection.info.id);
}

// --- Sends

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
  message.bytes = event.bytes;
  message.length = event.length;
  message.missing = event.missing;
  message.invalidated = event.invalidated;
  message.role = Role::kUnknown;
  message.orphan = message.repeated = false;
  message.payload = {};
  message.payload_length = 0;
  message.call = {};
  message.reply = {};
  const Header& header = message.header;
  rpcrdma::Decode(event.bytes, event.length + LostTail(event), message.header);
  if (header.status == ParseStatus::kOk && header.has_lists()) {
    message.payload = event.bytes.subspan(std::min<size_t>(header.length, event.bytes.size()));
    message.payload_length = event.length - std::min<uint64_t>(header.length, event.length);
  }
  if (state.connection.proof == Proof::kUnknown) {
    if (!IsProof(message) && !IsNamed(*event.connection)) return false;
    state.connection.proof = Proof::kRpcRdma;
  }
  if (message.payload.size() >= 8) {
    const uint32_t type = LoadBe32(message.payload.data() + 4);
    const uint64_t length = message.payload_length + LostTail(event);
    if (type == rpc::kCall) message.call = rpc::DecodeCall(message.payload, length);
    if (type == rpc::kReply) message.reply = rpc::DecodeReply(message.payload, length);
  }
  return true;
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
  // No message type to read: what is outstanding tells, then who speaks.
  if (state.outstanding[1 - message.from].Find(header.xid, [](Live*) { return true; })) return Role::kReply;
  if (header.proc == rpcrdma::kNomsg && header.status == ParseStatus::kOk) {
    if (!header.reads.empty()) return Role::kCall;
    if (header.reply_chunk && !(connection.client_known && connection.client == message.from)) return Role::kReply;
  }
  return connection.client_known && connection.client == message.from ? Role::kCall : Role::kUnknown;
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
  FindClient(state);
  ++stats.messages;
  SideCounters& counters = connection.counters[event.from];
  ++counters.messages;
  counters.send_bytes += event.length;
  if (event.invalidated) ++counters.send_with_invalidate;
  if (event.missing != fabric::Missing::kNothing) ++connection.truncated_messages;

  switch (message.role) {
    case Role::kCall: Call(state, event); break;
    case Role::kReply:
    case Role::kError: Answer(state, event); break;
    case Role::kDone: Done(state); break;
    case Role::kUnknown:
      connection.credits[0].known = connection.credits[1].known = false;  // it may be anything
      connection.unclear_messages = true;
      Notify([&](Observer& o) { o.OnMessage(connection, message, nullptr); });
      break;
  }
  if (state.early.waiting && --state.early.patience == 0) FlushEarly(state);
}

void Session::Impl::Call(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const Side requester = message.from;
  const Header& header = message.header;

  Live* previous = nullptr;
  for (auto* table : {&state.outstanding[requester], &state.reading[requester]}) {
    table->Find(header.xid, [&](Live* live) { return previous = live, true; });
    if (!previous) continue;
    message.repeated = message.repeated || previous->outcome == Outcome::kOutstanding;
    End(state, *previous, previous->outcome == Outcome::kOutstanding ? Outcome::kReissued : previous->outcome);
    previous = nullptr;
  }
  if (state.outstanding[requester].size() >= options.max_outstanding)
    End(state, *state.live.oldest(), Outcome::kEvicted);

  const uint64_t cost =
      kTransactionCost + message.payload.size() + kSegmentCost * (header.reads.size() + header.segments.size());
  MakeRoom(cost, nullptr);
  Live& live = *ledger.Open();
  ledger.Charge(&live, cost);
  state.live.Push(&live);
  live.connection = connection.info.id;
  live.serial = ++serial;
  live.xid = header.xid;
  live.requester = requester;
  live.backward = connection.client_known && requester != connection.client;
  live.disturbed = connection.disturbed || connection.info.rdma_hidden[1 - requester];
  live.call_frame = event.frame;
  live.call_first_frame = event.first_frame;
  live.call_header = header;
  live.call_send_length = event.length;
  live.call_send_missing = event.missing != fabric::Missing::kNothing;

  GroupReadChunks(header.reads, live.read_chunks);
  const bool reduced = !live.read_chunks.empty() && live.read_chunks.back().position > 0;
  live.call_form = header.proc == rpcrdma::kMsgp    ? CallForm::kMsgp
                   : header.proc == rpcrdma::kNomsg ? (reduced ? CallForm::kLongChunked : CallForm::kLong)
                   : reduced                        ? CallForm::kChunked
                                                    : CallForm::kShort;

  ledger.Resize(live.segments, header.reads.size() + header.segments.size());
  TakeReadList(header, live.read_chunks, live.segments);
  for (const rpcrdma::ReadSegment& read : header.reads) live.read_missing += read.target.length;
  const auto add_chunk = [&](const rpcrdma::Chunk& chunk, ListKind list, uint32_t number) {
    for (uint32_t i = 0; i < chunk.count; ++i) {
      SegmentRecord& record = live.segments[live.SegmentIndex(chunk, i)];
      record.segment = header.segments[chunk.first + i];
      record.list = list;
      record.chunk = number;
      record.bytes_kept = options.keep_bulk || list == ListKind::kReplyChunk;
    }
  };
  for (uint32_t c = 0; c < header.write_chunks.size(); ++c) add_chunk(header.write_chunks[c], ListKind::kWriteList, c);
  if (header.reply_chunk) add_chunk(*header.reply_chunk, ListKind::kReplyChunk, 0);

  if (header.proc == rpcrdma::kMsg || header.proc == rpcrdma::kMsgp) {
    live.call.stream.assign(message.payload.begin(), message.payload.end());
    live.call.stream_length = message.payload_length + LostTail(event);
    live.call_rpc = rpc::DecodeCall(live.call.stream, live.call.stream_length);
  }
  live.outstanding_at = state.outstanding[requester].Insert(header.xid, &live);
  Register(state, live, requester, false);
  ++connection.calls;
  if (live.backward) ++connection.backward_calls;

  CreditState& credits = connection.credits[requester];
  const bool first = !credits.requested.any && !credits.granted.any;
  if (first && connection.setup_seen && !connection.lossy && !connection.unclear_messages)
    credits.StartCounting(1);  // RFC 8166 section 3.3.3
  Notify([&](Observer& o) { o.OnMessage(connection, message, &live); });
  credits.OnCall(header.credit);
  if (live.read_missing == 0) CompleteCall(state, live);

  if (state.early.waiting && state.early.xid == header.xid && state.early.event.from != requester) FlushEarly(state);
}

// The first records are those of the Read list, in list order.
void Session::Impl::TakeReadList(const Header& header, const std::vector<ReadChunk>& chunks,
                                 std::vector<SegmentRecord>& records) const {
  for (size_t i = 0; i < header.reads.size(); ++i) {
    SegmentRecord& record = records[i];
    record.segment = header.reads[i].target;
    record.list = ListKind::kReadList;
    record.position = header.reads[i].position;
    record.bytes_kept = options.keep_bulk || record.position == 0;
  }
  for (uint32_t c = 0; c < chunks.size(); ++c)
    for (uint32_t index : chunks[c].segments) records[index].chunk = c;
}

void Session::Impl::CompleteCall(ConnectionState& state, Live& live) {
  if (live.call_ready) return;
  live.call_ready = true;
  const uint64_t before = live.call.stream.size();
  RebuildCall(live);
  ledger.Charge(&live, live.call.stream.size() - std::min<uint64_t>(before, live.call.stream.size()));
  Notify([&](Observer& o) { o.OnCallComplete(state.connection, live); });
}

void Session::Impl::Answer(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const Side requester = Side(1 - message.from);
  Live* found = nullptr;
  state.outstanding[requester].Find(message.header.xid, [&](Live* live) { return found = live, true; });
  if (!found) return Orphan(state, event);

  Live& live = *found;
  live.reply_frame = event.frame;
  live.reply_first_frame = event.first_frame;
  live.reply_header = message.header;
  live.reply_send_length = event.length;
  live.reply_send_missing = event.missing != fabric::Missing::kNothing;
  live.reply_invalidated = event.invalidated;
  CompleteCall(state, live);
  TakeReply(live, event);

  Notify([&](Observer& o) { o.OnMessage(connection, message, &live); });
  CreditState& credits = connection.credits[requester];
  TakeGrant(credits, true);
  // Drained: but when the capture lost something before, a Call that was not seen may be outstanding still.
  const bool drained = credits.outstanding == 1 && !connection.disturbed;
  if (drained && !credits.known) credits.StartCounting(credits.granted.max);
  ++(message.role == Role::kError ? connection.errors : connection.replies);
  live.outcome = message.role == Role::kError ? Outcome::kErrored : Outcome::kReplied;
  if (live.reply_read_chunks.empty()) {
    End(state, live, live.outcome);
    return;
  }
  // Read-Read (draft-08 section 3.5): the requester now reads, then sends RDMA_DONE.
  Unlist(state.outstanding[requester], live.outstanding_at);
  --credits.outstanding;
  live.reading_at = state.reading[requester].Insert(live.xid, found);
  Register(state, live, message.from, true);
}

// What the message to a requester says of its credits. An RDMA_ERROR that states none leaves the grant as it is.
void Session::Impl::TakeGrant(CreditState& credits, bool ends_call) const {
  const Header& header = message.header;
  if (message.role == Role::kReply) credits.replied = true;
  if (header.words < 3) return;
  if (message.role == Role::kReply || header.credit > 0) {
    credits.OnGrant(header.credit, ends_call);
  } else if (credits.known) {
    credits.window.Add(credits.granted.any ? credits.granted.last : 1, ends_call);
  }
}

void Session::Impl::TakeReply(Live& live, const Event& event) {
  const Header& header = message.header;
  if (message.role == Role::kError) {
    live.reply_form = ReplyForm::kError;
    return;
  }
  if (header.proc != rpcrdma::kNomsg) {
    live.reply.stream.assign(message.payload.begin(), message.payload.end());
    live.reply.stream_length = message.payload_length + LostTail(event);
    ledger.Charge(&live, live.reply.stream.size());
  }
  GroupReadChunks(header.reads, live.reply_read_chunks);
  ledger.Resize(live.reply_segments, header.reads.size());
  TakeReadList(header, live.reply_read_chunks, live.reply_segments);

  bool reduced = !live.reply_read_chunks.empty() && live.reply_read_chunks.back().position > 0;
  for (const rpcrdma::Chunk& chunk : header.write_chunks)
    for (const rpcrdma::Segment& segment : header.Of(chunk)) reduced = reduced || segment.length > 0;
  live.reply_form = header.proc == rpcrdma::kNomsg ? (reduced ? ReplyForm::kLongChunked : ReplyForm::kLong)
                    : reduced                      ? ReplyForm::kChunked
                                                   : ReplyForm::kShort;
  RebuildReply(live);
  if (header.proc == rpcrdma::kNomsg) ledger.Charge(&live, live.reply.stream.size());
}

void Session::Impl::Done(ConnectionState& state) {
  Live* found = nullptr;
  state.reading[message.from].Find(message.header.xid, [&](Live* live) { return found = live, true; });
  if (found) found->done_seen = true;
  Notify([&](Observer& o) { o.OnMessage(state.connection, message, found); });
  if (found) End(state, *found, found->outcome);
}

void Session::Impl::Orphan(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  for (const Live* live = state.retired.oldest(); live; live = live->next)
    if (live->xid == message.header.xid && live->requester != message.from && live->reply_frame.number != 0)
      message.repeated = true;
  // On a connection followed from its start this is odd: perhaps the capture swapped two frames and the Call comes
  // next.
  const bool odd = connection.setup_seen && !connection.lossy && !message.repeated;
  if (odd && !state.early.waiting && &event != &state.early.event) {
    EarlyReply& early = state.early;
    early.waiting = true;
    early.xid = message.header.xid;
    early.patience = kEarlyReplyPatience;
    early.event = event;
    early.bytes.assign(event.bytes.begin(), event.bytes.end());
    early.event.bytes = early.bytes;
    early.event.connection = &connection.info;
    // Counted again when it is taken up.
    --stats.messages;
    SideCounters& counters = connection.counters[event.from];
    --counters.messages;
    counters.send_bytes -= event.length;
    if (event.invalidated) --counters.send_with_invalidate;
    if (event.missing != fabric::Missing::kNothing) --connection.truncated_messages;
    return;
  }
  message.orphan = true;
  ++connection.replies_without_call;
  Notify([&](Observer& o) { o.OnMessage(connection, message, nullptr); });
  CreditState& credits = connection.credits[1 - message.from];
  TakeGrant(credits, false);
  if (!connection.setup_seen || connection.lossy) credits.known = false;  // its Call was outstanding
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
}

// --- RDMA

// `gave_up`: too many segments have this handle for all to be looked at.
SegmentRef Session::Impl::Lookup(ConnectionState& state, Side owner, const Event& event, bool& gave_up) {
  if (state.last_hit.live && state.last_hit_owner == owner && !state.last_hit.live->retired) {
    const SegmentRecord& record = RecordsOf(state.last_hit)[state.last_hit.index];
    // Only while it is the newest under its handle: Register forgets last_hit.
    if (Holds(record, event.handle, event.offset) && CanBe(event.kind, record.list)) return state.last_hit;
  }
  SegmentRef fitting, other, retired;
  uint32_t looked_at = 0;
  gave_up = state.memory[owner].Find(event.handle, [&](const SegmentRef& ref) {
    if (++looked_at > kMaxSearched) return true;
    const SegmentRecord& record = RecordsOf(ref)[ref.index];
    if (!Holds(record, event.handle, event.offset)) return false;
    SegmentRef& slot = ref.live->retired ? retired : CanBe(event.kind, record.list) ? fitting : other;
    if (!slot.live) slot = ref;
    return fitting.live != nullptr;
  }) && !fitting.live;
  const SegmentRef found = fitting.live ? fitting : other.live ? other : retired;
  if (fitting.live) {
    state.last_hit = found;
    state.last_hit_owner = owner;
  }
  return found;
}

void Session::Impl::Store(Live& live, SegmentRecord& record, uint64_t at, Bytes bytes) {
  const uint64_t end = at + bytes.size();
  if (record.data.size() < end) {
    const uint64_t more = end - record.data.size();
    MakeRoom(more, &live);
    // To grow takes a second buffer for a moment.
    uint64_t room = more;
    if (record.data.capacity() < end) {
      room = std::min<uint64_t>(record.segment.length, std::max<uint64_t>(end, 2 * record.data.capacity()));
      if (ledger.used() + room > options.memory_limit) room = end;
    }
    if (ledger.used() + room > options.memory_limit) {
      stats.dropped_bytes += bytes.size();
      return;
    }
    ledger.Charge(&live, more);
    if (record.data.capacity() < end) record.data.reserve(static_cast<size_t>(room));
    record.data.resize(static_cast<size_t>(end));
  }
  std::copy(bytes.begin(), bytes.end(), record.data.begin() + static_cast<ptrdiff_t>(at));
  record.captured.Add(at, end);
}

void Session::Impl::OnRdma(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const bool response = event.kind == EventKind::kReadResponse;
  const Side owner = response ? event.from : Side(1 - event.from);
  SideCounters& counters = connection.counters[event.from];
  if (event.kind == EventKind::kWrite) {
    counters.write_operations += event.first;
    counters.write_bytes += event.length;
  } else if (event.kind == EventKind::kReadRequest) {
    ++counters.read_operations;
    counters.read_bytes += event.length;
  }

  bool gave_up = false;
  const SegmentRef ref = Lookup(state, owner, event, gave_up);
  if (gave_up || (ref.live && IsScattered(RecordsOf(ref)[ref.index])))
    return OnGap(state, event);  // not kept account of: as good as lost
  RdmaOperation operation;
  operation.event = &event;
  if (ref.live) {
    SegmentRecord& record = RecordsOf(ref)[ref.index];
    const uint64_t at = event.offset - record.segment.offset;
    const uint64_t length = std::min<uint64_t>(event.length, record.segment.length - at);
    operation.transaction = ref.live;
    operation.segment = &record;
    operation.segment_offset = at;
    operation.overrun = event.length > length;
    operation.retired = ref.live->retired;
    if (!ref.live->retired && CanBe(event.kind, record.list)) {
      if (record.first_frame.number == 0)
        record.first_frame = event.first_frame.number ? event.first_frame : event.frame;
      record.last_frame = event.frame;
      if (event.kind == EventKind::kReadRequest) {
        record.requested.Add(at, at + length);
      } else {
        record.moved.Add(at, at + length);
        const Bytes bytes = event.bytes.first(static_cast<size_t>(std::min<uint64_t>(event.bytes.size(), length)));
        const uint64_t before = record.captured.total();
        if (record.bytes_kept) {
          Store(*ref.live, record, at, bytes);
        } else {
          record.captured.Add(at, at + bytes.size());
        }
        if (response && !ref.of_reply) ref.live->read_missing -= record.captured.total() - before;
      }
    }
  }
  Notify([&](Observer& o) { o.OnRdma(connection, operation); });
  if (response && ref.live && !ref.of_reply && !ref.live->retired && ref.live->read_missing == 0)
    CompleteCall(state, *ref.live);
}

void Session::Impl::Register(ConnectionState& state, Live& live, Side owner, bool of_reply) {
  const std::vector<SegmentRecord>& records = of_reply ? live.reply_segments : live.segments;
  std::vector<int32_t>& at = of_reply ? live.reply_segments_at : live.segments_at;
  for (uint32_t i = 0; i < records.size(); ++i)
    at.push_back(state.memory[owner].Insert(records[i].segment.handle, SegmentRef{&live, i, of_reply}));
  if (!records.empty()) state.last_hit = {};
}

void Session::Impl::Unregister(ConnectionState& state, Live& live, Side owner, bool of_reply) {
  std::vector<int32_t>& at = of_reply ? live.reply_segments_at : live.segments_at;
  for (int32_t& each : at) Unlist(state.memory[owner], each);
  at.clear();
  if (state.last_hit.live == &live) state.last_hit = {};
}

// --- The end of transactions

void Session::Impl::End(ConnectionState& state, Live& live, Outcome outcome) {
  Connection& connection = state.connection;
  if (live.outstanding_at >= 0 && connection.credits[live.requester].outstanding > 0)
    --connection.credits[live.requester].outstanding;
  Unlist(state.outstanding[live.requester], live.outstanding_at);
  Unlist(state.reading[live.requester], live.reading_at);
  live.outcome = outcome;
  CompleteCall(state, live);
  if (!live.reply_read_chunks.empty()) RebuildReply(live);  // with what the requester has read meanwhile
  ++stats.transactions;
  if (outcome == Outcome::kEvicted) {
    ++stats.evicted_transactions;
    ++connection.evicted_transactions;
    connection.credits[live.requester].known = false;
  }
  Notify([&](Observer& o) { o.OnTransaction(connection, live); });
  if (connection.credits[0].outstanding == 0 && connection.credits[1].outstanding == 0) connection.disturbed = false;

  state.live.Remove(&live);
  ledger.Retire(&live);
  state.retired.Push(&live);
  if (live.segments.size() > kMaxRetiredSegments) Forget(state, live);
  if (state.retired.size() > kRetired) Forget(state, *state.retired.oldest());
  if (ledger.retired() > kRetiredInAll) {
    Live* oldest = ledger.oldest_retired();
    Forget(*connections.find(oldest->connection)->second, *oldest);
  }
}

void Session::Impl::Forget(ConnectionState& state, Live& live) {
  state.retired.Remove(&live);
  Unregister(state, live, live.requester, false);
  Unregister(state, live, Side(1 - live.requester), true);
  ledger.Recycle(&live);
}

void Session::Impl::MakeRoom(uint64_t bytes, const Live* except) {
  while (ledger.used() + bytes + connections.size() * kConnectionCost > options.memory_limit) {
    Live* oldest = ledger.oldest();
    if (oldest == except && oldest) oldest = oldest->newer;
    if (!oldest) return;
    const auto it = connections.find(oldest->connection);
    if (it == connections.end()) return;
    it->second->connection.now = last ? last->connection.now : it->second->connection.now;
    End(*it->second, *oldest, Outcome::kEvicted);
  }
}

Session::Session(const SessionOptions& options, std::vector<Observer*> observers)
    : impl_(std::make_unique<Impl>(options, std::move(observers))) {}
Session::~Session() = default;
void Session::OnAside(const fabric::Aside& aside) {
  impl_->Notify([&](Observer& o) { o.OnAside(aside); });
}
void Session::OnEvent(const fabric::Event& event) { impl_->OnEvent(event); }

void Session::Finish() {
  // Decoder::Finish closes every connection; one that is still open was never closed by its producer.
  while (!impl_->connections.empty()) {
    ConnectionState& state = *impl_->connections.begin()->second;
    fabric::Event event;
    event.kind = EventKind::kClosed;
    event.connection = &state.connection.info;
    event.frame = event.now = state.connection.now;
    impl_->OnEvent(event);
  }
}

const SessionStats& Session::stats() const { return impl_->stats; }

}  // namespace stag::session
