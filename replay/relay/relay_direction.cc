// SPDX-License-Identifier: GPL-2.0-or-later
//
// The main flow: TakeCall takes a Job, whose header Translate gives the relay's handles, and pulls its Read chunks;
// Ready queues it, SendQueued sends it on. What then comes back: relay_direction_answers.cc.
#include "replay/relay/relay_direction.h"

#include <algorithm>
#include <bit>

namespace stag::relay {

namespace {

using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::ReadSegment;
using rpcrdma::Segment;

constexpr uint32_t kLargestHeader = 16384;
constexpr uint32_t kSegmentSize = 16, kReadSegmentSize = 24, kChunkHead = 4;  // bytes in a header

uint64_t Rounded(uint64_t size) { return size == 0 ? 0 : std::bit_ceil(std::max<uint64_t>(size, 4096)); }

uint64_t ReadBytes(const Header& header) {
  uint64_t sum = 0;
  for (const ReadSegment& read : header.reads) sum += read.target.length;
  return sum;
}

bool Usable(const Header& call) {
  const bool message = call.proc == rpcrdma::kMsg || (call.proc == rpcrdma::kNomsg && !call.reads.empty());
  return call.status == ParseStatus::kOk && message && call.length <= kLargestHeader;
}

}  // namespace

RelayDirection::RelayDirection(RelaySide& caller, RelaySide& answerer, const RelayDirectionOptions& options,
                               Faults faults, rpcrdma::ChunkShare& memory, RelayDirectionReport& report)
    : caller_(caller), answerer_(answerer), options_(options), report_(report), faults_(std::move(faults)) {
  jobs_.reserve(options.jobs);
  for (uint32_t i = 0; i < options.jobs; ++i) jobs_.emplace_back(memory);
  for (size_t i = jobs_.size(); i-- > 0;) free_.push_back(i);
}

// What to offer so that the answerer can send whatever the caller takes inline; 0: nothing has to be.
uint32_t RelayDirection::OwnReply(const Header& call) const {
  const uint32_t takes = caller_.settings.send_threshold;
  if (call.reply_chunk || takes <= answerer_.settings.receive_threshold || !options_.may_be_long) return 0;
  uint32_t header = rpcrdma::kMinimumHeader;
  for (const Chunk& chunk : call.write_chunks) header += 2 * kChunkHead + chunk.count * kSegmentSize;
  return takes > header ? (takes - header) & ~3u : 0;
}

bool RelayDirection::TakeCall(const Header& header, Bytes payload, Clock::time_point now) {
  const bool usable = Usable(header);
  if (free_.empty() || !caller_.Takes(usable ? header.reads.size() : 0)) return false;
  Job& job = jobs_[free_.back()];
  job.call = header;
  job.received = now;
  job.failed = false;
  job.own_reply = OwnReply(header);
  job.faults.clear();
  const uint64_t pulled = ReadBytes(header);
  uint64_t writable = job.own_reply;
  for (const Segment& segment : header.segments) writable += segment.length;
  // How long the header will be is known already.
  uint32_t length = header.length + (job.own_reply > 0 ? kChunkHead + kSegmentSize : 0);
  const bool make_long = header.proc == rpcrdma::kMsg && options_.may_be_long &&
                         length + payload.size() > answerer_.settings.send_threshold;
  const auto position_zero = static_cast<uint32_t>(make_long ? payload.size() : 0);
  if (position_zero > 0) length += kReadSegmentSize;
  const size_t message = length + (position_zero > 0 ? 0 : payload.size());
  const uint64_t readable = position_zero > 0 ? RoundUp4(pulled) + position_zero : pulled;
  const bool fits = pulled + writable <= options_.max_message && message <= answerer_.settings.send_threshold;
  if (usable && fits && !Afford(job, readable, writable)) return false;

  free_.pop_back();
  job.state = State::kPulling;
  ++report_.caller.calls;
  job.bytes = payload.size() + pulled;
  report_.caller.call_bytes += job.bytes;
  if (header.words >= 2 && header.vers != rpcrdma::kVersion1) return Refuse(job, rpcrdma::kErrVers), true;
  if (!usable || !fits || !Prepare(job, readable, writable, message)) return Refuse(job, rpcrdma::kErrChunk), true;
  Translate(job, position_zero);
  bytes_.clear();
  rpcrdma::Encode(job.onward, bytes_);
  std::ranges::copy(bytes_, job.message.bytes.begin());
  job.message_size = message;
  job.header_size = bytes_.size();
  const MutableBytes to = position_zero > 0 ? job.readable.bytes().subspan(static_cast<size_t>(RoundUp4(pulled)))
                                            : job.message.bytes.subspan(bytes_.size());
  std::ranges::copy(payload, to.begin());
  report_.made_long += position_zero > 0;
  Pull(job);
  return true;
}

// Whether there is memory for the chunks; what no Call uses is given up for it.
bool RelayDirection::Afford(Job& job, uint64_t readable, uint64_t writable) {
  const uint64_t read = Rounded(readable), written = Rounded(writable);
  if (job.charge.Grow(std::max<uint64_t>(read, job.readable.size()) + std::max<uint64_t>(written, job.writable.size())))
    return true;
  GiveUpKept();  // its own, too
  return job.charge.Grow(read + written);
}

void RelayDirection::GiveUp(Job& job) {
  if (job.charge.bytes() == 0) return;
  job.readable.Drop(*caller_.endpoint, *answerer_.endpoint);
  job.writable.Drop(*caller_.endpoint, *answerer_.endpoint);
  job.charge.Set(0);
}

void RelayDirection::GiveUpKept() {
  for (const size_t index : free_) GiveUp(jobs_[index]);
}

bool RelayDirection::Room(endpoint::Region& region, size_t size, endpoint::Endpoint& endpoint) {
  if (region.bytes.size() >= size) return true;
  if (!region.bytes.empty()) endpoint.Deregister(region);
  Result<endpoint::Region> larger = endpoint.Register(Rounded(size), endpoint::Access::kLocal);
  region = larger ? *larger : endpoint::Region{};
  if (!larger) report_.no_memory = larger.error().message;
  return larger.has_value();
}

bool RelayDirection::Prepare(Job& job, uint64_t readable, uint64_t writable, size_t message) {
  endpoint::Endpoint &near = *caller_.endpoint, &far = *answerer_.endpoint;
  Result<void> there = job.readable.Prepare(Rounded(readable), near, far, endpoint::Access::kRemoteRead);
  if (there) there = job.writable.Prepare(Rounded(writable), near, far, endpoint::Access::kRemoteWrite);
  job.charge.Set(job.readable.size() + job.writable.size());
  if (!there) report_.no_memory = there.error().message;
  return there && Room(job.message, message, far);
}

// The Call's header with the relay's memory in place of the caller's. `position_zero`: bytes of the payload that goes
// behind what is pulled; 0: it stays inline.
void RelayDirection::Translate(Job& job, uint32_t position_zero) {
  const Header& call = job.call;
  Header& onward = job.onward;
  onward.Clear();
  onward.xid = call.xid;
  onward.vers = rpcrdma::kVersion1;
  onward.credit = std::min(call.credit, options_.credits);
  onward.proc = position_zero > 0 ? static_cast<uint32_t>(rpcrdma::kNomsg) : call.proc;
  if (position_zero > 0)
    onward.reads.push_back(
        {0, {job.readable.handle(), position_zero, job.readable.offset() + RoundUp4(ReadBytes(call))}});
  uint64_t at = job.readable.offset();
  for (const ReadSegment& read : call.reads) {
    onward.reads.push_back({read.position, {job.readable.handle(), read.target.length, at}});
    at += read.target.length;
  }
  onward.write_chunks = call.write_chunks;
  onward.reply_chunk = call.reply_chunk;
  at = job.writable.offset();
  for (const Segment& segment : call.segments) {
    onward.segments.push_back({job.writable.handle(), segment.length, at});
    at += segment.length;
  }
  if (job.own_reply == 0) return;
  onward.reply_chunk = Chunk{static_cast<uint32_t>(onward.segments.size()), 1};
  onward.segments.push_back({job.writable.handle(), job.own_reply, at});
}

void RelayDirection::Pull(Job& job) {
  std::byte* to = job.readable.bytes().data();
  for (const ReadSegment& read : job.call.reads) {
    const Segment& from = read.target;
    if (from.length == 0) continue;
    const MutableBytes into(to, from.length);
    if (!Count(caller_, job, caller_.endpoint->Read(into, from.handle, from.offset, IdOf(job)))) {
      job.failed = true;
      break;
    }
    to += from.length;
  }
  if (job.works == 0) Ready(job);
}

// All of the Call is here.
void RelayDirection::Ready(Job& job) {
  if (job.failed) return;  // so its connection is over: it stays unanswered
  if (Disturb(job)) return;
  job.state = State::kQueued;
  queue_.push_back(static_cast<size_t>(&job - jobs_.data()));
  SendQueued();
  report_.credit_stalls += job.state == State::kQueued && sent_.size() >= grant_;
}

// The reduced Payload stream, as far as it stands in one place.
Bytes RelayDirection::Stream(const Job& job) const {
  const Header& onward = job.onward;
  if (onward.proc == rpcrdma::kMsg) return job.message.bytes.first(job.message_size).subspan(job.header_size);
  Bytes stream;
  for (const ReadSegment& read : onward.reads) {
    if (read.position != 0) continue;
    const auto start = static_cast<size_t>(read.target.offset - job.readable.offset());
    const Bytes bytes = job.readable.bytes().subspan(start, read.target.length);
    if (!stream.empty() && stream.data() + stream.size() != bytes.data()) break;
    stream = {stream.empty() ? bytes.data() : stream.data(), stream.size() + bytes.size()};
  }
  return stream;
}

// Carries out what the rules say of a Call. True: it is not to be passed on.
bool RelayDirection::Disturb(Job& job) {
  faults_.Choose(job.call, Stream(job), job.faults);
  if (job.faults.empty()) return false;
  if (faults_.Take(FaultKind::kDisconnect, job.faults)) return wants_end_ = true;
  if (faults_.Take(FaultKind::kDrop, job.faults)) return Finish(job), true;
  if (const FaultRule* rule = faults_.Take(FaultKind::kError, job.faults)) return SendError(job, rule->value), true;
  Header& onward = job.onward;
  Segment* const first = !onward.reads.empty()      ? &onward.reads.front().target
                         : !onward.segments.empty() ? &onward.segments.front()
                                                    : nullptr;
  if (first && faults_.Take(FaultKind::kBadHandle, job.faults)) first->handle ^= kOtherBits;
  const auto offers = [&](const Chunk& chunk) { return chunk.count > 0; };
  const auto write = std::ranges::find_if(onward.write_chunks, offers);
  const Chunk shortened = write != onward.write_chunks.end() ? *write : onward.reply_chunk.value_or(Chunk{});
  if (shortened.count > 0 && faults_.Take(FaultKind::kShortChunk, job.faults)) {
    uint32_t& length = onward.segments[shortened.first + shortened.count - 1].length;
    length = length / 2 & ~3u;
  }
  bytes_.clear();
  rpcrdma::Encode(onward, bytes_);
  std::ranges::copy(bytes_, job.message.bytes.begin());
  return false;
}

void RelayDirection::SendQueued() {
  while (!queue_.empty() && sent_.size() < grant_ && answerer_.Takes(1)) {
    Job& job = jobs_[queue_.front()];
    const Bytes whole = job.message.bytes.first(job.message_size);
    if (!Count(answerer_, job, answerer_.endpoint->Send({&whole, 1}, IdOf(job)))) return;
    job.state = State::kSent;
    sent_.push_back(queue_.front());
    queue_.pop_front();
    ++report_.answerer.calls;
    report_.answerer.call_bytes += job.bytes;
    report_.call_rest.Record(Clock::now() - job.received);
  }
}

// --------------------------------------------------------------------------------------------------------- completions

// Whether it was posted. If not, the connection is over: the Call stays where it is, unanswered.
bool RelayDirection::Count(RelaySide& side, Job& job, const Result<void>& posted) {
  side.posted += posted.has_value();
  job.works += posted.has_value();
  return posted.has_value();
}

void RelayDirection::OnCompletion(const endpoint::Completion& c) {
  Job& job = jobs_[static_cast<size_t>(c.id >> 1)];
  --job.works;
  if (c.outcome != endpoint::CompletionStatus::kOk) job.failed = true;
  if (job.state == State::kPulling && job.works == 0) return Ready(job);
  Recycle(job);
}

void RelayDirection::Recycle(Job& job) {
  if (job.state != State::kDone || job.works > 0) return;
  job.state = State::kFree;
  free_.push_back(static_cast<size_t>(&job - jobs_.data()));
}

void RelayDirection::Run() {
  while (!delayed_.empty() && delayed_.begin()->first <= Clock::now()) {
    answers_.push_back(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
  }
  SendQueued();
  SendAnswers();
}

std::optional<RelayDirection::Clock::time_point> RelayDirection::due() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

uint64_t RelayDirection::unanswered() const {
  return static_cast<uint64_t>(std::ranges::count_if(
      jobs_, [](const Job& job) { return job.state != State::kFree && job.state != State::kDone; }));
}

}  // namespace stag::relay
