// SPDX-License-Identifier: GPL-2.0-or-later
//
// What came of playing a plan: every planned Call is in exactly one of sent and not sent, and every sent one in exactly
// one of answered, lost, timed out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protocol/base/serialize.h"
#include "replay/replay/answer_status.h"
#include "replay/rpcrdma/histogram.h"

namespace stag::replay {

struct ProcedureReport {
  uint64_t sent = 0;
  uint64_t answered = 0, lost = 0, timed_out = 0;
  uint64_t not_sent = 0;  // no connection, or it could not be sent
  uint64_t resent = 0;    // after a lost connection; counted once in `sent`
  uint64_t put_off = 0;   // answers to come again later, after which a Call did; it is not answered by them
  // Of those with a recorded answer: with the recorded status; and of these, with the recorded bytes.
  uint64_t compared = 0, matched = 0, identical = 0;
  rpcrdma::Histogram latency;  // of answers, ns
  void Merge(const ProcedureReport& other);
};
STAG_MEMBERS(ProcedureReport, sent, answered, lost, timed_out, not_sent, resent, put_off, compared, matched, identical,
             latency)

struct Difference {
  uint64_t frame = 0;  // of the Call
  uint32_t xid = 0;
  PlannedProcedure procedure;
  uint32_t client = 0;
  AnswerStatus recorded, live;
};
STAG_MEMBERS(Difference, frame, xid, procedure, client, recorded, live)

struct PlayReport {
  std::map<PlannedProcedure, ProcedureReport> procedures;
  std::vector<Difference> differences;  // the first ones, see kDifferences
  uint64_t more_differences = 0;
  std::map<std::string, uint64_t> troubles;  // why connections could not be made or ended, and Calls not be sent
  uint64_t connections = 0, reconnects = 0;
  uint64_t loops = 0;                           // played to their end, over all clients
  uint64_t unknown = 0;                         // Calls sent with a value that no live answer gave
  uint64_t forgotten = 0;                       // live values that there was no memory for any more
  uint64_t credit_stalls = 0, slot_stalls = 0;  // Calls that waited for a credit, for a slot of the session
  uint64_t backward_calls = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;  // RPC messages, unreduced
  uint32_t max_outstanding = 0;                 // on one connection
  bool stopped = false;                         // before all was played: by the descriptor or the duration
  bool rooted = false;                          // a Call had the file handle that the live root replaces
  std::chrono::nanoseconds elapsed{0};

  // Counts one; of at most kTroubles different ones.
  void Trouble(std::string text);
  // The row of a procedure. What comes after kProcedures of them shares the row PlannedProcedure{}.
  ProcedureReport& Of(const PlannedProcedure& procedure);
  // Adds what came of playing the same plan elsewhere, at the same time.
  void Merge(const PlayReport& other);
  // Over all procedures.
  ProcedureReport Total() const;
  // Of the Calls with a recorded answer that were to be sent (all but those that a stop left over), the percentage
  // whose live answer has its status; 100 when there are none.
  double MatchPercent() const;
};
STAG_MEMBERS(PlayReport, procedures, differences, more_differences, troubles, connections, reconnects, loops, unknown,
             forgotten, credit_stalls, slot_stalls, backward_calls, sent_bytes, received_bytes, max_outstanding,
             stopped, rooted, elapsed)
inline constexpr size_t kDifferences = 1000, kProcedures = 1000, kTroubles = 64;

}  // namespace stag::replay
