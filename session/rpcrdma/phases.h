// SPDX-License-Identifier: GPL-2.0-or-later
//
// Phases: where the time of an RPC goes, from its Call to its Reply.
//
//     t0  the Call's Send        t1  first RDMA Read Request for the Call's segments     t3  first RDMA Write packet
//     t5  the Reply's Send       t2  last packet of the last RDMA Read Response          t4  last RDMA Write packet
//
//     to_first_read  t1 - t0     | where something was read
//     pull           t2 - t1     |
//     service        from t2, or t0, to t3, or t5
//     push           t4 - t3     | where something was written
//     finish         t5 - t4     |
//     recovery       the time in which a packet of the RPC waited to be delivered (session/delivery), where one did; it
//                    is not in the others
//
// Where Writes begin before t2, service is 0 and push begins at t2; where they also end before it, push is 0 and finish
// begins at t2. No phase is negative, and together they are the round-trip time. Of a Send the last packet counts, of a
// Reply the copy of it that was delivered; else of a packet that was captured more than once the first copy. On iWARP
// t1 and t3 are the frames with the first byte of their operation, t2 and t4 those that complete its last DDP segment.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "session/rpcrdma/transaction.h"

namespace stag::session {

enum class Phase : uint8_t { kToFirstRead, kPull, kService, kPush, kFinish, kRecovery };
inline constexpr size_t kPhases = 6;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames{"to_first_read", "pull",   "service",
                                                                   "push",          "finish", "recovery"};

struct Phases {
  // Nanoseconds by Phase; nullopt: the RPC does not have it, or, if not `complete`, one of its times was not captured.
  std::array<std::optional<int64_t>, kPhases> ns;
  // Every phase that the RPC has is known.
  bool complete = false;

  const std::optional<int64_t>& operator[](Phase phase) const { return ns[static_cast<size_t>(phase)]; }
};

// The frames that begin and end the phases of an RPC, as far as they were captured: what phases are computed from.
struct PhaseFrames {
  FrameRef call, first_read, last_read, first_write, last_write, reply;  // t0 to t5: the frame that delivered the Reply
  std::span<const Wait> waits;                                           // the transaction's, as long as that lasts
  bool whole = false;                                                    // Call and Reply were captured to their ends
  bool reads = false, writes = false;                                    // something was read, or written
  bool first_read_known = false, reads_known = false, writes_known = false;
};
PhaseFrames PhaseFramesOf(const Transaction& t);

// From Call to the delivery of the Reply or RDMA_ERROR; nullopt: there is none, or one of both has no time, or the
// clock went back.
std::optional<int64_t> RoundTrip(const Transaction& t);

// How much of that a packet of the RPC waited, in nanoseconds; 0 where it is not known.
int64_t RecoveryOf(const Transaction& t);

// Of a transaction that has a Reply or RDMA_ERROR; else nothing is known. Phases are not known, either, where a packet
// that begins or ends one was not captured; where the Reply shows bytes of a Write, or the Call was read, of which the
// capture has nothing; and where times go back.
Phases PhasesOf(const PhaseFrames& frames);
inline Phases PhasesOf(const Transaction& t) { return PhasesOf(PhaseFramesOf(t)); }

}  // namespace stag::session
