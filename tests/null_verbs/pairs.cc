// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/null_verbs/pairs.h"

#include <time.h>

#include <cstring>

namespace stag::null_verbs {
namespace {

constexpr int kWait = -1;                   // instead of an ibv_wc_status: the work is not done
constexpr int64_t kSilent = 2'000'000'000;  // ns that a peer is waited for

int64_t Now() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool Broken(const Pair& pair) { return pair.state.load() == IBV_QPS_ERR; }

ibv_wc Completion(const Pair& pair, uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode, uint32_t length) {
  ibv_wc wc{};
  wc.wr_id = id;
  wc.status = status;
  wc.opcode = opcode;
  wc.byte_len = length;
  wc.qp_num = pair.number.load(std::memory_order_relaxed);
  return wc;
}

Receive& ReceiveAt(const Pair& pair, uint64_t number) {
  return *At<Receive>(pair.receives + number % pair.max_receives * pair.receive_stride);
}

void CompleteReceive(Pair& pair, const Receive& receive, ibv_wc wc, bool solicited) {
  wc.wr_id = receive.id;
  Complete(pair.receive_queue, {wc, pair.number.load(std::memory_order_relaxed), 0, 0}, solicited);
}

// The next receive; nullptr: there is none. Needs pair.taking.
Receive* NextReceive(Pair& pair) {
  const uint64_t next = pair.taken_receives.load(std::memory_order_relaxed);
  return next == pair.given_receives.load() ? nullptr : &ReceiveAt(pair, next);
}
void TakeReceive(Pair& pair) {
  const uint64_t taken = pair.taken_receives.load(std::memory_order_relaxed);  // written under the lock alone
  pair.taken_receives.store(taken + 1, std::memory_order_release);
}

void FlushReceives(Pair& pair) {
  const std::lock_guard lock(pair.taking);
  while (Receive* const receive = NextReceive(pair)) {
    CompleteReceive(pair, *receive, Completion(pair, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0), false);
    TakeReceive(pair);
  }
}

ibv_wc_opcode OpcodeOf(uint32_t opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_RDMA_WRITE: return IBV_WC_RDMA_WRITE;
    case IBV_WR_BIND_MW: return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV: return IBV_WC_LOCAL_INV;
    default: return IBV_WC_SEND;
  }
}

uint64_t LengthOf(std::span<const ibv_sge> pieces) {
  uint64_t length = 0;
  for (const ibv_sge& piece : pieces) length += piece.length;
  return length;
}
// What a Send, RDMA Read or RDMA Write moves.
uint64_t LengthOf(const Request& request) {
  return request.inline_size > 0 ? request.inline_size : LengthOf(std::span(request.sge, request.pieces));
}

// Whether memory of a pair's own may be used so.
bool MayUse(const Pin& pin, const Pair& pair, const ibv_sge& sge, bool write) {
  return pin && !pin->window && pin->domain == pair.domain && Covers(*pin.operator->(), sge.addr, sge.length) &&
         (!write || (pin->access & IBV_ACCESS_LOCAL_WRITE));
}
// Whether the peer of a pair may do something with the memory that `pin` holds.
bool MayReach(const Pin& pin, const Pair& pair, uint64_t address, uint64_t length, uint32_t access) {
  return pin && pin->domain == pair.domain && (pin->access & access) &&
         (!pin->window || pin->pair == pair.number.load(std::memory_order_relaxed)) &&
         Covers(*pin.operator->(), address, length);
}

}  // namespace

void Complete(uint32_t index, const Done& done, bool solicited) {
  Queue& queue = QueueAt(index);
  queue.producing.lock();
  const uint64_t tail = queue.tail.load(std::memory_order_relaxed);
  if (tail - queue.head_seen >= queue.capacity) {
    queue.head_seen = queue.head.load(std::memory_order_acquire);
    if (tail - queue.head_seen >= queue.capacity) Stop("a completion queue ran over");
  }
  At<Done>(queue.entries)[tail % queue.capacity] = done;
  queue.tail.store(tail + 1);
  queue.producing.unlock();
  const uint32_t armed = queue.armed.load();
  const bool wake = armed == 1 || (armed == 2 && (solicited || done.wc.status != IBV_WC_SUCCESS));
  if (wake && queue.armed.exchange(0) != 0) Post(queue.channel, {0, queue.number});
}

// ------------------------------------------------------------------------------------------------------------- sending

Posting::Posting(Pair& pair) : pair_(pair) { pair_.sending.lock(); }

Posting::~Posting() {
  LeavePeer();
  pair_.sending.unlock();
  if (own_broken_) BreakPair(pair_);
  if (broken_) BreakPair(*broken_);
}

void Posting::Add(Request& request) {
  request.number = ++pair_.posted;
  if (pair_.first != pair_.last || !Do(request)) Keep(request);
}

// What waits. `looked`: see Advance.
void Posting::Continue(bool looked) {
  if (pair_.first == pair_.last) return;
  pair_.tries += looked;
  while (pair_.first != pair_.last && Do(Kept(pair_.first))) ++pair_.first;
}

void Posting::Keep(const Request& request) {
  std::byte* const to = At<std::byte>(pair_.sends + pair_.last++ % pair_.max_sends * pair_.send_stride);
  std::memcpy(to, &request, sizeof request);
  if (request.inline_size > 0)
    std::memcpy(to + sizeof request, request.bytes, request.inline_size);
  else if (request.pieces > 0)
    std::memcpy(to + sizeof request, request.sge, request.pieces * sizeof(ibv_sge));
}

Request Posting::Kept(uint64_t at) {
  const std::byte* const from = At<std::byte>(pair_.sends + at % pair_.max_sends * pair_.send_stride);
  Request request;
  std::memcpy(&request, from, sizeof request);
  request.bytes = from + sizeof request;
  request.sge = reinterpret_cast<const ibv_sge*>(from + sizeof request);
  return request;
}

// False: it waits.
bool Posting::Do(const Request& request) {
  const int status = Broken(pair_) ? IBV_WC_WR_FLUSH_ERR : Execute(request);
  if (status == kWait) return false;
  pair_.tries = 0;
  pair_.deadline = 0;
  Wait(Waiting::kNo);
  Finish(request, static_cast<ibv_wc_status>(status));
  return true;
}

void Posting::Finish(const Request& request, ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS && !pair_.signal_all && !(request.flags & IBV_SEND_SIGNALED)) return;
  if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR) {
    pair_.state = IBV_QPS_ERR;
    own_broken_ = true;
  }
  const uint32_t length = request.opcode == IBV_WR_RDMA_READ ? static_cast<uint32_t>(LengthOf(request)) : 0;
  Complete(pair_.send_queue,
           {Completion(pair_, request.id, status, OpcodeOf(request.opcode), length),
            pair_.number.load(std::memory_order_relaxed), 0, request.number},
           false);
}

void Posting::Wait(Waiting what) {
  const Waiting before = pair_.waiting.load(std::memory_order_relaxed);
  if (before == what) return;
  pair_.waiting.store(what);
  if (before == Waiting::kNo) QueueAt(pair_.send_queue).stalled.fetch_add(1);
  if (what == Waiting::kNo) QueueAt(pair_.send_queue).stalled.fetch_sub(1);
}

// Locks the peer, if it takes something.
bool Posting::MeetPeer() {
  if (peer_) return !Broken(*peer_);
  const uint32_t number = pair_.peer.load();
  if (number == kNobody) return false;
  Pair& peer = PairOf(number);
  peer.taking.lock();
  const uint32_t state = peer.state.load();
  if (peer.number.load() == number && (state == IBV_QPS_RTR || state == IBV_QPS_RTS)) {
    peer_ = &peer;
    return true;
  }
  peer.taking.unlock();
  return false;
}

void Posting::LeavePeer() {
  if (peer_) peer_->taking.unlock();
  peer_ = nullptr;
}

void Posting::BreakPeer(ibv_event_type event) {
  peer_->state = IBV_QPS_ERR;
  broken_ = peer_;
  Post(peer_->device, {static_cast<uint32_t>(event), peer_->number.load()});
}

int Posting::Execute(const Request& request) {
  if (request.opcode == IBV_WR_BIND_MW) return Bind(request);
  if (request.opcode == IBV_WR_LOCAL_INV) {
    Region& region = RegionOf(request.word);
    const bool ours = region.window && region.handle == request.word && region.domain == pair_.domain;
    if (!ours || !Invalidate(region)) return IBV_WC_MW_BIND_ERR;
    RegionOf(region.region << 8).windows.fetch_sub(1);
    return IBV_WC_SUCCESS;
  }
  if (request.fault == Fault::kRnr) return IBV_WC_RNR_RETRY_EXC_ERR;
  if (request.fault == Fault::kSilence) return IBV_WC_RETRY_EXC_ERR;
  // The store before the look: a peer that becomes ready in between sees that somebody waits.
  if (!MeetPeer()) {
    Wait(Waiting::kForPeer);
    if (!MeetPeer()) {
      if (pair_.deadline == 0) pair_.deadline = Now() + kSilent;
      return Now() < pair_.deadline ? kWait : IBV_WC_RETRY_EXC_ERR;
    }
  }
  if (request.fault == Fault::kProtection) {
    BreakPeer(IBV_EVENT_QP_ACCESS_ERR);
    return IBV_WC_REM_ACCESS_ERR;
  }
  switch (request.opcode) {
    case IBV_WR_RDMA_READ: return Read(request);
    case IBV_WR_RDMA_WRITE: return Write(request);
    default: return Send(request);
  }
}

// The bytes of a Send, from the pieces of one list to those of the other.
int Posting::MoveSend(const Request& request, const Receive& receive) {
  uint32_t into = 0;
  uint64_t at = 0;
  const auto put = [&](const Memory& from, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ibv_sge& sge = receive.sge[into];
      if (at == sge.length) {
        ++into;
        at = 0;
        continue;
      }
      const uint64_t n = std::min(bytes - done, sge.length - at);
      const Pin pin(sge.lkey);
      if (!MayUse(pin, *peer_, sge, true) || !Copy({peer_->pid, sge.addr + at}, {from.pid, from.address + done}, n))
        return false;
      at += n;
      done += n;
    }
    return true;
  };
  if (request.inline_size > 0)
    return put({Self(), reinterpret_cast<uintptr_t>(request.bytes)}, request.inline_size) ? IBV_WC_SUCCESS
                                                                                          : IBV_WC_REM_OP_ERR;
  for (uint32_t i = 0; i < request.pieces; ++i) {
    const Pin pin(request.sge[i].lkey);
    if (!MayUse(pin, pair_, request.sge[i], false)) return IBV_WC_LOC_PROT_ERR;
    if (!put({pair_.pid, request.sge[i].addr}, request.sge[i].length)) return IBV_WC_REM_OP_ERR;
  }
  return IBV_WC_SUCCESS;
}

int Posting::Send(const Request& request) {
  Receive* receive = NextReceive(*peer_);
  if (!receive) {
    if (pair_.rnr_retries != 7 && pair_.tries >= pair_.rnr_retries) return IBV_WC_RNR_RETRY_EXC_ERR;
    Wait(Waiting::kForReceive);
    receive = NextReceive(*peer_);
    if (!receive) return kWait;
  }
  const auto fail = [&](ibv_wc_status theirs, ibv_event_type event, int ours) {
    CompleteReceive(*peer_, *receive, Completion(*peer_, 0, theirs, IBV_WC_RECV, 0), false);
    TakeReceive(*peer_);
    BreakPeer(event);
    return ours;
  };
  const uint64_t length = LengthOf(request);
  if (length > LengthOf(std::span(receive->sge, receive->pieces)))
    return fail(IBV_WC_LOC_LEN_ERR, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);

  const int moved = MoveSend(request, *receive);
  if (moved == IBV_WC_LOC_PROT_ERR) return moved;
  if (moved != IBV_WC_SUCCESS) return fail(IBV_WC_LOC_PROT_ERR, IBV_EVENT_QP_FATAL, moved);

  ibv_wc wc = Completion(*peer_, 0, IBV_WC_SUCCESS, IBV_WC_RECV, static_cast<uint32_t>(length));
  if (request.opcode == IBV_WR_SEND_WITH_IMM) {
    wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = request.word;
  }
  if (request.opcode == IBV_WR_SEND_WITH_INV) {
    Region& window = RegionOf(request.word);
    const bool theirs = Pin(request.word) && window.window && window.domain == peer_->domain &&
                        window.pair == peer_->number.load(std::memory_order_relaxed);
    // A responder's error of class J (IBA section 9.9.3): its side alone has an error.
    if (!theirs || !Invalidate(window)) {
      (void)fail(IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR, 0);
      LeavePeer();
      Wait(Waiting::kForPeer);
      pair_.deadline = Now() + kSilent;
      return kWait;
    }
    RegionOf(window.region << 8).windows.fetch_sub(1);
    wc.wc_flags |= IBV_WC_WITH_INV;
    wc.invalidated_rkey = request.word;
  }
  CompleteReceive(*peer_, *receive, wc, (request.flags & IBV_SEND_SOLICITED) != 0);
  TakeReceive(*peer_);
  return IBV_WC_SUCCESS;
}

int Posting::Write(const Request& request) {
  const uint64_t length = LengthOf(request);
  if (length == 0) return IBV_WC_SUCCESS;
  const Pin target(request.handle);
  if (!MayReach(target, *peer_, request.address, length, IBV_ACCESS_REMOTE_WRITE)) {
    BreakPeer(IBV_EVENT_QP_ACCESS_ERR);
    return IBV_WC_REM_ACCESS_ERR;
  }
  uint64_t to = request.address;
  if (request.inline_size > 0)
    return Copy({peer_->pid, to}, {Self(), reinterpret_cast<uintptr_t>(request.bytes)}, length) ? IBV_WC_SUCCESS
                                                                                                : IBV_WC_REM_OP_ERR;
  for (uint32_t i = 0; i < request.pieces; ++i) {
    const ibv_sge& sge = request.sge[i];
    const Pin from(sge.lkey);
    if (!MayUse(from, pair_, sge, false)) return IBV_WC_LOC_PROT_ERR;
    if (!Wished().free_copies && !Copy({peer_->pid, to}, {pair_.pid, sge.addr}, sge.length)) return IBV_WC_REM_OP_ERR;
    to += sge.length;
  }
  return IBV_WC_SUCCESS;
}

int Posting::Read(const Request& request) {
  if (peer_->reads_served == 0) {
    BreakPeer(IBV_EVENT_QP_REQ_ERR);
    return IBV_WC_REM_INV_REQ_ERR;
  }
  const uint64_t length = LengthOf(request);
  if (length == 0) return IBV_WC_SUCCESS;
  const Pin source(request.handle);
  if (!MayReach(source, *peer_, request.address, length, IBV_ACCESS_REMOTE_READ)) {
    BreakPeer(IBV_EVENT_QP_ACCESS_ERR);
    return IBV_WC_REM_ACCESS_ERR;
  }
  uint64_t from = request.address;
  for (uint32_t i = 0; i < request.pieces; ++i) {
    const ibv_sge& sge = request.sge[i];
    const Pin to(sge.lkey);
    if (!MayUse(to, pair_, sge, true)) return IBV_WC_LOC_PROT_ERR;
    if (!Wished().free_copies && !Copy({pair_.pid, sge.addr}, {peer_->pid, from}, sge.length)) return IBV_WC_REM_OP_ERR;
    from += sge.length;
  }
  return IBV_WC_SUCCESS;
}

// A memory window of type 2, which must not be bound (IBA section 10.6.7.2.2).
int Posting::Bind(const Request& request) {
  const auto& bind = request.bind;
  Region& window = RegionOf(bind.window);
  const Pin pin(bind.region);
  const bool reach = pin && !pin->window && pin->domain == pair_.domain && (pin->access & IBV_ACCESS_MW_BIND) &&
                     Covers(*pin.operator->(), bind.address, bind.length) &&
                     (!(bind.access & IBV_ACCESS_REMOTE_WRITE) || (pin->access & IBV_ACCESS_LOCAL_WRITE));
  const bool free = window.taken && window.window && window.domain == pair_.domain &&
                    window.use.load() < Region::kValid && (bind.handle >> 8) == (window.handle >> 8);
  if (!reach || !free) return IBV_WC_MW_BIND_ERR;
  window.handle = bind.handle;
  window.address = bind.address;
  window.length = bind.length;
  window.access = bind.access;
  window.pair = pair_.number.load(std::memory_order_relaxed);
  window.region = bind.region >> 8;
  RegionOf(bind.region).windows.fetch_add(1);
  window.use.fetch_or(Region::kValid, std::memory_order_release);
  return IBV_WC_SUCCESS;
}

void Advance(Pair& pair, bool looked) {
  Posting posting(pair);
  posting.Continue(looked);
}

void BreakPair(Pair& pair) {
  pair.state = IBV_QPS_ERR;
  Advance(pair, false);
  FlushReceives(pair);
}

// ----------------------------------------------------------------------------------------------------------- receiving

bool Giving::full() {
  if (given_ - pair_.taken_seen < pair_.max_receives) return false;
  pair_.taken_seen = pair_.taken_receives.load(std::memory_order_acquire);
  return given_ - pair_.taken_seen >= pair_.max_receives;
}

void Giving::Add(const ibv_recv_wr& wr) {
  Receive& receive = ReceiveAt(pair_, given_++);
  receive.id = wr.wr_id;
  receive.pieces = static_cast<uint32_t>(wr.num_sge);
  std::memcpy(receive.sge, wr.sg_list, receive.pieces * sizeof(ibv_sge));
}

Giving::~Giving() {
  pair_.given_receives.store(given_);
  lock_.unlock();
  if (Broken(pair_)) FlushReceives(pair_);
  const uint32_t peer = pair_.peer.load(std::memory_order_relaxed);
  if (peer != kNobody && PairOf(peer).waiting.load() == Waiting::kForReceive) Advance(PairOf(peer), false);
}

}  // namespace stag::null_verbs
