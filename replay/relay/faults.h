// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults that a relay makes on purpose: rules that say what happens to which Calls, and how often. Which of the Calls
// it hits depends on nothing but the seed, the rules and the order of the Calls on their connection.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/rpcrdma/header.h"
#include "replay/relay/report.h"

namespace stag::relay {

enum class FaultKind : uint8_t {
  kDrop,        // the Call is not passed on
  kDropReply,   // its answer is not
  kDelay,       // its answer waits
  kError,       // the relay answers with RDMA_ERROR; the Call is not passed on
  kCredit,      // its answer grants another number of credits
  kCorruptXid,  // its answer has another rdma_xid
  kDisconnect,  // the Call is not passed on, and both connections are ended
  kBadHandle,   // the first segment of its chunks has a handle that is not valid, on the answerer's side
  kShortChunk,  // its first Write chunk, or else its Reply chunk, offers half of its last segment to the answerer
};

struct FaultRule {
  FaultKind kind = FaultKind::kDrop;
  uint32_t value = 0;                 // kError: rdma_err; kCredit: what is granted
  std::chrono::nanoseconds delay{0};  // kDelay
  double percent = 100;               // of the Calls that are meant
  std::string name = {};              // a procedure, or an operation of a COMPOUND, in upper case; empty: not by name
  std::optional<uint32_t> program = {}, procedure = {};  // by number; neither these nor a name: any Call
};

struct FaultOptions {
  std::vector<FaultRule> rules;
  uint64_t seed = 1;
};

// Of the Calls in one direction of one connection.
class Faults {
 public:
  // `stream`: a number that the direction of the connection alone has. `counts`: one for each rule. All must outlive
  // this.
  Faults(const FaultOptions& options, uint64_t stream, std::vector<FaultCount>& counts);

  // Which rules hit the next Call: their indexes go to `hit`. `payload`: its Payload stream, reduced.
  void Choose(const rpcrdma::Header& call, Bytes payload, std::vector<uint32_t>& hit);
  // The first rule of a kind among those, or nullptr; it is counted.
  const FaultRule* Take(FaultKind kind, const std::vector<uint32_t>& hit);

 private:
  const FaultOptions& options_;
  const uint64_t stream_;
  std::vector<FaultCount>& counts_;
  std::vector<uint64_t> meant_;  // Calls so far, for each rule
};

}  // namespace stag::relay
