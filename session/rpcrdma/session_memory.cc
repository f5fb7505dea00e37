// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDMA operations: which advertised segment each touches, and what of it has moved.
#include <algorithm>

#include "session/rpcrdma/session_impl.h"

namespace stag::session {

namespace {

using fabric::Event;
using fabric::EventKind;

// More segments under one handle, or more stretches of one segment, are not looked through, whatever is done to them.
constexpr uint32_t kMaxSearched = 4096;
constexpr size_t kMaxStretches = 4096;

std::vector<SegmentRecord>& RecordsOf(const SegmentRef& ref) {
  return ref.of_reply ? ref.live->reply_segments : ref.live->segments;
}

bool Holds(const SegmentRecord& record, uint32_t handle, uint64_t offset) {
  return record.segment.handle == handle && offset >= record.segment.offset &&
         (offset - record.segment.offset < record.segment.length ||
          (record.segment.length == 0 && offset == record.segment.offset));
}

bool IsScattered(const SegmentRecord& record) {
  return record.moved.ranges().size() >= kMaxStretches || record.requested.ranges().size() >= kMaxStretches;
}

bool CanBe(EventKind kind, ListKind list) {
  return kind == EventKind::kWrite ? list != ListKind::kReadList : list == ListKind::kReadList;
}

}  // namespace

// `gave_up`: too many segments have this handle for all to be looked at.
SegmentRef Session::Impl::Lookup(ConnectionState& state, Side owner, const Event& event, bool& gave_up) {
  if (state.last_hit.live && state.last_hit_owner == owner && !state.last_hit.live->retired) {
    const SegmentRecord& record = RecordsOf(state.last_hit)[state.last_hit.index];
    // Only while it is the newest under its handle: Register forgets last_hit.
    if (Holds(record, event.handle, event.offset) && CanBe(event.kind, record.list)) return state.last_hit;
  }
  SegmentRef fitting, other, retired;
  uint32_t looked_at = 0;
  gave_up = state.memory[owner].Find(event.handle, [&](const SegmentRef& ref) {
    if (++looked_at > kMaxSearched) return true;
    const SegmentRecord& record = RecordsOf(ref)[ref.index];
    if (!Holds(record, event.handle, event.offset)) return false;
    SegmentRef& slot = ref.live->retired ? retired : CanBe(event.kind, record.list) ? fitting : other;
    if (!slot.live) slot = ref;
    return fitting.live != nullptr;
  }) && !fitting.live;
  const SegmentRef found = fitting.live ? fitting : other.live ? other : retired;
  if (fitting.live) {
    state.last_hit = found;
    state.last_hit_owner = owner;
  }
  return found;
}

void Session::Impl::Store(Live& live, SegmentRecord& record, uint64_t at, Bytes bytes) {
  const uint64_t end = at + bytes.size();
  if (record.data.capacity() == 0) record.data = ledger.TakeData();
  if (record.data.size() < end) {
    const uint64_t more = end - record.data.size();
    MakeRoom(more, &live);
    // To grow takes a second buffer for a moment.
    uint64_t room = more;
    if (record.data.capacity() < end) {
      room = std::min<uint64_t>(record.segment.length, std::max<uint64_t>(end, 2 * record.data.capacity()));
      if (ledger.used() + room > options.memory_limit) room = end;
    }
    if (ledger.used() + room > options.memory_limit) {
      stats.dropped_bytes += bytes.size();
      return;
    }
    ledger.Charge(&live, more);
    if (record.data.capacity() < end) record.data.reserve(static_cast<size_t>(room));
    record.data.resize(static_cast<size_t>(end));
  }
  std::copy(bytes.begin(), bytes.end(), record.data.begin() + static_cast<ptrdiff_t>(at));
  record.captured.Add(at, end);
}

void Session::Impl::OnRdma(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const bool response = event.kind == EventKind::kReadResponse;
  const Side owner = response ? event.from : Side(1 - event.from);
  SideCounters& counters = connection.counters[event.from];
  if (event.kind == EventKind::kWrite) {
    counters.write_operations += event.first;
    counters.write_bytes += event.length;
  } else if (event.kind == EventKind::kReadRequest) {
    ++counters.read_operations;
    counters.read_bytes += event.length;
  }

  bool gave_up = false;
  const SegmentRef ref = Lookup(state, owner, event, gave_up);
  if (gave_up || (ref.live && IsScattered(RecordsOf(ref)[ref.index])))
    return OnGap(state, event);  // not kept account of: as good as lost
  RdmaOperation operation;
  operation.event = &event;
  if (ref.live) {
    SegmentRecord& record = RecordsOf(ref)[ref.index];
    const uint64_t at = event.offset - record.segment.offset;
    const uint64_t length = std::min<uint64_t>(event.length, record.segment.length - at);
    operation.transaction = ref.live;
    operation.segment = &record;
    operation.segment_offset = at;
    operation.overrun = event.length > length;
    operation.retired = ref.live->retired;
    if (!ref.live->retired && CanBe(event.kind, record.list)) {
      if (record.first_frame.number == 0)
        record.first_frame = event.first_frame.number ? event.first_frame : event.frame;
      record.last_frame = event.frame;
      if (event.kind == EventKind::kReadRequest) {
        record.requested.Add(at, at + length);
      } else {
        record.moved.Add(at, at + length);
        const Bytes bytes = event.bytes.first(static_cast<size_t>(std::min<uint64_t>(event.bytes.size(), length)));
        const uint64_t before = record.captured.total();
        if (record.bytes_kept) {
          Store(*ref.live, record, at, bytes);
        } else {
          record.captured.Add(at, at + bytes.size());
        }
        if (response && !ref.of_reply) ref.live->read_missing -= record.captured.total() - before;
      }
    }
  }
  Notify([&](Observer& o) { o.OnRdma(connection, operation); });
  if (response && ref.live && !ref.of_reply && !ref.live->retired && ref.live->read_missing == 0)
    CompleteCall(state, *ref.live);
}

void Session::Impl::Register(ConnectionState& state, Live& live, Side owner, bool of_reply) {
  const std::vector<SegmentRecord>& records = of_reply ? live.reply_segments : live.segments;
  std::vector<int32_t>& at = of_reply ? live.reply_segments_at : live.segments_at;
  for (uint32_t i = 0; i < records.size(); ++i)
    at.push_back(state.memory[owner].Insert(records[i].segment.handle, SegmentRef{&live, i, of_reply}));
  if (!records.empty()) state.last_hit = {};
}

void Session::Impl::Unregister(ConnectionState& state, Live& live, Side owner, bool of_reply) {
  std::vector<int32_t>& at = of_reply ? live.reply_segments_at : live.segments_at;
  for (int32_t& each : at) Unlist(state.memory[owner], each);
  at.clear();
  if (state.last_hit.live == &live) state.last_hit = {};
}

}  // namespace stag::session
