// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/live.h"

namespace stag::session {

namespace {
// Buffers kept for reuse: few and not large, so that a burst of big transactions does not stay in memory.
constexpr uint64_t kMaxSpareBytes = 16u << 20;
constexpr size_t kMaxSpare = 4096;
}  // namespace

std::vector<std::byte> Ledger::Take(Buffers& spare) {
  if (spare.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare.back());
  spare.pop_back();
  spare_bytes_ -= buffer.capacity();
  return buffer;
}

void Ledger::Release(std::vector<std::byte> buffer, Buffers& spare) {
  if (buffer.capacity() == 0 || spare_bytes_ + buffer.capacity() > kMaxSpareBytes || spare.size() >= kMaxSpare) return;
  spare_bytes_ += buffer.capacity();
  buffer.clear();
  spare.push_back(std::move(buffer));
}

Live* Ledger::Open() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Live>());
    free_.push_back(all_.back().get());
  }
  Live* live = free_.back();
  free_.pop_back();
  for (Payload* payload : {&live->call, &live->reply}) payload->stream = Take(spare_streams_);
  ages_.Push(live);
  return live;
}

void Ledger::Retire(Live* live) {
  ages_.Remove(live);
  retired_.Push(live);
  live->retired = true;
  Uncharge(live);
  for (std::vector<SegmentRecord>* records : {&live->segments, &live->reply_segments})
    for (SegmentRecord& record : *records) Release(std::move(record.data), spare_data_);
  ReleasePayload(live->call);
  ReleasePayload(live->reply);
}

void Ledger::ReleasePayload(Payload& payload) {
  Release(std::move(payload.stream), spare_streams_);
  payload.present = payload.complete = false;
  payload.length = payload.stream_length = 0;
  payload.defect = RebuildDefect::kNone;
  payload.pieces.clear();
  payload.items.clear();
  payload.walk = {};
}

void Ledger::Recycle(Live* live) {
  retired_.Remove(live);
  ReleaseRecords(live->segments);
  ReleaseRecords(live->reply_segments);
  // Everything but the storage goes back to its first value.
  Live fresh;
  fresh.call = std::move(live->call);
  fresh.reply = std::move(live->reply);
  fresh.call_header = std::move(live->call_header);
  fresh.reply_header = std::move(live->reply_header);
  fresh.operations = std::move(live->operations);
  fresh.segments = std::move(live->segments);
  fresh.reply_segments = std::move(live->reply_segments);
  fresh.read_chunks = std::move(live->read_chunks);
  fresh.reply_read_chunks = std::move(live->reply_read_chunks);
  fresh.segments_at = std::move(live->segments_at);
  fresh.reply_segments_at = std::move(live->reply_segments_at);
  *live = std::move(fresh);
  live->operations.clear();
  live->read_chunks.clear();
  live->reply_read_chunks.clear();
  live->call_header.Clear();
  live->reply_header.Clear();
  free_.push_back(live);
}

void Ledger::Resize(std::vector<SegmentRecord>& records, size_t count) {
  records.reserve(count);
  while (records.size() < count) {
    if (spare_.empty()) {
      records.emplace_back();
    } else {
      records.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
}

// Their bytes were given up when the transaction was retired.
void Ledger::ReleaseRecords(std::vector<SegmentRecord>& records) {
  for (SegmentRecord& record : records) {
    if (spare_.size() >= kMaxSpare) break;
    SegmentRecord& spare = spare_.emplace_back(std::move(record));
    spare.requested.Clear();
    spare.moved.Clear();
    spare.captured.Clear();
    spare.bytes_kept = false;
    spare.first_frame = spare.last_frame = {};
  }
  records.clear();
}

void Ledger::Charge(Live* live, uint64_t bytes) {
  live->bytes += bytes;
  used_ += bytes;
}

void Ledger::Uncharge(Live* live) {
  used_ -= live->bytes;
  live->bytes = 0;
}

}  // namespace stag::session
