// SPDX-License-Identifier: GPL-2.0-or-later
//
// SoftIwarpEndpoint: what is posted, and how it goes out. Items go in the order in which they were posted; Read
// Responses take turns with them, message by message (DDP does not interleave messages).
#include <algorithm>

#include "replay/endpoint/guard.h"
#include "replay/endpoint/soft_iwarp_endpoint.h"

namespace stag::endpoint {

using iwarp::DdpHeader;
using iwarp::Opcode;

namespace {

// Of a message that names no memory: any STag will do, but some hardware minds 0.
constexpr uint32_t kAnyStag = 1;

uint64_t Sum(std::span<const Bytes> pieces) {
  uint64_t sum = 0;
  for (const Bytes piece : pieces) sum += piece.size();
  return sum;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- posting

Result<void> SoftIwarpEndpoint::CheckPost(uint64_t length, std::span<const Bytes> pieces) const {
  if (phase_ != Phase::kOpen) return Fail("the connection is not open any more");
  if (uncompleted_ >= sends_)
    return Fail("all " + std::to_string(sends_) + " work requests are outstanding: wait for completions");
  if (length > UINT32_MAX) return Fail("a message has at most 4 GiB");
  if (pieces.size() > FpduSender::kMaxPieces) return Fail("a message has too many pieces");
  if (length <= kMaxInline) return {};
  for (const Bytes piece : pieces)
    if (!piece.empty() && !MaySend(piece)) return Fail("what is to be sent does not lie in registered memory");
  return {};
}

// Registered memory, or a received message.
bool SoftIwarpEndpoint::MaySend(Bytes piece) const {
  const auto holds = [piece](const Pages& arena) { return Contains(arena.bytes(), piece); };
  return std::ranges::any_of(arenas_, holds) || regions_.Holds(piece);
}

SoftIwarpEndpoint::Item& SoftIwarpEndpoint::NewItem(Work work, uint64_t id, uint64_t length) {
  if (free_.empty()) {  // of the reserved ones; what is never needed is never touched
    STAG_GUARD(items_.size() < items_.capacity());
    free_.Push(static_cast<uint32_t>(items_.size()));
    items_.emplace_back();
  }
  Item& item = items_[free_.Pop()];
  item.work = work;
  item.own = false;
  item.pieces = 0;
  item.id = id;
  item.length = static_cast<uint32_t>(length);
  item.done = 0;
  ++uncompleted_;
  return item;
}

void SoftIwarpEndpoint::Gather(Item& item, std::span<const Bytes> pieces) {
  if (item.length > kMaxInline) {
    for (const Bytes piece : pieces)
      if (!piece.empty()) item.piece[item.pieces++] = piece;
    return;
  }
  size_t at = 0;
  for (const Bytes piece : pieces) {
    if (!piece.empty()) std::memcpy(item.copy.data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  if (at > 0) item.piece[item.pieces++] = Bytes(item.copy).first(at);
}

Result<void> SoftIwarpEndpoint::Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) {
  const uint64_t length = Sum(pieces);
  if (auto fine = CheckPost(length, pieces); !fine) return fine;
  Item& item = NewItem(Work::kSend, id, length);
  item.invalidate = invalidate;
  Gather(item, pieces);
  Submit(item);
  return {};
}

Result<void> SoftIwarpEndpoint::Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) {
  if (auto fine = CheckPost(from.size(), std::span(&from, 1)); !fine) return fine;
  Item& item = NewItem(Work::kWrite, id, from.size());
  item.handle = handle;
  item.offset = offset;
  Gather(item, std::span(&from, 1));
  Submit(item);
  return {};
}

Result<void> SoftIwarpEndpoint::Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) {
  if (auto fine = CheckPost(into.size(), {}); !fine) return fine;
  if (outbound_reads_ == 0) return Fail("the peer answers no RDMA Reads: its IRD is 0");
  iwarp::ReadRequest request{kAnyStag, 0, static_cast<uint32_t>(into.size()), handle, offset};
  if (!into.empty() && !regions_.Name(into, request.sink_stag, request.sink_offset))
    return Fail("the target of an RDMA Read does not lie in a region with a valid handle");
  Item& item = NewItem(Work::kRead, id, into.size());
  item.request = request;
  item.into = into.data();
  if (reading_++ == 0) reading_since_ = Clock::now();
  Submit(item);
  return {};
}

// RFC 6581 section 4: the initiator's first FPDU.
void SoftIwarpEndpoint::SubmitReadyToReceive(Terms::Ready ready) {
  if (ready == Terms::Ready::kNone) return;
  if (ready == Terms::Ready::kEmptyFpdu) return sender_.AddEmpty();
  Item& item = NewItem(ready == Terms::Ready::kWrite ? Work::kWrite : Work::kRead, 0, 0);
  item.own = true;
  item.handle = kAnyStag;
  item.offset = 0;
  item.request = {kAnyStag, 0, 0, kAnyStag, 0};
  Submit(item);
}

// ------------------------------------------------------------------------------------------------------------- sending

void SoftIwarpEndpoint::Transmit() {
  if (phase_ == Phase::kOver || send_error_ != 0) return;
  for (;;) {
    if (phase_ != Phase::kTerminating) Encode();
    bool short_write = false;
    const Transfer transfer = sender_.Send(*stream_, short_write);
    blocked_ = short_write;
    if (transfer.io == Transfer::Io::kFailed) {
      send_error_ = transfer.error;
      return;
    }
    if (transfer.io != Transfer::Io::kDone) return;
    CompleteSent();
    if (short_write) return;
  }
}

// Fills the batch.
void SoftIwarpEndpoint::Encode() {
  while (may_send_ && sender_.HasRoom()) {
    if (current_ == Current::kNone && !Choose()) return;
    if (current_ == Current::kItem) {
      EncodeItem();
    } else {
      EncodeResponse();
    }
    if (phase_ == Phase::kTerminating) return;
  }
}

// The next message.
bool SoftIwarpEndpoint::Choose() {
  const bool response = !responses_.empty();
  bool item = !posted_.empty();
  if (item && items_[posted_.front()].work == Work::kRead)
    item = reads_.size() < std::max<size_t>(outbound_reads_, items_[posted_.front()].own);
  if (!item && !response) return false;
  current_ = response && (!item || last_ == Current::kItem) ? Current::kResponse : Current::kItem;
  last_ = current_;
  return true;
}

void SoftIwarpEndpoint::AddSegment(const DdpHeader& header, std::span<const Bytes> payload, uint32_t length) {
  sender_.Add(header, payload);
  if (events_) events_->OnSegment(own_side(), header, payload, length);
}

// One segment of the oldest item.
void SoftIwarpEndpoint::EncodeItem() {
  Item& item = items_[posted_.front()];
  if (item.work != Work::kRead) return EncodePieces(item);
  DdpHeader header;
  header.last = true;
  header.opcode = Opcode::kReadRequest;
  header.queue = iwarp::kReadRequestQueue;
  header.sequence = item.sequence = read_sequence_++;
  std::array<std::byte, iwarp::kReadRequestSize> bytes;
  iwarp::StoreReadRequest(item.request, bytes.data());
  const Bytes payload(bytes);  // small: it is copied
  AddSegment(header, std::span(&payload, 1), iwarp::kReadRequestSize);
  reads_.Push(posted_.Pop());
  current_ = Current::kNone;
}

void SoftIwarpEndpoint::EncodePieces(Item& item) {
  DdpHeader header;
  if (item.work == Work::kWrite) {
    header.tagged = true;
    header.opcode = Opcode::kWrite;
    header.stag = item.handle;
    header.offset = item.offset + item.done;
  } else {
    header.opcode = item.invalidate ? Opcode::kSendInvalidate : Opcode::kSend;
    header.invalidate_stag = item.invalidate.value_or(0);
    header.sequence = send_sequence_;
    header.message_offset = item.done;
  }
  const uint32_t length = std::min(item.length - item.done, sender_.max_payload(header));
  std::array<Bytes, FpduSender::kMaxPieces> part;
  size_t parts = 0;
  uint32_t skip = item.done, left = length;
  for (size_t i = 0; i < item.pieces && left > 0; ++i) {
    const Bytes piece = item.piece[i];
    if (skip >= piece.size()) {
      skip -= static_cast<uint32_t>(piece.size());
      continue;
    }
    const size_t n = std::min<size_t>(piece.size() - skip, left);
    part[parts++] = piece.subspan(skip, n);
    skip = 0;
    left -= static_cast<uint32_t>(n);
  }
  item.done += length;
  header.last = item.done == item.length;
  AddSegment(header, std::span(part).first(parts), length);
  if (!header.last) return;
  if (item.work == Work::kSend) ++send_sequence_;
  item.end = sender_.queued();
  encoded_.Push(posted_.Pop());
  current_ = Current::kNone;
}

// One segment of the oldest Read Response.
void SoftIwarpEndpoint::EncodeResponse() {
  Response& response = responses_.front();
  const iwarp::ReadRequest& request = response.request;
  DdpHeader header;
  header.tagged = true;
  header.opcode = Opcode::kReadResponse;
  header.stag = request.sink_stag;
  header.offset = request.sink_offset + response.done;
  const uint32_t length = std::min(request.length - response.done, sender_.max_payload(header));
  std::byte* at = nullptr;
  if (length > 0 && regions_.Check(request.source_stag, request.source_offset + response.done, length,
                                   Access::kRemoteRead, at) != RegionTable::Verdict::kFine) {
    DdpHeader refused;
    refused.last = true;
    refused.opcode = Opcode::kReadRequest;
    refused.queue = iwarp::kReadRequestQueue;
    refused.sequence = response.sequence;
    return Refuse({kRdmapInvalidStag, Trouble::Kind::kLocalAccess,
                   "reads memory whose handle became invalid before it was read", request},
                  refused, iwarp::kReadRequestSize);
  }
  response.done += length;
  header.last = response.done == request.length;
  const Bytes payload(at, length);
  AddSegment(header, std::span(&payload, 1), length);
  if (!header.last) return;
  (void)responses_.Pop();
  current_ = Current::kNone;
}

void SoftIwarpEndpoint::CompleteSent() {
  while (!encoded_.empty() && items_[encoded_.front()].end <= sender_.sent())
    Complete(items_[encoded_.Pop()], CompletionStatus::kOk);
}

bool SoftIwarpEndpoint::nothing_to_send() {
  const bool stuck = peer_finished_ && !may_send_;  // the FPDU that would let us send will not come
  return sender_.empty() && current_ == Current::kNone && responses_.empty() && (posted_.empty() || stuck);
}

}  // namespace stag::endpoint
