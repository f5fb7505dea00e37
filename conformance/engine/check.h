// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a check sees and says. A check is a function that looks at one event of one connection, with what is known of
// the connection and the transaction, and answers: passed, failed (with a Violation), not applicable, or not checked
// because too little was captured. The type of its context says what it is asked about. Checks hold no state; what they
// need to remember between events is in RuleState, which the engine keeps up to date. The table of all checks is in
// rules/checks.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
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

struct Violation {
  std::string message;        // one sentence
  std::string expected = {};  // may be empty
  std::string actual = {};
  std::optional<Severity> severity = {};  // when the circumstances make it less than the catalogue's
  std::vector<uint64_t> frames = {};      // further frames of the story; the message's and the Call's are added
  FrameRef at = {};                       // of the message or packet that breaks the rule, when not the one judged
                                          // and not its transaction's Call or Reply by `from`
  std::optional<Side> from = {};          // who did it, when not the sender of the message or packet
  std::optional<uint32_t> xid = {};       // when not that of the message or transaction
  // That nothing came from this side before is part of the proof. It holds once the capture is known not to have lost
  // what came before: by the next thing from there, or by what the other side acknowledges. Until then the engine keeps
  // the finding back, and presumes it at the end.
  std::optional<Side> absent_from = {};
  // What would have proven it, a clause: nothing that may yet come does. It is presumed at once.
  std::string unseen = {};
  std::optional<Address> once_for = {};  // Finding::once_for
  bool known = false;                    // Finding::known
};

// What every check sees; the contexts below add the event.
class Context {
 public:
  Context(const Connection& c, RuleState& s, Profile p, bool undecided, const Surroundings& h)
      : connection(c), state(s), profile(p), may_be_legacy(undecided), hosts(h) {}

  const Connection& connection;  // of what belongs to none: number 0
  const RuleState& state;
  const Profile profile;     // the one in force on this connection now; never kAuto
  const bool may_be_legacy;  // Profile::kAuto: the peers may yet prove that they speak RFC 5666
  const Surroundings& hosts;
  // The message, RPC and event that the context is about, where there are such: for what is said of any context.
  struct {
    const Message* message = nullptr;
    const Transaction* transaction = nullptr;
    const fabric::Event* event = nullptr;
  } about;

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

// A set-up message, or kOpened.
struct SetupContext : Context {
  SetupContext(const Context& c, const fabric::Event& e) : Context(c), event(e) { about.event = &e; }
  const fabric::Event& event;
};
// A connection that ends by what packets say, never by the end of the capture.
struct ClosedContext : Context {
  ClosedContext(const Context& c, const fabric::Event& e) : Context(c), event(e) { about.event = &e; }
  const fabric::Event& event;
};
// A NAK or Terminate.
struct NakContext : Context {
  NakContext(const Context& c, const fabric::Event& e) : Context(c), event(e) { about.event = &e; }
  const fabric::Event& event;
};
// What packets do against the protocol of their fabric.
struct AnomalyContext : Context {
  AnomalyContext(const Context& c, const fabric::Event& e) : Context(c), event(e), anomaly(e.anomaly()) {
    about.event = &e;
  }
  const fabric::Event& event;
  const fabric::Anomaly& anomaly;
};
// A packet of no connection that is followed.
struct OutOfBandContext : Context {
  OutOfBandContext(const Context& c, const fabric::Aside& a) : Context(c), aside(a) {}
  const fabric::Aside& aside;
};

// One packet of an RDMA operation.
struct RdmaContext : Context {
  RdmaContext(const Context& c, const RdmaOperation& o) : Context(c), operation(o), event(*o.event) {
    about.event = o.event;
    about.transaction = o.transaction;
  }
  const RdmaOperation& operation;
  const fabric::Event& event;
};
struct WriteContext : RdmaContext {
  using RdmaContext::RdmaContext;
};
struct ReadRequestContext : RdmaContext {
  using RdmaContext::RdmaContext;
};
struct ReadResponseContext : RdmaContext {
  using RdmaContext::RdmaContext;
};

// Any message; `transaction` is null when it belongs to none.
struct MessageContext : Context {
  MessageContext(const Context& c, const Message& m, const Transaction* t) : Context(c), message(m), transaction(t) {
    about.message = &m;
    about.transaction = t;
  }
  const Message& message;
  const Transaction* const transaction;
};
struct CallContext : MessageContext {
  CallContext(const Context& c, const Message& m, const Transaction& t) : MessageContext(c, m, &t), transaction(t) {}
  const Transaction& transaction;
};
// A Reply or RDMA_ERROR.
struct AnswerContext : MessageContext {
  using MessageContext::MessageContext;
};
struct ErrorContext : AnswerContext {
  using AnswerContext::AnswerContext;
};
struct AnyReplyContext : AnswerContext {
  using AnswerContext::AnswerContext;
};
// A Reply whose Call is known.
struct ReplyContext : AnyReplyContext {
  ReplyContext(const Context& c, const Message& m, const Transaction& t) : AnyReplyContext(c, m, &t), transaction(t) {}
  const Transaction& transaction;
};

// A Call that is as complete as it will be.
struct CallCompleteContext : Context {
  CallCompleteContext(const Context& c, const Transaction& t) : Context(c), transaction(t) { about.transaction = &t; }
  const Transaction& transaction;
};
// The arguments of a Call can be read: at the Send of an RDMA_MSG, when the Position-zero chunk of an RDMA_NOMSG has
// been read. Of the same event as the CallContext or CallCompleteContext.
struct ArgumentsContext : Context {
  ArgumentsContext(const Context& c, const Transaction& t) : Context(c), transaction(t) {}
  const Transaction& transaction;
};

// Answers kNotApplicable or kPass for `if (...) return ...` chains.
inline Outcome PassIf(bool applicable) { return applicable ? Outcome::kPass : Outcome::kNotApplicable; }

template <typename ContextType>
using Check = Outcome(ContextType&);

// A check, by what it is asked about.
using AnyCheck = std::variant<Check<SetupContext>*, Check<ClosedContext>*, Check<NakContext>*, Check<AnomalyContext>*,
                              Check<OutOfBandContext>*, Check<RdmaContext>*, Check<WriteContext>*,
                              Check<ReadRequestContext>*, Check<ReadResponseContext>*, Check<MessageContext>*,
                              Check<CallContext>*, Check<AnswerContext>*, Check<ErrorContext>*, Check<AnyReplyContext>*,
                              Check<ReplyContext>*, Check<ArgumentsContext>*, Check<CallCompleteContext>*>;

// A row of the table of checks. Of an event without any of `suspicions` the check has the result that it had of the
// first event with equal facts, and that is no failure.
struct CheckEntry {
  std::string_view id;
  AnyCheck check;
  Facts suspicions = fact::kAlways;
};

// All checks, by id; a rule may have several, for different events.
std::span<const CheckEntry> Checks();

// Rules that could be checked by what the catalogue says of them, and are not.
struct NoCheckEntry {
  std::string_view id, reason;
};
std::span<const NoCheckEntry> ReasonsForNoCheck();
// "no check yet", "exempts, never flags", "not observable", or another reason; empty: there is a check.
std::string_view WhyNotChecked(const RuleInfo& rule);

}  // namespace stag::conformance
