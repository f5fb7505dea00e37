// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditState: requests, grants and outstanding Calls of the transactions that one side requests (RFC 8166
// section 3.3.1, RFC 5666 (draft-08) section 3.3). And GrantWindow, which says what a requester may go by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stag::session {

struct MinMaxLast {
  bool any = false;
  uint32_t min = 0, max = 0, last = 0;
  void Add(uint32_t v) {
    if (!any || v < min) min = v;
    if (!any || v > max) max = v;
    last = v;
    any = true;
  }
};

// The grants that a requester may go by. A capture shows a Reply somewhere on its way: when the next Call was sent, the
// requester may have had the Reply, and the grant in it, or not yet. What it must have had is only what makes its Calls
// right: so a Call is an overrun when it is wrong after any number of the Replies on their way. Replies arrive in the
// order of their Sends; each may end one of the outstanding Calls and states the grant from then on.
class GrantWindow {
 public:
  // From now on the requester goes by `grant`, and nothing is on its way to it. A grant of 0 counts as 1 throughout.
  void Reset(uint32_t grant);
  // A message to the requester that states `grant`; `ends_call`: it is the answer to an outstanding Call; `number`: of
  // the Send, ascending.
  void Add(uint32_t grant, bool ends_call, uint64_t number = 0);
  // The requester shows that it has had all messages up to that Send.
  void Arrive(uint64_t number);
  // Whether the requester may have `outstanding` Calls without an answer, as the capture shows it at this point.
  bool Allows(uint32_t outstanding) const;
  // A Call was sent that makes so many outstanding: the requester has had as few of the messages as make that right.
  // False: it is an overrun whatever it has had; then all of them count as arrived.
  bool Take(uint32_t outstanding);

 private:
  struct Run {  // successive messages with one grant
    uint32_t grant = 0;
    uint32_t answers = 0;  // outstanding Calls that they end
    uint64_t first = 0;    // the number of its first message
  };
  static constexpr size_t kRuns = 16;  // more are merged, so that they allow more rather than less

  uint32_t grant_ = 1;
  uint32_t answers_ = 0;  // in all runs
  std::array<Run, kRuns> runs_;
  size_t size_ = 0;
};

// What the requester's adapter has had: the messages that it acknowledged. The requester itself may not have looked at
// them when it sent its next Call.
class ReceivedGrants {
 public:
  // As GrantWindow's.
  void Reset(uint32_t grant);
  void Add(uint32_t grant, bool ends_call, uint64_t number);
  bool Allows(uint32_t outstanding) const;
  // The adapter has acknowledged all Sends up to this one.
  void Acknowledge(uint64_t number);
  // By the newest message that was acknowledged.
  uint32_t grant() const { return grant_; }

 private:
  struct Message {
    uint64_t number = 0;
    uint32_t grant = 0;
    bool ends_call = false;
  };
  static constexpr size_t kMost = 8;  // of more nothing is said until all are acknowledged

  uint32_t grant_ = 1;
  uint32_t answers_ = 0;  // among those that wait
  std::array<Message, kMost> messages_;
  size_t first_ = 0, size_ = 0;
  uint64_t unsure_until_ = 0;
};

struct CreditState {
  MinMaxLast requested;          // rdma_credit of the Calls
  MinMaxLast granted;            // rdma_credit of the messages to the requester; not an RDMA_ERROR's 0
  uint32_t outstanding = 0;      // Calls without an answer yet
  uint32_t max_outstanding = 0;  // of a connection that has closed: the most, without those whose answer is missing
  // `outstanding` is right: counted from the connection's start, or from a moment when nothing was outstanding, and
  // nothing was lost since.
  bool known = false;
  bool replied = false;     // there was a Reply; RDMA_ERROR is none
  GrantWindow window;       // valid when `known`
  ReceivedGrants received;  // likewise
  // What the requester asks for: its last request, or the one before it lowered that, until no more are outstanding.
  uint32_t request_limit = 0;

  // One more Call would be more than the grant allows. Only when `known`.
  bool NextCallExceeds() const { return known && !window.Allows(outstanding + 1); }
  // ... more than what its adapter has had allows.
  bool NextCallExceedsReceived() const { return known && !received.Allows(outstanding + 1); }

  // What the Session tells, in this order for a Call or an answer.
  void StartCounting(uint32_t grant);
  void OnCall(uint32_t request);
  void OnGrant(uint32_t grant, bool ends_call, uint64_t number);
  void Add(uint32_t grant, bool ends_call, uint64_t number);
};

}  // namespace stag::session
