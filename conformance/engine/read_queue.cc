// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/read_queue.h"

#include <algorithm>

namespace stag::conformance {

void ReadQueue::OnRequest(const fabric::Event& request, size_t most) {
  const fabric::RdmaPacket& wanted = request.rdma();
  if (wanted.length == 0) return;
  if (!reads_) reads_.emplace();
  while (!reads_->empty() && reads_->size() >= most) reads_->pop_front();
  reads_->push_back({wanted.handle, wanted.offset, wanted.length, request.frame});
  last_frame_ = request.frame;
}

void ReadQueue::OnResponse(const fabric::Event& event) {
  const fabric::RdmaPacket& response = event.rdma();
  in_flight_ = 0;
  if (!reads_) return;
  const auto answered = std::ranges::find_if(*reads_, [&](const Read& read) {
    return read.handle == response.handle && response.offset >= read.offset &&
           response.offset - read.offset < read.length;
  });
  if (answered == reads_->end()) return;
  reads_->erase(reads_->begin(), answered);
  const auto now = static_cast<uint32_t>(reads_->size() - (response.last ? 1 : 0));
  if (now <= 1) peak_ = 0;
  if (now > peak_) in_flight_ = peak_ = now;
  if (response.last) reads_->pop_front();
}

}  // namespace stag::conformance
