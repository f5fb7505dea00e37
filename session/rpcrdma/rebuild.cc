// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/rebuild.h"

#include <algorithm>
#include <numeric>

#include "protocol/base/bytes.h"

namespace stag::session {

namespace {

using nfs::Item;

void Start(Payload& payload) {
  payload.present = true;
  payload.complete = false;
  payload.length = 0;
  payload.defect = RebuildDefect::kNone;
  payload.pieces.clear();
  payload.items.clear();
  payload.walk = {};
}

bool StreamComplete(const Payload& payload) { return payload.stream.size() == payload.stream_length; }

void AddPiece(Payload& payload, Piece::Source source, uint32_t segment, uint64_t offset, uint64_t length) {
  if (length == 0) return;
  payload.pieces.push_back({source, segment, offset, length});
  payload.length += length;
}

void AddPadding(Payload& payload, uint64_t length) {
  AddPiece(payload, Piece::Source::kZero, 0, 0, RoundUp4(length) - length);
}

// The stream as it is: the whole message.
void AddStream(Payload& payload) {
  AddPiece(payload, Piece::Source::kStream, 0, 0, payload.stream_length);
  payload.complete = StreamComplete(payload);
}

// Appends the captured start of the segment `index`, `length` bytes of it. They stay where they are as long as the
// stream is one piece there.
void AppendToStream(const Reused<SegmentRecord>& records, size_t index, uint64_t length, Payload& payload) {
  payload.stream_length += length;
  if (payload.stream.size() + length != payload.stream_length) return;  // a hole came before
  const Bytes data = DataOf(records, index);
  const auto have = std::min({length, records[index].captured.Prefix(0), uint64_t{data.size()}});
  const Bytes bytes = data.first(static_cast<size_t>(have));
  if (payload.stream.empty()) {
    payload.stream = bytes;
    return;
  }
  if (payload.storage.empty() && payload.stream.data() + payload.stream.size() == bytes.data()) {
    payload.stream = {payload.stream.data(), payload.stream.size() + bytes.size()};
    return;
  }
  if (payload.storage.empty()) payload.KeepStream();
  payload.storage.insert(payload.storage.end(), bytes.begin(), bytes.end());
  payload.stream = payload.storage;
}

// Appends `length` bytes of a Read chunk's content as pieces; returns whether all were captured.
bool AddReadChunk(Payload& payload, const ReadChunk& chunk, const Reused<SegmentRecord>& records, uint64_t length) {
  bool complete = true;
  for (uint32_t index : chunk.segments) {
    const SegmentRecord& record = records[index];
    const uint64_t n = std::min<uint64_t>(length, record.segment.length);
    AddPiece(payload, Piece::Source::kSegment, index, 0, n);
    complete = complete && record.captured.Covers(0, n);
    length -= n;
  }
  return complete && length == 0;
}

// Inserts Read chunks (Position > 0) into the stream, as protocol section 5 of RFC 8166 3.4.5 says: Position counts in
// the unreduced stream; the inline count before it says how much of the chunk is the item.
void InsertReadChunks(const Reused<ReadChunk>& chunks, const Reused<SegmentRecord>& records, Payload& payload) {
  uint64_t cursor = 0;
  bool complete = StreamComplete(payload);
  for (const ReadChunk& chunk : chunks) {
    if (chunk.position == 0) continue;
    if (chunk.position < payload.length || chunk.position - payload.length > payload.stream_length - cursor) {
      payload.defect = RebuildDefect::kPositionOutside;
      return;
    }
    const uint64_t gap = chunk.position - payload.length;
    AddPiece(payload, Piece::Source::kStream, 0, cursor, gap);
    cursor += gap;
    uint64_t length = chunk.length;
    if (cursor >= 4 && cursor <= payload.stream.size()) {
      const uint64_t count = LoadBe32(payload.stream.data() + cursor - 4);
      if (chunk.length != count && chunk.length != RoundUp4(count)) {
        payload.defect = RebuildDefect::kLengthMismatch;
        return;
      }
      length = count;
    } else if (cursor < 4) {
      payload.defect = RebuildDefect::kPositionOutside;
      return;
    } else {
      complete = false;  // the count was not captured
    }
    complete = AddReadChunk(payload, chunk, records, length) && complete;
    AddPadding(payload, length);
  }
  AddPiece(payload, Piece::Source::kStream, 0, cursor, payload.stream_length - cursor);
  payload.complete = complete;
}

// Every byte of an item that a Read chunk holds was captured.
bool IsCaptured(const DataItem& item, const ReadChunk& chunk, const Reused<SegmentRecord>& records) {
  if (chunk.length < item.item.length) return false;
  uint64_t left = item.item.length;
  for (uint32_t index : chunk.segments) {
    const uint64_t n = std::min<uint64_t>(left, records[index].segment.length);
    if (!records[index].captured.Covers(0, n)) return false;
    left -= n;
  }
  return true;
}

// Collects the DDP-eligible items, and the operations, of a message whose reduced items sit in Read chunks: an item is
// reduced when a chunk's Position is where its data would stand.
class ReadChunkVisitor : public nfs::Visitor {
 public:
  ReadChunkVisitor(const Half& half, Payload& payload, Transaction& t, bool call)
      : chunks_(half.read_chunks),
        records_(half.segments),
        payload_(payload),
        operations_(t.operations),
        facts_(t.facts),
        call_(call) {}

  bool IsReduced(const Item& item) override {
    while (next_ < chunks_.size() && (chunks_[next_].position == 0 || chunks_[next_].position < item.offset + shift_))
      ++next_;
    const uint64_t at = item.offset + shift_;
    DataItem out;
    out.item = item;
    out.unreduced_offset = at;
    if (next_ < chunks_.size() && chunks_[next_].position == at) {
      const ReadChunk& chunk = chunks_[next_];
      out.reduced = true;
      out.chunk = static_cast<uint32_t>(next_);
      out.chunk_bytes = chunk.length;
      out.complete = IsCaptured(out, chunk, records_);
      shift_ += RoundUp4(item.length);
      ++next_;
    } else {
      out.complete = item.offset + item.length <= payload_.stream.size();
    }
    payload_.items.push_back(out);
    return out.reduced;
  }
  void OnOperation(uint32_t, uint32_t op) override {
    if (call_) operations_.push_back({op, false, 0});
  }
  void OnOperationResult(uint32_t index, uint32_t op, uint32_t status) override {
    if (call_) return;
    if (index < operations_.size() && operations_[index].op == op) operations_[index] = {op, true, status};
  }
  void OnStatusFlags(uint32_t, uint32_t flags) override { facts_.status_flags = flags; }
  void OnState(uint32_t index, uint32_t op, Bytes stateid) override { facts_.Add(index, op, !call_, stateid); }

 private:
  const Reused<ReadChunk>& chunks_;
  const Reused<SegmentRecord>& records_;
  Payload& payload_;
  std::vector<Operation>& operations_;
  CompoundFacts& facts_;
  const bool call_;
  size_t next_ = 0;
  uint64_t shift_ = 0;
};

// A Call's: also what it asks for.
class ArgumentsVisitor final : public ReadChunkVisitor {
 public:
  explicit ArgumentsVisitor(Transaction& t) : ReadChunkVisitor(t.call, t.call, t, true), call_(t.call) {}

  void OnOperation(uint32_t index, uint32_t op) override {
    ReadChunkVisitor::OnOperation(index, op);
    result_items += nfs::HasEligibleResult(op);
  }
  void OnRead(uint32_t, Bytes, uint64_t, uint32_t count) override {
    ++call_.asks.reads;
    call_.asks.largest_read = std::max(call_.asks.largest_read, count);
    call_.asks.read_bytes += count;
  }
  void OnReplyLimit(uint32_t, uint32_t, uint32_t max_bytes) override { call_.asks.reply_limit += max_bytes; }
  void OnValue(const nfs::Value& value) override {
    SlotUse& slot = call_.slot;
    if (value.kind != nfs::ValueKind::kSlot || slot.known || value.offset < slot.session.size() ||
        value.offset + value.length > call_.stream.size())
      return;
    const std::byte* const at = call_.stream.data() + value.offset;
    std::copy_n(at - slot.session.size(), slot.session.size(), slot.session.begin());
    slot.sequence = LoadBe32(at);
    slot.slot = LoadBe32(at + 4);
    slot.known = true;
  }

  uint32_t result_items = 0;  // of a COMPOUND

 private:
  CallHalf& call_;
};

// Walks an inline stream that may hold the padding of RDMA_MSGP (draft-08 section 3.9): takes padding out before the
// data of items at or above the threshold until the walk ends exactly at the end of the stream.
class FirstLongItem : public nfs::Visitor {
 public:
  FirstLongItem(uint32_t threshold, uint32_t skip) : threshold_(threshold), skip_(skip) {}
  bool IsReduced(const Item& item) override {
    if (!found && item.length >= threshold_ && skip_-- == 0) {
      found = true;
      offset = item.offset;
    }
    return false;
  }
  bool found = false;
  uint64_t offset = 0;

 private:
  uint32_t threshold_, skip_;
};

void WalkArguments(Transaction& transaction) {
  CallHalf& call = transaction.call;
  call.asks = {};
  ArgumentsVisitor visitor(transaction);
  call.walk = nfs::WalkCall(call.rpc, call.stream, call.stream_length, visitor);
  const auto argument_items = static_cast<uint32_t>(call.items.size());
  call.eligibility = nfs::EligibleItems(call.rpc, call.walk, argument_items, visitor.result_items);
  call.followed = true;
}

bool WalksExactly(const rpc::CallHeader& header, Bytes stream) {
  nfs::Visitor ignore;
  const nfs::Walk walk = nfs::WalkCall(header, stream, stream.size(), ignore);
  return walk.status == ParseStatus::kOk && walk.offset == stream.size();
}

void RemoveMsgpPadding(Transaction& transaction) {
  Payload& call = transaction.call;
  const rpcrdma::Header& header = transaction.call.header;
  if (WalksExactly(transaction.call.rpc, call.stream)) return;
  constexpr uint32_t kMaxItems = 16;
  // The origin of "current position" is not fixed by the document: the payload's start, or the Send's.
  for (const uint64_t base : {uint64_t{0}, uint64_t{header.length}}) {
    std::vector<std::byte> stream(call.stream.begin(), call.stream.end());
    for (uint32_t n = 0; n < kMaxItems && header.align > 1; ++n) {
      FirstLongItem visitor(header.thresh, n);
      (void)nfs::WalkCall(rpc::DecodeCall(stream, stream.size()), stream, stream.size(), visitor);
      if (!visitor.found) break;
      const uint64_t pad = (header.align - (base + visitor.offset) % header.align) % header.align;
      if (pad > stream.size() - visitor.offset) break;
      const auto at = stream.begin() + static_cast<ptrdiff_t>(visitor.offset);
      stream.erase(at, at + static_cast<ptrdiff_t>(pad));
      if (WalksExactly(rpc::DecodeCall(stream, stream.size()), stream)) {
        call.storage = std::move(stream);
        call.stream = call.storage;
        call.stream_length = call.stream.size();
        transaction.call.rpc = rpc::DecodeCall(call.stream, call.stream_length);
        return;
      }
    }
  }
  call.defect = RebuildDefect::kPadding;
}

// Pairs the items of a reply with the Write chunks of the Call, in list order (RFC 8166 section 4.3.2).
class WriteChunkVisitor : public nfs::Visitor {
 public:
  WriteChunkVisitor(Transaction& transaction, Payload& payload) : transaction_(transaction), payload_(payload) {}

  bool IsReduced(const Item& item) override {
    DataItem out;
    out.item = item;
    out.unreduced_offset = item.offset + shift_;
    const rpcrdma::Header& call = transaction_.call.header;
    const rpcrdma::Header& reply = transaction_.reply.header;
    if (next_ < std::min(call.write_chunks.size(), reply.write_chunks.size())) {
      const size_t index = next_++;
      const uint64_t returned = reply.SizeOf(reply.write_chunks[index]);
      // An empty chunk, or one that came back unused, leaves its item inline.
      if (call.write_chunks[index].count > 0 && returned > 0 && item.length > 0) {
        out.reduced = true;
        out.chunk = static_cast<uint32_t>(index);
        out.chunk_bytes = returned;
        shift_ += RoundUp4(item.length);
        // Peers of the older documents report the padded length (draft-08 section 3.7).
        if (returned != item.length && returned != RoundUp4(item.length))
          payload_.defect = RebuildDefect::kLengthMismatch;
        out.complete = payload_.defect == RebuildDefect::kNone && ChunkCaptured(index, item.length);
      }
    }
    if (!out.reduced) out.complete = item.offset + item.length <= payload_.stream.size();
    payload_.items.push_back(out);
    return out.reduced;
  }
  void OnOperationResult(uint32_t index, uint32_t op, uint32_t status) override {
    std::vector<Operation>& operations = transaction_.operations;
    if (index < operations.size() && operations[index].op == op) operations[index] = {op, true, status};
  }
  void OnStatusFlags(uint32_t, uint32_t flags) override { transaction_.facts.status_flags = flags; }
  void OnState(uint32_t index, uint32_t op, Bytes stateid) override {
    transaction_.facts.Add(index, op, true, stateid);
  }
  void OnBackchannel(uint32_t index) override {
    if (index < transaction_.operations.size()) transaction_.operations[index].backchannel = true;
  }

  // Chunks with data that no item was paired with.
  bool LeftOver() const {
    const rpcrdma::Header& reply = transaction_.reply.header;
    for (size_t i = next_; i < reply.write_chunks.size(); ++i)
      if (reply.SizeOf(reply.write_chunks[i]) > 0) return true;
    return false;
  }

 private:
  bool ChunkCaptured(size_t index, uint64_t length) const {
    const rpcrdma::Chunk& offered = transaction_.call.header.write_chunks[index];
    const auto returned = transaction_.reply.header.Of(transaction_.reply.header.write_chunks[index]);
    for (uint32_t i = 0; i < offered.count && i < returned.size() && length > 0; ++i) {
      const SegmentRecord& record = transaction_.call.segments[transaction_.SegmentIndex(offered, i)];
      const uint64_t n = std::min<uint64_t>(length, returned[i].length);
      if (!record.captured.Covers(0, n)) return false;
      length -= n;
    }
    return length == 0;
  }

  Transaction& transaction_;
  Payload& payload_;
  size_t next_ = 0;
  uint64_t shift_ = 0;
};

void InsertWriteChunks(Transaction& transaction, Payload& payload) {
  bool complete = StreamComplete(payload);
  uint64_t cursor = 0;
  for (const DataItem& item : payload.items) {
    if (!item.reduced) continue;
    AddPiece(payload, Piece::Source::kStream, 0, cursor, item.item.offset - cursor);
    cursor = item.item.offset;
    const rpcrdma::Chunk& offered = transaction.call.header.write_chunks[item.chunk];
    const auto returned = transaction.reply.header.Of(transaction.reply.header.write_chunks[item.chunk]);
    uint64_t left = item.item.length;
    for (uint32_t i = 0; i < offered.count && i < returned.size(); ++i) {
      const uint64_t n = std::min<uint64_t>(left, returned[i].length);
      AddPiece(payload, Piece::Source::kSegment, static_cast<uint32_t>(transaction.SegmentIndex(offered, i)), 0, n);
      left -= n;
    }
    AddPadding(payload, item.item.length);
    complete = complete && item.complete;
  }
  AddPiece(payload, Piece::Source::kStream, 0, cursor, payload.stream_length - cursor);
  payload.complete = complete;
}

// The content of the Call's Reply chunk, as long as the Reply says (RFC 8166 section 4.3.3).
void TakeReplyChunk(Transaction& transaction) {
  Payload& reply = transaction.reply;
  reply.stream = {};
  reply.storage.clear();
  reply.stream_length = 0;
  const auto& offered = transaction.call.header.reply_chunk;
  const auto& returned = transaction.reply.header.reply_chunk;
  if (!offered || !returned) {
    reply.present = false;
    return;
  }
  const auto lengths = transaction.reply.header.Of(*returned);
  for (uint32_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i].length == 0) continue;
    if (i >= offered->count) {
      reply.stream_length += lengths[i].length;  // memory that was never offered
      continue;
    }
    AppendToStream(transaction.call.segments, transaction.SegmentIndex(*offered, i), lengths[i].length, reply);
  }
  if (reply.stream_length == 0) reply.present = false;
}

void TakePositionZero(const Reused<ReadChunk>& chunks, const Reused<SegmentRecord>& records, Payload& payload) {
  payload.stream = {};
  payload.storage.clear();
  payload.stream_length = 0;
  if (chunks.empty() || chunks.front().position != 0) {
    payload.present = false;
    return;
  }
  for (uint32_t index : chunks.front().segments) AppendToStream(records, index, records[index].segment.length, payload);
  if (payload.storage.empty()) payload.KeepStream();  // RDMA may go on
}

}  // namespace

void GroupReadChunks(const std::vector<rpcrdma::ReadSegment>& reads, Reused<ReadChunk>& chunks) {
  chunks.clear();
  const auto add = [&](uint32_t index) {
    const rpcrdma::ReadSegment& read = reads[index];
    if (chunks.empty() || chunks.back().position != read.position) chunks.Add().position = read.position;
    chunks.back().length += read.target.length;
    chunks.back().segments.push_back(index);
  };
  const auto by_position = [](const auto& a, const auto& b) { return a.position < b.position; };
  if (std::is_sorted(reads.begin(), reads.end(), by_position)) {
    for (uint32_t i = 0; i < reads.size(); ++i) add(i);
    return;
  }
  std::vector<uint32_t> order(reads.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return by_position(reads[a], reads[b]); });
  for (uint32_t index : order) add(index);
}

void FollowCall(Transaction& transaction) {
  Start(transaction.call);
  transaction.call.present = false;
  transaction.operations.clear();
  transaction.facts.Clear();
  WalkArguments(transaction);
}

void RebuildCall(Transaction& transaction) {
  CallHalf& call = transaction.call;
  const bool followed = call.followed;
  if (!followed) {
    Start(call);
    transaction.operations.clear();
    transaction.facts.Clear();
  }
  call.present = true;
  // Lists that are cut or broken may go on: nothing is rebuilt from a part of them.
  if (call.header.status != ParseStatus::kOk) {
    call.present = false;
    return;
  }
  if (call.header.proc == rpcrdma::kNomsg) {
    TakePositionZero(call.read_chunks, call.segments, call);
    call.rpc = rpc::DecodeCall(call.stream, call.stream_length);
  }
  if (call.stream_length == 0) call.present = false;
  if (!call.present) return;

  if (call.form == CallForm::kMsgp && StreamComplete(call) && call.header.thresh > 0) RemoveMsgpPadding(transaction);
  if (!followed) WalkArguments(transaction);
  for (DataItem& item : call.items)
    if (item.reduced) item.complete = IsCaptured(item, call.read_chunks[item.chunk], call.segments);
  if (call.defect != RebuildDefect::kNone) return;
  if (call.read_chunks.empty()) {
    AddStream(call);
  } else {
    InsertReadChunks(call.read_chunks, call.segments, call);
  }
}

void RebuildReply(Transaction& transaction) {
  Payload& reply = transaction.reply;
  Start(reply);
  const rpcrdma::Header& header = transaction.reply.header;
  if (header.status != ParseStatus::kOk) {
    reply.present = false;
    return;
  }
  const bool read_list = !transaction.reply.read_chunks.empty();
  if (header.proc == rpcrdma::kNomsg) {
    if (read_list) {
      TakePositionZero(transaction.reply.read_chunks, transaction.reply.segments, reply);
    } else {
      TakeReplyChunk(transaction);
    }
    transaction.reply.rpc = rpc::DecodeReply(reply.stream, reply.stream_length);
  }
  if (reply.stream_length == 0) reply.present = false;
  if (!reply.present) return;

  if (read_list) {
    ReadChunkVisitor visitor(transaction.reply, reply, transaction, false);
    reply.walk =
        nfs::WalkReply(transaction.call.rpc, transaction.reply.rpc, reply.stream, reply.stream_length, visitor);
    InsertReadChunks(transaction.reply.read_chunks, transaction.reply.segments, reply);
    return;
  }
  WriteChunkVisitor visitor(transaction, reply);
  reply.walk = nfs::WalkReply(transaction.call.rpc, transaction.reply.rpc, reply.stream, reply.stream_length, visitor);
  if (visitor.LeftOver() && reply.defect == RebuildDefect::kNone)
    reply.defect =
        transaction.call.rpc.status == ParseStatus::kOk ? RebuildDefect::kUndecodable : RebuildDefect::kNoCall;
  if (reply.defect == RebuildDefect::kNone) InsertWriteChunks(transaction, reply);
}

}  // namespace stag::session
