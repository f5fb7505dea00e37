// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDMA operations, lost packets and refusals, findings, and file contents.
#include <algorithm>
#include <limits>

#include "plugin/record_store_builder.h"
#include "protocol/ib/transport.h"

namespace stag::plugin {
namespace {

using session::ListKind;

uint32_t Narrow(uint64_t length) {
  return static_cast<uint32_t>(std::min<uint64_t>(length, std::numeric_limits<uint32_t>::max()));
}

// Index of `segment` in `all`, when it is in there.
std::optional<size_t> IndexOf(const session::SegmentRecord* segment,
                              const session::Reused<session::SegmentRecord>& all) {
  const auto begin = reinterpret_cast<uintptr_t>(all.begin());
  const auto at = reinterpret_cast<uintptr_t>(segment);
  if (all.empty() || at < begin || at - begin >= all.size() * sizeof(session::SegmentRecord)) return std::nullopt;
  return static_cast<size_t>(segment - all.begin());
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

// The list of one of `count` segments.
TransactionRecord::Moves& At(std::span<TransactionRecord::Moves>& moves, size_t index, size_t count, Arena& arena) {
  if (moves.size() < count) {
    const std::span<TransactionRecord::Moves> more = arena.NewArray<TransactionRecord::Moves>(count);
    std::copy(moves.begin(), moves.end(), more.begin());
    moves = more;
  }
  return moves[index];
}

}  // namespace

TransactionRecord::Moves* RecordStoreBuilder::FindSegment(const session::RdmaOperation& operation,
                                                          OperationRecord& record) {
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
    record.segment = static_cast<uint32_t>(*found - std::min(*found, FirstOfChunk(transaction, segment)));
    record.has_segment = true;
    return &At(shared->moves, *found, transaction.call.segments.size(), store_.arena());
  }
  if (const auto found = IndexOf(&segment, transaction.reply.segments)) {
    record.of_reply = record.has_segment = true;
    record.segment = static_cast<uint32_t>(*found);
    return &At(shared->reply_moves, *found, transaction.reply.segments.size(), store_.arena());
  }
  return nullptr;
}

void RecordStoreBuilder::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  if (!IsOurs(connection)) return;
  const fabric::Event& event = *operation.event;
  OperationRecord record;
  record.connection = Remember(connection);
  record.kind = event.kind();
  record.from = event.from;
  record.direction = DirectionOf(connection, event.from);
  record.frame = static_cast<uint32_t>(event.frame.number);
  const fabric::RdmaPacket& packet = event.rdma();
  record.handle = packet.handle;
  record.offset = packet.offset;
  record.length = Narrow(packet.length);
  record.overrun = operation.overrun;
  TransactionRecord::Moves* moves = FindSegment(operation, record);
  List<OperationRecord>& operations = store_.At(Now(connection)).operations;
  OperationRecord* last = operations.empty() ? nullptr : &operations.back();
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
  OperationRecord* kept = store_.arena().New<OperationRecord>(record);
  operations.Append(kept);
  if (moves) moves->Append(kept);
}

NoteRecord& RecordStoreBuilder::AddNote(const session::Connection& connection, const fabric::Event& event) {
  NoteRecord* record = store_.arena().New<NoteRecord>();
  record->connection = Remember(connection);
  record->frame = event.frame;
  record->from = event.from;
  record->direction = DirectionOf(connection, event.from);
  store_.RareAt(Now(connection)).notes.Append(record);
  return *record;
}

void RecordStoreBuilder::OnNak(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord& record = AddNote(connection, event);
  record.nak = event.nak().kind;
  record.refused_frame = event.nak().refused.number;
}

void RecordStoreBuilder::OnGap(const session::Connection& connection, const fabric::Event& event) {
  if (!IsOurs(connection)) return;
  NoteRecord& record = AddNote(connection, event);
  record.gap = true;
  record.gap_size = event.gap().size;
}

// Of connections that are known to be RPC-over-RDMA; of packets that waited for others nothing is shown.
void RecordStoreBuilder::OnNote(const fabric::ConnectionInfo& info, const transport::Note& note) {
  using Kind = transport::Note::Kind;
  const bool shown = note.kind == Kind::kRetransmission || note.kind == Kind::kRepeatedResponse ||
                     note.kind == Kind::kOutOfOrder || note.kind == Kind::kRnrEnd ||
                     (note.kind == Kind::kNak && ib::KindOf(note.syndrome) == ib::AethKind::kRnrNak);
  if (!shown || note.frame.number != number_) return;
  const ConnectionRecord* const connection = store_.FindConnection(info.id);
  if (!connection || connection->id == 0) return;
  TransportRecord* const record = store_.arena().New<TransportRecord>();
  record->connection = connection;
  record->from = note.from;
  if (connection->client)
    record->direction = *connection->client == note.from ? Direction::kClientToServer : Direction::kServerToClient;
  record->note = note;
  store_.RareAt(number_).transport.Append(record);
}

std::span<const std::string* const> RecordStoreBuilder::SpecificationsOf(const conformance::RuleInfo& rule,
                                                                         conformance::Profile profile) {
  const auto [entry, added] = sources_.try_emplace({&rule, profile});
  if (added) {
    std::vector<const std::string*> shared;
    for (const std::string& source : conformance::Specifications(rule, profile)) {
      shared.push_back(store_.Share(source));
    }
    entry->second = store_.arena().Copy(shared);
  }
  return entry->second;
}

void RecordStoreBuilder::OnFinding(const conformance::Finding& finding) {
  FindingRecord* record = store_.arena().New<FindingRecord>();
  record->rule = finding.rule;
  record->severity = finding.severity;
  record->certainty = finding.certainty;
  record->frame = static_cast<uint32_t>(finding.frame.number);
  record->proven_frame = static_cast<uint32_t>(finding.proven.number);
  record->connection = finding.connection;
  record->client_to_server = finding.client_to_server;
  record->xid = finding.xid;
  record->message = store_.Share(MessageText(finding));
  record->expected = store_.Share(finding.expected);
  record->actual = store_.Share(finding.actual);
  record->specifications = SpecificationsOf(*finding.rule, finding.profile);
  record->related_frames = store_.arena().Copy(finding.related_frames);
  record->see_also = store_.arena().Copy(finding.see_also);
  store_.RareAt(finding.proven.number).proven.Append(record);
  store_.RareAt(finding.frame.number).offending.Append(record);
}

void RecordStoreBuilder::KeepContents(const session::Transaction& transaction, const session::FileAccess& access,
                                      const RpcRecord* rpc, FileRecord& record) {
  const uint64_t at = access.item->unreduced_offset, length = access.item->item.length;
  const bool in_rpc = rpc && rpc->bytes && at <= rpc->length && length <= rpc->length - at;
  record.data = in_rpc ? rpc->bytes + at : Copy(transaction, *access.payload, at, length);
  if (record.data) record.length = static_cast<uint32_t>(length);
}

void RecordStoreBuilder::RecordFiles(const session::Connection& connection, const session::Transaction& transaction) {
  const TransactionRecord* shared = store_.FindTransaction(transaction.serial);
  if (!shared) return;
  files_.Collect(transaction);
  const auto share = [this](Bytes bytes) {
    return store_.Share({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const auto add = [&](Bytes handle) {
    FileRecord* record = store_.arena().New<FileRecord>();
    record->server = connection.info.endpoint[1 - transaction.requester].address;
    record->handle = share(handle);
    store_.RareAt(Now(connection)).files.Append(record);
    return record;
  };
  for (const session::NamedHandle& named : files_.names()) add(named.handle)->name = share(named.name);
  for (const session::FileAccess& access : files_.accesses()) {
    if (access.handle.empty()) continue;
    FileRecord* record = add(access.handle);
    record->write = access.write;
    record->offset = access.offset;
    if (access.item && access.item->complete && access.payload->complete) {
      const bool of_call = access.payload == &transaction.call;
      KeepContents(transaction, access, of_call ? shared->rpc_call : shared->rpc_reply, *record);
    }
  }
}

}  // namespace stag::plugin
