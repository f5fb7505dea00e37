// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/phases.h"

#include <algorithm>

namespace stag::session {
namespace {

// Something moved between two frames, or nothing did, or it is not known what.
struct Moved {
  bool any = false;
  bool first_known = true, last_known = true;
};

// The responder cannot have answered like this without reading.
bool MustHaveRead(const Transaction& t) {
  if (t.reply.form == ReplyForm::kError || t.reply.form == ReplyForm::kNone) return false;
  if (!t.call.read_chunks.empty() && t.call.read_chunks.front().position == 0) return true;
  const bool refused = t.reply.rpc.status == ParseStatus::kOk && !t.reply.rpc.success();
  const bool failed = t.reply.walk.has_status && t.reply.walk.nfs_status != 0;
  return !refused && !failed;
}

Moved ReadsOf(const Transaction& t) {
  Moved reads;
  uint64_t offered = 0, requested = 0;
  for (const SegmentRecord& record : t.call.segments) {
    if (record.list != ListKind::kReadList) continue;
    offered += record.segment.length;
    requested += record.requested.total();
  }
  reads.any = t.rdma.first_read.number != 0;
  if (reads.any) {
    reads.first_known = requested == offered || !t.disturbed;
    reads.last_known = reads.first_known && t.rdma.reads_answered;
  } else if (offered > 0) {
    reads.first_known = reads.last_known = !t.disturbed && !MustHaveRead(t);
  }
  return reads;
}

// Whether Writes moved all that the Reply says of a chunk of the Call's.
bool IsAllThere(const Transaction& t, const rpcrdma::Chunk& offered, const rpcrdma::Chunk& returned) {
  const auto segments = t.reply.header.Of(returned);
  for (uint32_t i = 0; i < segments.size(); ++i) {
    if (segments[i].length == 0) continue;
    if (i >= offered.count || t.call.segments[t.SegmentIndex(offered, i)].moved.total() < segments[i].length)
      return false;
  }
  return true;
}

Moved WritesOf(const Transaction& t) {
  Moved writes;
  writes.any = t.rdma.first_write.number != 0;
  const rpcrdma::Header &call = t.call.header, &reply = t.reply.header;
  if (call.write_chunks.empty() && !call.reply_chunk) return writes;
  bool known = !t.disturbed;  // when the Reply does not say what was written
  if (reply.has_lists() && reply.status == ParseStatus::kOk) {
    known = true;
    for (size_t i = 0; i < reply.write_chunks.size(); ++i)
      known = known && i < call.write_chunks.size() && IsAllThere(t, call.write_chunks[i], reply.write_chunks[i]);
    if (reply.reply_chunk) known = known && call.reply_chunk && IsAllThere(t, *call.reply_chunk, *reply.reply_chunk);
  } else if (reply.status == ParseStatus::kTruncatedByCapture) {
    known = false;
  }
  writes.first_known = writes.last_known = known;
  return writes;
}

}  // namespace

std::optional<int64_t> RoundTrip(const Transaction& t) { return Elapsed(t.call.frame, t.answered_in()); }

PhaseFrames PhaseFramesOf(const Transaction& t) {
  PhaseFrames f;
  f.call = t.call.frame;
  f.reply = t.answered_in();
  f.waits = t.waits;
  f.whole = f.call.number != 0 && f.reply.number != 0 && t.call.header.status != ParseStatus::kTruncatedByCapture &&
            !t.call.end_missing && !t.reply.end_missing;
  if (!f.whole) return f;
  const Moved reads = ReadsOf(t), writes = WritesOf(t);
  f.first_read = t.rdma.first_read;
  f.last_read = t.rdma.last_read;
  f.first_write = t.rdma.first_write;
  f.last_write = t.rdma.last_write;
  f.reads = reads.any;
  f.writes = writes.any;
  f.first_read_known = reads.first_known;
  f.reads_known = reads.last_known;
  f.writes_known = writes.last_known;
  return f;
}

// How much of a time is in waits.
static int64_t Waited(std::span<const Wait> waits, int64_t begin_ns, int64_t end_ns) {
  int64_t sum = 0;
  for (const Wait& wait : waits)
    sum += std::max<int64_t>(0, std::min(end_ns, wait.until.time_ns) - std::max(begin_ns, wait.since.time_ns));
  return sum;
}

int64_t RecoveryOf(const Transaction& t) {
  return RoundTrip(t) ? Waited(t.waits, t.call.frame.time_ns, t.answered_in().time_ns) : 0;
}

Phases PhasesOf(const PhaseFrames& f) {
  Phases phases;
  const FrameRef &t0 = f.call, &t1 = f.first_read, &t2 = f.last_read, &t3 = f.first_write, &t4 = f.last_write,
                 &t5 = f.reply;
  const auto in_order = [](const FrameRef& a, const FrameRef& b) { return Elapsed(a, b).has_value(); };
  if (!f.whole || !in_order(t0, t5)) return phases;
  const bool read_known = f.reads && f.first_read_known, pull_known = f.reads && f.reads_known;
  if (read_known && !(in_order(t0, t1) && in_order(t1, t5))) return phases;
  if (pull_known && !(in_order(t1, t2) && in_order(t2, t5))) return phases;
  if (f.writes && f.writes_known && !(in_order(t0, t3) && in_order(t3, t4) && in_order(t4, t5))) return phases;

  const auto at = [&phases](Phase phase) -> std::optional<int64_t>& { return phases.ns[static_cast<size_t>(phase)]; };
  const auto put = [&](Phase phase, int64_t begin_ns, int64_t end_ns) {
    at(phase) = end_ns - begin_ns - Waited(f.waits, begin_ns, end_ns);
  };
  if (const int64_t waited = Waited(f.waits, t0.time_ns, t5.time_ns); waited > 0) at(Phase::kRecovery) = waited;
  if (read_known) put(Phase::kToFirstRead, t0.time_ns, t1.time_ns);
  if (pull_known) put(Phase::kPull, t1.time_ns, t2.time_ns);
  if (!f.reads_known || !f.writes_known) return phases;
  phases.complete = true;
  const int64_t begin = f.reads ? t2.time_ns : t0.time_ns;
  if (!f.writes) {
    put(Phase::kService, begin, t5.time_ns);
    return phases;
  }
  const int64_t first = std::max(t3.time_ns, begin), last = std::max(t4.time_ns, begin);
  put(Phase::kService, begin, first);
  put(Phase::kPush, first, last);
  put(Phase::kFinish, last, t5.time_ns);
  return phases;
}

}  // namespace stag::session
