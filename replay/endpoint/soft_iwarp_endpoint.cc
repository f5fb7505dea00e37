// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_endpoint.h"

#include <sys/epoll.h>

#include <algorithm>
#include <new>

#include "protocol/base/check.h"

namespace stag::endpoint {
namespace {

constexpr uint32_t kOwnItems = 1;  // the ready-to-receive indication

uint64_t FpduLimit(const ByteStream& stream, const SoftIwarpOptions& own) {
  return uint64_t{stream.segment_size()} * std::max<uint32_t>(own.fpdu_segments, 1);
}

}  // namespace

SoftIwarpEndpoint::SoftIwarpEndpoint(std::unique_ptr<ByteStream> stream, const SocketEnds& ends, const Terms& terms,
                                     const iwarp::MpaFrame& request, const iwarp::MpaFrame& reply,
                                     const EndpointOptions& options, const SoftIwarpOptions& own)
    : own_(own),
      sends_(options.sends),
      receive_size_(options.receive_size),
      initiator_(terms.initiator),
      stream_(std::move(stream)),
      receiver_(terms.crc, terms.receive_markers),
      sender_(terms.crc, terms.send_markers, FpduLimit(*stream_, own)),
      may_send_(terms.initiator),
      expects_ready_(terms.peer_to_peer && !terms.initiator),
      free_(sends_ + kOwnItems),
      posted_(sends_ + kOwnItems),
      encoded_(sends_ + kOwnItems),
      reads_(sends_ + kOwnItems),
      responses_(std::max<size_t>(terms.inbound_reads, expects_ready_ ? 1 : 0)),
      completions_(sends_ + kOwnItems) {
  inbound_reads_ = terms.inbound_reads;
  outbound_reads_ = terms.outbound_reads;
  const Bytes theirs = initiator_ ? reply.private_data : request.private_data;
  peer_private_data_.assign(theirs.begin(), theirs.end());
  items_.reserve(sends_ + kOwnItems);
  AddReceives(options.receives);

  info_.fabric = fabric::FabricKind::kIwarp;
  info_.endpoint[own_side()] = ends.local;
  info_.endpoint[peer_side()] = ends.peer;
  info_.roles_known = true;
  info_.service_port = static_cast<uint16_t>(info_.endpoint[1].number);
  if (options.events) {
    options.events->OpenConnection(info_);
    events_ = std::make_unique<SoftIwarpEvents>(*options.events, info_, terms.peer_to_peer);
    completions_.Follow(events_->shown());
    events_->OnSetup(request);
    events_->OnSetup(reply);
    events_->OnOpened();
  }
  if (initiator_ && terms.terminate_code == 0) SubmitReadyToReceive(terms.ready);
}

SoftIwarpEndpoint::~SoftIwarpEndpoint() {
  if (phase_ != Phase::kOver) End(State::kBroken, fabric::CloseReason::kDisconnect, own_side());
}

// ------------------------------------------------------------------------------------------------------------ memory

Result<Region> SoftIwarpEndpoint::Register(size_t size, Access access) {
  Pages pages(size);
  if (pages.bytes().empty()) return Fail("no memory for a region of " + std::to_string(size) + " bytes");
  const MutableBytes memory = pages.bytes().first(size);
  return regions_.Add(memory, access, std::move(pages));
}

Result<Region> SoftIwarpEndpoint::Register(MutableBytes memory, Access access) {
  return regions_.Add(memory, access, {});
}

void SoftIwarpEndpoint::Deregister(Region& region) {
  StopArriving(region.handle);
  if (events_) events_->shown().Vacate(region.bytes);
  sender_.Detach(region.bytes);
  regions_.Remove(region);
  region = {};
}

Result<void> SoftIwarpEndpoint::Renew(Region& region) {
  StopArriving(region.handle);
  if (!regions_.Renew(region)) return Fail("the region is not registered with this endpoint");
  return {};
}

Result<void> SoftIwarpEndpoint::Rename(Region& region, uint32_t handle, uint64_t offset) {
  StopArriving(region.handle);
  if (!regions_.Rename(region, handle, offset)) return Fail("the region cannot have that handle and offset");
  return {};
}

void SoftIwarpEndpoint::AddReceives(uint32_t count) {
  if (count == 0) return;
  const size_t size = size_t{count} * receive_size_;
  Pages arena(size);
  if (arena.bytes().empty()) throw std::bad_alloc();
  arenas_.push_back(std::move(arena));
  completions_.Extend(count);
  receives_.reserve(buffers_.size() + count);
  for (uint32_t i = 0; i < count; ++i) {
    receives_.push_back(static_cast<uint32_t>(buffers_.size()));
    buffers_.push_back({arenas_.back().bytes().data() + size_t{i} * receive_size_, false});
  }
}

Result<void> SoftIwarpEndpoint::Receive(uint32_t count) {
  AddReceives(count);
  return {};
}

void SoftIwarpEndpoint::Release(const Completion& completion) {
  const uint64_t i = completion.id;
  const bool ours = completion.work == Work::kReceive && i < buffers_.size() && buffers_[i].given;
  STAG_CHECK(ours);
  if (!ours) return;
  buffers_[i].given = false;
  receives_.push_back(static_cast<uint32_t>(i));
}

// ------------------------------------------------------------------------------------------------------- completions

void SoftIwarpEndpoint::Complete(Item& item, CompletionStatus outcome) {
  if (item.own) {
    --uncompleted_;
  } else {
    if (item.work == Work::kRead) {
      --reading_;
      reading_since_ = Clock::now();
    }
    Completion completion;
    completion.work = item.work;
    completion.outcome = outcome;
    completion.id = item.id;
    completions_.Push(completion);
  }
  free_.Push(static_cast<uint32_t>(&item - items_.data()));
}

void SoftIwarpEndpoint::Flush() {
  (void)Progress(false);
  WatchDescriptor();
}

size_t SoftIwarpEndpoint::Poll(std::span<Completion> out, std::chrono::microseconds wait) {
  size_t n = Take(out);
  std::optional<Clock::time_point> until;
  // What was there has been taken, and it is waited for more at once; but who never comes to wait looks every time.
  bool look = wait.count() <= 0 || !receiver_.drained() || n > 0 || !looked_;
  while (phase_ != Phase::kOver) {
    looked_ = look && n < out.size();
    const bool moved = Progress(looked_);
    n += Take(out.subspan(n));
    completions_.Resume(moved, n);
    if (n > 0 || phase_ == Phase::kOver) break;
    const bool kept = !moved && completions_.GiveWay();
    if (wait.count() <= 0) break;
    const Clock::time_point now = Clock::now();
    if (!until) until = now + wait;
    if (now >= *until) break;
    look = true;
    if (moved || kept || spin_.Stay()) continue;
    const Clock::time_point end = deadline_ ? std::min(*until, *deadline_) : *until;
    const auto left = std::chrono::ceil<std::chrono::microseconds>(end - now);
    (void)stream_->Wait(receiving(), blocked_, left);
  }
  if (n > 0) spin_.Worked();
  WatchDescriptor();
  return n;
}

// Sends, and receives if wanted, without waiting. True when something came.
bool SoftIwarpEndpoint::Progress(bool receive) {
  if (phase_ == Phase::kOver) return false;
  Transmit();
  bool came = false;
  if (receiving() && (receive || send_error_ != 0)) {
    const Transfer transfer = receiver_.Receive(*stream_, *this);
    switch (transfer.io) {
      case Transfer::Io::kDone:
        came = true;
        Transmit();  // answers
        break;
      case Transfer::Io::kEnd: OnStreamEnd(); break;
      case Transfer::Io::kFailed: OnStreamFailed(transfer.error); break;
      case Transfer::Io::kAgain:
        // What the peer said before it stopped listening has been read.
        if (send_error_ != 0) OnStreamFailed(send_error_);
        break;
    }
  } else if (send_error_ != 0) {
    OnStreamFailed(send_error_);
  }
  CheckEnd();
  CheckReads();
  return came;
}

int SoftIwarpEndpoint::descriptor() {
  if (!epoll_ && stream_->descriptor() >= 0) {
    epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    watched_ = event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stream_->descriptor(), &event);
    completions_.WatchIn(epoll_.get());
    WatchDescriptor();
  }
  return epoll_.get();
}

void SoftIwarpEndpoint::WatchDescriptor() {
  if (!epoll_) return;
  completions_.ShowKept();
  const uint32_t events = (receiving() ? EPOLLIN : 0u) | (blocked_ ? EPOLLOUT : 0u);
  if (watched_ == events) return;
  epoll_event event{};
  watched_ = event.events = events;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, stream_->descriptor(), &event);
}

// ---------------------------------------------------------------------------------------------------------------- end

void SoftIwarpEndpoint::Disconnect() {
  if (phase_ != Phase::kOpen) return;
  disconnecting_ = true;
  phase_ = Phase::kEnding;
  deadline_ = Clock::now() + own_.close_timeout;
  (void)Progress(false);
}

void SoftIwarpEndpoint::Object(const Terms& terms) {
  iwarp::Terminate terminate;
  terminate.layer = kMpaInsufficientIrd.layer;
  terminate.code = terms.terminate_code;
  Terminate(terminate, {Trouble::Kind::kPeerProtocol, "the peer cannot be agreed with: " + terms.objection});
  (void)Progress(false);
}

void SoftIwarpEndpoint::OnStreamEnd() {
  peer_finished_ = true;
  if (receiver_.inside_fpdu()) {
    trouble_ = {Trouble::Kind::kPeerVanished, "the peer closed the TCP connection in the middle of a message"};
    return End(State::kBroken, fabric::CloseReason::kDisconnect, peer_side());
  }
  FlushReads();  // nobody will answer them
  if (!disconnecting_) trouble_ = {Trouble::Kind::kPeerClosed, "the peer closed the connection"};
  phase_ = Phase::kEnding;
  if (!deadline_) deadline_ = Clock::now() + own_.close_timeout;
}

void SoftIwarpEndpoint::OnStreamFailed(int error) {
  // Once all has been said, how TCP ends is of no interest; nor what comes after a Terminate.
  const bool complete = (peer_finished_ || finished_) && nothing_to_send() && reads_.empty();
  if (!complete && phase_ != Phase::kTerminating)
    trouble_ = {Trouble::Kind::kPeerVanished, "the connection broke: " + ErrorText(error)};
  End(complete ? State::kClosed : State::kBroken, fabric::CloseReason::kReset, peer_side());
}

void SoftIwarpEndpoint::FinishSending() {
  if (!finished_) stream_->FinishSending();
  finished_ = true;
}

// Goes as far towards the end as can be gone now.
void SoftIwarpEndpoint::CheckEnd() {
  if (phase_ == Phase::kTerminating && sender_.empty()) {
    FinishSending();
    return End(State::kBroken, fabric::CloseReason::kDisconnect, own_side());
  }
  if (phase_ == Phase::kEnding && nothing_to_send() && reads_.empty()) {
    FinishSending();
    if (peer_finished_)
      return End(State::kClosed, fabric::CloseReason::kDisconnect, disconnecting_ ? peer_side() : own_side());
  }
  if (!deadline_ || phase_ == Phase::kOver || Clock::now() < *deadline_) return;
  if (phase_ == Phase::kEnding)
    trouble_ = {Trouble::Kind::kPeerVanished, "the peer did not take its part in closing the connection in time"};
  End(State::kBroken, fabric::CloseReason::kReset, own_side());
}

// What an RDMA Read is to fill stays with this end until it is answered.
void SoftIwarpEndpoint::CheckReads() {
  constexpr uint64_t kSlowest = 64u << 10;  // bytes a second
  if (reading_ == 0 || phase_ == Phase::kOver) return;
  const Clock::time_point now = Clock::now();
  if (!sender_.empty()) {  // TCP sees to the time that sending takes
    reading_since_ = now;
    return;
  }
  const uint64_t came = reads_.empty() ? 0 : items_[reads_.front()].done;
  if (now - reading_since_ < own_.peer_timeout + std::chrono::seconds(came / kSlowest)) return;
  trouble_ = {Trouble::Kind::kPeerVanished, "the peer did not answer an RDMA Read in time"};
  End(State::kBroken, fabric::CloseReason::kReset, own_side());
}

void SoftIwarpEndpoint::FlushReads() {
  while (!reads_.empty()) Complete(items_[reads_.Pop()], CompletionStatus::kFlushed);
  for (size_t left = posted_.size(); left > 0; --left) {
    const uint32_t i = posted_.Pop();
    if (items_[i].work == Work::kRead) {
      Complete(items_[i], CompletionStatus::kFlushed);
    } else {
      posted_.Push(i);
    }
  }
}

void SoftIwarpEndpoint::FlushWork() {
  while (!encoded_.empty()) Complete(items_[encoded_.Pop()], CompletionStatus::kFlushed);
  while (!reads_.empty()) Complete(items_[reads_.Pop()], CompletionStatus::kFlushed);
  while (!posted_.empty()) Complete(items_[posted_.Pop()], CompletionStatus::kFlushed);
  responses_.Clear();
  current_ = Current::kNone;
}

void SoftIwarpEndpoint::End(State state, fabric::CloseReason reason, fabric::Side from) {
  phase_ = Phase::kOver;
  state_ = state;
  deadline_.reset();
  blocked_ = false;
  if (events_) events_->shown().VacateAll();
  FlushWork();
  sender_.Clear();
  if (events_) events_->OnClosed(reason, from);
}

}  // namespace stag::endpoint
