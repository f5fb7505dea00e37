// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_endpoint.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "replay/endpoint/verbs_trouble.h"

namespace stag::endpoint {
namespace {

using std::chrono::milliseconds;

constexpr int kBatch = 32;
constexpr uint32_t kSpins = 64;           // looks at the queue before a wait
constexpr milliseconds kGoodbye{5'000};   // for the peer's part in a disconnect
constexpr milliseconds kFlushing{2'000};  // for what was posted to come back, and for the reason of a break
constexpr uint32_t kAcknowledge = 64;     // events of the notifier, at a time: each time takes a lock

}  // namespace

VerbsEndpoint::~VerbsEndpoint() {
  if (phase_ != Phase::kOver) End(State::kBroken, fabric::CloseReason::kDisconnect, false);
  if (queue_ && unacknowledged_ > 0) ::ibv_ack_cq_events(queue_.get(), unacknowledged_);
}

// -------------------------------------------------------------------------------------------------------- completions

void VerbsEndpoint::Complete(const Item& item, CompletionStatus outcome) {
  if (item.own) {
    --own_works_;
    return;
  }
  Completion completion;
  completion.work = item.work;
  completion.outcome = outcome;
  completion.id = item.id;
  if (events_ && item.work == Work::kRead && outcome == CompletionStatus::kOk)
    events_->OnReadResponse(Bytes(item.into, item.length), item.wr.wr.rdma.rkey, item.wr.wr.rdma.remote_addr);
  completions_.Push(completion);
}

bool VerbsEndpoint::PollQueue() {
  std::array<ibv_wc, kBatch> batch;
  bool any = false;
  for (int n = kBatch; n == kBatch;) {
    n = ::ibv_poll_cq(queue_.get(), kBatch, batch.data());
    if (n < 0) Break({Trouble::Kind::kLocal, "the completion queue failed"});
    for (int i = 0; i < n; ++i) {
      const ibv_wc& wc = batch[static_cast<size_t>(i)];
      (wc.wr_id & kReceiveId) ? OnReceive(wc) : OnWork(wc);
    }
    any |= n > 0;
  }
  return any;
}

void VerbsEndpoint::OnWork(const ibv_wc& wc) {
  const bool refused = NakOf(wc.status).has_value();
  Trouble trouble;
  (void)work_.Complete(wc.wr_id, [&](const Item& item, bool last) {
    if (!last || wc.status == IBV_WC_SUCCESS) return Complete(item, CompletionStatus::kOk);
    Complete(item, refused ? CompletionStatus::kRefused : CompletionStatus::kFlushed);
    trouble = item.own ? TroubleOfWindow(wc.status) : TroubleOfWork(wc.status, item.work, device_.iwarp);
    if (!events_ || !refused) return;
    const bool rdma = item.work != Work::kSend;
    events_->OnNak(*NakOf(wc.status), rdma ? item.wr.wr.rdma.rkey : 0, rdma ? item.wr.wr.rdma.remote_addr : 0,
                   item.length);
  });
  if (wc.status == IBV_WC_WR_FLUSH_ERR) return Lose();
  if (wc.status != IBV_WC_SUCCESS) Break(std::move(trouble));
}

void VerbsEndpoint::OnReceive(const ibv_wc& wc) {
  const auto i = static_cast<uint32_t>(wc.wr_id & ~kReceiveId);
  Buffer& buffer = buffers_[i];
  --posted_receives_;
  if (wc.status == IBV_WC_WR_FLUSH_ERR) return Lose();
  if (wc.status != IBV_WC_SUCCESS) return Break(TroubleOfReceive(wc.status));
  // The first message may overtake the last message of the set-up, or replace it.
  if (!established_ && !active_) (void)::rdma_notify(id_.get(), IBV_EVENT_COMM_EST);
  established_ = true;
  buffer.given = true;
  Completion completion;
  completion.work = Work::kReceive;
  completion.id = i;
  completion.bytes = Bytes(buffer.at, wc.opcode == IBV_WC_RECV ? wc.byte_len : 0);
  if (wc.wc_flags & IBV_WC_WITH_INV) {
    completion.invalidated = wc.invalidated_rkey;
    memory_->Invalidated(wc.invalidated_rkey);
  }
  if (events_) events_->OnReceived(completion.bytes, completion.invalidated);
  completions_.Push(completion);
}

// ------------------------------------------------------------------------------------------------------------- waiting

size_t VerbsEndpoint::Poll(std::span<Completion> out, std::chrono::microseconds wait) {
  size_t n = Take(out);
  const bool waits = wait.count() > 0;
  std::optional<Clock::time_point> until;
  for (uint32_t spins = 0; phase_ != Phase::kOver && n < out.size(); ++spins) {
    const bool came = Progress();
    n += Take(out.subspan(n));
    completions_.Resume(came, n);
    if (n > 0) break;
    if (came || (waits && spins < kSpins)) continue;
    const bool kept = completions_.GiveWay();
    if (!waits && (kept || !watched_)) break;
    if (!kept && !armed_) {
      Arm();
      continue;
    }
    if (!waits) break;
    const auto now = Clock::now();
    if (!until) until = now + wait;
    if (now >= *until) break;
    if (!kept) Sleep(deadline_ ? std::min(*until, *deadline_) : *until);
  }
  n += Take(out.subspan(n));
  completions_.ShowKept();
  return n;
}

// Hands over, and takes what the device has; without waiting. True when something came.
bool VerbsEndpoint::Progress() {
  Flush();
  const bool came = PollQueue();
  if (came) {
    idle_ = 0;
  } else if (watched_ || phase_ != Phase::kOpen || ++idle_ % kLookEvery == 0) {
    LookAtChannels();
  }
  CheckEnd();
  return came;
}

void VerbsEndpoint::Arm() { armed_ = ::ibv_req_notify_cq(queue_.get(), 0) == 0; }

void VerbsEndpoint::Sleep(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  epoll_event event{};
  if (left > 0 && ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(std::min<int64_t>(left, 60'000))) > 0)
    LookAtChannels();
}

void VerbsEndpoint::LookAtChannels() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (::ibv_get_cq_event(notifier_.get(), &queue, &context) == 0) {
    armed_ = false;
    if (++unacknowledged_ == kAcknowledge) {
      ::ibv_ack_cq_events(queue_.get(), unacknowledged_);
      unacknowledged_ = 0;
    }
  }
  eventfd_t rung = 0;
  if (device_.windows) (void)::eventfd_read(bell_.get(), &rung);
  while (const auto event = NextCmEvent(channel_.get())) OnCmEvent(*event);
}

int VerbsEndpoint::descriptor() {
  if (!watched_) completions_.WatchIn(epoll_.get());
  watched_ = true;
  return epoll_.get();
}

// ----------------------------------------------------------------------------------------------------------------- end

void VerbsEndpoint::OnCmEvent(const rdma_cm_event& event) {
  switch (event.event) {
    case RDMA_CM_EVENT_ESTABLISHED: established_ = true; break;
    case RDMA_CM_EVENT_DISCONNECTED:
      disconnected_ = true;
      if (phase_ == Phase::kOpen || (phase_ == Phase::kFinishing && work_.uncompleted() > 0) || !left_) by_peer_ = true;
      Drain(kFlushing);
      break;
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      Break({Trouble::Kind::kPeerVanished,
             "the connection was not established: " + WhyNotConnected(event.event, event.status, {}, device_.iwarp)});
      break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL: Break({Trouble::Kind::kLocal, "the RDMA device was removed"}); break;
    default: break;
  }
}

void VerbsEndpoint::Disconnect() {
  if (phase_ != Phase::kOpen) return;
  disconnecting_ = true;
  Flush();
  if (phase_ == Phase::kOpen) phase_ = Phase::kFinishing;
  deadline_ = Clock::now() + kGoodbye;
  (void)Progress();
}

// Leaves the connection; what was posted comes back, flushed.
void VerbsEndpoint::Drain(milliseconds patience) {
  if (phase_ == Phase::kOver) return;
  if (!left_) (void)::rdma_disconnect(id_.get());
  left_ = true;
  if (phase_ == Phase::kDraining) return;
  phase_ = Phase::kDraining;
  deadline_ = Clock::now() + patience;
}

void VerbsEndpoint::Break(Trouble trouble) {
  if (phase_ == Phase::kOver) return;
  if (trouble_.kind == Trouble::Kind::kNone) trouble_ = std::move(trouble);
  Drain(kFlushing);
}

// Work was flushed and nothing said why: the connection manager or the device will.
void VerbsEndpoint::Lose() {
  if (phase_ == Phase::kDraining || phase_ == Phase::kOver) return;
  phase_ = Phase::kDraining;
  deadline_ = Clock::now() + kFlushing;
}

// Asynchronous events come for a whole device. Whoever reads one leaves it with the endpoint that it is for, which
// exists as long as the event is not acknowledged.
void VerbsEndpoint::ReadDeviceEvents() {
  ibv_async_event event;
  while (::ibv_get_async_event(id_->verbs, &event) == 0) {
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        static_cast<VerbsEndpoint*>(event.element.qp->qp_context)->device_event_ = event.event_type;
        break;
      default: break;
    }
    ::ibv_ack_async_event(&event);
  }
  const int type = device_event_.exchange(-1);
  if (type < 0 || trouble_.kind != Trouble::Kind::kNone) return;
  if (Trouble trouble = TroubleOfEvent(static_cast<ibv_event_type>(type)); trouble.kind != Trouble::Kind::kNone)
    Break(std::move(trouble));
}

// Goes as far towards the end as can be gone now.
void VerbsEndpoint::CheckEnd() {
  if (phase_ == Phase::kFinishing && work_.uncompleted() == 0) Drain(kGoodbye);
  if (phase_ != Phase::kDraining && phase_ != Phase::kFinishing) return;
  ReadDeviceEvents();
  const bool late = Clock::now() >= *deadline_;
  // Not every driver gives receives back; and when the manager says that it is over, what was received is there.
  if (disconnected_) (void)PollQueue();
  const bool back = (posted_receives_ == 0 || disconnected_) && work_.with_device() == 0;
  const bool why = disconnected_ || trouble_.kind != Trouble::Kind::kNone;
  if (phase_ == Phase::kFinishing && late)
    return Break({Trouble::Kind::kPeerVanished, "the peer did not take what was sent in time"});
  if (phase_ != Phase::kDraining || !((back && why) || late)) return;
  if (!left_ && !disconnected_ && trouble_.kind == Trouble::Kind::kNone)
    trouble_ = {Trouble::Kind::kPeerVanished, "the connection broke, and nothing says why"};
  if (trouble_.kind == Trouble::Kind::kNone && !disconnected_)
    trouble_ = {Trouble::Kind::kPeerVanished, "the peer did not take its part in the disconnect in time"};
  if (trouble_.kind != Trouble::Kind::kNone) return End(State::kBroken, fabric::CloseReason::kDisconnect, by_peer_);
  if (by_peer_ && !disconnecting_) trouble_ = {Trouble::Kind::kPeerClosed, "the peer disconnected"};
  End(State::kClosed, fabric::CloseReason::kDisconnect, by_peer_);
}

void VerbsEndpoint::End(State state, fabric::CloseReason reason, bool by_peer) {
  phase_ = Phase::kOver;
  state_ = state;
  deadline_.reset();
  if (events_) events_->shown().VacateAll();
  work_.Abandon([&](const Item& item) { Complete(item, CompletionStatus::kFlushed); });
  if (events_) events_->OnClosed(reason, by_peer);
}

}  // namespace stag::endpoint
