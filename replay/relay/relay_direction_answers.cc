// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayDirection: what comes back. TakeAnswer finds the Job of an answer, Convert makes the caller's message of it, and
// SendAnswers pushes what was written, and sends it.
#include <algorithm>

#include "replay/relay/relay_direction.h"

namespace stag::relay {

namespace {

using rpcrdma::Chunk;
using rpcrdma::Header;
using rpcrdma::Segment;

constexpr size_t kCreditAt = 8;  // of rdma_credit in a header

// What of a chunk of a Reply cannot be said of the chunk that was offered, in the words of the other side.
std::string_view Defect(const Header& call, const Chunk& offered, const Header& reply, const Chunk& returned) {
  if (returned.count > offered.count) return "a chunk with more segments than were offered";
  for (uint32_t i = 0; i < returned.count; ++i)
    if (reply.segments[returned.first + i].length > call.segments[offered.first + i].length)
      return "a segment with more bytes than were offered";
  return {};
}

}  // namespace

bool RelayDirection::TakeAnswer(const Header& header, Bytes payload, std::optional<uint32_t> invalidated,
                                Clock::time_point now) {
  const auto it = std::ranges::find_if(sent_, [&](size_t index) { return jobs_[index].call.xid == header.xid; });
  if (it == sent_.end()) return false;
  Job& job = jobs_[*it];
  sent_.erase(it);
  job.received = now;
  const bool error = header.proc == rpcrdma::kError;
  told_ = std::min(header.credit, options_.credits);
  if (!error || header.credit > 0) grant_ = std::max(told_, 1u);
  NoteInvalidated(job, invalidated);
  if (faults_.Take(FaultKind::kDropReply, job.faults)) {
    ++(error ? report_.answerer.errors : report_.answerer.replies);
    Finish(job);
  } else if (error) {
    ++report_.answerer.errors;
    SendError(job, header);
  } else if (const std::string_view wrong = Convert(job, header, payload); !wrong.empty()) {
    ++report_.bad_replies[wrong];
    Refuse(job, rpcrdma::kErrChunk);
  }
  SendQueued();
  return true;
}

// What the answerer invalidated here is what will be invalidated there; if it may not, the relay may all the same.
void RelayDirection::NoteInvalidated(Job& job, std::optional<uint32_t> invalidated) {
  job.invalidate.reset();
  const bool may = caller_.settings.remote_invalidation && caller_.endpoint->can_invalidate();
  const bool mirror = answerer_.settings.remote_invalidation;
  const bool reads = !mirror || (job.readable.size() > 0 && invalidated == job.readable.handle());
  const bool writes = !mirror || (job.writable.size() > 0 && invalidated == job.writable.handle());
  if (may && writes && !job.call.segments.empty()) job.invalidate = job.call.segments.front().handle;
  if (may && reads && !job.call.reads.empty()) job.invalidate = job.call.reads.front().target.handle;
  if (!invalidated) return;
  job.readable.Invalidated(*invalidated);
  job.writable.Invalidated(*invalidated);
}

// Makes the caller's message of an answer; returns what is wrong with it (RFC 8166 section 4.3).
std::string_view RelayDirection::Convert(Job& job, const Header& reply, Bytes payload) {
  if (reply.status == ParseStatus::kUnsupported) return "a Reply of another version";
  if (reply.status != ParseStatus::kOk) return "a Reply whose transport header cannot be read";
  if (reply.proc != rpcrdma::kMsg && reply.proc != rpcrdma::kNomsg) return "neither RDMA_MSG nor RDMA_NOMSG";
  if (!reply.reads.empty()) return "a Reply with a Read list";
  const Header &call = job.call, &onward = job.onward;
  if (reply.write_chunks.size() > call.write_chunks.size()) return "a Reply with more Write chunks than its Call";
  if (reply.proc == rpcrdma::kNomsg && !reply.reply_chunk) return "an RDMA_NOMSG without a Reply chunk";
  if (reply.reply_chunk && !onward.reply_chunk) return "a Reply chunk that was not offered";
  for (size_t i = 0; i < reply.write_chunks.size(); ++i)
    if (const auto wrong = Defect(onward, onward.write_chunks[i], reply, reply.write_chunks[i]); !wrong.empty())
      return wrong;
  if (reply.reply_chunk)
    if (const auto wrong = Defect(onward, *onward.reply_chunk, reply, *reply.reply_chunk); !wrong.empty()) return wrong;

  Header& to = scratch_;
  to.Clear();
  to.xid = call.xid;
  to.vers = rpcrdma::kVersion1;
  to.credit = told_;
  to.proc = reply.proc;
  job.pushes.clear();
  for (size_t i = 0; i < reply.write_chunks.size(); ++i)
    to.write_chunks.push_back(Return(job, call.write_chunks[i], reply.Of(reply.write_chunks[i])));
  if (reply.reply_chunk && call.reply_chunk) {
    to.reply_chunk = Return(job, *call.reply_chunk, reply.Of(*reply.reply_chunk));
  } else if (reply.proc == rpcrdma::kNomsg) {  // in the relay's own Reply chunk, of one segment
    to.proc = rpcrdma::kMsg;
    const auto start = static_cast<size_t>(onward.segments.back().offset - job.writable.offset());
    for (const Segment& segment : reply.Of(*reply.reply_chunk))
      payload = job.writable.bytes().subspan(start, segment.length);
  }
  job.answer_bytes = to.proc == rpcrdma::kMsg ? payload.size() : 0;
  for (const Push& push : job.pushes) job.answer_bytes += push.from.size();
  ++report_.answerer.replies;
  report_.answerer.reply_bytes += job.answer_bytes;

  bytes_.clear();
  rpcrdma::Encode(to, bytes_);
  const bool too_long = to.proc == rpcrdma::kMsg && bytes_.size() + payload.size() > caller_.settings.send_threshold;
  if (too_long && !MakeLong(job, to, payload.size())) return "a Reply that is too long for the caller";
  if (bytes_.size() > caller_.settings.send_threshold) return "a Reply whose header alone is too long for the caller";
  if (!Room(job.answer, bytes_.size() + payload.size(), *caller_.endpoint))
    return "a Reply for which there is no memory";
  const MutableBytes room = job.answer.bytes;
  std::ranges::copy(bytes_, room.begin());
  std::ranges::copy(payload, room.subspan(bytes_.size()).begin());
  Bytes rest = room.subspan(bytes_.size(), payload.size());
  for (const Segment& segment : too_long ? to.Of(*to.reply_chunk) : std::span<const Segment>()) {
    if (segment.length > 0) job.pushes.push_back({rest.first(segment.length), segment.handle, segment.offset});
    rest = rest.subspan(segment.length);
  }
  job.answer_size = bytes_.size() + (to.proc == rpcrdma::kMsg ? payload.size() : 0);
  SendAnswer(job, false);
  return {};
}

// A returned chunk, for the caller: its segments with the lengths that came back. What was written is to be pushed.
Chunk RelayDirection::Return(Job& job, const Chunk& offered, std::span<const Segment> returned) {
  const Chunk chunk{static_cast<uint32_t>(scratch_.segments.size()), static_cast<uint32_t>(returned.size())};
  for (uint32_t i = 0; i < chunk.count; ++i) {
    const Segment &theirs = job.call.segments[offered.first + i], &ours = job.onward.segments[offered.first + i];
    const uint32_t length = returned[i].length;
    scratch_.segments.push_back({theirs.handle, length, theirs.offset});
    const auto start = static_cast<size_t>(ours.offset - job.writable.offset());
    if (length > 0) job.pushes.push_back({job.writable.bytes().subspan(start, length), theirs.handle, theirs.offset});
  }
  return chunk;
}

// An inline Reply becomes one by the caller's Reply chunk. False: there is none, or it is too small.
bool RelayDirection::MakeLong(Job& job, Header& to, uint64_t payload) {
  if (!job.call.reply_chunk) return false;
  if (to.reply_chunk) to.segments.resize(to.reply_chunk->first);  // it came back unused
  to.proc = rpcrdma::kNomsg;
  to.reply_chunk = Chunk{static_cast<uint32_t>(to.segments.size()), job.call.reply_chunk->count};
  for (Segment segment : job.call.Of(*job.call.reply_chunk)) {
    segment.length = static_cast<uint32_t>(std::min<uint64_t>(segment.length, payload));
    payload -= segment.length;
    to.segments.push_back(segment);
  }
  bytes_.clear();
  rpcrdma::Encode(to, bytes_);
  report_.made_long += payload == 0;
  return payload == 0;
}

void RelayDirection::Refuse(Job& job, uint32_t err) {
  ++report_.refused;
  SendError(job, err);
}

void RelayDirection::SendError(Job& job, uint32_t err) {
  Header& error = scratch_;
  error.Clear();
  error.xid = job.call.xid;
  error.vers = job.call.vers;  // ERR_VERS echoes it; ERR_CHUNK is version 1
  error.proc = rpcrdma::kError;
  error.err = err;
  error.vers_low = error.vers_high = rpcrdma::kVersion1;
  SendError(job, error);
}

void RelayDirection::SendError(Job& job, const Header& error) {
  job.pushes.clear();
  job.invalidate.reset();
  bytes_.clear();
  rpcrdma::Encode(error, bytes_);
  if (!Room(job.answer, bytes_.size(), *caller_.endpoint)) return Finish(job);  // no memory: there is no answer
  std::ranges::copy(bytes_, job.answer.bytes.begin());
  StoreBe32(job.answer.bytes.data() + kCreditAt, told_);
  job.answer_size = bytes_.size();
  job.answer_bytes = 0;
  SendAnswer(job, true);
}

void RelayDirection::SendAnswer(Job& job, bool error) {
  job.error = error;
  job.state = State::kAnswering;
  const auto index = static_cast<size_t>(&job - jobs_.data());
  std::byte* const header = job.answer.bytes.data();
  if (const FaultRule* rule = faults_.Take(FaultKind::kCredit, job.faults)) StoreBe32(header + kCreditAt, rule->value);
  if (faults_.Take(FaultKind::kCorruptXid, job.faults)) StoreBe32(header, job.call.xid ^ kOtherBits);
  if (const FaultRule* rule = faults_.Take(FaultKind::kDelay, job.faults)) {
    delayed_.emplace(Clock::now() + rule->delay, index);
    return;
  }
  answers_.push_back(index);
  SendAnswers();
}

// There is no answer for the caller, or none any more.
void RelayDirection::Finish(Job& job) {
  job.state = State::kDone;
  Recycle(job);
}

void RelayDirection::SendAnswers() {
  while (!answers_.empty() && caller_.Takes(jobs_[answers_.front()].pushes.size() + 1)) {
    Job& job = jobs_[answers_.front()];
    endpoint::Endpoint& endpoint = *caller_.endpoint;
    for (const Push& push : job.pushes)
      if (!Count(caller_, job, endpoint.Write(push.from, push.handle, push.offset, IdOf(job)))) return;
    const Bytes whole = job.answer.bytes.first(job.answer_size);
    if (!Count(caller_, job, endpoint.Send({&whole, 1}, IdOf(job), job.invalidate))) return;
    answers_.pop_front();
    job.state = State::kDone;
    report_.reply_rest.Record(Clock::now() - job.received);
    ++(job.error ? report_.caller.errors : report_.caller.replies);
    report_.caller.reply_bytes += job.answer_bytes;
  }
}

}  // namespace stag::relay
