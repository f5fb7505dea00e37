// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/completions.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace stag::endpoint {

void Completions::Push(const Completion& completion) {
  ring_.Push({completion, shown_ ? shown_->newest() : 0});
  spin_.Worked();
}

size_t Completions::Take(std::span<Completion> out, uint32_t& uncompleted) {
  size_t n = 0;
  for (; n < out.size() && !ring_.empty() && (!shown_ || shown_->Passed(ring_.front().after)); ++n) {
    out[n] = ring_.Pop().completion;
    uncompleted -= out[n].work != Work::kReceive;
  }
  return n;
}

bool Completions::GiveWay() {
  if (ring_.empty() || !shown_) return false;
  napped_ = !spin_.Stay();
  if (napped_) shown_->WaitFor(ring_.front().after, 1000);
  return true;
}

void Completions::WatchIn(int epoll) {
  if (!shown_) return;
  epoll_ = epoll;
  readable_ = Descriptor(::eventfd(1, EFD_CLOEXEC));
  epoll_event none{};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, readable_.get(), &none);
}

void Completions::ShowKept() {
  if (epoll_ < 0 || watched_ == !ring_.empty()) return;
  watched_ = !ring_.empty();
  epoll_event event{};
  event.events = watched_ ? EPOLLIN : 0u;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, readable_.get(), &event);
}

}  // namespace stag::endpoint
