// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/workload.h"

#include <algorithm>

#include "protocol/base/check.h"

namespace stag::generate {

void Planner::PlanReply(rpcrdma::CallSpec& call, uint64_t results, uint32_t data) {
  uint64_t size = kTransportHeader + nfs_client::kReplyHeaderSize + results;
  if (data > 0 && (options_.always_chunks || size + RoundUp4(data) > reply_threshold_)) {
    offered_ = data;
    call.write_chunks = {&offered_, 1};
  } else {
    size += RoundUp4(data);
  }
  if (options_.reply_chunk || size > reply_threshold_) call.reply_chunk = static_cast<uint32_t>(size);
}

void Planner::PlanData(rpcrdma::CallSpec& call, uint32_t data) const {
  constexpr uint64_t kReplyChunk = 4 + 16;  // in the header, when it has one segment
  const uint64_t inline_size = kTransportHeader + (call.reply_chunk > 0 ? kReplyChunk : 0) + call.message.size();
  if (data == 0 || (!options_.always_chunks && inline_size <= call_threshold_)) return;
  call.item_offset = call.message.size() - RoundUp4(data);
  call.item_length = data;
}

DataMessage::DataMessage(uint32_t largest) : buffer_(kHeadroom + static_cast<size_t>(RoundUp4(largest))) {
  FillPattern(MutableBytes(buffer_).subspan(kHeadroom), 0, 0, 0);
}

Bytes DataMessage::Join(Bytes head, uint32_t size) {
  STAG_CHECK(head.size() <= kHeadroom && kHeadroom + RoundUp4(size) <= buffer_.size());
  std::byte* const start = buffer_.data() + kHeadroom - head.size();
  std::ranges::copy(head, start);
  std::fill_n(buffer_.data() + kHeadroom + size, RoundUp4(size) - size, std::byte{0});
  return {start, head.size() + static_cast<size_t>(RoundUp4(size))};
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
