// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connections, messages and the RPCs in them. RDMA operations, findings and files: record_store_builder_rdma.cc.
#include "plugin/record_store_builder.h"

#include <algorithm>
#include <array>
#include <limits>

namespace stag::plugin {
namespace {

using session::ListKind;
using session::Role;

// Only what is known to be RPC-over-RDMA is shown.

// What most COMPOUNDs have beside the operation that they are about: SEQUENCE, PUTFH, GETFH and the like (RFC 8881
// section 18, RFC 7530 section 16); CB_SEQUENCE.
bool IsHousekeeping(uint32_t op, bool callback) {
  if (callback) return op == 11;
  switch (op) {
    case 9:   // GETATTR
    case 10:  // GETFH
    case 22:  // PUTFH
    case 23:  // PUTPUBFH
    case 24:  // PUTROOTFH
    case 31:  // RESTOREFH
    case 32:  // SAVEFH
    case 53:  // SEQUENCE
      return true;
    default: return false;
  }
}

// The first operation that is not housekeeping; the last when all are.
uint32_t MainOperation(const std::vector<session::Operation>& operations, bool callback) {
  for (const session::Operation& operation : operations) {
    if (!IsHousekeeping(operation.op, callback)) return operation.op;
  }
  return operations.back().op;
}

// The rebuilt message is nothing but the inline payload of its Send.
bool IsInline(const session::Payload& payload, const MessageRecord& message) {
  return message.header.proc == rpcrdma::kMsg && message.header.status == ParseStatus::kOk &&
         payload.pieces.size() == 1 && payload.pieces[0].source == session::Piece::Source::kStream &&
         payload.pieces[0].offset == 0 && payload.pieces[0].length == payload.length && message.bytes.available() &&
         message.header.length + payload.length <= message.bytes.length;
}

bool ReturnsData(const rpcrdma::Header& header) {
  return !header.reads.empty() ||
         std::any_of(header.segments.begin(), header.segments.end(), [](const auto& s) { return s.length != 0; });
}

}  // namespace

Direction DirectionOf(const session::Connection& connection, Side from) {
  if (!connection.client_known) return Direction::kUnknown;
  return connection.IsClientToServer(from) ? Direction::kClientToServer : Direction::kServerToClient;
}

ConnectionRecord* RecordStoreBuilder::Remember(const session::Connection& connection) {
  ConnectionRecord& record = store_.Connection(connection.info.id);
  if (connection.client_known) record.client = connection.client;
  if (record.id != 0) return &record;
  record.id = connection.info.id;
  record.fabric = connection.info.fabric;
  record.endpoint = connection.info.endpoint;
  return &record;
}

ShownBytes RecordStoreBuilder::Show(Bytes bytes) {
  ShownBytes shown;
  shown.length = static_cast<uint32_t>(bytes.size());
  const auto begin = reinterpret_cast<uintptr_t>(frame_.data());
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  if (at >= begin && at - begin <= frame_.size() && bytes.size() <= frame_.size() - (at - begin)) {
    shown.in_frame = true;
    shown.offset = static_cast<uint32_t>(at - begin);
  } else {
    shown.copy = store_.Keep(bytes);
  }
  return shown;
}

void RecordStoreBuilder::OnConnection(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  ConnectionRecord& shared = *Remember(connection);
  shared.endpoint = connection.info.endpoint;
  for (const Side side : {Side{0}, Side{1}}) {
    shared.threshold[side] = connection.threshold(side);
    shared.setup_frame[side] = static_cast<uint32_t>(connection.setup[side].frame.number);
  }
  shared.remote_invalidation = connection.remote_invalidation();
  if (event.kind() != fabric::EventKind::kSetup) return;
  SetupRecord* record = store_.arena().New<SetupRecord>();
  record->connection = &shared;
  record->frame = event.frame;
  record->from = event.from;
  record->direction = DirectionOf(connection, event.from);
  const fabric::Setup& setup = event.setup();
  record->message = setup.message;
  record->reject_reason = setup.reject_reason;
  record->private_data = Show(setup.private_data);
  record->truncated = setup.private_data_truncated;
  record->search = rpcrdma::FindPrivateData(setup.private_data);
  if (connection.client_known) {
    const Side client = connection.client;
    record->client_to_server = connection.threshold(client);
    record->server_to_client = connection.threshold(static_cast<Side>(1 - client));
  }
  record->remote_invalidation = connection.remote_invalidation();
  store_.RareAt(Now(connection)).setups.Append(record);
}

HeaderRecord RecordStoreBuilder::HeaderOf(const rpcrdma::Header& header) {
  HeaderRecord record;
  record.status = header.status;
  record.defect = header.defect;
  record.words = header.words;
  record.error_range = header.error_range;
  record.defect_offset = header.defect_offset;
  record.length = header.length;
  record.xid = header.xid;
  record.vers = header.vers;
  record.credit = header.credit;
  record.proc = header.proc;
  record.err = header.err;
  record.vers_low = header.vers_low;
  record.vers_high = header.vers_high;
  record.bad_discriminator = header.bad_discriminator;
  record.reads = store_.arena().Copy(header.reads);
  record.write_chunks = store_.arena().Copy(header.write_chunks);
  record.reply_chunk = header.reply_chunk;
  record.segments = store_.arena().Copy(header.segments);
  return record;
}

// Few sequences of operations make up most COMPOUNDs: the text of each is made once.
const std::string* RecordStoreBuilder::NamesOf(const std::vector<session::Operation>& operations, bool callback) {
  constexpr size_t kMostNamed = 16;
  const size_t named = std::min(operations.size(), kMostNamed);
  const bool more = operations.size() > kMostNamed;
  std::array<uint32_t, kMostNamed + 1> key{};
  for (size_t i = 0; i < named; ++i) key[i] = operations[i].op;
  key[named] = (callback ? 1 : 0) + (more ? 2 : 0);
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), (named + 1) * sizeof key[0]);
  if (const auto found = operation_names_.find(bytes); found != operation_names_.end()) return found->second;
  std::string names;
  for (size_t i = 0; i < named; ++i) {
    const char* name = callback ? nfs::CallbackOperationName(key[i]) : nfs::OperationName(key[i]);
    if (i > 0) names += ' ';
    names += name ? name : std::to_string(key[i]);
  }
  if (more) names += " ...";
  return operation_names_.emplace(bytes, store_.Share(names)).first->second;
}

void RecordStoreBuilder::NoteProcedure(const session::Transaction& transaction, TransactionRecord& record) {
  if (transaction.call.rpc.words < 6) return;
  record.rpc_known = true;
  record.program = transaction.call.rpc.program;
  record.version = transaction.call.rpc.version;
  record.procedure = transaction.call.rpc.procedure;
  // The operations are shown from the frame on at which the Call is complete.
  if (record.operations || !transaction.call.ready || transaction.operations.empty()) return;
  const bool callback = nfs::IsCallbackProgram(record.program);
  record.operations = NamesOf(transaction.operations, callback);
  record.main_operation = MainOperation(transaction.operations, callback);
}

void RecordStoreBuilder::RecordInvalidation(const session::Connection& connection,
                                            const session::Transaction* transaction, MessageRecord& record,
                                            uint64_t frame) {
  if (!record.invalidated) return;
  if (record.role != Role::kReply && record.role != Role::kError) {
    record.invalidation = record.role == Role::kUnknown ? Invalidation::kNoCall : Invalidation::kOnCall;
    return;
  }
  if (!transaction) {
    record.invalidation = Invalidation::kNoCall;
    return;
  }
  const auto found = std::find_if(transaction->call.segments.begin(), transaction->call.segments.end(),
                                  [&](const auto& s) { return s.segment.handle == *record.invalidated; });
  if (found == transaction->call.segments.end()) {
    record.invalidation = Invalidation::kNotOffered;
    return;
  }
  const std::optional<bool> agreed = connection.remote_invalidation();
  record.invalidation = !agreed ? Invalidation::kUnknown : *agreed ? Invalidation::kAllowed : Invalidation::kNotAgreed;
  record.invalidated_segment = static_cast<uint32_t>(found - transaction->call.segments.begin());
  TransactionRecord& shared = store_.Transaction(transaction->serial);
  shared.invalidated_at = static_cast<uint32_t>(frame);
  shared.invalidated_segment = record.invalidated_segment;
}

void RecordStoreBuilder::OnMessage(const session::Connection& connection, const session::Message& message,
                                   const session::Transaction* transaction) {
  if (!IsOurs(connection)) return;
  if (message.again && transaction) return Pair(connection, message, *transaction);
  MessageRecord* record = store_.arena().New<MessageRecord>();
  record->connection = Remember(connection);
  record->frame = message.frame;
  record->first_frame = message.first_frame;
  record->from = message.from;
  record->direction = DirectionOf(connection, message.from);
  record->role = message.role;
  record->orphan = message.orphan;
  record->repeated = message.repeated;
  record->bytes = Show(message.bytes);
  record->length = message.length;
  record->missing = message.missing;
  record->threshold = connection.threshold(message.from);
  record->invalidated = message.invalidated;
  record->header = HeaderOf(message.header);

  const uint64_t now = Now(connection);
  if (transaction) {
    Link(connection, message, *transaction, *record, now);
  } else {
    RecordInvalidation(connection, nullptr, *record, now);
  }
  if (message.frame.number < now) {
    store_.RareAt(message.frame.number)
        .shown_in.Append(store_.arena().New<LaterRecord>(nullptr, static_cast<uint32_t>(now)));
  }
  store_.MessagesAt(now).messages.Append(record);
  if (message.early) early_[connection.info.id] = {record, now};
  if (message.role != Role::kReply || message.early) return;
  if (!transaction || !transaction->reply.present) {
    RecordOrphan(message, *record, now);
  } else if (transaction->reply.read_chunks.empty()) {
    RecordReply(connection, *transaction, record);
  }
}

void RecordStoreBuilder::Link(const session::Connection& connection, const session::Message& message,
                              const session::Transaction& transaction, MessageRecord& record, uint64_t frame) {
  RecordInvalidation(connection, &transaction, record, frame);
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  record.transaction = &shared;
  record.backward = transaction.backward;
  shared.xid = transaction.xid;
  shared.backward = transaction.backward;
  shared.call_frame = transaction.call.frame;
  NoteProcedure(transaction, shared);
  const session::CreditState& credits = connection.credits[transaction.requester];
  if (message.role == Role::kCall) {
    record.outstanding = credits.outstanding + 1;
    if (credits.granted.any) record.granted = credits.granted.last;
    record.call_form = shared.call_form = transaction.call.form;
    shared.call = &record;
    shared.call_shown_at = static_cast<uint32_t>(frame);
    // The Call may already have been given out as complete.
    for (RpcRecord& rpc : store_.MessagesAt(frame).rpcs) {
      if (rpc.call && rpc.transaction == &shared) rpc.message = &record;
    }
  } else if (message.role == Role::kReply || message.role == Role::kError) {
    record.outstanding = credits.outstanding - std::min(credits.outstanding, 1u);
    record.reply_form = transaction.reply.form;
    shared.phases = store_.arena().New<session::PhaseFrames>(session::PhaseFramesOf(transaction));
    record.phases = shared.phases;
    shared.reply_shown_at = static_cast<uint32_t>(frame);
    shared.reply_frame = message.frame;
  }
}

// The message stays where it is. The rebuilt RPC stands behind its Call, where Wireshark's dissectors know that.
void RecordStoreBuilder::Pair(const session::Connection& connection, const session::Message& message,
                              const session::Transaction& transaction) {
  const auto early = early_.find(connection.info.id);
  if (early == early_.end()) return;
  auto& [record, frame] = early->second;
  record->orphan = false;
  record->repeated = message.repeated;
  Link(connection, message, transaction, *record, frame);
  early_.erase(early);
  if (message.role == Role::kReply && transaction.reply.present && transaction.reply.read_chunks.empty())
    RecordReply(connection, transaction, nullptr);
}

void RecordStoreBuilder::OnOrphan(const session::Connection& connection, const session::Message& message) {
  const auto early = early_.find(connection.info.id);
  if (early == early_.end()) return;
  if (message.role == Role::kReply) RecordOrphan(message, *early->second.first, early->second.second);
  early_.erase(early);
}

void RecordStoreBuilder::OnConnectionClosed(const session::Connection& connection, const fabric::Event&) {
  early_.erase(connection.info.id);
}

void RecordStoreBuilder::RecordOrphan(const session::Message& message, const MessageRecord& record, uint64_t frame) {
  RpcRecord* rpc = store_.arena().New<RpcRecord>();
  rpc->connection = record.connection;
  rpc->transaction = record.transaction;
  rpc->from = message.from;
  rpc->sent = message.frame;
  rpc->message = &record;
  if (message.header.status == ParseStatus::kOk && message.header.proc == rpcrdma::kMsg &&
      !ReturnsData(message.header) && record.bytes.available() && !message.payload.empty() &&
      message.payload.size() == message.payload_length) {
    rpc->inline_bytes = true;
    rpc->inline_offset = message.header.length;
    rpc->length = static_cast<uint32_t>(message.payload.size());
  } else {
    rpc->withheld = Withheld::kIncomplete;
    rpc->defect = session::RebuildDefect::kNoCall;
  }
  store_.MessagesAt(frame).rpcs.Append(rpc);
}

void RecordStoreBuilder::RecordReply(const session::Connection& connection, const session::Transaction& transaction,
                                     const MessageRecord* message) {
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  shared.reply_rebuilt = true;
  RpcRecord* rpc = store_.arena().New<RpcRecord>();
  rpc->connection = Remember(connection);
  rpc->transaction = &shared;
  rpc->from = static_cast<Side>(1 - transaction.requester);
  rpc->sent = transaction.reply.frame;
  rpc->message = message;
  Rebuild(transaction, transaction.reply, *rpc);
  shared.rpc_reply = rpc;
  store_.MessagesAt(Now(connection)).rpcs.Append(rpc);
}

void RecordStoreBuilder::OnTransaction(const session::Connection& connection, const session::Transaction& transaction) {
  if (!IsOurs(connection)) return;
  // A Reply whose bytes the client had to read (legacy Read-Read) is complete only now.
  if (!transaction.reply.read_chunks.empty() && transaction.reply.present &&
      !store_.Transaction(transaction.serial).reply_rebuilt) {
    RecordReply(connection, transaction, nullptr);
  }
  RecordFiles(connection, transaction);
}

void RecordStoreBuilder::OnCallComplete(const session::Connection& connection,
                                        const session::Transaction& transaction) {
  if (!IsOurs(connection) || !transaction.call.present) return;
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  NoteProcedure(transaction, shared);
  FrameRecord::Messages& frame = store_.MessagesAt(Now(connection));
  RpcRecord* rpc = store_.arena().New<RpcRecord>();
  rpc->connection = Remember(connection);
  rpc->transaction = &shared;
  rpc->call = true;
  rpc->from = transaction.requester;
  rpc->sent = transaction.call.frame;
  for (const MessageRecord& message : frame.messages) {
    if (message.role == Role::kCall && message.transaction == &shared) rpc->message = &message;
  }
  Rebuild(transaction, transaction.call, *rpc);
  if (rpc->withheld == Withheld::kNothing) shared.rpc_call_frame = static_cast<uint32_t>(Now(connection));
  shared.rpc_call = rpc;
  frame.rpcs.Append(rpc);
}

const std::byte* RecordStoreBuilder::Copy(const session::Transaction& transaction, const session::Payload& payload,
                                          uint64_t offset, uint64_t length) {
  bool kept = true;
  const bool inside = transaction.ForEach(payload, offset, length,
                                          [&kept](Bytes bytes, uint64_t count) { kept &= bytes.size() == count; });
  std::byte* const copy = inside && kept ? store_.NewBytes(length) : nullptr;
  if (!copy) return nullptr;
  std::byte* to = copy;
  transaction.ForEach(payload, offset, length,
                      [&to](Bytes bytes, uint64_t) { to = std::copy(bytes.begin(), bytes.end(), to); });
  return copy;
}

void RecordStoreBuilder::Rebuild(const session::Transaction& transaction, const session::Payload& payload,
                                 RpcRecord& rpc) {
  rpc.defect = payload.defect;
  if (!payload.complete) {
    const bool known_bytes = payload.defect == session::RebuildDefect::kNone;
    rpc.withheld = known_bytes ? Withheld::kIncomplete : Withheld::kUndecodable;
    return;
  }
  if (rpc.message && IsInline(payload, *rpc.message)) {
    rpc.inline_bytes = true;
    rpc.inline_offset = rpc.message->header.length;
    rpc.length = static_cast<uint32_t>(payload.length);
    return;
  }
  if (!reassemble_) {
    rpc.withheld = Withheld::kSwitchedOff;
    return;
  }
  constexpr uint64_t kLongest = std::numeric_limits<int32_t>::max();  // of a tvbuff
  if (payload.length <= kLongest) rpc.bytes = Copy(transaction, payload, 0, payload.length);
  if (rpc.bytes) {
    rpc.length = static_cast<uint32_t>(payload.length);
  } else {
    rpc.withheld = Withheld::kMemory;
  }
}

}  // namespace stag::plugin
