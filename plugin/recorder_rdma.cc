// SPDX-License-Identifier: GPL-2.0-or-later
//
// The Recorder's other half: RDMA operations, lost packets and refusals, findings, and file contents.
#include <algorithm>
#include <limits>

#include "plugin/recorder.h"

namespace stag::plugin {
namespace {

using session::ListKind;

bool IsOurs(const session::Connection& connection) { return connection.proof == session::Proof::kRpcRdma; }

uint32_t Narrow(uint64_t length) {
  return static_cast<uint32_t>(std::min<uint64_t>(length, std::numeric_limits<uint32_t>::max()));
}

// Index of `segment` in `all`, when it is in there.
std::optional<size_t> IndexOf(const session::SegmentRecord* segment, const std::vector<session::SegmentRecord>& all) {
  const auto begin = reinterpret_cast<uintptr_t>(all.data());
  const auto at = reinterpret_cast<uintptr_t>(segment);
  if (all.empty() || at < begin || at - begin >= all.size() * sizeof(session::SegmentRecord)) return std::nullopt;
  return static_cast<size_t>(segment - all.data());
}

// The first segment record of the list, or of the Write chunk, that `segment` is in.
size_t FirstOfChunk(const session::Transaction& transaction, const session::SegmentRecord& segment) {
  const rpcrdma::Header& call = transaction.call.header;
  switch (segment.list) {
    case ListKind::kReadList: break;
    case ListKind::kWriteList:
      if (segment.chunk < call.write_chunks.size())
        return transaction.SegmentIndex(call.write_chunks[segment.chunk], 0);
      break;
    case ListKind::kReplyChunk:
      if (call.reply_chunk) return transaction.SegmentIndex(*call.reply_chunk, 0);
      break;
  }
  return 0;
}

}  // namespace

std::vector<TransactionRecord::Moves>* Recorder::FindSegment(const session::RdmaOperation& operation,
                                                             OperationRecord& record, size_t* index) {
  if (!operation.transaction) return nullptr;
  const session::Transaction& transaction = *operation.transaction;
  TransactionRecord* shared = store_.FindTransaction(transaction.serial);
  record.transaction = shared;
  if (!operation.segment || !shared) return nullptr;
  const session::SegmentRecord& segment = *operation.segment;
  record.list = segment.list;
  record.chunk = segment.chunk;
  record.position = segment.position;
  record.segment_offset = operation.segment_offset;
  if (const auto found = IndexOf(&segment, transaction.call.segments)) {
    *index = *found;
    record.segment = static_cast<uint32_t>(*found - std::min(*found, FirstOfChunk(transaction, segment)));
    record.has_segment = true;
    shared->moves.resize(transaction.call.segments.size());
    return &shared->moves;
  }
  if (const auto found = IndexOf(&segment, transaction.reply.segments)) {
    *index = *found;
    record.of_reply = record.has_segment = true;
    record.segment = static_cast<uint32_t>(*found);
    shared->reply_moves.resize(transaction.reply.segments.size());
    return &shared->reply_moves;
  }
  return nullptr;
}

void Recorder::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  if (!IsOurs(connection)) return;
  const fabric::Event& event = *operation.event;
  OperationRecord record;
  record.connection = Remember(connection);
  record.kind = event.kind;
  record.from = event.from;
  record.direction = DirectionOf(connection, event.from);
  record.frame = static_cast<uint32_t>(event.frame.number);
  record.handle = event.handle;
  record.offset = event.offset;
  record.length = Narrow(event.length);
  record.overrun = operation.overrun;
  size_t segment = 0;
  std::vector<TransactionRecord::Moves>* moves = FindSegment(operation, record, &segment);
  Operations& operations = Now(connection).operations;
  OperationRecord* last = operations.back();
  const bool continues = last && last->kind == record.kind && last->connection == record.connection &&
                         last->transaction == record.transaction && last->handle == record.handle &&
                         last->kind != fabric::EventKind::kReadRequest && last->segment == record.segment &&
                         last->list == record.list && last->offset + last->length == record.offset &&
                         last->frame == record.frame;
  if (continues) {
    last->length += record.length;
    last->overrun = last->overrun || record.overrun;
    return;
  }
  OperationRecord* kept = store_.NewOperation(record);
  operations.Append(kept);
  if (moves) (*moves)[segment].push_back(kept);
}

void Recorder::OnNak(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord record;
  record.connection = Remember(connection);
  record.frame = event.frame;
  record.from = event.from;
  record.direction = DirectionOf(connection, event.from);
  record.nak = event.nak;
  record.refused_frame = event.refused.number;
  Now(connection).MakeRare().notes.push_back(record);
}

void Recorder::OnGap(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord record;
  record.connection = Remember(connection);
  record.frame = event.frame;
  record.from = event.from;
  record.direction = DirectionOf(connection, event.from);
  record.gap = true;
  record.gap_size = event.gap_size;
  Now(connection).MakeRare().notes.push_back(record);
}

void Recorder::OnFinding(const conformance::Finding& finding) {
  auto record = std::make_unique<FindingRecord>();
  record->rule = finding.rule;
  record->severity = finding.severity;
  record->connection = finding.connection;
  record->client_to_server = finding.client_to_server;
  record->xid = finding.xid;
  record->message = store_.Share(finding.message);
  record->expected = store_.Share(finding.expected);
  record->actual = store_.Share(finding.actual);
  for (const std::string& source : conformance::Specifications(*finding.rule, finding.profile)) {
    record->specifications.push_back(store_.Share(source));
  }
  for (const uint64_t frame : finding.related_frames) record->related_frames.push_back(static_cast<uint32_t>(frame));
  record->see_also = finding.see_also;
  store_.At(finding.frame.number).MakeRare().findings.push_back(std::move(record));
}

void Recorder::KeepContents(const session::Transaction& transaction, const session::FileAccess& access,
                            const RpcRecord* rpc, FileRecord& record) {
  const uint64_t at = access.item->unreduced_offset, length = access.item->item.length;
  if (rpc && rpc->bytes && at <= rpc->length && length <= rpc->length - at) {
    record.rpc = rpc;
    record.at = static_cast<uint32_t>(at);
    record.length = static_cast<uint32_t>(length);
    return;
  }
  flat_.clear();
  bool kept = true;
  const bool inside = transaction.ForEach(*access.payload, at, length, [&](Bytes bytes, uint64_t count) {
    kept = kept && bytes.size() == count;
    flat_.insert(flat_.end(), bytes.begin(), bytes.end());
  });
  if (inside && kept) record.copy = store_.Keep(flat_);
  if (record.copy) record.length = static_cast<uint32_t>(flat_.size());
}

void Recorder::RecordFiles(const session::Connection& connection, const session::Transaction& transaction) {
  const TransactionRecord* shared = store_.FindTransaction(transaction.serial);
  if (!shared) return;
  files_.Collect(transaction);
  if (files_.names().empty() && files_.accesses().empty()) return;
  const Address& server = connection.info.endpoint[1 - transaction.requester].address;
  const auto text = [](Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  const auto add = [&](std::unique_ptr<FileRecord> record) {
    record->server = server;
    Now(connection).MakeRare().files.push_back(std::move(record));
  };
  for (const session::NamedHandle& named : files_.names()) {
    auto record = std::make_unique<FileRecord>();
    record->handle = text(named.handle);
    record->name = text(named.name);
    add(std::move(record));
  }
  for (const session::FileAccess& access : files_.accesses()) {
    if (access.handle.empty()) continue;
    auto record = std::make_unique<FileRecord>();
    record->handle = text(access.handle);
    record->write = access.write;
    record->offset = access.offset;
    if (access.item && access.item->complete && access.payload->complete) {
      const bool of_call = access.payload == &transaction.call;
      KeepContents(transaction, access, of_call ? shared->rpc_call : shared->rpc_reply, *record);
    }
    add(std::move(record));
  }
}

}  // namespace stag::plugin
