// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/credits.h"

namespace stag::session {

void GrantWindow::Reset(uint32_t grant) {
  grant_ = std::max(grant, 1u);
  answers_ = 0;
  size_ = 0;
}

void GrantWindow::Add(uint32_t grant, bool ends_call, uint64_t number) {
  grant = std::max(grant, 1u);
  const uint32_t answers = ends_call ? 1 : 0;
  answers_ += answers;
  if (size_ > 0 && runs_[size_ - 1].grant == grant) {
    runs_[size_ - 1].answers += answers;
    return;
  }
  if (size_ == kRuns) {
    runs_[1] = {std::max(runs_[0].grant, runs_[1].grant), runs_[0].answers + runs_[1].answers, runs_[0].first};
    std::copy(runs_.begin() + 1, runs_.end(), runs_.begin());
    --size_;
  }
  runs_[size_++] = {grant, answers, number};
}

void GrantWindow::Arrive(uint64_t number) {
  size_t done = 0;
  for (; done < size_ && runs_[done].first <= number; ++done) {
    grant_ = runs_[done].grant;
    // Of the run that holds it, or may: how many Calls its first messages end is not kept.
    if (done + 1 == size_ || runs_[done + 1].first > number) break;
    answers_ -= runs_[done].answers;
  }
  std::copy(runs_.begin() + static_cast<ptrdiff_t>(done), runs_.begin() + static_cast<ptrdiff_t>(size_), runs_.begin());
  size_ -= done;
}

bool GrantWindow::Allows(uint32_t outstanding) const {
  // As Take goes, but nothing is taken.
  uint64_t counted = uint64_t{outstanding} + answers_;
  uint32_t grant = grant_;
  for (size_t i = 0; counted > grant && i < size_; ++i) {
    grant = runs_[i].grant;
    const uint64_t needed = counted > grant ? counted - grant : 0;
    counted -= std::min<uint64_t>(std::max<uint64_t>(needed, 1), runs_[i].answers);
  }
  return counted <= grant;
}

bool GrantWindow::Take(uint32_t outstanding) {
  // What the requester counts is more than the capture shows, by the answers that it has not had yet.
  uint64_t counted = uint64_t{outstanding} + answers_;
  if (counted <= grant_) return true;
  size_t done = 0;
  while (counted > grant_ && done < size_) {
    Run& run = runs_[done];
    grant_ = run.grant;
    const uint64_t needed = counted > grant_ ? counted - grant_ : 0;
    // The first message of a run brings its grant, and ends a Call if any of the run does.
    const auto taken = static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(needed, 1), run.answers));
    counted -= taken;
    answers_ -= taken;
    run.answers -= taken;
    if (counted <= grant_) break;  // the rest of the run may still be on its way
    ++done;
  }
  if (done > 0) {
    std::copy(runs_.begin() + static_cast<ptrdiff_t>(done), runs_.begin() + static_cast<ptrdiff_t>(size_),
              runs_.begin());
    size_ -= done;
  }
  return counted <= grant_;
}

void ReceivedGrants::Reset(uint32_t grant) {
  grant_ = std::max(grant, 1u);
  answers_ = 0;
  size_ = 0;
  unsure_until_ = 0;
}

void ReceivedGrants::Add(uint32_t grant, bool ends_call, uint64_t number) {
  if (size_ == kMost) {
    size_ = 0;
    answers_ = 0;
    unsure_until_ = number;
  }
  if (unsure_until_ != 0) {
    unsure_until_ = number;
    grant_ = std::max(grant, 1u);
    return;
  }
  messages_[(first_ + size_++) % kMost] = {number, std::max(grant, 1u), ends_call};
  answers_ += ends_call;
}

void ReceivedGrants::Acknowledge(uint64_t number) {
  if (unsure_until_ <= number) unsure_until_ = 0;
  for (; size_ > 0 && messages_[first_].number <= number; first_ = (first_ + 1) % kMost, --size_) {
    grant_ = messages_[first_].grant;
    answers_ -= messages_[first_].ends_call;
  }
}

bool ReceivedGrants::Allows(uint32_t outstanding) const {
  if (unsure_until_ != 0) return true;
  uint64_t counted = uint64_t{outstanding} + answers_;
  if (counted <= grant_) return true;
  for (size_t i = 0; i < size_; ++i) {
    const Message& message = messages_[(first_ + i) % kMost];
    counted -= message.ends_call;
    if (counted <= message.grant) return true;
  }
  return false;
}

void CreditState::StartCounting(uint32_t grant) {
  known = true;
  window.Reset(grant);
  received.Reset(grant);
  request_limit = requested.any ? requested.max : 0;
}

void CreditState::OnCall(uint32_t request) {
  requested.Add(request);
  ++outstanding;
  if (request >= request_limit || outstanding <= request) request_limit = request;
  if (known) (void)window.Take(outstanding);
}

void CreditState::OnGrant(uint32_t grant, bool ends_call, uint64_t number) {
  granted.Add(grant);
  if (known) Add(grant, ends_call, number);
}

void CreditState::Add(uint32_t grant, bool ends_call, uint64_t number) {
  window.Add(grant, ends_call, number);
  received.Add(grant, ends_call, number);
}

}  // namespace stag::session
