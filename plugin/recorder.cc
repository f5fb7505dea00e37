// SPDX-License-Identifier: GPL-2.0-or-later
//
// Copies out of the Session's transient objects what the rendering of a frame needs, at the moment it is known.
#include "plugin/recorder.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace stag::plugin {
namespace {

using session::ListKind;
using session::Role;

Direction DirectionOf(const session::Connection& connection, Side from) {
  if (!connection.client_known) return Direction::kUnknown;
  return connection.IsClientToServer(from) ? Direction::kClientToServer : Direction::kServerToClient;
}

// Only what is known to be RPC-over-RDMA is shown.
bool IsOurs(const session::Connection& connection) { return connection.proof == session::Proof::kRpcRdma; }

// The rebuilt message is nothing but the inline payload of its Send.
bool IsInline(const session::Payload& payload, const MessageRecord& message) {
  return message.header.proc == rpcrdma::kMsg && message.header.status == ParseStatus::kOk &&
         payload.pieces.size() == 1 && payload.pieces[0].source == session::Piece::Source::kStream &&
         payload.pieces[0].offset == 0 && payload.pieces[0].length == payload.length && message.bytes.available() &&
         message.header.length + payload.length <= message.bytes.length;
}

void NoteProcedure(const session::Transaction& transaction, TransactionRecord& record) {
  if (record.rpc_known || transaction.call_rpc.words < 6) return;
  record.rpc_known = true;
  record.program = transaction.call_rpc.program;
  record.version = transaction.call_rpc.version;
  record.procedure = transaction.call_rpc.procedure;
}

bool ReturnsData(const rpcrdma::Header& header) {
  return !header.reads.empty() ||
         std::any_of(header.segments.begin(), header.segments.end(), [](const auto& s) { return s.length != 0; });
}

}  // namespace

const FrameRecord* Store::Find(uint32_t frame) const { return frame < frames_.size() ? frames_[frame].get() : nullptr; }

FrameRecord& Store::At(uint64_t frame) {
  const auto index = static_cast<size_t>(frame);
  if (index >= frames_.size()) frames_.resize(std::max(index + 1, frames_.size() + frames_.size() / 2));
  if (!frames_[index]) frames_[index] = std::make_unique<FrameRecord>();
  return *frames_[index];
}

void Store::Forget(uint32_t frame) {
  if (frame < frames_.size() && frames_[frame]) forgotten_.push_back(std::move(frames_[frame]));
}

ConnectionRecord& Store::Connection(ConnectionId id) { return connections_[id]; }

TransactionRecord& Store::Transaction(uint64_t serial) { return transactions_[serial]; }

const TransactionRecord* Store::FindTransaction(uint64_t serial) const {
  const auto found = transactions_.find(serial);
  return found == transactions_.end() ? nullptr : &found->second;
}

std::unique_ptr<std::byte[]> Store::Keep(Bytes bytes) {
  if (bytes.size() > limit_ - kept_) return nullptr;
  kept_ += bytes.size();
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

FrameRecord& Recorder::Now(const session::Connection& connection) { return store_.At(connection.now.number); }

const ConnectionRecord* Recorder::Remember(const session::Connection& connection) {
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
  if (!IsOurs(connection) || event.kind != fabric::EventKind::kSetup) return;
  auto record = std::make_unique<SetupRecord>();
  record->connection = Remember(connection);
  record->frame = event.frame;
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
  Now(connection).setups.push_back(std::move(record));
}

void Recorder::OnMessage(const session::Connection& connection, const session::Message& message,
                         const session::Transaction* transaction) {
  if (!IsOurs(connection)) return;
  auto record = std::make_unique<MessageRecord>();
  record->connection = Remember(connection);
  record->frame = message.frame;
  record->first_frame = message.first_frame;
  record->direction = DirectionOf(connection, message.from);
  record->role = message.role;
  record->orphan = message.orphan;
  record->repeated = message.repeated;
  record->bytes = Show(message.bytes);
  record->length = message.length;
  record->missing = message.missing;
  record->invalidated = message.invalidated;
  record->header = message.header;

  FrameRecord& frame = Now(connection);
  const auto now = static_cast<uint32_t>(connection.now.number);
  if (transaction) {
    TransactionRecord& shared = store_.Transaction(transaction->serial);
    record->transaction = &shared;
    record->backward = transaction->backward;
    shared.xid = transaction->xid;
    shared.backward = transaction->backward;
    shared.call_frame = transaction->call_frame;
    NoteProcedure(*transaction, shared);
    if (message.role == Role::kCall) {
      record->call_form = transaction->call_form;
      shared.call = record.get();
      shared.call_shown_at = now;
      // The Call may already have been given out as complete.
      for (const auto& rpc : frame.rpcs) {
        if (rpc->call && rpc->transaction == &shared) rpc->message = record.get();
      }
    } else if (message.role == Role::kReply || message.role == Role::kError) {
      record->reply_form = transaction->reply_form;
      shared.reply_shown_at = now;
      shared.reply_frame = message.frame;
    }
  }
  if (message.frame.number < now) store_.At(message.frame.number).shown_in.push_back(now);
  frame.messages.push_back(std::move(record));
  if (message.role != Role::kReply) return;
  if (!transaction || !transaction->reply.present) {
    RecordOrphan(connection, message, *frame.messages.back());
  } else if (transaction->reply_read_chunks.empty()) {
    RecordReply(connection, *transaction, frame.messages.back().get());
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
  Now(connection).rpcs.push_back(std::move(rpc));
}

void Recorder::RecordReply(const session::Connection& connection, const session::Transaction& transaction,
                           const MessageRecord* message) {
  TransactionRecord& shared = store_.Transaction(transaction.serial);
  shared.reply_rebuilt = true;
  auto rpc = std::make_unique<RpcRecord>();
  rpc->connection = Remember(connection);
  rpc->transaction = &shared;
  rpc->from = static_cast<Side>(1 - transaction.requester);
  rpc->sent = transaction.reply_frame;
  rpc->message = message;
  Rebuild(transaction, transaction.reply, *rpc);
  Now(connection).rpcs.push_back(std::move(rpc));
}

// A Reply whose bytes the client had to read (legacy Read-Read) is complete only now.
void Recorder::OnTransaction(const session::Connection& connection, const session::Transaction& transaction) {
  if (!IsOurs(connection) || transaction.reply_read_chunks.empty() || !transaction.reply.present) return;
  if (!store_.Transaction(transaction.serial).reply_rebuilt) RecordReply(connection, transaction, nullptr);
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
  rpc->sent = transaction.call_frame;
  for (const auto& message : frame.messages) {
    if (message->role == Role::kCall && message->transaction == &shared) rpc->message = message.get();
  }
  Rebuild(transaction, transaction.call, *rpc);
  if (rpc->withheld == Withheld::kNothing) shared.rpc_call_frame = static_cast<uint32_t>(connection.now.number);
  frame.rpcs.push_back(std::move(rpc));
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

void Recorder::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  if (!IsOurs(connection)) return;
  const fabric::Event& event = *operation.event;
  OperationRecord record;
  record.connection = Remember(connection);
  record.kind = event.kind;
  record.direction = DirectionOf(connection, event.from);
  record.frame = event.frame;
  record.handle = event.handle;
  record.offset = event.offset;
  record.length = event.length;
  record.overrun = operation.overrun;
  record.retired = operation.retired;
  if (operation.transaction) {
    const session::Transaction& transaction = *operation.transaction;
    record.transaction = store_.FindTransaction(transaction.serial);
    if (operation.segment) {
      const session::SegmentRecord& segment = *operation.segment;
      record.has_segment = true;
      record.list = segment.list;
      record.chunk = segment.chunk;
      record.position = segment.position;
      record.segment_offset = operation.segment_offset;
      const auto at = [&](const std::vector<session::SegmentRecord>& all) -> std::optional<size_t> {
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return &s == &segment; });
        return found == all.end() ? std::nullopt : std::optional(static_cast<size_t>(found - all.begin()));
      };
      if (const auto index = at(transaction.segments)) {
        const rpcrdma::Header& call = transaction.call_header;
        size_t first = 0;
        if (segment.list == ListKind::kWriteList && segment.chunk < call.write_chunks.size()) {
          first = call.reads.size() + call.write_chunks[segment.chunk].first;
        } else if (segment.list == ListKind::kReplyChunk && call.reply_chunk) {
          first = call.reads.size() + call.reply_chunk->first;
        }
        record.segment = static_cast<uint32_t>(*index - std::min(*index, first));
      } else if (const auto reply_index = at(transaction.reply_segments)) {
        record.of_reply = true;
        record.segment = static_cast<uint32_t>(*reply_index);
      } else {
        record.has_segment = false;
      }
    }
  }
  auto& operations = Now(connection).operations;
  if (!operations.empty()) {
    OperationRecord& last = operations.back();
    const bool continues = last.kind == record.kind && last.connection == record.connection &&
                           last.transaction == record.transaction && last.handle == record.handle &&
                           last.kind != fabric::EventKind::kReadRequest && last.segment == record.segment &&
                           last.list == record.list && last.offset + last.length == record.offset;
    if (continues) {
      last.length += record.length;
      last.overrun = last.overrun || record.overrun;
      return;
    }
  }
  operations.push_back(record);
}

void Recorder::OnNak(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord record;
  record.connection = Remember(connection);
  record.frame = event.frame;
  record.direction = DirectionOf(connection, event.from);
  record.nak = event.nak;
  record.refused_frame = event.refused.number;
  Now(connection).notes.push_back(record);
}

void Recorder::OnGap(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord record;
  record.connection = Remember(connection);
  record.frame = event.frame;
  record.direction = DirectionOf(connection, event.from);
  record.gap = true;
  record.gap_size = event.gap_size;
  Now(connection).notes.push_back(record);
}

void Recorder::OnFinding(const conformance::Finding& finding) {
  auto record = std::make_unique<FindingRecord>();
  record->rule = finding.rule;
  record->severity = finding.severity;
  record->connection = finding.connection;
  record->client_to_server = finding.client_to_server;
  record->xid = finding.xid;
  record->message = finding.message;
  record->expected = finding.expected;
  record->actual = finding.actual;
  record->specifications = conformance::Specifications(*finding.rule, finding.profile);
  for (const uint64_t frame : finding.related_frames) record->related_frames.push_back(static_cast<uint32_t>(frame));
  record->see_also = finding.see_also;
  store_.At(finding.frame.number).findings.push_back(std::move(record));
}

}  // namespace stag::plugin
