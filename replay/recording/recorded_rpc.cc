// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recording/recorded_rpc.h"

#include <algorithm>

namespace stag::recording {

namespace {

using session::Transaction;

std::string_view Describe(session::RebuildDefect defect) {
  switch (defect) {
    case session::RebuildDefect::kNone: break;
    case session::RebuildDefect::kNoCall: return "its Call was not captured";
    case session::RebuildDefect::kPositionOutside: return "a Read chunk's Position is outside of the message";
    case session::RebuildDefect::kLengthMismatch: return "a chunk and the data in it do not have the same length";
    case session::RebuildDefect::kUndecodable: return "the place of what went by RDMA is not known";
    case session::RebuildDefect::kPadding: return "RDMA_MSGP, and the place of its padding is not known";
  }
  return "bytes of it were not captured";
}

RecordedChunk DescribeChunk(const rpcrdma::Header& call, const rpcrdma::Chunk& chunk, const rpcrdma::Header& reply,
                            const rpcrdma::Chunk* returned) {
  return {chunk.count, call.SizeOf(chunk), returned ? reply.SizeOf(*returned) : 0};
}

void TakeAnswer(const Transaction& t, RecordedRpc& rpc) {
  if (rpc.reply_form == session::ReplyForm::kError) rpc.rdma_error = t.reply.header.err;
  rpc.replied = t.reply.present && t.reply.rpc.status == ParseStatus::kOk;
  if (!rpc.replied) return;
  rpc.denied = t.reply.rpc.reply_stat == rpc::kDenied;
  rpc.accept_stat = t.reply.rpc.accept_stat;
  rpc.has_status = t.reply.walk.has_status;
  rpc.status = t.reply.walk.nfs_status;
}

}  // namespace

RecordedMessage RpcRecorder::Take(const Transaction& t, const session::Payload& payload, PayloadStore& store) {
  RecordedMessage message;
  message.present = payload.present;
  if (!payload.present) return message;
  if (!payload.complete) {
    message.missing = t.outcome == session::Outcome::kEvicted ? "it was given up for lack of memory; see --memory"
                                                              : Describe(payload.defect);
    return message;
  }
  const MutableBytes kept = store.Allocate(payload.length);
  uint64_t done = 0;
  t.ForEach(payload, 0, payload.length, [&](Bytes bytes, uint64_t) {
    if (done + bytes.size() <= kept.size()) std::ranges::copy(bytes, kept.begin() + static_cast<ptrdiff_t>(done));
    done += bytes.size();
  });
  if (done != payload.length) {
    message.missing = "what RDMA moved was given up for lack of memory; see --memory";
    return message;
  }
  message.bytes = kept;
  items_.clear();
  for (const session::DataItem& item : payload.items)
    items_.push_back({item.unreduced_offset, item.item.length, item.item.op_index, item.item.kind, item.reduced});
  message.items = store.Keep(items_);
  return message;
}

// The header and the chunk lists of the Call, and what of these the Reply used.
void RpcRecorder::TakeHeader(const Transaction& t, PayloadStore& store, RecordedRpc& rpc) {
  rpc.xid = t.xid;
  rpc.serial = t.serial;
  rpc.backward = t.backward;
  rpc.call_frame = t.call.frame;
  rpc.known = t.call.rpc.words >= 6;
  if (rpc.known) {
    rpc.program = t.call.rpc.program;
    rpc.version = t.call.rpc.version;
    rpc.procedure = t.call.rpc.procedure;
  }
  rpc.credits = t.call.header.credit;
  rpc.call_form = t.call.form;
  const rpcrdma::Header& call = t.call.header;
  const rpcrdma::Header& reply = t.reply.header;
  read_chunks_.clear();
  for (const session::ReadChunk& chunk : t.call.read_chunks)
    read_chunks_.push_back({chunk.position, static_cast<uint32_t>(chunk.segments.size()), chunk.length});
  rpc.read_chunks = store.Keep(read_chunks_);
  const bool lists = t.reply.present && reply.status == ParseStatus::kOk;
  write_chunks_.clear();
  for (size_t i = 0; i < call.write_chunks.size(); ++i) {
    const bool known = lists && i < reply.write_chunks.size();
    write_chunks_.push_back(DescribeChunk(call, call.write_chunks[i], reply, known ? &reply.write_chunks[i] : nullptr));
  }
  rpc.write_chunks = store.Keep(write_chunks_);
  if (call.reply_chunk)
    rpc.reply_chunk =
        DescribeChunk(call, *call.reply_chunk, reply, lists && reply.reply_chunk ? &*reply.reply_chunk : nullptr);
}

void RpcRecorder::TakeMessage(const Transaction& t, PayloadStore& store, RecordedRpc& rpc) {
  rpc.call = Take(t, t.call, store);
  rpc.call.present = true;
  const ParseStatus status = t.call.header.status;
  if (status == ParseStatus::kMalformed) rpc.call.missing = "its transport header is malformed";
  if (status == ParseStatus::kUnsupported) rpc.call.missing = "its RPC-over-RDMA version is not 1";
  if (status != ParseStatus::kOk) rpc.call.bytes = {};
}

void RpcRecorder::TakeCall(const Transaction& t, PayloadStore& store, RecordedRpc& rpc) {
  TakeMessage(t, store, rpc);
  TakeHeader(t, store, rpc);
  rpc.outcome = session::Outcome::kOutstanding;
}

void RpcRecorder::TakeAll(const Transaction& t, PayloadStore& store, RecordedRpc& rpc) {
  if (rpc.call.bytes.empty()) TakeMessage(t, store, rpc);
  TakeHeader(t, store, rpc);
  rpc.outcome = t.outcome;
  rpc.reply_frame = t.reply.frame;
  rpc.reply = Take(t, t.reply, store);
  rpc.reply_form = t.reply.form;
  TakeAnswer(t, rpc);
}

RecordedConnection Describe(const session::Connection& connection) {
  RecordedConnection out;
  const session::Side client = connection.client, server = client ^ 1;
  out.id = connection.info.id;
  out.fabric = connection.info.fabric;
  out.client = connection.info.endpoint[client];
  out.server = connection.info.endpoint[server];
  const auto private_data = [&](session::Side side) -> std::optional<std::vector<std::byte>> {
    const session::SetupData& setup = connection.setup[side];
    if (!setup.known()) return {};
    const Bytes bytes = setup.meaningful();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  out.client_private_data = private_data(client);
  out.server_private_data = private_data(server);
  const session::CreditState& credits = connection.credits[client];
  if (credits.requested.any) out.max_requested = credits.requested.max;
  if (credits.granted.any) out.max_granted = credits.granted.max;
  out.first_time_ns = connection.first_frame.time_ns;
  out.last_time_ns = connection.last_frame.time_ns;
  return out;
}

}  // namespace stag::recording
