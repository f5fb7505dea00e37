// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/requester_profile.h"

#include <algorithm>

namespace stag::conformance {

namespace {

bool UsesOrdinaryChunks(const session::Transaction& call) {
  return !call.call.header.write_chunks.empty() ||
         (!call.call.read_chunks.empty() && call.call.read_chunks.back().position > 0);
}

}  // namespace

void RequesterProfile::Before(const session::Transaction& call) {
  proven_ = Handles::kUnremarkable;
  if (call.call.segments.empty()) return;
  for (const session::SegmentRecord& record : call.call.segments) {
    const uint32_t handle = record.segment.handle;
    if (votes_ == 0) {
      shared_ = handle;
      shared_segments_ = 0;
    }
    if (handle == shared_) {
      ++votes_;
      ++shared_segments_;
    } else {
      --votes_;
    }
    const bool next = segments_ > 0 && handle == last_ + 1;
    sequence_ = next ? sequence_ + 1 : 0;
    carried_ = next && (carried_ || (handle & 0xff) == 0);
    last_ = handle;
    ++segments_;
  }
  ++calls_;
  if (calls_ == kManyCalls && shared_segments_ * 10 > segments_ * 9) {
    proven_ = Handles::kShared;
  } else if (!told_sequence_ && calls_ >= kManyCalls && sequence_ >= kManyCalls && carried_) {
    proven_ = Handles::kCountedUp;
    told_sequence_ = true;
  }
}

void RequesterProfile::AfterCall(const session::Transaction& call) {
  proven_ = Handles::kUnremarkable;
  const rpc::CallHeader& rpc = call.call.rpc;
  if (rpc.words >= 6 && UsesOrdinaryChunks(call) && !HasUsedChunks(rpc.program, rpc.version))
    programs_.Add({rpc.program, rpc.version});
}

void RequesterProfile::AfterReply(const session::Transaction& transaction) {
  if (!transaction.reply.rpc.success()) return;
  const auto ordinary = std::ranges::count_if(transaction.call.read_chunks,
                                              [](const session::ReadChunk& chunk) { return chunk.position > 0; });
  takes_many_chunks = takes_many_chunks || ordinary > 1 || transaction.call.header.write_chunks.size() > 1;
}

bool RequesterProfile::HasUsedChunks(uint32_t program, uint32_t version) const {
  for (size_t i = 0; i < programs_.size(); ++i)
    if (programs_.FromEnd(i).program == program && programs_.FromEnd(i).version == version) return true;
  return false;
}

}  // namespace stag::conformance
