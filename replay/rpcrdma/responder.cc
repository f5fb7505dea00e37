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

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "replay/rpcrdma/eligible.h"
#include "replay/rpcrdma/layout.h"
#include "replay/rpcrdma/settings.h"

namespace stag::rpcrdma {

namespace {

using Clock = std::chrono::steady_clock;
using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::Segment;

constexpr uint32_t kLargestHeader = 16384;
constexpr uint32_t kCallbacks = 4;  // backward Calls that may be under way

uint64_t Capacity(const Header& header, const Chunk& chunk) {
  uint64_t sum = 0;
  for (const Segment& s : header.Of(chunk)) sum += s.length;
  return sum;
}

}  // namespace

struct Responder::Impl {
  // A Call that is being worked on. Kept with its memory for the next one.
  struct Job {
    Header call, reply;
    CallLayout layout;
    Bytes message;                                               // the unreduced Call: as it came, or in call_region
    endpoint::Region call_region, header_region, answer_region;  // answer_region: the storage of `answer`
    uint32_t reads = 0, writes = 0;                              // posted and not completed
    bool sending = false, busy = false, failed = false;
    Clock::time_point due;
    ServiceReply answer;
    std::vector<std::byte> header;
    std::vector<Bytes> pieces;
  };

  Impl(std::unique_ptr<endpoint::Endpoint> e, const ResponderOptions& o, Service& s)
      : endpoint(std::move(e)), options(o), service(s), jobs(std::max(o.credits, 1u)) {
    settings = Agree(o.send_private_data ? PrivateData(o) : std::vector<std::byte>{}, endpoint->peer_private_data());
    for (size_t i = jobs.size(); i-- > 0;) free.push_back(i);
  }

  // The answers, which are registered, outlive the endpoint.
  ~Impl() { endpoint.reset(); }

  size_t Poll(std::chrono::microseconds wait);
  void OnCompletion(const endpoint::Completion& completion);
  void OnMessage(Bytes bytes);
  void Start(size_t index, Bytes payload);
  void Pull(size_t index, Bytes payload);
  void Ready(size_t index);
  void Answer(size_t index);
  void Reply(size_t index);
  bool Place(Job& job, size_t index);
  bool WriteChunk(Job& job, size_t index, const Chunk& offered, Bytes bytes, Chunk& returned);
  void CallBack();
  void Error(size_t index, uint32_t err);
  bool Send(size_t index);
  void Done(size_t index);
  bool Room(endpoint::Region& region, size_t size);
  bool Cover(Job& job);

  std::unique_ptr<endpoint::Endpoint> endpoint;
  ResponderOptions options;
  Service& service;
  Settings settings;
  ResponderStats stats;
  std::vector<Job> jobs;
  std::vector<size_t> free;
  std::deque<size_t> due;  // Calls that are whole and wait for `delay`
  std::deque<endpoint::Completion>
      waiting;  // messages for which no job was free: the peer sends more than it was granted
  std::deque<std::vector<std::byte>> callbacks;            // that are still to be sent
  uint32_t callbacks_under_way = 0, callback_credits = 1;  // as the peer granted (RFC 8167 section 4)
  Header scratch;
  size_t answered = 0;
  bool idle = false;  // the last Poll found nothing
};

// Work ids: the job, and what was posted for it.
namespace {
constexpr uint64_t IdOf(size_t job, endpoint::Work work) { return (uint64_t{job} << 2) | static_cast<uint64_t>(work); }
constexpr size_t JobOf(uint64_t id) { return static_cast<size_t>(id >> 2); }
}  // namespace

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
  while (!waiting.empty() && !free.empty()) {
    const endpoint::Completion message = waiting.front();
    waiting.pop_front();
    OnMessage(message.bytes);
    endpoint->Release(message);
  }
  CallBack();
  endpoint->Flush();
  return answered;
}

void Responder::Impl::OnCompletion(const endpoint::Completion& c) {
  if (c.work == endpoint::Work::kReceive) {
    if (c.outcome != endpoint::CompletionStatus::kOk) return;
    if (free.empty()) return waiting.push_back(c);
    OnMessage(c.bytes);
    return endpoint->Release(c);
  }
  const size_t index = JobOf(c.id);
  Job& job = jobs[index];
  if (c.outcome != endpoint::CompletionStatus::kOk) job.failed = true;
  if (c.work == endpoint::Work::kRead && --job.reads == 0) return job.failed ? Done(index) : Ready(index);
  if (c.work == endpoint::Work::kWrite) --job.writes;
  if (c.work == endpoint::Work::kSend) job.sending = false;
  if (c.work != endpoint::Work::kRead && job.writes == 0 && !job.sending) Done(index);
}

// RFC 8166 section 4.5: what is shorter than a header, and what answers something, is dropped; another version and what
// cannot be read gets an RDMA_ERROR.
void Responder::Impl::OnMessage(Bytes bytes) {
  rpcrdma::Decode(bytes, bytes.size(), scratch);
  const bool too_short = scratch.words < 4 || (scratch.defect == rpcrdma::Defect::kTooShort);
  if (too_short || scratch.proc == rpcrdma::kError || (scratch.vers == 1 && scratch.proc == rpcrdma::kDone)) {
    ++stats.dropped;
    return;
  }
  const size_t index = free.back();
  free.pop_back();
  Job& job = jobs[index];
  std::swap(job.call, scratch);
  job.busy = true;
  job.failed = false;
  job.reads = job.writes = 0;
  job.sending = false;
  if (job.call.vers != rpcrdma::kVersion1) return Error(index, rpcrdma::kErrVers);
  const bool usable =
      job.call.status == ParseStatus::kOk && (job.call.proc == rpcrdma::kMsg || job.call.proc == rpcrdma::kNomsg);
  if (!usable || job.call.length > kLargestHeader) return Error(index, rpcrdma::kErrChunk);
  Start(index, bytes.subspan(job.call.length));
}

void Responder::Impl::Start(size_t index, Bytes payload) {
  Job& job = jobs[index];
  if (job.call.proc == rpcrdma::kMsg && payload.size() >= 8 && LoadBe32(payload.data() + 4) == rpc::kReply) {
    if (callbacks_under_way == 0) {
      ++stats.dropped;
    } else {
      --callbacks_under_way;
      callback_credits = std::clamp<uint32_t>(job.call.credit, 1, kCallbacks);
    }
    return Done(index);
  }
  if (!LayOut(job.call, payload.size(), options.max_message, job.layout)) return Error(index, rpcrdma::kErrChunk);
  const bool at_hand = job.call.reads.empty() && job.layout.length == payload.size();
  if (at_hand && options.delay.count() == 0) {
    job.message = payload;
    return Answer(index);
  }
  if (!Room(job.call_region, static_cast<size_t>(job.layout.length))) return Error(index, rpcrdma::kErrChunk);
  job.message = job.call_region.bytes.first(static_cast<size_t>(job.layout.length));
  Pull(index, payload);
}

void Responder::Impl::Pull(size_t index, Bytes payload) {
  Job& job = jobs[index];
  std::byte* const to = job.call_region.bytes.data();
  for (const Extent& e : job.layout.extents) {
    const MutableBytes into(to + e.to, static_cast<size_t>(e.length));
    if (e.from == Extent::From::kInline) {
      std::memcpy(into.data(), payload.data() + e.offset, into.size());
    } else if (e.from == Extent::From::kZero) {
      std::memset(into.data(), 0, into.size());
    } else {
      const Segment& segment = job.call.reads[e.segment].target;
      if (!endpoint->Read(into, segment.handle, segment.offset + e.offset, IdOf(index, endpoint::Work::kRead))) {
        job.failed = true;  // the connection is over
        break;
      }
      ++job.reads;
    }
  }
  if (job.reads == 0) job.failed ? Done(index) : Ready(index);
}

void Responder::Impl::Ready(size_t index) {
  if (options.delay.count() == 0) return Answer(index);
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
  job.answer.Clear();
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
  if (!Room(job.header_region, kLargestHeader) || !Cover(job) || !Place(job, index))
    return Error(index, rpcrdma::kErrChunk);
  ++stats.replies;
  stats.sent_bytes += job.answer.message.size();
  std::ranges::move(job.answer.callbacks, std::back_inserter(callbacks));
  answered += Send(index);
}

// As many backward Calls as the peer has credits for.
void Responder::Impl::CallBack() {
  while (!callbacks.empty() && callbacks_under_way < callback_credits && !free.empty()) {
    const size_t index = free.back();
    free.pop_back();
    Job& job = jobs[index];
    job.busy = true;
    job.failed = job.sending = false;
    job.reads = job.writes = 0;
    job.call.Clear();
    job.answer.Clear();
    job.answer.message = std::move(callbacks.front());
    callbacks.pop_front();
    job.reply.Clear();
    job.reply.xid = LoadBe32(job.answer.message.data());
    job.reply.vers = rpcrdma::kVersion1;
    job.reply.credit = kCallbacks;
    job.reply.proc = rpcrdma::kMsg;
    job.header.clear();
    rpcrdma::Encode(job.reply, job.header);
    job.pieces.assign(1, MutableBytes(job.answer.message));
    if (job.header.size() + job.answer.message.size() > settings.send_threshold ||
        !Room(job.header_region, kLargestHeader) || !Cover(job)) {
      ++stats.dropped;
      Done(index);
    } else if (Send(index)) {
      ++callbacks_under_way;
      ++stats.callbacks;
    }
  }
}

// Puts the Reply together: items in their Write chunks, the rest behind the header or in the Reply chunk. False: it
// does not fit what the Call offers.
bool Responder::Impl::Place(Job& job, size_t index) {
  const Header& call = job.call;
  Header& reply = job.reply;
  reply.Clear();
  reply.xid = call.xid;
  reply.vers = rpcrdma::kVersion1;
  reply.credit = options.credits;
  reply.proc = rpcrdma::kMsg;
  reply.segments = call.segments;
  for (Segment& s : reply.segments) s.length = 0;
  reply.write_chunks = call.write_chunks;
  reply.reply_chunk = call.reply_chunk;

  const MutableBytes message(job.answer.message);
  // Which pieces of the message stay. An item goes into the next chunk; an empty chunk keeps its item inline (4.3.2).
  job.pieces.clear();
  uint64_t at = 0, rest = 0;
  size_t chunk = 0;
  const auto keep = [&](uint64_t end) {
    if (end > at) job.pieces.push_back(message.subspan(static_cast<size_t>(at), static_cast<size_t>(end - at)));
    rest += end - at;
    at = end;
  };
  for (const ResultItem& item : job.answer.items) {
    if (chunk == call.write_chunks.size()) break;
    const Chunk& offered = call.write_chunks[chunk];
    Chunk& returned = reply.write_chunks[chunk];
    ++chunk;
    if (offered.count == 0 || item.length == 0) continue;
    if (item.length > Capacity(call, offered)) return false;
    keep(item.offset);
    const Bytes bytes = message.subspan(static_cast<size_t>(item.offset), item.length);
    if (!WriteChunk(job, index, offered, bytes, returned)) return false;
    at = item.offset + RoundUp4(item.length);
  }
  keep(message.size());

  job.header.clear();
  rpcrdma::Encode(reply, job.header);
  const bool fits = job.header.size() + rest <= settings.send_threshold && job.pieces.size() < endpoint->max_pieces();
  if (!fits) {
    if (!call.reply_chunk || Capacity(call, *call.reply_chunk) < rest) return false;
    // One run of bytes, for the RDMA Writes.
    std::byte* to = message.data();
    for (const Bytes piece : job.pieces) {
      std::memmove(to, piece.data(), piece.size());
      to += piece.size();
    }
    job.pieces.clear();
    if (!WriteChunk(job, index, *call.reply_chunk, message.first(static_cast<size_t>(rest)), *reply.reply_chunk))
      return false;
    reply.proc = rpcrdma::kNomsg;
    job.header.clear();
    rpcrdma::Encode(reply, job.header);
    if (job.header.size() > settings.send_threshold) return false;
  }
  return job.header.size() <= kLargestHeader;
}

// RDMA Writes of `bytes` to the segments of a chunk, in order; says in the Reply's segments how much each got.
bool Responder::Impl::WriteChunk(Job& job, size_t index, const Chunk& offered, Bytes bytes, Chunk& returned) {
  for (uint32_t i = 0; i < offered.count && !bytes.empty(); ++i) {
    const Segment& segment = job.call.segments[offered.first + i];
    const size_t n = std::min<size_t>(bytes.size(), segment.length);
    if (n == 0) continue;
    if (!endpoint->Write(bytes.first(n), segment.handle, segment.offset, IdOf(index, endpoint::Work::kWrite)))
      return false;
    ++job.writes;
    job.reply.segments[returned.first + i].length = static_cast<uint32_t>(n);
    bytes = bytes.subspan(n);
  }
  return bytes.empty();
}

void Responder::Impl::Error(size_t index, uint32_t err) {
  Job& job = jobs[index];
  Header& reply = job.reply;
  reply.Clear();
  reply.xid = job.call.xid;
  reply.vers = job.call.vers;  // ERR_VERS echoes it; ERR_CHUNK is version 1
  reply.credit = options.credits;
  reply.proc = rpcrdma::kError;
  reply.err = err;
  reply.vers_low = reply.vers_high = rpcrdma::kVersion1;
  ++(err == rpcrdma::kErrVers ? stats.err_vers : stats.err_chunk);
  job.pieces.clear();
  job.header.clear();
  rpcrdma::Encode(reply, job.header);
  if (!Room(job.header_region, kLargestHeader)) return Done(index);
  answered += Send(index);
}

// False: the connection is over.
bool Responder::Impl::Send(size_t index) {
  Job& job = jobs[index];
  std::ranges::copy(job.header, job.header_region.bytes.begin());
  job.pieces.insert(job.pieces.begin(), job.header_region.bytes.first(job.header.size()));
  std::optional<uint32_t> invalidate;
  if (settings.remote_invalidation && endpoint->can_invalidate() && job.reply.proc != rpcrdma::kError) {
    if (!job.call.segments.empty()) invalidate = job.call.segments.front().handle;
    if (!job.call.reads.empty()) invalidate = job.call.reads.front().target.handle;
  }
  if (endpoint->Send(job.pieces, IdOf(index, endpoint::Work::kSend), invalidate)) {
    job.sending = true;
    return true;
  }
  if (job.writes == 0) Done(index);
  return false;
}

void Responder::Impl::Done(size_t index) {
  jobs[index].busy = false;
  free.push_back(index);
}

bool Responder::Impl::Room(endpoint::Region& region, size_t size) {
  if (region.bytes.size() >= size) return true;
  if (!region.bytes.empty()) endpoint->Deregister(region);
  Result<endpoint::Region> larger =
      endpoint->Register(std::bit_ceil(std::max<size_t>(size, 4096)), endpoint::Access::kLocal);
  region = larger ? *larger : endpoint::Region{};
  return larger.has_value();
}

// Registers the storage of the answer as it is, so that nothing has to be copied; it stays the same until it has to
// grow, and then it has another capacity.
bool Responder::Impl::Cover(Job& job) {
  std::vector<std::byte>& storage = job.answer.message;
  endpoint::Region& region = job.answer_region;
  if (region.bytes.data() == storage.data() && region.bytes.size() == storage.capacity()) return true;
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
  endpoint.sends = std::max(endpoint.sends, options.credits * 20);
  endpoint.private_data = options.send_private_data ? PrivateData(options) : std::vector<std::byte>{};
}

Responder::Responder(std::unique_ptr<endpoint::Endpoint> endpoint, const ResponderOptions& options, Service& service)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options, service)) {}
Responder::~Responder() = default;

size_t Responder::Poll(std::chrono::microseconds wait) { return impl_->Poll(wait); }
std::chrono::microseconds Responder::rest() const {
  constexpr std::chrono::milliseconds kTimeouts{100};  // of the endpoint, which do not show in its descriptor
  if (!impl_->idle) return {};
  if (impl_->due.empty()) return kTimeouts;
  const auto left = std::chrono::ceil<std::chrono::microseconds>(impl_->jobs[impl_->due.front()].due - Clock::now());
  return std::clamp<std::chrono::microseconds>(left, std::chrono::microseconds{0}, kTimeouts);
}
bool Responder::open() const { return impl_->endpoint->state() == endpoint::State::kOpen; }
const ResponderStats& Responder::stats() const { return impl_->stats; }
endpoint::Endpoint& Responder::endpoint() { return *impl_->endpoint; }

}  // namespace stag::rpcrdma
