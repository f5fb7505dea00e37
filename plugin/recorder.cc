// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connections, messages and the RPCs in them. RDMA operations, findings and files: recorder_rdma.cc.
#include "plugin/recorder.h"

#include <algorithm>
#include <limits>

namespace stag::plugin {
namespace {

using session::ListKind;
using session::Role;

// Only what is known to be RPC-over-RDMA is shown.
bool IsOurs(const session::Connection& connection) { return connection.proof == session::Proof::kRpcRdma; }

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

FrameRecord& Recorder::Now(const session::Connection& connection) { return store_.At(connection.now.number); }

ConnectionRecord* Recorder::Remember(const session::Connection& connection) {
  ConnectionRecord& record = store_.Connection(connection.info.id);
  if (record.id != 0) return &record;
  record.id = connection.info.id;
  record.fabric = connection.info.fabric;
  record.endpoint = connection.info.endpoint;
  return &record;
}

ShownBytes Recorder::Show(Bytes bytes) {
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

void Recorder::OnConnection(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  ConnectionRecord& shared = *Remember(connection);
  shared.endpoint = connection.info.endpoint;
  for (const Side side : {Side{0}, Side{1}}) {
    shared.threshold[side] = connection.threshold(side);
    shared.setup_frame[side] = static_cast<uint32_t>(connection.setup[side].frame.number);
  }
  shared.remote_invalidation = connection.remote_invalidation();
  if (event.kind != fabric::EventKind::kSetup) return;
  auto record = std::make_unique<SetupRecord>();
  record->connection = &shared;
  record->frame = event.frame;
  record->from = event.from;
  record->direction = DirectionOf(connection, event.from);
  record->message = event.setup;
  record->reject_reason = event.reject_reason;
  record->private_data = Show(event.private_data);
  record->truncated = event.private_data_truncated;
  record->search = rpcrdma::FindPrivateData(event.private_data);
  if (connection.client_known) {
    const Side client = connection.client;
    record->client_to_server = connection.threshold(client);
    record->server_to_client = connection.threshold(static_cast<Side>(1 - client));
  }
  record->remote_invalidation = connection.remote_invalidation();
  Now(connection).MakeRare().setups.push_back(std::move(record));
}

void Recorder::NoteProcedure(const session::Transaction& transaction, TransactionRecord& record) {
  if (transaction.call.rpc.words < 6) return;
  record.rpc_known = true;
  record.program = transaction.call.rpc.program;
  record.version = transaction.call.rpc.version;
  record.procedure = transaction.call.rpc.procedure;
  if (record.operations || transaction.operations.empty()) return;
  constexpr size_t kMostNamed = 16;
  const bool callback = nfs::IsCallbackProgram(record.program);
  std::string names;
  for (size_t i = 0; i < transaction.operations.size() && i < kMostNamed; ++i) {
    const uint32_t op = transaction.operations[i].op;
    const char* name = callback ? nfs::CallbackOperationName(op) : nfs::OperationName(op);
    if (i > 0) names += ' ';
    names += name ? name : std::to_string(op);
  }
  if (transaction.operations.size() > kMostNamed) names += " ...";
  record.operations = store_.Share(names);
  record.main_operation = MainOperation(transaction.operations, callback);
}

void Recorder::RecordInvalidation(const session::Connection& connection, const session::Transaction* transaction,
                                  MessageRecord& record) {
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
  shared.invalidated_at = static_cast<uint32_t>(connection.now.number);
  shared.invalidated_segment = record.invalidated_segment;
}

void Recorder::OnMessage(const session::Connection& connection, const session::Message& message,
                         const session::Transaction* transaction) {
  if (!IsOurs(connection)) return;
  auto record = std::make_unique<MessageRecord>();
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
  record->header = message.header;
  RecordInvalidation(connection, transaction, *record);

  FrameRecord& frame = Now(connection);
  const auto now = static_cast<uint32_t>(connection.now.number);
  if (transaction) {
    TransactionRecord& shared = store_.Transaction(transaction->serial);
    record->transaction = &shared;
    record->backward = transaction->backward;
    shared.xid = transaction->xid;
    shared.backward = transaction->backward;
    shared.call_frame = transaction->call.frame;
    NoteProcedure(*transaction, shared);
    const session::CreditState& credits = connection.credits[transaction->requester];
    if (message.role == Role::kCall) {
      record->outstanding = credits.outstanding + 1;
      if (credits.granted.any) record->granted = credits.granted.last;
      record->call_form = shared.call_form = transaction->call.form;
      shared.call = record.get();
      shared.call_shown_at = now;
      // The Call may already have been given out as complete.
      for (const auto& rpc : frame.rpcs()) {
        if (rpc->call && rpc->transaction == &shared) rpc->message = record.get();
      }
    } else if (message.role == Role::kReply || message.role == Role::kError) {
      record->outstanding = credits.outstanding - std::min(credits.outstanding, 1u);
      record->reply_form = transaction->reply.form;
      shared.reply_shown_at = now;
      shared.reply_frame = message.frame;
    }
  }
  if (message.frame.number < now) store_.At(message.frame.number).MakeRare().shown_in.push_back(now);
  frame.MakeMessages().push_back(std::move(record));
  if (message.role != Role::kReply) return;
  if (!transaction || !transaction->reply.present) {
    RecordOrphan(connection, message, *frame.messages().back());
  } else if (transaction->reply.read_chunks.empty()) {
    RecordReply(connection, *transaction, frame.messages().back().get());
  }
}

void Recorder::RecordOrphan(const session::Connection& connection, const session::Message& message,
                            const MessageRecord& record) {
  auto rpc = std::make_unique<RpcRecord>();
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
  Now(connection).MakeRpcs().push_back(std::move(rpc));
}

void Recorder::RecordReply(const session::Connection& connection, const session::Transaction& transaction,
                           const MessageRecord* message) {
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  shared.reply_rebuilt = true;
  auto rpc = std::make_unique<RpcRecord>();
  rpc->connection = Remember(connection);
  rpc->transaction = &shared;
  rpc->from = static_cast<Side>(1 - transaction.requester);
  rpc->sent = transaction.reply.frame;
  rpc->message = message;
  Rebuild(transaction, transaction.reply, *rpc);
  shared.rpc_reply = rpc.get();
  Now(connection).MakeRpcs().push_back(std::move(rpc));
}

void Recorder::OnTransaction(const session::Connection& connection, const session::Transaction& transaction) {
  if (!IsOurs(connection)) return;
  // A Reply whose bytes the client had to read (legacy Read-Read) is complete only now.
  if (!transaction.reply.read_chunks.empty() && transaction.reply.present &&
      !store_.Transaction(transaction.serial).reply_rebuilt) {
    RecordReply(connection, transaction, nullptr);
  }
  RecordFiles(connection, transaction);
}

void Recorder::OnCallComplete(const session::Connection& connection, const session::Transaction& transaction) {
  if (!IsOurs(connection) || !transaction.call.present) return;
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  NoteProcedure(transaction, shared);
  FrameRecord& frame = Now(connection);
  auto rpc = std::make_unique<RpcRecord>();
  rpc->connection = Remember(connection);
  rpc->transaction = &shared;
  rpc->call = true;
  rpc->from = transaction.requester;
  rpc->sent = transaction.call.frame;
  for (const auto& message : frame.messages()) {
    if (message->role == Role::kCall && message->transaction == &shared) rpc->message = message.get();
  }
  Rebuild(transaction, transaction.call, *rpc);
  if (rpc->withheld == Withheld::kNothing) shared.rpc_call_frame = static_cast<uint32_t>(connection.now.number);
  shared.rpc_call = rpc.get();
  frame.MakeRpcs().push_back(std::move(rpc));
}

void Recorder::Rebuild(const session::Transaction& transaction, const session::Payload& payload, RpcRecord& rpc) {
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
  if (payload.length <= kLongest && transaction.CopyTo(payload, flat_)) rpc.bytes = store_.Keep(flat_);
  if (rpc.bytes) {
    rpc.length = static_cast<uint32_t>(flat_.size());
  } else {
    rpc.withheld = Withheld::kMemory;
  }
}

}  // namespace stag::plugin
