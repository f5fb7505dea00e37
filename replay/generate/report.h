// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a load came to. A thread fills its own, and they are merged.
#pragma once

#include <array>
#include <map>
#include <string>

#include "protocol/base/serialize.h"
#include "replay/generate/job.h"
#include "replay/rpcrdma/histogram.h"

namespace stag::generate {

struct Failure {
  uint64_t calls = 0;
  std::string sample;  // what the first one was about
};
STAG_MEMBERS(Failure, calls, sample)

struct OperationReport {
  uint64_t calls = 0;  // that ended: answered, or lost
  uint64_t ok = 0;
  uint64_t bytes = 0;                       // of data that moved, of those that are ok
  std::map<std::string, Failure> failures;  // by status, or what was wrong
  rpcrdma::Histogram latency;               // of the answered ones
  void Fail(const std::string& what, std::string sample);
};
STAG_MEMBERS(OperationReport, calls, ok, bytes, failures, latency)

struct LoadReport {
  std::array<OperationReport, kOperations> operations;
  OperationReport& of(Operation operation) { return operations[static_cast<size_t>(operation)]; }

  uint64_t lost = 0;             // Calls without an answer, at the end; also among the failures
  uint64_t resent = 0;           // Calls that were sent again on a new connection
  uint64_t unsent = 0;           // open loop: due, but not sent until the end
  uint64_t wrong = 0;            // answers that are not what they have to be; also among the failures
  uint64_t short_transfers = 0;  // READs and WRITEs of fewer bytes than asked for; no failure
  uint64_t verified_bytes = 0;   // found right
  uint64_t unknown_bytes = 0;    // read where a WRITE had failed: anything would be right
  uint64_t range_waits = 0;      // --verify: Calls that waited for one that overlapped
  uint64_t credit_stalls = 0;    // times that a Call had to wait for credits
  std::chrono::nanoseconds credit_stalled{0};
  uint32_t max_outstanding = 0;  // on one connection
  uint32_t grant = 0;            // credits, the smallest of the last grants
  uint64_t connections = 0, connections_lost = 0, reconnects = 0;
  uint64_t abandoned = 0;  // connections that ended before their Calls did
  uint64_t backward_calls = 0;
  std::map<std::string, uint64_t> troubles;  // why connections were lost, and what else went wrong
  double seconds = 0;
  bool interrupted = false;

  void Trouble(std::string text);
  void Merge(const LoadReport& other);
  OperationReport Total() const;  // without failures
  // Whether every Call was answered with success and every byte that was looked at was right.
  bool fine() const;
};
STAG_MEMBERS(LoadReport, operations, lost, resent, unsent, wrong, short_transfers, verified_bytes, unknown_bytes,
             range_waits, credit_stalls, credit_stalled, max_outstanding, grant, connections, connections_lost,
             reconnects, abandoned, backward_calls, troubles, seconds, interrupted)

}  // namespace stag::generate
