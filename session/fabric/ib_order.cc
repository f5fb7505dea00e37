// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbConnection, first part: in which order packets are processed, and when a missing one is given up.
#include <algorithm>
#include <cstdlib>

#include "session/fabric/ib_connection.h"

namespace stag::fabric {
namespace {

using ib::Operation;
using ib::PsnAdd;
using ib::PsnDistance;

constexpr int32_t kFarAhead = 1 << 16;
// A packet that is further ahead than this of what was seen does not move a connection alone.
constexpr int32_t kStrayAhead = 256;
constexpr int64_t kMaxWaitNs = 3'000'000'000;
// Packets to let pass after the receiver proved that it has what the capture has not: frames may be captured out of
// order, but not by that much. A Read's requester proves nothing until it asks again, hence more patience.
constexpr uint32_t kSendPatience = 16, kReadPatience = 256;
// The longest list of waiting packets whose storage is kept.
constexpr size_t kKeptQueue = 64;
// A request with a wrong ICRC waits if its PSN is at most so far ahead. Else the damage may be in the PSN.
constexpr int32_t kMostDoubted = 64;

uint32_t PacketCount(uint32_t length, uint32_t mtu) { return length == 0 ? 1 : (length - 1) / mtu + 1; }

// The last PSN of the requester that a response acknowledges (IBA section 9.7.5.1.2: responses acknowledge all before).
uint32_t Acknowledged(const RcPacket& p) { return p.IsNak() ? PsnAdd(p.psn(), ib::kPsnMask) : p.psn(); }

// The request PSN that a response builds on: its own, or for a sequence error the one before the missing one.
uint32_t Needed(const RcPacket& p) { return p.IsSequenceNak() ? PsnAdd(p.psn(), ib::kPsnMask) : p.psn(); }

bool BeginsSend(const RcPacket& p) { return p.Is(Operation::kSend) && p.info->first; }

}  // namespace

// How far a request is ahead of the expected one; 0: it is the next, negative: it was seen.
int32_t IbConnection::Ahead(const SideState& s, uint32_t psn) const {
  if (!s.known) return 0;
  if (!s.open_count) {
    int32_t ahead = PsnDistance(psn, s.expected);
    // A first request nowhere near the PSN that the CM exchange promised: believe the request.
    return !s.started && (ahead < 0 || ahead > kFarAhead) ? 0 : ahead;
  }
  // Behind a Read of unknown packet count: whatever fits one of the possible path MTUs is the next.
  int32_t from_read = PsnDistance(psn, s.open_psn);
  for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
    if (from_read == static_cast<int32_t>(PacketCount(s.open_length, mtu))) return 0;
  int32_t most = static_cast<int32_t>(PacketCount(s.open_length, 256));
  return from_read > most ? from_read - most : -1;
}

bool IbConnection::MayBeginWith(Side requester, uint32_t psn) const {
  const SideState& s = side_[requester];
  int32_t ahead = PsnDistance(psn, s.expected);
  return s.known && !s.started && ahead >= 0 && ahead <= kFarAhead;
}

bool IbConnection::RequestSeen(const SideState& s, uint32_t psn) const {
  if (!s.known) return true;
  uint32_t end = s.open_count ? PsnAdd(s.open_psn, PacketCount(s.open_length, 256)) : s.expected;
  return PsnDistance(psn, end) < 0;
}

// Is this the next response to a Read Request that was given up?
bool IbConnection::ContinuesLostRead(const SideState& s, const RcPacket& p) const {
  return s.lost_read && p.Is(Operation::kReadResponse) && p.psn() == s.expected;
}

IbConnection::Block IbConnection::BlockOf(const RcPacket& p) const {
  Side requester = p.requester();
  const SideState& s = side_[requester];
  if (p.info->response) {
    if (RequestSeen(s, Needed(p)) || ContinuesLostRead(s, p)) return {};
    return {Block::Why::kRequest, requester, s.expected};
  }
  int32_t ahead = Ahead(s, p.psn());
  if (ahead > 0) return {Block::Why::kRequest, requester, s.expected};
  if (ahead == 0 && p.doubtful) return {Block::Why::kDoubt, requester, p.psn()};
  if (ahead == 0 && BeginsSend(p)) {
    for (const Read& read : s.reads)
      if (!read.waived && PsnDistance(read.psn, p.psn()) < 0)
        return {Block::Why::kRead, requester, PsnAdd(read.psn, read.received)};
  }
  return {};
}

// Whether nothing has to come before it: nearly every packet of a capture that lost nothing. False: BlockOf tells.
static bool IsNextRequest(uint32_t expected, bool awaits_read, const RcPacket& p) {
  return p.psn() == expected && !(awaits_read && BeginsSend(p));
}
static bool IsNextResponse(uint32_t expected, const RcPacket& p) { return PsnDistance(Needed(p), expected) < 0; }

// In the order of the capture, before anything is made of it.
inline void IbConnection::Arrive(const RcPacket& p) {
  last_frame_ = p.frame;
  side_[p.from].heard = true;
  ++packets_;
  if (context_.packets()) context_.packets()->OnPacket(track_, p);
}

void IbConnection::OnPacket(RcPacket& p) {
  Arrive(p);
  if (!attentive_ && (p.info->response ? IsPlainResponse(p) : IsPlainRequest(p))) {
    if (context_.options().sightings) See(p);
    return Process(p);
  }
  OnOddPacket(p);
}

// In the order of the capture, if its receiver takes it.
void IbConnection::See(const RcPacket& p) {
  using Kind = Sighting::Kind;
  SightingJournal::Seen seen{.frame = p.frame, .number = p.psn(), .from = p.from};
  if (p.info->response) {
    const bool data = p.Is(Operation::kReadResponse);
    const bool rnr = p.info->aeth && ib::KindOf(p.aeth.syndrome) == ib::AethKind::kRnrNak;
    seen.kind = data ? Kind::kReadResponse : !p.IsNak() ? Kind::kAck : rnr ? Kind::kRnrNak : Kind::kNak;
  } else if (p.Is(Operation::kReadRequest)) {
    seen.kind = Kind::kReadRequest;
    if (mtu_ != 0) seen.count = PacketCount(p.reth.length, mtu_);
  }
  journal_.Take(seen, {}, true, [this](Sighting& told) {
    told.connection = info.id;
    told.slot = info.slot;
    context_.Emit(told);
  });
}

void IbConnection::OnHeldPacket(RcPacket& p) {
  Arrive(p);
  OnOddPacket(p);
}

// Whether a packet is the next, and there is nothing else to be looked at in it, as in nearly all. It is remembered
// then, if it was captured whole.
inline bool IbConnection::IsPlainRequest(const RcPacket& p) {
  SideState& s = side_[p.from];
  if (!s.known || s.open_count || !IsNextRequest(s.expected, !s.reads.empty(), p)) return false;
  if (!IbOriginals::IsWhole(*p.wire)) return true;
  if (p.bth.opcode == ib::kWriteFirst) return false;
  return IbOriginals::RememberPlain(s.requests.KeyOf(p.psn()), p, originals_.At(s.requests, p.psn()));
}

inline bool IbConnection::IsPlainResponse(const RcPacket& p) {
  SideState& s = side_[1 - p.from];
  if (!s.known || s.open_count || !IsNextResponse(s.expected, p)) return false;
  if (p.Is(Operation::kAck)) {
    if (p.IsNak()) return false;
  } else if (IbOriginals::IsWhole(*p.wire)) {
    const uint64_t key = s.responses.KeyOf(p.psn());
    IbOriginal& original = originals_.At(s.responses, p.psn());
    if (original.key == key || !IbOriginals::RememberPlain(key, p, original)) return false;
  }
  NoteAnswered(p, s);
  return true;
}

inline void IbConnection::NoteAnswered(const RcPacket& p, SideState& s) {
  if (!s.answered_known || PsnDistance(p.psn(), s.answered) > 0) s.answered = p.psn();
  s.answered_known = true;
}

void IbConnection::OnOddPacket(RcPacket& p) {
  const bool stray = IsStray(p);
  if (!stray && (recovery_.waits() || IbRecovery::Begins(p)))
    recovery_.OnPacket(p, info, [this](const Recovery& recovery) { context_.Emit(recovery); });
  SideState& s = side_[p.requester()];
  const bool known = s.known && !s.open_count;
  const bool next = known && queue_.empty() &&
                    (p.info->response ? IsNextResponse(s.expected, p) : IsNextRequest(s.expected, !s.reads.empty(), p));
  const bool in_order = next || (known && !p.info->response && p.psn() == s.expected);
  if (!p.wire || Inspect(p, in_order)) {
    if (p.info->response) {
      if (s.from_setup && (s.early.active || !next) && p.Is(Operation::kAck)) NoteAck(p, s);
      if (!stray) NoteAnswered(p, s);
    } else if (s.early.active) {
      NoteSent(p, s);
    }
    if (context_.options().sightings && !stray && !p.doubtful) See(p);
    if (stray) {
      SetAside(p);
    } else if ((next && !p.doubtful) || (queue_.empty() && BlockOf(p).why == Block::Why::kNone)) {
      Process(p);
    } else {
      Wait(p);
    }
  }
  attentive_ = !queue_.empty() || icrc_[0].left > 0 || icrc_[1].left > 0 || side_[0].early.active ||
               side_[1].early.active || recovery_.waits();
}

// Whether a packet is far ahead of what was seen, and no packet that waits is near it.
bool IbConnection::IsStray(const RcPacket& p) const {
  const Side requester = p.requester();
  const SideState& s = side_[requester];
  if (!s.known) return false;
  const uint32_t psn = p.info->response ? Needed(p) : p.psn();
  const int32_t ahead = s.open_count ? Ahead(s, psn) : PsnDistance(psn, s.expected);
  if (ahead <= kStrayAhead) return false;
  return std::none_of(queue_.rbegin(), queue_.rend(), [&](const HeldPtr& held) {
    const RcPacket& q = held->packet;
    return q.requester() == requester && std::abs(PsnDistance(q.psn(), p.psn())) <= kStrayAhead;
  });
}

void IbConnection::SetAside(const RcPacket& p) {
  const Side requester = p.requester();
  Stray& stray = stray_[requester];
  if (stray.packet && std::abs(PsnDistance(stray.packet->packet.psn(), p.psn())) <= kStrayAhead) {
    BelieveStray(requester);
    return Wait(p);
  }
  if (stray.packet) pool_.Keep(std::move(stray.packet));
  stray.packet = pool_.Copy(p);
  stray.expected = side_[requester].expected;
  if (!stray.packet) ++context_.stats().dropped_for_memory;
}

// Lets the packet that was set aside wait with others, unless its requester went on where it was.
void IbConnection::BelieveStray(Side requester) {
  Stray& stray = stray_[requester];
  if (!stray.packet) return;
  HeldPtr held = std::move(stray.packet);
  if (stray.expected == side_[requester].expected) Wait(held->packet);
  pool_.Keep(std::move(held));
}

// Looks at a packet as it was captured; false: it is not to be followed. The ICRCs of the first packets are checked; of
// those that come in another order than they were sent in, which repeat something, or something is missing, or their
// headers are damaged; and of those that say how long an RDMA Write of several packets is.
//
// A receiver drops a packet whose ICRC is wrong (IBA section 9.6), and its sender sends it again. A request that is not
// sent again and that the receiver acknowledges was changed in the capture alone: it waits until that is known.
bool IbConnection::Inspect(RcPacket& p, bool in_order) {
  SideState& s = side_[p.requester()];
  if (s.requests.key == 0) {
    originals_.Prepare();
    for (Side side : {Side{0}, Side{1}}) {  // the packets of either may be plain from the next one on
      side_[side].requests = IbOriginals::StreamOf(info.id, side, false);
      side_[side].responses = IbOriginals::StreamOf(info.id, static_cast<Side>(1 - side), true);
    }
  }
  const bool check = !in_order || (p.info->reth && !p.info->last) || icrc_[p.from].left > 0;
  if (p.Is(Operation::kAck) || !IbOriginals::IsWhole(*p.wire)) return !check || PassesIcrc(p) || Doubt(p);
  const IbOriginals::Stream& stream = p.info->response ? s.responses : s.requests;
  const uint64_t key = stream.KeyOf(p.psn());
  IbOriginal& original = originals_.At(stream, p.psn());
  const bool again = original.key == key;
  if ((check || again) && !PassesIcrc(p)) return Doubt(p);
  if (again) {
    OnRepeat(p, original);
  } else {
    IbOriginals::Remember(key, p, original);
  }
  return true;
}

// Marks a packet with a wrong ICRC as doubtful, where it may wait for the proof that its receiver has it; false: it may
// not.
bool IbConnection::Doubt(RcPacket& p) {
  if (p.info->response) return false;
  const int32_t ahead = Ahead(side_[p.from], p.psn());
  p.doubtful = ahead >= 0 && ahead <= kMostDoubted;
  return p.doubtful;
}

// It has to wait, or others do.
void IbConnection::Wait(const RcPacket& p) {
  const bool first = queue_.empty();
  Enqueue(p);
  if (first) return WatchBlock(nullptr);
  Drain();
  if (!queue_.empty()) WatchBlock(&p);
}

// Puts a packet where it belongs among those that wait: before the first that builds on it, else last.
void IbConnection::Enqueue(const RcPacket& p) {
  Side requester = p.requester();
  bool request = !p.info->response;
  bool read_response = p.Is(Operation::kReadResponse);
  if (request && side_[requester].known && Ahead(side_[requester], p.psn()) < 0)
    return Process(p);  // a retransmission: counted and dropped
  size_t place = queue_.size();
  if (request || read_response) {
    for (size_t i = 0; i < queue_.size(); ++i) {
      const RcPacket& q = queue_[i]->packet;
      if (q.requester() != requester) continue;
      if (request && !q.info->response && q.psn() == p.psn()) {
        ++context_.stats().duplicates;
        if (!q.doubtful || p.doubtful) return;
        pool_.Keep(Take(i));
        place = i;
        break;
      }
      bool builds_on =
          request ? (q.info->response ? PsnDistance(Needed(q), p.psn()) >= 0 : PsnDistance(q.psn(), p.psn()) > 0)
                  : (BeginsSend(q) && PsnDistance(q.psn(), p.psn()) > 0);
      if (builds_on) {
        place = i;
        break;
      }
    }
  }
  HeldPtr held = pool_.Copy(p);
  if (!held) {  // no memory left to wait with: go on without what is missing
    context_.stats().dropped_for_memory += queue_.size();
    Flush();
    Force(p);
    return;
  }
  queue_bytes_ += HoldPool::Cost(p);
  queue_.insert(queue_.begin() + static_cast<ptrdiff_t>(place), std::move(held));
}

HeldPtr IbConnection::Take(size_t place) {
  HeldPtr held = std::move(queue_[place]);
  queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(place));
  queue_bytes_ -= HoldPool::Cost(held->packet);
  return held;
}

void IbConnection::Drain() {
  size_t done = 0;
  while (done < queue_.size() && BlockOf(queue_[done]->packet).why == Block::Why::kNone) {
    HeldPtr held = std::move(queue_[done++]);
    queue_bytes_ -= HoldPool::Cost(held->packet);
    Process(held->packet);
    pool_.Keep(std::move(held));
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(done));
  if (queue_.empty() && queue_.capacity() > kKeptQueue) std::vector<HeldPtr>().swap(queue_);
}

// Does a response show that its receiver's peer has all that `block` misses or doubts?
bool IbConnection::ProvesReceipt(const Block& block, const RcPacket& p) const {
  return p.info->response && p.requester() == block.requester && PsnDistance(Acknowledged(p), block.psn) >= 0;
}

bool IbConnection::ReceiptIsProven(const Block& block) const {
  return std::any_of(queue_.begin(), queue_.end(), [&](const HeldPtr& h) { return ProvesReceipt(block, h->packet); });
}

// The first frame, of the packets that wait, that proves it; number 0: none does.
FrameRef IbConnection::ReceiptOf(const Block& block, const RcPacket& waiting) const {
  FrameRef first = ProvesReceipt(block, waiting) ? waiting.frame : FrameRef{};
  for (const HeldPtr& held : queue_) {
    const RcPacket& p = held->packet;
    if ((first.number == 0 || p.frame.order() < first.order()) && ProvesReceipt(block, p)) first = p.frame;
  }
  return first;
}

// Called with packets waiting, after one arrived: gives up what is missing when it is time to.
void IbConnection::WatchBlock(const RcPacket* arrived) {
  while (!queue_.empty()) {
    const RcPacket& head = queue_.front()->packet;
    Block block = BlockOf(head);
    if (block == block_ && arrived != nullptr) {
      if (receipt_proven_) ++packets_since_proof_;
      receipt_proven_ = receipt_proven_ || ProvesReceipt(block_, *arrived);
    } else if (!(block == block_)) {
      block_ = block;
      blocked_since_ns_ = last_frame_.time_ns;
      packets_since_proof_ = 0;
      receipt_proven_ = ReceiptIsProven(block_);
    }
    bool full = queue_.size() > context_.limits().waiting_packets || queue_bytes_ > context_.limits().waiting_bytes;
    bool late = last_frame_.time_ns - blocked_since_ns_ > kMaxWaitNs;
    const uint32_t patience = block_.why == Block::Why::kRead      ? kReadPatience
                              : block_.why == Block::Why::kRequest ? kSendPatience
                                                                   : 0;
    bool lost = receipt_proven_ && packets_since_proof_ >= patience;
    if (!full && !late && !lost) return;
    if (block_.why == Block::Why::kDoubt) {
      SettleDoubt();
    } else {
      GiveUp(block_, head);
    }
    Drain();
    arrived = nullptr;
  }
  block_ = {};
}

// The first packet that waits is doubtful: it counts if its receiver has it, and else is dropped.
void IbConnection::SettleDoubt() {
  if (receipt_proven_) {
    queue_.front()->packet.doubtful = false;
  } else {
    pool_.Keep(Take(0));
  }
}

// Lets `waiting` go on without what `block` names. Afterwards that block is gone.
void IbConnection::GiveUp(const Block& block, const RcPacket& waiting) {
  SideState& s = side_[block.requester];
  if (block.why == Block::Why::kRead) {
    uint64_t missing = 0;
    for (size_t i = 0; i < s.reads.size();) {
      Read& read = s.reads[i];
      if (PsnDistance(read.psn, waiting.psn()) >= 0) {
        ++i;
      } else if (receipt_proven_) {
        missing += read.count == 0 ? 1 : read.Missing(read.count);
        RemoveRead(s, i);
      } else {
        read.waived = true;  // slow rather than lost: its data may still come
        ++i;
      }
    }
    const Gap gap{missing, Gap::Of::kResponses};
    if (missing > 0) EmitGap(static_cast<Side>(1 - block.requester), gap, waiting.frame);
    return;
  }
  uint32_t next = waiting.info->response ? PsnAdd(Needed(waiting), 1) : waiting.psn();
  for (const HeldPtr& held : queue_) {
    const RcPacket& q = held->packet;
    bool request = !q.info->response && q.from == block.requester && PsnDistance(q.psn(), s.expected) > 0;
    if (request && PsnDistance(q.psn(), next) < 0) next = q.psn();
  }
  int32_t missing = s.open_count ? std::max(Ahead(s, next), 1) : PsnDistance(next, s.expected);
  const Gap gap{static_cast<uint64_t>(std::max(missing, 1)), Gap::Of::kNumbers, ReceiptOf(block, waiting)};
  EmitGap(block.requester, gap, waiting.frame);
  AbandonSend(block.requester, s.expected);
  s.write.after_gap = true;
  s.write.whole = false;
  s.lost_read = waiting.Is(Operation::kReadResponse) && PsnDistance(next, waiting.psn()) == 1;
  if (s.lost_read) next = waiting.psn();  // that response is the first to continue the lost Read
  s.open_count = false;
  s.expected = next;
}

void IbConnection::CheckTime(int64_t now_ns) {
  if (!queue_.empty() && now_ns - blocked_since_ns_ > kMaxWaitNs) Flush();
}

// Processes a packet now, giving up whatever it would have to wait for.
void IbConnection::Force(const RcPacket& p) {
  for (Block block = BlockOf(p); block.why != Block::Why::kNone; block = BlockOf(p)) {
    if (block.why == Block::Why::kDoubt) {
      if (!ReceiptIsProven(block)) return;
      break;
    }
    GiveUp(block, p);
  }
  Process(p);
}

void IbConnection::Flush() {
  while (!queue_.empty()) {
    HeldPtr held = Take(0);
    Force(held->packet);
    pool_.Keep(std::move(held));
  }
  block_ = {};
}

}  // namespace stag::fabric
