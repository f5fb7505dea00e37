// SPDX-License-Identifier: GPL-2.0-or-later
//
// The main flow: OnMessage takes a received message apart and starts a Job; Pull reads what the Call's Read list names;
// Answer asks the Service and sends what it says.
#include "replay/rpcrdma/responder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "replay/rpcrdma/eligible.h"
#include "replay/rpcrdma/layout.h"
#include "replay/rpcrdma/reply_layout.h"
#include "replay/rpcrdma/settings.h"

namespace stag::rpcrdma {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kLargestHeader = 16384;
constexpr uint32_t kCallbacks = 4;  // backward Calls that may be under way

// Memory of a Service's that one connection may register: more of it is copied from.
constexpr uint64_t kMostLent = uint64_t{1} << 30;
// Received messages that replies may hold beside the receives that credits need.
constexpr uint32_t kMostHeld = 128;

// The storage of shorter Replies is not counted: it is as large as the receive that the Call came in.
constexpr uint64_t kSmallReply = 4096;

size_t RoomFor(uint64_t size) { return static_cast<size_t>(std::bit_ceil(std::max<uint64_t>(size, 4096))); }

// Works that may be posted and not completed.
uint32_t WorksFor(uint32_t credits) { return std::max(256u, credits * 20); }

}  // namespace

struct Responder::Impl {
  enum class Stage : uint8_t {
    kPulling,   // RDMA Reads of what the Call names
    kDelayed,   // the Call is whole
    kReplying,  // RDMA Writes, then the Send
  };
  // A Call that is being worked on. Kept with its memory for the next one, as long as nobody else wants that.
  struct Job {
    explicit Job(ChunkShare& share) : charge(share) {}
    ChunkCharge charge;  // of call_region, landing and `answer`
    Header call;
    CallLayout layout;
    Bytes message;                                               // the unreduced Call: as it came, or where it landed
    endpoint::Region call_region, header_region, answer_region;  // answer_region: the storage of `answer`
    Landing landing;                                             // instead of call_region
    std::optional<endpoint::Completion> held;                    // the receive, which the answer has views of
    Stage stage = Stage::kPulling;
    size_t next = 0;         // of the extents to be pulled, or of the RDMA Writes
    uint32_t under_way = 0;  // works posted and not completed
    bool stalled = false, sent = false, failed = false;
    bool callback = false;  // a backward Call of this side's
    Clock::time_point due;
    ServiceReply answer;
    ReplyLayout out;
  };
  struct Lent {
    MutableBytes memory;
    endpoint::Region region;  // no bytes: it could not be registered
  };

  Impl(std::unique_ptr<endpoint::Endpoint> e, const ResponderOptions& o, Service& s)
      : endpoint(std::move(e)),
        options(o),
        service(s),
        most_works(WorksFor(o.credits)),
        share(o.memory ? *o.memory : own_memory) {
    for (uint32_t i = 0; i < std::max(o.credits, 1u); ++i) jobs.emplace_back(share);
    settings = Agree(o.send_private_data ? PrivateData(o) : std::vector<std::byte>{}, endpoint->peer_private_data());
    for (size_t i = jobs.size(); i-- > 0;) free.push_back(i);
  }

  // The answers and what was lent, which are registered, outlive the endpoint.
  ~Impl() { endpoint.reset(); }

  size_t Poll(std::chrono::microseconds wait);
  void OnCompletion(const endpoint::Completion& completion);
  bool TakeMessage(const endpoint::Completion& completion);
  bool OnMessage(Bytes bytes);
  bool Start(size_t index, Bytes payload);
  bool Afford(Job& job);
  void Count(Job& job);
  void GiveUp(Job& job);
  void GiveUpKept();
  Landing Land(const Job& job);
  void Pull(size_t index, Bytes payload);
  void Ready(size_t index);
  void Answer(size_t index);
  void Reply(size_t index);
  bool Reachable(Job& job);
  bool Arrange(Job& job);
  void CallBack();
  void Error(size_t index, uint32_t err);
  void Advance(size_t index);
  bool PostReads(Job& job, size_t index);
  bool PostReply(Job& job, size_t index);
  bool Send(Job& job, size_t index);
  void Done(size_t index);
  bool Room(endpoint::Region& region, size_t size);
  bool Cover(Job& job);
  bool Borrow(MutableBytes memory);
  bool Hold(Job& job);
  void Flatten(ServiceReply& answer) { stats.copied_bytes += answer.Flatten(); }

  std::unique_ptr<endpoint::Endpoint> endpoint;
  ResponderOptions options;
  Service& service;
  Settings settings;
  ResponderStats stats;
  const uint32_t most_works;
  uint32_t works = 0, reading = 0;  // posted and not completed
  std::vector<Lent> lent;
  size_t last_lent = 0;
  uint64_t lent_bytes = 0;
  const endpoint::Completion* current = nullptr;  // the received message that is worked on, unless a job holds it
  uint32_t held = 0, may_hold = 0;
  bool asked_for_more = false;  // receives, for those that are held
  ChunkMemory own_memory;       // where the options have none
  ChunkShare share;
  std::deque<Job> jobs;
  std::vector<size_t> free;
  std::deque<size_t> due;      // Calls that are whole and wait for `delay`
  std::deque<size_t> stalled;  // jobs that wait until other works are completed
  // Messages for which there was no memory, or no job free: the peer sends more than it was granted.
  std::deque<endpoint::Completion> waiting;
  std::deque<std::vector<std::byte>> callbacks;            // that are still to be sent
  uint32_t callbacks_under_way = 0, callback_credits = 1;  // as the peer granted (RFC 8167 section 4)
  size_t answered = 0;
  bool idle = false;  // the last Poll found nothing
};

size_t Responder::Impl::Poll(std::chrono::microseconds wait) {
  answered = 0;
  if (!due.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(jobs[due.front()].due - Clock::now());
    wait = std::clamp(left, std::chrono::microseconds{0}, wait);
  }
  std::array<endpoint::Completion, endpoint::kCompletions> completions;
  const size_t n = endpoint->Poll(completions, wait);
  idle = n == 0;
  for (size_t i = 0; i < n; ++i) OnCompletion(completions[i]);
  while (!due.empty() && jobs[due.front()].due <= Clock::now()) {
    const size_t index = due.front();
    due.pop_front();
    Answer(index);
  }
  for (size_t left = stalled.size(); left > 0 && works < most_works; --left) {
    const size_t index = stalled.front();
    stalled.pop_front();
    Advance(index);
  }
  while (!waiting.empty() && !free.empty() && share.worth_asking() && TakeMessage(waiting.front())) waiting.pop_front();
  if (share.wanted()) GiveUpKept();
  CallBack();
  endpoint->Flush();
  return answered;
}

void Responder::Impl::OnCompletion(const endpoint::Completion& c) {
  if (c.work == endpoint::Work::kReceive) {
    if (c.outcome != endpoint::CompletionStatus::kOk) return;
    if (!waiting.empty() || free.empty() || !TakeMessage(c)) waiting.push_back(c);
    return;
  }
  const size_t index = static_cast<size_t>(c.id);
  Job& job = jobs[index];
  --works;
  if (c.work == endpoint::Work::kRead) --reading;
  if (c.outcome != endpoint::CompletionStatus::kOk) job.failed = true;
  if (--job.under_way == 0 && !job.stalled) Advance(index);
}

// False: there is no memory for it now.
bool Responder::Impl::TakeMessage(const endpoint::Completion& c) {
  current = &c;
  const bool taken = OnMessage(c.bytes);
  if (taken && current) endpoint->Release(c);
  current = nullptr;
  return taken;
}

// RFC 8166 section 4.5: what is shorter than a header, and what answers something, is dropped; another version and what
// cannot be read gets an RDMA_ERROR.
bool Responder::Impl::OnMessage(Bytes bytes) {
  const size_t index = free.back();
  Job& job = jobs[index];
  rpcrdma::Decode(bytes, bytes.size(), job.call);
  const bool too_short = job.call.words < 4 || (job.call.defect == rpcrdma::Defect::kTooShort);
  if (too_short || job.call.proc == rpcrdma::kError || (job.call.vers == 1 && job.call.proc == rpcrdma::kDone)) {
    ++stats.dropped;
    return true;
  }
  free.pop_back();
  job.failed = job.sent = job.callback = false;
  if (job.call.vers != rpcrdma::kVersion1) return Error(index, rpcrdma::kErrVers), true;
  const bool usable =
      job.call.status == ParseStatus::kOk && (job.call.proc == rpcrdma::kMsg || job.call.proc == rpcrdma::kNomsg);
  if (!usable || job.call.length > kLargestHeader) return Error(index, rpcrdma::kErrChunk), true;
  if (Start(index, bytes.subspan(job.call.length))) return true;
  free.push_back(index);
  return false;
}

// False: there is no memory for the Call now.
bool Responder::Impl::Start(size_t index, Bytes payload) {
  Job& job = jobs[index];
  if (job.call.proc == rpcrdma::kMsg && payload.size() >= 8 && LoadBe32(payload.data() + 4) == rpc::kReply) {
    if (callbacks_under_way == 0) {
      ++stats.dropped;
    } else {
      --callbacks_under_way;
      callback_credits = std::clamp<uint32_t>(job.call.credit, 1, kCallbacks);
    }
    return Done(index), true;
  }
  const bool at_hand =
      job.call.proc == rpcrdma::kMsg && job.call.reads.empty() && payload.size() <= options.max_message;
  if (!share.open()) GiveUpKept();
  if (!share.open()) return false;
  if (at_hand && options.delay.count() == 0) {
    job.message = payload;
    return Answer(index), true;
  }
  if (!LayOut(job.call, payload.size(), options.max_message, job.layout)) return Error(index, rpcrdma::kErrChunk), true;
  if (!Afford(job)) return false;
  job.landing = Land(job);
  const bool room = job.landing || Room(job.call_region, static_cast<size_t>(job.layout.length));
  Count(job);
  if (!room) return Error(index, rpcrdma::kErrChunk), true;
  const MutableBytes memory = job.landing ? job.landing.call() : job.call_region.bytes;
  job.message = memory.first(static_cast<size_t>(job.layout.length));
  Pull(index, payload);
  return true;
}

// Takes what the Call is to be put together in.
bool Responder::Impl::Afford(Job& job) {
  const uint64_t kept = job.charge.bytes() - job.call_region.bytes.size();
  if (job.charge.Grow(kept + std::max<uint64_t>(RoomFor(job.layout.length), job.call_region.bytes.size()))) return true;
  GiveUpKept();
  GiveUp(job);
  return job.charge.Grow(RoomFor(job.layout.length));
}

// What it takes in fact.
void Responder::Impl::Count(Job& job) {
  const uint64_t reply = job.answer.message.capacity();
  job.charge.Set(job.call_region.bytes.size() + job.landing.call().size() + (reply > kSmallReply ? reply : 0));
}

// What a job that works on nothing keeps for the next Call.
void Responder::Impl::GiveUp(Job& job) {
  if (job.charge.bytes() == 0) return;
  if (!job.call_region.bytes.empty()) endpoint->Deregister(job.call_region);
  if (!job.answer_region.bytes.empty()) endpoint->Deregister(job.answer_region);
  job.call_region = job.answer_region = {};
  job.answer.message = {};
  job.charge.Set(0);
}

void Responder::Impl::GiveUpKept() {
  for (const size_t index : free) GiveUp(jobs[index]);
}

// Memory of the Service's for a Call with one Read chunk.
Landing Responder::Impl::Land(const Job& job) {
  const auto& reads = job.call.reads;
  // Memory that an adapter leaves open to the peer is never shared.
  if (reads.empty() || !endpoint->reads_are_private()) return {};
  const uint32_t position = reads.front().position;
  uint64_t item = 0;
  for (const rpcrdma::ReadSegment& read : reads) {
    if (read.position != position || position == 0) return {};
    item += read.target.length;
  }
  Landing landing = service.Land(position, item, job.layout.length - position - item);
  if (landing && !Borrow(landing.memory())) landing.Return();
  return landing;
}

void Responder::Impl::Pull(size_t index, Bytes payload) {
  Job& job = jobs[index];
  const MutableBytes memory = job.landing ? job.landing.call() : job.call_region.bytes;
  for (const Extent& e : job.layout.extents) {
    const MutableBytes into = memory.subspan(static_cast<size_t>(e.to), static_cast<size_t>(e.length));
    if (e.from == Extent::From::kInline) std::memcpy(into.data(), payload.data() + e.offset, into.size());
    if (e.from == Extent::From::kZero) std::memset(into.data(), 0, into.size());
  }
  job.stage = Stage::kPulling;
  job.next = 0;
  Advance(index);
}

// Posts what the job needs next. Once that is completed, it goes on.
void Responder::Impl::Advance(size_t index) {
  Job& job = jobs[index];
  if (job.stage == Stage::kDelayed) return;
  const bool posted = job.failed || (job.stage == Stage::kPulling ? PostReads(job, index) : PostReply(job, index));
  job.stalled = !posted;
  if (!posted) return stalled.push_back(index);
  if (job.under_way > 0) return;
  if (job.failed || job.stage == Stage::kReplying) return Done(index);
  Ready(index);
}

// False: there is no room for all of them. The connection may be over: then the job has failed.
bool Responder::Impl::PostReads(Job& job, size_t index) {
  const MutableBytes memory = job.landing ? job.landing.call() : job.call_region.bytes;
  for (; job.next < job.layout.extents.size(); ++job.next) {
    const Extent& e = job.layout.extents[job.next];
    if (e.from != Extent::From::kSegment) continue;
    // Reads that wait inside the endpoint would hold up what is posted after them.
    if (works == most_works || reading == std::max<uint32_t>(endpoint->outbound_reads(), 1)) return false;
    const MutableBytes into = memory.subspan(static_cast<size_t>(e.to), static_cast<size_t>(e.length));
    const Segment& segment = job.call.reads[e.segment].target;
    job.failed = !endpoint->Read(into, segment.handle, segment.offset + e.offset, index);
    if (job.failed) return true;
    ++job.under_way, ++works, ++reading;
  }
  return true;
}

bool Responder::Impl::PostReply(Job& job, size_t index) {
  for (; job.next < job.out.writes.size(); ++job.next) {
    const ReplyWrite& put = job.out.writes[job.next];
    if (works == most_works) return false;
    job.failed = !endpoint->Write(put.from, put.handle, put.offset, index);
    if (job.failed) return true;
    ++job.under_way, ++works;
  }
  if (job.sent) return true;
  if (works == most_works) return false;
  job.sent = true;
  job.failed = !Send(job, index);
  return true;
}

void Responder::Impl::Ready(size_t index) {
  if (options.delay.count() == 0) return Answer(index);
  jobs[index].stage = Stage::kDelayed;
  jobs[index].due = Clock::now() + options.delay;
  due.push_back(index);
}

void Responder::Impl::Answer(size_t index) {
  Job& job = jobs[index];
  const Bytes call = job.message;
  ++stats.calls;
  stats.received_bytes += call.size();
  // The xid of the RPC message must be the header's (section 4.2.1).
  if (call.size() < 8 || LoadBe32(call.data()) != job.call.xid || LoadBe32(call.data() + 4) != rpc::kCall)
    return Error(index, rpcrdma::kErrChunk);
  if (!ReducesOnlyEligible(job.call, call)) return Error(index, rpcrdma::kErrChunk);  // section 6.1
  service.OnCall(call, job.answer);
  if (job.answer.refused) return Error(index, rpcrdma::kErrChunk);
  if (job.answer.message.empty()) {
    ++stats.dropped;
    return Done(index);
  }
  Reply(index);
}

void Responder::Impl::Reply(size_t index) {
  Job& job = jobs[index];
  const uint64_t size = job.answer.size();
  if (!Reachable(job)) Flatten(job.answer);
  bool arranged = Room(job.header_region, kLargestHeader) && Arrange(job);
  if (arranged && job.out.pieces.size() >= endpoint->max_pieces()) {
    Flatten(job.answer);
    arranged = Arrange(job);
  }
  if (!arranged) return Error(index, rpcrdma::kErrChunk);
  ++stats.replies;
  stats.sent_bytes += size;
  job.stage = Stage::kReplying;
  job.next = 0;
  Advance(index);
}

bool Responder::Impl::Arrange(Job& job) {
  const ReplyLimits limits{options.credits, settings.send_threshold, endpoint->max_pieces()};
  return Cover(job) && LayOut(job.call, job.answer, limits, job.out) && job.out.encoded.size() <= kLargestHeader;
}

// As many backward Calls as the peer has credits for.
void Responder::Impl::CallBack() {
  while (!callbacks.empty() && callbacks_under_way < callback_credits && !free.empty()) {
    const size_t index = free.back();
    free.pop_back();
    Job& job = jobs[index];
    job.callback = true;
    job.failed = job.sent = false;
    job.call.Clear();
    job.answer.message = std::move(callbacks.front());
    callbacks.pop_front();
    job.out.header.Clear();
    job.out.header.xid = LoadBe32(job.answer.message.data());
    job.out.header.vers = rpcrdma::kVersion1;
    job.out.header.credit = kCallbacks;
    job.out.header.proc = rpcrdma::kMsg;
    job.out.EncodeHeader();
    job.out.writes.clear();
    job.out.pieces.assign(1, Bytes(job.answer.message));
    if (job.out.encoded.size() + job.answer.message.size() > settings.send_threshold ||
        !Room(job.header_region, kLargestHeader) || !Cover(job)) {
      ++stats.dropped;
      Done(index);
      continue;
    }
    ++callbacks_under_way;
    job.stage = Stage::kReplying;
    job.next = 0;
    Advance(index);
  }
}

// Whether the views of the answer can be sent from where they are.
bool Responder::Impl::Reachable(Job& job) {
  for (const ReplyView& view : job.answer.views) {
    if (!view.memory.empty() ? Borrow(view.memory) : Hold(job)) continue;
    return false;
  }
  return true;
}

// Keeps the Call's bytes until the Reply is sent.
bool Responder::Impl::Hold(Job& job) {
  if (!current || job.held || !Contains(current->bytes, job.message)) return true;
  if (!asked_for_more) {
    asked_for_more = true;
    const uint32_t more = std::min(options.credits, kMostHeld);
    if (endpoint->Receive(more)) may_hold = more;
  }
  if (held == may_hold) return false;
  ++held;
  job.held = *std::exchange(current, nullptr);
  return true;
}

// Memory of the Service's, registered with this connection.
bool Responder::Impl::Borrow(MutableBytes memory) {
  const auto is = [memory](const Lent& l) {
    return l.memory.data() == memory.data() && l.memory.size() == memory.size();
  };
  if (last_lent < lent.size() && is(lent[last_lent])) return !lent[last_lent].region.bytes.empty();
  const auto found = std::ranges::find_if(lent, is);
  last_lent = static_cast<size_t>(found - lent.begin());
  if (found != lent.end()) return !found->region.bytes.empty();
  Lent& added = lent.emplace_back(Lent{memory, {}});
  if (memory.size() > kMostLent - lent_bytes) return false;
  const auto access = endpoint->reads_are_private() ? endpoint::Access::kLocal : endpoint::Access::kSource;
  const auto region = endpoint->Register(memory, access);
  if (!region) return false;
  added.region = *region;
  lent_bytes += memory.size();
  return true;
}

void Responder::Impl::Error(size_t index, uint32_t err) {
  Job& job = jobs[index];
  Header& reply = job.out.header;
  reply.Clear();
  reply.xid = job.call.xid;
  reply.vers = job.call.vers;  // ERR_VERS echoes it; ERR_CHUNK is version 1
  reply.credit = options.credits;
  reply.proc = rpcrdma::kError;
  reply.err = err;
  reply.vers_low = reply.vers_high = rpcrdma::kVersion1;
  job.answer.callbacks.clear();  // they follow a Reply
  ++(err == rpcrdma::kErrVers ? stats.err_vers : stats.err_chunk);
  job.out.pieces.clear();
  job.out.writes.clear();
  job.out.EncodeHeader();
  if (!Room(job.header_region, kLargestHeader)) return Done(index);
  job.stage = Stage::kReplying;
  job.next = 0;
  Advance(index);
}

bool Responder::Impl::Send(Job& job, size_t index) {
  std::ranges::copy(job.out.encoded, job.header_region.bytes.begin());
  job.out.pieces.insert(job.out.pieces.begin(), job.header_region.bytes.first(job.out.encoded.size()));
  std::optional<uint32_t> invalidate;
  if (settings.remote_invalidation && endpoint->can_invalidate() && job.out.header.proc != rpcrdma::kError) {
    if (!job.call.segments.empty()) invalidate = job.call.segments.front().handle;
    if (!job.call.reads.empty()) invalidate = job.call.reads.front().target.handle;
  }
  if (!endpoint->Send(job.out.pieces, index, invalidate)) return false;
  ++job.under_way, ++works;
  if (job.callback) {
    ++stats.callbacks;
  } else {
    ++answered;
    std::ranges::move(job.answer.callbacks, std::back_inserter(callbacks));
    job.answer.callbacks.clear();
  }
  return true;
}

void Responder::Impl::Done(size_t index) {
  Job& job = jobs[index];
  job.answer.Clear();
  job.landing.Return();
  if (job.held) {
    endpoint->Release(*job.held);
    job.held.reset();
    --held;
  }
  free.push_back(index);
}

bool Responder::Impl::Room(endpoint::Region& region, size_t size) {
  if (region.bytes.size() >= size) return true;
  if (!region.bytes.empty()) endpoint->Deregister(region);
  Result<endpoint::Region> larger = endpoint->Register(RoomFor(size), endpoint::Access::kLocal);
  region = larger ? *larger : endpoint::Region{};
  return larger.has_value();
}

// Registers the storage of the answer as it is, so that nothing has to be copied; it stays the same until it has to
// grow, and then it has another capacity.
bool Responder::Impl::Cover(Job& job) {
  std::vector<std::byte>& storage = job.answer.message;
  endpoint::Region& region = job.answer_region;
  if (region.bytes.data() == storage.data() && region.bytes.size() == storage.capacity()) return true;
  Count(job);
  if (!region.bytes.empty()) endpoint->Deregister(region);
  Result<endpoint::Region> covered =
      endpoint->Register(MutableBytes(storage.data(), storage.capacity()), endpoint::Access::kLocal);
  region = covered ? *covered : endpoint::Region{};
  return covered.has_value();
}

std::vector<std::byte> Responder::PrivateData(const ResponderOptions& options) {
  return EncodeSettings(options.send_size, options.receive_size, options.remote_invalidation);
}

void Responder::Prepare(const ResponderOptions& options, endpoint::EndpointOptions& endpoint) {
  endpoint.receives = options.credits + kCallbacks;  // their Replies come besides
  endpoint.receive_size = options.receive_size;
  // A Reply is a Send and a Write for each segment; what does not fit waits inside the endpoint's limits.
  endpoint.sends = std::max(endpoint.sends, WorksFor(options.credits));
  endpoint.private_data = options.send_private_data ? PrivateData(options) : std::vector<std::byte>{};
}

Responder::Responder(std::unique_ptr<endpoint::Endpoint> endpoint, const ResponderOptions& options, Service& service)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options, service)) {}
Responder::~Responder() = default;

size_t Responder::Poll(std::chrono::microseconds wait) { return impl_->Poll(wait); }
std::chrono::microseconds Responder::rest() const {
  constexpr std::chrono::milliseconds kTimeouts{100};  // of the endpoint, which do not show in its descriptor
  constexpr std::chrono::milliseconds kMemory{2};      // that other connections give back
  if (!impl_->idle) return {};
  if (!impl_->waiting.empty()) return kMemory;
  if (impl_->due.empty()) return kTimeouts;
  const auto left = std::chrono::ceil<std::chrono::microseconds>(impl_->jobs[impl_->due.front()].due - Clock::now());
  return std::clamp<std::chrono::microseconds>(left, std::chrono::microseconds{0}, kTimeouts);
}
bool Responder::open() const { return impl_->endpoint->state() == endpoint::State::kOpen; }
bool Responder::busy() const { return impl_->free.size() < impl_->jobs.size() || !impl_->waiting.empty(); }
const ResponderStats& Responder::stats() const { return impl_->stats; }
endpoint::Endpoint& Responder::endpoint() { return *impl_->endpoint; }

}  // namespace stag::rpcrdma
