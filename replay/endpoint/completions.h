// SPDX-License-Identifier: GPL-2.0-or-later
//
// Completions: those that the user of an endpoint has not taken yet, in order. The user may change memory once it has
// them, so each is kept back until a LateSink has looked at the events before it.
#pragma once

#include <span>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/ring.h"
#include "replay/endpoint/shown_bytes.h"
#include "replay/endpoint/spin_then_sleep.h"
#include "replay/endpoint/system.h"

namespace stag::endpoint {

class Completions {
 public:
  explicit Completions(size_t capacity) : ring_(capacity) {}

  // Before the first: what events show, from now on. It must outlive this.
  void Follow(ShownBytes& shown) { shown_ = &shown; }
  void Extend(size_t more) { ring_.Extend(more); }
  // After the events that led to it.
  void Push(const Completion& completion);
  bool empty() const { return ring_.empty(); }

  // The next that may be given out; `uncompleted` goes down by the works among them. Returns how many.
  size_t Take(std::span<Completion> out, uint32_t& uncompleted);
  // Take gave nothing: if that is because the first is kept back, yields the processor, and after a while waits for the
  // sink, a millisecond at most. Whether it is so.
  bool GiveWay();
  // What came after that: from the peer or the device, and of kept completions.
  void Resume(bool came, size_t taken) {
    if (napped_ && !came && taken > 0) shown_->Idled();
    napped_ = false;
  }

  // An epoll descriptor that is to be readable while some are kept back; ShowKept after each change.
  void WatchIn(int epoll);
  void ShowKept();

 private:
  struct Kept {
    Completion completion;
    uint64_t after = 0;  // a mark of the sink's
  };
  Ring<Kept> ring_;
  ShownBytes* shown_ = nullptr;
  SpinThenSleep spin_{SpinThenSleep::kLeast};
  bool napped_ = false;  // in GiveWay
  Descriptor readable_;  // always
  int epoll_ = -1;
  bool watched_ = false;
};

}  // namespace stag::endpoint
