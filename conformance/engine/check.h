// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a check sees and says. A check is a function that looks at one event of one connection, with what is known of
// the connection and the transaction, and answers: passed, failed (with a Violation), not applicable, or not checked
// because too little was captured. Checks hold no state; what they need to remember between events is in
// RuleState, which the engine keeps up to date. The table of all checks is in rules/checks.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/engine/facts.h"
#include "conformance/engine/finding.h"
#include "conformance/engine/state.h"
#include "conformance/engine/surroundings.h"
#include "conformance/engine/tally.h"
#include "conformance/engine/text.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

using session::Connection;
using session::Message;
using session::RdmaOperation;
using session::Role;
using session::Side;
using session::Transaction;

// The events that checks are asked about.
enum class Bucket : uint8_t {
  kSetup,         // Context::event: set-up messages, kOpened
  kMessage,       // message; transaction unless it belongs to none
  kCall,          // likewise, of messages that are Calls,
  kReply,         // Replies,
  kError,         // RDMA_ERROR,
  kAnswer,        // Replies and RDMA_ERROR; to all others the rule does not apply
  kCallComplete,  // transaction: its Call is as complete as it will be
  kRdma,          // operation, event,
  kWrite,         // likewise, of RDMA Writes,
  kReadRequest,   // RDMA Read Requests,
  kReadResponse,  // RDMA Read Responses; to all others the rule does not apply
  kNak,           // event
  kClosed,        // event; never for the end of the capture
  kAside,         // aside; `connection` and `state` are those of no connection
};

struct Violation {
  std::string message;        // one sentence
  std::string expected = {};  // may be empty
  std::string actual = {};
  std::optional<Severity> severity = {};  // when the circumstances make it less than the catalogue's
  std::vector<uint64_t> frames = {};      // further frames of the story; the message's and the Call's are added
  std::optional<Side> from = {};          // who did it, when not the sender of the message or packet
  std::optional<uint32_t> xid = {};       // when not that of the message or transaction
  // That nothing came from this side before is part of the proof. It holds once the next thing from there shows that
  // the capture did not lose what came before it; until then the engine keeps the finding back.
  std::optional<Side> absent_from = {};
  std::optional<Address> once_for = {};  // Finding::once_for
};

class Context {
 public:
  Context(const Connection& c, RuleState& s, Profile p, bool undecided)
      : connection(c), state(s), profile(p), may_be_legacy(undecided) {}

  const Connection& connection;
  const RuleState& state;
  const Profile profile;     // the one in force on this connection now; never kAuto
  const bool may_be_legacy;  // Profile::kAuto: the peers may yet prove that they speak RFC 5666

  const Message* message = nullptr;
  const Transaction* transaction = nullptr;
  const RdmaOperation* operation = nullptr;
  const fabric::Event* event = nullptr;
  const fabric::Aside* aside = nullptr;
  const Surroundings* surroundings = nullptr;  // never null in a check

  // Ends a check: `return c.Fail({...});`.
  Outcome Fail(Violation violation) {
    violation_ = std::move(violation);
    return Outcome::kFail;
  }
  std::optional<Violation>& violation() { return violation_; }

  bool legacy() const { return profile == Profile::kRfc5666; }

 private:
  std::optional<Violation> violation_;
};

// Answers kNotApplicable or kPass for `if (...) return ...` chains.
inline Outcome PassIf(bool applicable) { return applicable ? Outcome::kPass : Outcome::kNotApplicable; }

using CheckFunction = Outcome(Context&);

// A row of the table of checks. Of an event without any of `suspicions` the check has the result that it had of the
// first event with equal facts, and that is no failure.
struct CheckEntry {
  std::string_view id;
  Bucket bucket;
  CheckFunction* check;
  Facts suspicions = fact::kAlways;
};

// All checks, by id; a rule may have one for more than one bucket.
std::span<const CheckEntry> Checks();

// Rules that could be checked by what the catalogue says of them, and are not.
struct NoCheckEntry {
  std::string_view id, reason;
};
std::span<const NoCheckEntry> ReasonsForNoCheck();

}  // namespace stag::conformance
