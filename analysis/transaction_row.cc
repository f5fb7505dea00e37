// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/transaction_row.h"

#include "analysis/transaction_facts.h"
#include "protocol/rpc/message.h"
#include "text/put.h"

namespace stag::analysis {

using session::Transaction;

void PutTransactionId(std::string& out, uint32_t connection, uint64_t number) {
  PutNumber(out, connection);
  out.push_back('.');
  PutNumber(out, number);
}

PhasesRow::PhasesRow(const session::Phases& phases) {
  const auto of = [&phases](session::Phase phase) -> std::optional<results::Duration> {
    return phases[phase] ? std::optional(results::Duration{*phases[phase]}) : std::nullopt;
  };
  to_first_read = of(session::Phase::kToFirstRead);
  pull = of(session::Phase::kPull);
  service = of(session::Phase::kService);
  push = of(session::Phase::kPush);
  finish = of(session::Phase::kFinish);
  recovery = of(session::Phase::kRecovery);
}

const TransactionRow& TransactionRows::Fill(const Transaction& t, int64_t origin_ns) {
  const auto duration = [](const std::optional<int64_t>& ns) {
    return ns ? std::optional(results::Duration{*ns}) : std::nullopt;
  };
  row_.id.clear();
  PutTransactionId(row_.id, t.connection, t.number);
  row_.connection = t.connection;
  row_.time = TimeOf(t.call.frame);
  row_.time_s = SinceStart(t.call.frame, origin_ns);
  row_.reply_time = TimeOf(t.reply.frame);
  row_.reply_time_s = SinceStart(t.reply.frame, origin_ns);
  row_.direction = DirectionOf(!t.backward);
  row_.xid.value = t.xid;
  row_.backward = t.backward;
  row_.call_frame = t.call.frame.number;
  row_.reply_frame = results::NotZero(t.reply.frame.number);
  row_.delivered_frame = {};
  if (t.delivered.number != 0) row_.delivered_frame = t.delivered.number;
  const std::optional<int64_t> rtt = session::RoundTrip(t);
  row_.rtt = duration(rtt);
  FillProcedure(t);
  FillChunks(t);
  FillMessages(t);
  row_.status = t.reply.walk.has_status ? std::optional<uint32_t>(t.reply.walk.nfs_status) : std::nullopt;
  row_.status_name = results::NotEmpty(EndingOf(t).name);
  const session::Phases phases = session::PhasesOf(t);
  row_.phases = rtt ? std::optional(PhasesRow(phases)) : std::nullopt;
  row_.phases_complete = phases.complete;
  return row_;
}

void TransactionRows::FillProcedure(const Transaction& t) {
  row_.program = row_.version = row_.procedure = std::nullopt;
  row_.name.reset();
  if (row_.ops) ops_ = std::move(*row_.ops);
  row_.ops.reset();
  if (!ProcedureKnown(t)) {
    row_.operation.reset();
    return;
  }
  const rpc::CallHeader& call = t.call.rpc;
  row_.program = call.program;
  row_.version = call.version;
  row_.procedure = call.procedure;
  if (const char* name = rpc::ProcedureName(call.program, call.version, call.procedure)) row_.name = name;
  if (!row_.operation) row_.operation.emplace();
  row_.operation->clear();
  PutSubject(*row_.operation, t);
  if (!OperationsKnown(t)) return;
  operations_.clear();
  ends_.clear();
  for (const session::Operation& operation : t.operations) {
    PutOperation(operations_, t, operation.op);
    ends_.push_back(operations_.size());
  }
  row_.ops = std::move(ops_);
  row_.ops->clear();
  size_t begin = 0;
  for (const size_t end : ends_) {
    row_.ops->push_back(std::string_view(operations_).substr(begin, end - begin));
    begin = end;
  }
}

void TransactionRows::FillChunks(const Transaction& t) {
  row_.reply_form = t.reply.form;
  row_.answer = t.answer;
  row_.waited =
      t.waited_ns ? results::Omittable<results::Duration>({*t.waited_ns}) : results::Omittable<results::Duration>();
  row_.call_form.reset();
  row_.reply_chunk.reset();
  if (t.call.header.status != ParseStatus::kOk) {  // another version, or malformed: nobody can read its lists
    row_.read_chunks.reset();
    row_.write_chunks.reset();
    return;
  }
  row_.call_form = t.call.form;
  if (!row_.read_chunks) row_.read_chunks.emplace();
  if (!row_.write_chunks) row_.write_chunks.emplace();
  row_.read_chunks->clear();
  row_.write_chunks->clear();
  for (const session::ReadChunk& chunk : t.call.read_chunks)
    row_.read_chunks->push_back({chunk.position, chunk.segments.size(), chunk.length});
  const rpcrdma::Header& call = t.call.header;
  for (size_t i = 0; i < call.write_chunks.size(); ++i) {
    const rpcrdma::Chunk& chunk = call.write_chunks[i];
    row_.write_chunks->push_back({chunk.count, ChunkBytes(call, chunk), ReturnedInWriteChunk(t, i)});
  }
  if (const auto& chunk = call.reply_chunk)
    row_.reply_chunk = {chunk->count, ChunkBytes(call, *chunk), ReturnedInReplyChunk(t)};
}

void TransactionRows::FillMessages(const Transaction& t) {
  const auto bytes = [](const session::Payload& payload) {
    return payload.complete ? std::optional<uint64_t>(payload.length) : std::nullopt;
  };
  row_.call_complete = t.call.complete;
  row_.reply_complete = t.reply.complete;
  row_.call_bytes = bytes(t.call);
  row_.reply_bytes = bytes(t.reply);
  const DataSummary data = SummarizeData(t);
  row_.data_bytes = data.known ? std::optional<uint64_t>(data.bytes) : std::nullopt;
  if (!sha_) return;
  row_.call_sha256 = HashPayload(*sha_, t, t.call);
  row_.reply_sha256 = HashPayload(*sha_, t, t.reply);
  row_.data_sha256 = data.known && data.any ? HashData(*sha_, t) : std::nullopt;
}

}  // namespace stag::analysis
