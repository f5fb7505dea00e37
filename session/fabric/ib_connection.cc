// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbConnection, second part: what packets mean, once they are in order.
#include "session/fabric/ib_connection.h"

#include <algorithm>
#include <bit>

namespace stag::fabric {
namespace {

using ib::Operation;
using ib::PsnAdd;
using ib::PsnDistance;

NakKind KindOfNak(uint8_t syndrome) {
  if (ib::KindOf(syndrome) == ib::AethKind::kRnrNak) return NakKind::kRnr;
  switch (syndrome & 31) {
    case ib::kNakSequence: return NakKind::kSequence;
    case ib::kNakRemoteAccess: return NakKind::kRemoteAccess;
    case ib::kNakRemoteOperation: return NakKind::kRemoteOperation;
    default: return NakKind::kInvalidRequest;
  }
}

}  // namespace

bool IbConnection::Read::Seen(uint32_t k) const {
  if (k < received) return true;
  return std::any_of(beyond.begin(), beyond.end(), [k](const Range& r) { return r.begin <= k && k < r.end; });
}

void IbConnection::Read::Mark(uint32_t k) {
  if (k == received) {
    ++received;
    for (size_t i = 0; i < beyond.size(); ++i) {
      if (beyond[i].begin != received) continue;
      received = beyond[i].end;
      beyond.erase(beyond.begin() + static_cast<ptrdiff_t>(i));
      i = static_cast<size_t>(-1);  // the new end may meet another range
    }
    return;
  }
  for (Range& r : beyond)
    if (r.end == k) return (void)++r.end;
  if (beyond.size() < kMaxRanges) beyond.push_back({k, k + 1});
}

uint32_t IbConnection::Read::Missing(uint32_t until) const {
  uint32_t seen = std::min(received, until);
  for (const Range& r : beyond) seen += std::min(r.end, until) - std::min(r.begin, until);
  return until - seen;
}

void IbConnection::ExpectPsn(Side requester, uint32_t psn, bool from_setup) {
  SideState& s = side_[requester];
  if (s.started) return;
  s.known = true;
  s.expected = psn;
  if (context_.packets()) context_.packets()->OnFirstPsn(track_, requester, psn);
  s.from_setup = from_setup;
}

void IbConnection::SetPathMtu(uint32_t mtu) {
  if (mtu == 0) return;
  if (context_.packets()) context_.packets()->OnPathMtu(track_, mtu);
  LearnMtu(mtu);
}

// Every packet that is first or middle of a message carries a full path MTU.
void IbConnection::LearnMtu(uint64_t size) {
  if (size < 256 || size > 4096 || !std::has_single_bit(size) || size == mtu_) return;
  mtu_ = static_cast<uint32_t>(size);
  for (SideState& s : side_) {
    for (Read& read : s.reads)
      if (read.count == 0) read.count = read.length == 0 ? 1 : (read.length - 1) / mtu_ + 1;
    if (!s.open_count) continue;
    s.open_count = false;
    s.expected = PsnAdd(s.open_psn, s.open_length == 0 ? 1 : (s.open_length - 1) / mtu_ + 1);
  }
}

void IbConnection::EmitSetup(Side from, const FrameRef& frame, const Setup& setup) {
  last_frame_ = frame;
  Emit(from, frame, frame, setup);
}

void IbConnection::Open(const FrameRef& frame) {
  if (opened_) return;
  opened_ = true;
  last_frame_ = frame;
  Emit(0, frame, frame, Opened{});
}

void IbConnection::Close(CloseReason reason, const FrameRef& frame) {
  for (Side side : {Side{0}, Side{1}}) BelieveStray(side);
  Flush();
  ReportMissingResponses();
  if (context_.packets()) context_.packets()->OnClosed(track_);
  Closed closed{reason, packets_};
  for (size_t side = 0; side < 2; ++side) {
    const SideState& s = side_[side];
    closed.extent[side] = {s.heard, s.requests_seen + s.requests_missing, s.requests_missing};
  }
  Emit(0, frame, frame, closed);
}

// Reads that nothing waited for: were there responses to later PSNs, then those that are missing were missed.
void IbConnection::ReportMissingResponses() {
  for (Side side : {Side{0}, Side{1}}) {
    const SideState& s = side_[side];
    uint64_t missing = 0;
    for (const Read& read : s.reads) {
      int32_t until = s.answered_known ? PsnDistance(s.answered, read.psn) : 0;
      if (until <= 0) continue;
      auto packets = static_cast<uint32_t>(until);
      missing += read.Missing(read.count == 0 ? packets : std::min(read.count, packets));
    }
    if (missing > 0) EmitGap(static_cast<Side>(1 - side), {missing, Gap::Of::kResponses}, last_frame_);
  }
}

void IbConnection::EmitGap(Side from, const Gap& gap, const FrameRef& frame) {
  Open(frame);
  if (gap.of == Gap::Of::kNumbers) side_[from].requests_missing += gap.size;
  Emit(from, frame, frame, gap);
}

void IbConnection::Process(const RcPacket& p) {
  if (!opened_) Open(p.frame);
  if (!p.info->response) return ProcessRequest(p);
  if (!p.IsNak()) NoteReceipt(p);
  if (p.Is(Operation::kReadResponse)) ProcessReadResponse(p);
  if (p.Is(Operation::kAck) && p.IsNak()) ProcessNak(p);
}

// A response acknowledges all requests up to its own (IBA section 9.7.5.1.2). One that says no more than an earlier one
// may be a late copy.
void IbConnection::NoteReceipt(const RcPacket& p) {
  SideState& s = side_[p.requester()];
  if (s.acknowledged_known && PsnDistance(p.psn(), s.acknowledged) <= 0) {
    // Unless nothing came between them.
    if (p.psn() == s.acknowledged && context_.Follows(info.acknowledged_in[p.from], p.frame.order()))
      info.acknowledged_in[p.from] = p.frame.order();
    return;
  }
  s.acknowledged_known = true;
  s.acknowledged = p.psn();
  info.acknowledged_in[p.from] = p.frame.order();
  info.sends_received[p.from] = s.sends.Acknowledge([&p](uint32_t end) { return PsnDistance(p.psn(), end) >= 0; });
}

void IbConnection::ProcessRequest(const RcPacket& p) {
  SideState& s = side_[p.from];
  s.request_since_nak = true;
  const bool expected = s.known && !s.open_count && p.psn() == s.expected;
  if (!expected && Ahead(s, p.psn()) < 0 && !DisprovesRead(p, s)) {
    ++context_.stats().duplicates;
    if (p.Is(Operation::kReadRequest)) DoubtRead(p, s);
    return;
  }
  s.known = s.started = true;
  ++s.requests_seen;
  s.open_count = s.lost_read = false;
  s.expected = PsnAdd(p.psn(), 1);
  if (s.send.active && (!p.Is(Operation::kSend) || p.info->first)) AbandonSend(p.from, PsnAdd(p.psn(), ib::kPsnMask));
  if (s.write.active && (p.info->first || !p.Is(Operation::kWrite))) EndWrite(p, s);
  if (!p.info->last && (p.Is(Operation::kSend) || p.Is(Operation::kWrite))) LearnMtu(p.data_length);
  switch (p.info->operation) {
    case Operation::kSend: ProcessSend(p, s); break;
    case Operation::kWrite: ProcessWrite(p, s); break;
    case Operation::kReadRequest: ProcessReadRequest(p, s); break;
    default: Remember(p, s, 1); break;  // atomics and the unknown: nothing for an RPC in them
  }
}

[[gnu::always_inline]] inline void IbConnection::Remember(const RcPacket& p, SideState& s, uint32_t count) {
  if (s.recent.empty()) s.recent.resize(kRecent);
  Recent& r = s.recent[s.recent_next++ % kRecent];
  r.psn = p.psn();
  r.count = count;
  r.frame = p.frame;
  r.rdma = p.Is(Operation::kReadRequest) || (p.Is(Operation::kWrite) && s.write.active);
  if (!r.rdma) return;
  if (p.Is(Operation::kReadRequest)) {
    r.handle = p.reth.key, r.offset = p.reth.address, r.length = p.reth.length;
  } else {
    r.handle = s.write.handle, r.offset = s.write.offset, r.length = s.write.length;
  }
}

void IbConnection::ProcessSend(const RcPacket& p, SideState& s) {
  Remember(p, s, 1);
  if (p.info->first) {
    s.send.first_frame = p.frame;
    s.send.first_psn = p.psn();
    s.send.missing = Missing::kNothing;
    if (p.info->last) {
      s.send.length = p.data_length;
      return EmitSend(s, p);
    }
    s.send.active = true;
    s.send.cut = false;
    s.send.length = 0;
    s.send.bytes.clear();
  }
  if (!s.send.active) return;  // the beginning was lost, as a kGap told, or came before the capture
  AppendSend(s, p);
  if (p.info->last) EmitSend(s, p);
}

// Room for `size` bytes in all; false when the budget does not allow it.
bool IbConnection::MakeRoom(std::vector<std::byte>& bytes, size_t size, Charge& charge) {
  if (size <= bytes.capacity()) return true;
  size_t grown = std::max(size, 2 * bytes.capacity());
  if (!charge.TrySet(grown)) {
    grown = size;
    if (!charge.TrySet(grown)) return false;
  }
  bytes.reserve(grown);
  return true;
}

// Collects packets of a Send. Beyond a cut, by the snap length or by our own limit, only lengths are added up.
void IbConnection::AppendSend(SideState& s, const RcPacket& p) {
  auto& send = s.send;
  send.length += p.data_length;
  if (send.cut) return;
  const size_t size = send.bytes.size() + p.data.size();
  if (size > context_.limits().send_bytes || !MakeRoom(send.bytes, size, send.charge)) {
    context_.stats().dropped_for_memory += p.data.size();
    send.cut = true;
    send.missing = Missing::kLost;
    return;
  }
  send.bytes.insert(send.bytes.end(), p.data.begin(), p.data.end());
  if (p.data.size() < p.data_length) {
    send.cut = true;
    send.missing = Missing::kTruncatedByCapture;
  }
}

void IbConnection::EmitSend(SideState& s, const RcPacket& p) {
  info.acknowledged_right_before[p.from] = context_.Follows(info.acknowledged_in[p.from], s.send.first_frame.order());
  EventOf<Send> event(info, p.from, s.send.first_frame, p.frame);
  event.first_number = s.send.first_psn;
  event.last_number = p.psn();
  Send& send = event.rest();
  send.bytes = s.send.active ? Bytes(s.send.bytes) : p.data;
  send.length = s.send.length;
  send.missing = s.send.missing;
  if (!s.send.active && p.data.size() < p.data_length) send.missing = Missing::kTruncatedByCapture;
  send.solicited = p.bth.solicited;
  if (p.info->immediate) send.immediate = p.immediate;
  if (p.info->ieth) send.invalidated = p.invalidated;
  s.send.active = false;
  s.sends.Add(p.psn());
  context_.Emit(event);
}

// Packets of a Send are missing: what came before them is all that can be told of it. It ended at `end`, or before.
void IbConnection::AbandonSend(Side side, uint32_t end) {
  SideState& s = side_[side];
  if (!s.send.active) return;
  s.send.active = false;
  Send send;
  send.bytes = s.send.bytes;
  send.length = s.send.length;
  send.missing = Missing::kLost;
  const FrameRef last = s.recent_next > 0 ? s.recent[(s.recent_next - 1) % kRecent].frame : s.send.first_frame;
  s.sends.Add(end);
  Emit(side, s.send.first_frame, last, send);
}

// Packets of a Write are placed by their PSN, so that those behind a lost one still get their right addresses.
void IbConnection::ProcessWrite(const RcPacket& p, SideState& s) {
  auto& write = s.write;
  if (p.info->first) {
    write.active = true;
    write.after_gap = false;
    write.whole = true;
    write.verified = p.info->last || p.verified;
    write.bytes = 0;
    write.handle = p.reth.key;
    write.offset = p.reth.address;
    write.length = p.reth.length;
    write.psn = p.psn();
    write.mtu = static_cast<uint32_t>(std::min<uint64_t>(p.data_length, UINT32_MAX));
    write.first_frame = p.frame;
  }
  Remember(p, s, 1);
  if (!write.active) return;
  uint64_t at = uint64_t{PsnAdd(p.psn(), 0u - write.psn)} * write.mtu;
  if (write.after_gap) {  // is it still the same Write? Then position and length agree.
    uint64_t end = at + p.data_length;
    bool same = p.info->last ? end == write.length : end < write.length && p.data_length == write.mtu;
    if (!same) {
      write.active = false;
      return;
    }
    write.after_gap = false;
  }
  write.bytes += p.data_length;
  if (!p.info->last && p.data_length != write.mtu) write.verified = write.verified && Verify(p);
  if (write.whole && (write.bytes > write.length || (p.info->last && write.bytes != write.length))) {
    NoteLength(p, write.verified, p.from, write.first_frame, EventKind::kWrite, write.length, write.bytes);
    write.whole = false;
  }
  EventOf<Write> event(info, p.from, write.first_frame, p.frame);
  event.first_number = event.last_number = p.psn();
  Write& part = event.rest();
  part.bytes = p.data;
  part.length = p.data_length;
  if (p.data.size() < p.data_length) part.missing = Missing::kTruncatedByCapture;
  part.handle = write.handle;
  part.offset = write.offset + at;
  part.whole = write.length;
  part.first = p.info->first;
  part.last = p.info->last;
  if (p.info->immediate) part.immediate = p.immediate;
  if (p.info->last) write.active = false;
  context_.Emit(event);
}

void IbConnection::AddRead(const RcPacket& p, SideState& s, uint32_t count) {
  static_assert(sizeof(Read) + Read::kMaxRanges * sizeof(Read::Range) <= Read::kCost);
  if (s.reads.size() >= context_.limits().reads) RemoveRead(s, 0);
  if (!s.reads_charge.TrySet((s.reads.size() + 1) * Read::kCost)) {  // its responses will have no address
    ++context_.stats().dropped_for_memory;
    return;
  }
  Read& read = s.reads.emplace_back();
  read.psn = p.psn();
  read.count = count;
  read.handle = p.reth.key;
  read.offset = p.reth.address;
  read.length = p.reth.length;
  read.frame = p.frame;
  read.verified = true;  // a request that is answered was not damaged
}

// A Read Request that is sent again: the first one may have been damaged.
void IbConnection::DoubtRead(const RcPacket& p, SideState& s) {
  for (Read& read : s.reads)
    if (read.psn == p.psn()) read.verified = false;
}

// Whether the requester goes on right behind its last Read Request, although that asks for several packets, of which
// none came: nothing but a part of that Read could have this PSN. The Read is forgotten then.
bool IbConnection::DisprovesRead(const RcPacket& p, SideState& s) {
  if (s.reads.empty() || p.Is(Operation::kReadRequest)) return false;
  const Read& last = s.reads.back();
  if (p.psn() != PsnAdd(last.psn, 1) || last.count == 1 || last.received > 0 || !last.beyond.empty()) return false;
  RemoveRead(s, s.reads.size() - 1);
  return true;
}

void IbConnection::RemoveRead(SideState& s, size_t index) {
  s.reads.erase(s.reads.begin() + static_cast<ptrdiff_t>(index));
  s.reads_charge.Set(s.reads.size() * Read::kCost);
}

void IbConnection::ProcessReadRequest(const RcPacket& p, SideState& s) {
  uint32_t count = p.reth.length <= 256 ? 1 : mtu_ == 0 ? 0 : (p.reth.length - 1) / mtu_ + 1;
  if (count == 0) {
    s.open_count = true;
    s.open_psn = p.psn();
    s.open_length = p.reth.length;
  } else {
    s.expected = PsnAdd(p.psn(), count);
  }
  Remember(p, s, std::max(count, 1u));
  AddRead(p, s, count);
  EventOf<ReadRequest> event(info, p.from, p.frame, p.frame);
  event.first_number = event.last_number = p.psn();
  ReadRequest& request = event.rest();
  request.handle = p.reth.key;
  request.offset = p.reth.address;
  request.length = request.whole = p.reth.length;
  request.first = request.last = true;
  context_.Emit(event);
}

void IbConnection::ProcessReadResponse(const RcPacket& p) {
  SideState& s = side_[p.requester()];
  if (!p.info->last) LearnMtu(p.data_length);
  if (ContinuesLostRead(s, p)) {
    s.expected = PsnAdd(s.expected, 1);
    s.lost_read = !p.info->last;
    return;
  }
  for (size_t i = s.reads.size(); i-- > 0;) {
    Read& read = s.reads[i];
    int32_t distance = PsnDistance(p.psn(), read.psn);
    if (distance < 0) continue;
    auto k = static_cast<uint32_t>(distance);
    if (read.count != 0 && k >= read.count) break;
    uint64_t at = uint64_t{k} * mtu_;
    if (mtu_ == 0 && k > 0)
      at = p.info->last && p.data_length <= read.length ? read.length - p.data_length : read.length;
    if (read.Seen(k)) break;
    // All packets before it were seen.
    const bool next = k == read.received && read.beyond.empty();
    const uint64_t bytes = read.bytes + p.data_length;
    if (!p.info->last && p.data_length != mtu_) read.verified = read.verified && Verify(p);
    if (next && !read.judged && (bytes > read.length || (p.info->last && bytes != read.length))) {
      read.judged = true;
      NoteLength(p, read.verified, p.from, read.frame, EventKind::kReadResponse, read.length, bytes);
    }
    if (at > read.length || p.data_length > read.length - at) break;
    read.bytes = bytes;
    EventOf<ReadResponse> event(info, p.from, p.frame, p.frame);
    event.first_number = event.last_number = p.psn();
    ReadResponse& part = event.rest();
    part.handle = read.handle;
    part.offset = read.offset + at;
    part.bytes = p.data;
    part.length = p.data_length;
    if (p.data.size() < p.data_length) part.missing = Missing::kTruncatedByCapture;
    part.first = at == 0;
    part.last = at + p.data_length == read.length;
    read.Mark(k);
    if (read.count == 0 && part.last) read.count = k + 1;
    if (read.count != 0 && read.received == read.count) RemoveRead(s, i);
    return context_.Emit(event);
  }
  if (s.known) ++context_.stats().duplicates;  // else it answers a request from before the capture
}

void IbConnection::ProcessNak(const RcPacket& p) {
  SideState& s = side_[p.requester()];
  // The same NAK again without a new attempt in between is the same frame twice.
  if (!s.request_since_nak && s.nak_psn == p.psn() && s.nak_syndrome == p.aeth.syndrome) {
    ++context_.stats().duplicates;
    return;
  }
  s.request_since_nak = false;
  s.nak_psn = p.psn();
  s.nak_syndrome = p.aeth.syndrome;
  Nak nak;
  nak.kind = KindOfNak(p.aeth.syndrome);
  if (nak.kind != NakKind::kSequence) {
    for (const Recent& r : s.recent) {
      if (r.frame.number == 0) continue;
      int32_t distance = PsnDistance(p.psn(), r.psn);
      if (distance < 0 || distance >= static_cast<int32_t>(r.count)) continue;
      nak.refused = r.frame;
      if (r.rdma) nak.handle = r.handle, nak.offset = r.offset, nak.length = r.length;
    }
  }
  Emit(p.from, p.frame, p.frame, nak);
}

}  // namespace stag::fabric
