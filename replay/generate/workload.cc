// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/workload.h"

#include <algorithm>

namespace stag::generate {

Planner::Planner(const LoadOptions& options) : options_(options), largest_(LargestSize(options.jobs)) {}

void Planner::PlanReply(rpcrdma::CallSpec& call, uint64_t results, uint32_t data) {
  const uint32_t threshold = requester_->reply_threshold();
  uint64_t size = kTransportHeader + nfs_client::kReplyHeaderSize + results;
  if (data > 0 && (options_.always_chunks || size + RoundUp4(data) > threshold)) {
    offered_ = data;
    call.write_chunks = {&offered_, 1};
  } else {
    size += RoundUp4(data);
  }
  if (options_.reply_chunk || size > threshold) call.reply_chunk = static_cast<uint32_t>(size);
}

void Planner::PutData(rpcrdma::CallSpec& call, const Job& job, uint32_t file, uint64_t offset, bool reduce) const {
  if (job.size == 0) return;
  constexpr uint64_t kReplyChunk = 4 + 16;  // in the header, when it has one segment
  const uint64_t inline_size =
      kTransportHeader + (call.reply_chunk > 0 ? kReplyChunk : 0) + call.message.size() + RoundUp4(job.size);
  const rpcrdma::Requester::Room room = requester_->ItemRoom(std::max(job.size, largest_));
  if (room.fresh) FillPattern(room.bytes, 0, 0, 0);
  call.item_offset = call.message.size();
  if (room.bytes.empty() || (reduce && (options_.always_chunks || inline_size > requester_->call_threshold())))
    call.item_length = job.size;  // without room Send says that there is no argument
  if (room.bytes.empty()) return;
  call.item = room.bytes.first(job.size);
  if (options_.verify) FillPattern(room.bytes.first(job.size), file, offset, job.generation);
}

uint32_t LargestSize(const JobOptions& options) {
  uint32_t largest = 0;
  for (const SizeRange& range : options.sizes) largest = std::max(largest, range.high);
  return largest;
}

Result<void> FillFile(Workload& workload, nfs_client::Caller& caller, const LoadOptions& options, uint32_t part,
                      uint32_t piece) {
  for (uint64_t at = 0; at < options.file_size;) {
    Job job;
    job.operation = Operation::kWrite;
    job.part = part;
    job.offset = at;
    job.size = static_cast<uint32_t>(std::min<uint64_t>(piece, options.file_size - at));
    rpcrdma::CallSpec call;
    caller.AwaitCredit();
    workload.Encode(job, call);
    const auto results = caller.Ask(call);
    if (!results) {
      workload.Drop(job);
      return Fail("filling the files: " + results.error().message);
    }
    const Verdict verdict = workload.Judge(job, *results, {});
    if (!verdict.failure.empty()) return Fail("filling the files: WRITE says " + verdict.failure);
    if (verdict.written == 0) return Fail("filling the files: WRITE wrote nothing");
    at += verdict.written;
  }
  return {};
}

}  // namespace stag::generate
