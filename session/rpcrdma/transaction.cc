// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/transaction.h"

#include <algorithm>

namespace stag::session {

namespace {
constexpr std::byte kZeros[4] = {};
}

void Payload::Clear() {
  present = complete = false;
  length = stream_length = 0;
  defect = RebuildDefect::kNone;
  stream = {};
  storage.clear();
  pieces.clear();
  items.clear();
  walk = {};
}

void Half::Clear() {
  Payload::Clear();
  frame = first_frame = {};
  header.Clear();
  send_length = 0;
  send_missing = end_missing = false;
  segments.clear();
  read_chunks.clear();
}

void CallHalf::Clear() {
  Half::Clear();
  form = CallForm::kShort;
  rpc = {};
  ready = followed = false;
  asks = {};
  slot = {};
  eligibility = {};
}

void ReplyHalf::Clear() {
  Half::Clear();
  form = ReplyForm::kNone;
  rpc = {};
  invalidated.reset();
}

void Transaction::Clear() {
  connection = 0;
  serial = 0;
  number = 0;
  xid = 0;
  requester = 0;
  backward = disturbed = uncertain = done_seen = false;
  outcome = Outcome::kOutstanding;
  answer = Answer::kPending;
  answer_may_be_missing = counted_out = false;
  answer_proof = {};
  waited_ns.reset();
  call.Clear();
  reply.Clear();
  rdma = {};
  operations.clear();
  delivered = {};
  waits.clear();
  facts.Clear();
}

bool IsCut(const Transaction& t) {
  const rpcrdma::Header& header = t.call.header;
  if (header.status != ParseStatus::kOk) return header.status == ParseStatus::kTruncatedByCapture;
  return t.call.send_missing && header.proc != rpcrdma::kNomsg && t.call.rpc.words < 2;
}

void CompoundFacts::Add(uint32_t op_index, uint32_t op, bool of_reply, Bytes stateid) {
  for (const State& known : all())  // a legacy Reply is rebuilt twice
    if (known.op_index == op_index && known.of_reply == of_reply) return;
  if (state_count == kMostStates) {
    more_states = true;
    return;
  }
  State& state = states[state_count++];
  state.op = op;
  state.op_index = op_index;
  state.of_reply = of_reply;
  std::ranges::copy(stateid.first(state.stateid.size()), state.stateid.begin());
}

namespace {

template <typename List>
uint64_t BytesOf(const List& list) {
  return list.capacity() * sizeof(*list.begin());
}

}  // namespace

uint64_t Half::Storage() const {
  // Of each Position: the list of its segments, whose indices together are no more than the segments.
  constexpr uint64_t kListOfSegments = 48;
  return storage.capacity() + BytesOf(pieces) + BytesOf(items) + BytesOf(header.reads) + BytesOf(header.write_chunks) +
         BytesOf(header.segments) + BytesOf(segments) + read_chunks.capacity() * (sizeof(ReadChunk) + kListOfSegments) +
         segments.capacity() * 2 * sizeof(uint32_t);
}

bool Transaction::ForEach(const Payload& payload, uint64_t offset, uint64_t length,
                          const std::function<void(Bytes, uint64_t)>& fn) const {
  if (!payload.complete || offset > payload.length || length > payload.length - offset) return false;
  // A legacy reply's pieces are in the memory that the reply advertised.
  const bool from_reply_segments = &payload == &reply && !reply.segments.empty();
  const Reused<SegmentRecord>& records = from_reply_segments ? reply.segments : call.segments;
  for (const Piece& piece : payload.pieces) {
    if (length == 0) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const uint64_t n = std::min(length, piece.length - offset);
    const uint64_t at = piece.offset + offset;
    switch (piece.source) {
      case Piece::Source::kStream:
        fn(payload.stream.subspan(static_cast<size_t>(at), static_cast<size_t>(n)), n);
        break;
      case Piece::Source::kZero: fn(Bytes(kZeros).first(static_cast<size_t>(n)), n); break;
      case Piece::Source::kSegment: {
        const Bytes data = DataOf(records, piece.segment);
        const bool kept = records[piece.segment].bytes_kept && at + n <= data.size();
        fn(kept ? data.subspan(static_cast<size_t>(at), static_cast<size_t>(n)) : Bytes{}, n);
        break;
      }
    }
    length -= n;
    offset = 0;
  }
  return true;
}

bool Transaction::CopyTo(const Payload& payload, std::vector<std::byte>& out) const {
  out.clear();
  if (!payload.complete) return false;
  bool kept = true;
  out.reserve(static_cast<size_t>(payload.length));
  ForEach(payload, 0, payload.length, [&](Bytes bytes, uint64_t length) {
    if (bytes.size() == length) {
      out.insert(out.end(), bytes.begin(), bytes.end());
    } else {
      kept = false;
    }
  });
  if (!kept) out.clear();
  return kept;
}

}  // namespace stag::session
