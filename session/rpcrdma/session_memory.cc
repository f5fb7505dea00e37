// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDMA operations: which advertised segment each touches, and what of it has moved.
#include <algorithm>

#include "session/rpcrdma/session_impl.h"

namespace stag::session {

namespace {

using fabric::Event;
using fabric::EventKind;

// The most segments under one handle that are searched, and the most ranges of one segment that are kept. What goes
// beyond either is reported as a gap.
constexpr uint32_t kMaxSearched = 4096;
constexpr size_t kMaxRanges = 4096;
// The most bytes in front of those of a packet that are not there yet: to fill a larger hole would cost more than the
// packet tells.
constexpr uint64_t kMaxHole = 512 << 10;

Reused<SegmentRecord>& RecordsOf(const SegmentRef& ref) {
  return ref.of_reply ? ref.entry->reply.segments : ref.entry->call.segments;
}

bool Holds(const SegmentRecord& record, uint32_t handle, uint64_t offset) {
  return record.segment.handle == handle && offset >= record.segment.offset &&
         (offset - record.segment.offset < record.segment.length ||
          (record.segment.length == 0 && offset == record.segment.offset));
}

bool IsScattered(const SegmentRecord& record) {
  return record.moved.count() >= kMaxRanges || record.requested.count() >= kMaxRanges;
}

bool CanBe(EventKind kind, ListKind list) {
  return kind == EventKind::kWrite ? list != ListKind::kReadList : list == ListKind::kReadList;
}

// Of the record `index`, of which nothing was stored: its bytes go behind those of the segment before it in its chunk,
// where these reach the segment's end and are the last of their piece.
void JoinBefore(Reused<SegmentRecord>& records, uint32_t index) {
  SegmentRecord& record = records[index];
  const SegmentRecord& before = records[index - 1];
  if (before.list != record.list || before.chunk != record.chunk) return;
  const size_t home = HomeOf(records, index - 1);
  if (records[home].data.size() != before.data_begin + before.segment.length) return;
  record.home = static_cast<uint32_t>(home);
  record.data_begin = records[home].data.size();
}

}  // namespace

// Whether the packet goes on in the segment that the one before it touched. While that is the newest under its handle:
// Register forgets last_hit.
static bool GoesOn(const ConnectionState& state, Side owner, EventKind kind, const fabric::RdmaPacket& packet) {
  const SegmentRef& last = state.last_hit;
  if (!last.entry || state.last_hit_owner != owner || last.entry->retired) return false;
  const SegmentRecord& record = RecordsOf(last)[last.index];
  return Holds(record, packet.handle, packet.offset) && CanBe(kind, record.list);
}

// `gave_up`: too many segments have this handle for all to be looked at.
SegmentRef Session::Impl::Lookup(ConnectionState& state, Side owner, EventKind kind, const fabric::RdmaPacket& packet,
                                 bool& gave_up) {
  SegmentRef fitting, other, retired;
  uint32_t looked_at = 0;
  gave_up = state.memory[owner].Find(packet.handle, [&](const SegmentRef& ref) {
    if (++looked_at > kMaxSearched) return true;
    const SegmentRecord& record = RecordsOf(ref)[ref.index];
    if (!Holds(record, packet.handle, packet.offset)) return false;
    SegmentRef& slot = ref.entry->retired ? retired : CanBe(kind, record.list) ? fitting : other;
    if (!slot.entry) slot = ref;
    return fitting.entry != nullptr;
  }) && !fitting.entry;
  const SegmentRef found = fitting.entry ? fitting : other.entry ? other : retired;
  if (fitting.entry) {
    state.last_hit = found;
    state.last_hit_owner = owner;
  }
  return found;
}

void Session::Impl::Store(const SegmentRef& ref, uint64_t at, Bytes bytes) {
  Reused<SegmentRecord>& records = RecordsOf(ref);
  SegmentRecord& record = records[ref.index];
  if (record.captured.empty() && ref.index > 0) JoinBefore(records, ref.index);
  std::vector<std::byte>& data = records[HomeOf(records, ref.index)].data;
  const uint64_t begin = record.data_begin + at, end = begin + bytes.size();
  if (begin > data.size() && begin - data.size() > kMaxHole + record.captured.total()) {
    stats.dropped_bytes += bytes.size();
    return;
  }
  TransactionEntry& entry = *ref.entry;
  if (data.capacity() == 0) {
    data = pool.TakeData();
    entry.Count(entry.data_bytes, entry.data_bytes + data.capacity());
  }
  if (data.capacity() < end) {
    uint64_t room =
        std::min<uint64_t>(record.data_begin + record.segment.length, std::max<uint64_t>(end, 2 * data.capacity()));
    if (!budget.HasRoom(room)) room = end;
    // To grow takes a second buffer for a moment. More than this transaction alone may have is not kept.
    if (connection_bytes + entry.charge.bytes() + room > budget.limit()) {
      stats.dropped_bytes += bytes.size();
      return;
    }
    entry.Count(entry.data_bytes, entry.data_bytes + room - data.capacity());
    data.reserve(static_cast<size_t>(room));
  }
  if (data.size() < begin) data.resize(static_cast<size_t>(begin));  // a hole
  const auto over = static_cast<ptrdiff_t>(std::min<uint64_t>(data.size() - begin, bytes.size()));
  std::copy_n(bytes.begin(), over, data.begin() + static_cast<ptrdiff_t>(begin));
  data.insert(data.end(), bytes.begin() + over, bytes.end());
  record.captured.Add(at, at + bytes.size());
}

// `at`: where in the segment, which is one of the Call's, the packet begins.
static void TakeFrames(RdmaFrames& frames, const Event& event, uint32_t segment, uint64_t at) {
  const fabric::RdmaPacket& packet = event.rdma();
  const FrameRef& first = event.first_frame.number != 0 ? event.first_frame : event.frame;
  const uint64_t end = at + packet.length;
  switch (event.kind()) {
    case EventKind::kReadRequest:
      if (packet.length == 0) return;
      if (frames.first_read.number == 0) frames.first_read = first;
      frames.read_segment = segment;
      frames.read_end = end;
      frames.reads_answered = false;
      return;
    case EventKind::kReadResponse:
      // Others may come later, for the first time, when they were lost on the way to the capture.
      if (!packet.last || segment != frames.read_segment || end != frames.read_end) return;
      frames.last_read = event.frame;
      frames.reads_answered = true;
      return;
    case EventKind::kWrite:
      if (frames.first_write.number == 0) frames.first_write = first;
      frames.last_write = event.frame;
      return;
    default: return;
  }
}

void Session::Impl::OnRdma(ConnectionState& state, const Event& event) {
  Connection& connection = state.connection;
  const EventKind kind = event.kind();
  const fabric::RdmaPacket& packet = event.rdma();
  const bool response = kind == EventKind::kReadResponse;
  const Side owner = response ? event.from : Side(1 - event.from);
  SideCounters& counters = connection.counters[event.from];
  if (kind == EventKind::kWrite) {
    counters.write_operations += packet.first;
    counters.write_bytes += packet.length;
  } else if (kind == EventKind::kReadRequest) {
    ++counters.read_operations;
    counters.read_bytes += packet.length;
  }

  bool gave_up = false;
  const SegmentRef ref =
      GoesOn(state, owner, kind, packet) ? state.last_hit : Lookup(state, owner, kind, packet, gave_up);
  if (gave_up || (ref.entry && IsScattered(RecordsOf(ref)[ref.index]))) {  // not kept account of: as good as lost
    fabric::Event gap(*event.connection, event.from, event.first_frame, event.frame, fabric::Gap{});
    gap.now = event.now;
    return OnGap(state, gap);
  }
  RdmaOperation operation;
  operation.event = &event;
  if (ref.entry) {
    SegmentRecord& record = RecordsOf(ref)[ref.index];
    const uint64_t at = packet.offset - record.segment.offset;
    const uint64_t length = std::min<uint64_t>(packet.length, record.segment.length - at);
    operation.transaction = ref.entry;
    operation.segment = &record;
    operation.segment_offset = at;
    operation.overrun = packet.length > length;
    operation.retired = ref.entry->retired;
    operation.settled = ref.entry->retired && !ref.entry->ending;
    if (state.deliveries) CarryRdma(state, *ref.entry, event);
    if (!ref.entry->retired && CanBe(kind, record.list)) {
      record.used = true;
      if (record.first_frame.number == 0)
        record.first_frame = event.first_frame.number ? event.first_frame : event.frame;
      record.last_frame = event.frame;
      if (!ref.of_reply) TakeFrames(ref.entry->rdma, event, ref.index, at);
      if (kind == EventKind::kReadRequest) {
        record.requested.Add(at, at + length);
      } else {
        record.moved.Add(at, at + length);
        const Bytes bytes = packet.bytes.first(static_cast<size_t>(std::min<uint64_t>(packet.bytes.size(), length)));
        const uint64_t before = record.captured.total();
        if (record.bytes_kept) {
          Store(ref, at, bytes);
        } else {
          record.captured.Add(at, at + bytes.size());
        }
        if (response && !ref.of_reply) ref.entry->read_missing -= record.captured.total() - before;
      }
      if (const auto ranges = static_cast<uint32_t>(record.RangeStorage()); ranges != record.charged) [[unlikely]] {
        ref.entry->Count(ref.entry->range_bytes, ref.entry->range_bytes + ranges - record.charged);
        record.charged = ranges;
      }
    }
  }
  Notify([&](Observer& o) { o.OnRdma(connection, operation); });
  if (response && ref.entry && !ref.of_reply && !ref.entry->retired && ref.entry->read_missing == 0)
    CompleteCall(state, *ref.entry);
}

void Session::Impl::Register(ConnectionState& state, TransactionEntry& entry, Side owner, bool of_reply) {
  Reused<SegmentRecord>& records = of_reply ? entry.reply.segments : entry.call.segments;
  if (records.empty()) return;
  for (uint32_t i = 0; i < records.size(); ++i)
    records[i].place = state.memory[owner].Insert(records[i].segment.handle, SegmentRef{&entry, i, of_reply});
  state.last_hit = {};
}

void Session::Impl::Unregister(ConnectionState& state, TransactionEntry& entry, Side owner, bool of_reply) {
  for (SegmentRecord& record : of_reply ? entry.reply.segments : entry.call.segments)
    Unlist(state.memory[owner], record.place);
  if (state.last_hit.entry == &entry) state.last_hit = {};
}

}  // namespace stag::session
