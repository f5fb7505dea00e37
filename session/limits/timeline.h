// SPDX-License-Identifier: GPL-2.0-or-later
//
// Timeline: the moments of a connection, in order, as they come; what is learnt of them later; and, once nothing more
// is learnt, what each was spent on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace stag::session {

enum class Limit : uint8_t { kIdle, kCreditLimited, kRecovery, kMovingData, kServer, kUnknown };
inline constexpr size_t kLimits = 6;
inline constexpr std::array<std::string_view, kLimits> kLimitNames{"idle",        "credit_limited", "recovery",
                                                                   "moving_data", "server",         "unknown"};

class Timeline {
 public:
  static constexpr uint32_t kNoLimit = UINT32_MAX;

  // The state of a connection at a moment, as it is known then.
  struct Moment {
    bool recovery = false;
    uint32_t open = 0;          // Calls outstanding
    uint32_t limit = kNoLimit;  // as many are all that the credits allow
    friend bool operator==(const Moment&, const Moment&) = default;
  };

  // Times in nanoseconds. Stretches come one after the other.
  void Add(int64_t begin, int64_t end, const Moment& what);
  // From `begin` to `end`, of what is not decided yet: so many more Calls were outstanding; so many more may have been;
  // so many RDMA operations moved data; so many packets waited to be delivered, `timed` of them for their sender's
  // timer alone; so many Sends that nobody needed any more were not acknowledged, which matters where no Call was
  // outstanding.
  struct Learnt {
    int32_t open = 0, maybe = 0, moving = 0, waiting = 0, timed = 0, unacknowledged = 0;
  };
  void Learn(int64_t begin, int64_t end, const Learnt& what);
  // Nothing more is learnt of what is before `until`, nor of the oldest where there is too much to keep: adds the time
  // of each part to `ns`.
  void Decide(int64_t until, std::array<int64_t, kLimits>& ns);
  int64_t decided() const { return decided_; }
  // Of what was decided: of kRecovery, when nothing was waited for but a sender's timer.
  int64_t timed_ns() const { return timed_ns_; }

 private:
  struct Piece {
    int64_t begin, end;
    Moment what;
  };
  struct Change {
    int64_t time;
    Learnt what;
    bool operator<(const Change& other) const { return time > other.time; }  // the earliest on top of a heap
  };

  void Push(const Change& change);
  Limit WhatOf(const Moment& moment, int64_t open) const;

  std::deque<Piece> pieces_;
  std::vector<Change> changes_;  // a heap
  Learnt sum_;                   // of those up to decided_
  int64_t decided_ = INT64_MIN, timed_ns_ = 0;
};

}  // namespace stag::session
