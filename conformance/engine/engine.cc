// SPDX-License-Identifier: GPL-2.0-or-later
//
// The main flow: an Observer call becomes facts and a Context. The schedule tells which of the selected checks that the
// connection's profile has in force must be asked, and counts the others. What the checks find is merged (one event,
// one finding), held back where only the answer shows which protocol the peers speak, and given to the sink.
#include "conformance/engine/engine.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "conformance/catalogue/rule.h"
#include "conformance/engine/check.h"
#include "conformance/engine/held_findings.h"
#include "conformance/engine/schedule.h"
#include "protocol/base/check.h"

namespace stag::conformance {

namespace {

using fabric::Event;

#ifdef NDEBUG
constexpr bool kDebug = false;
#else
constexpr bool kDebug = true;
#endif

constexpr size_t kMaxPeers = 256;    // pairs of peers remembered past their connections
constexpr size_t kMaxRefused = 256;  // refused xids remembered past their connections

struct Staged {
  size_t rule = 0;
  Violation violation;
  std::vector<std::string_view> see_also;
  bool merged = false;  // into another
};

struct ConnectionJudgement {
  ConnectionJudgement(FindingSink& sink, CheckSchedule& schedule, Budget& engine_budget, const EngineLimits& limits)
      : held(sink, schedule, engine_budget, limits.held),
        budget(engine_budget),
        charge(engine_budget, sizeof(ConnectionJudgement)),
        reads_charge(engine_budget) {
    SetLimits(false, limits);
  }
  void SetLimits(bool reached, const EngineLimits& limits) {
    full = reached;
    state.most_calls = full ? limits.few : limits.calls;
    state.most_reads = full ? limits.few : limits.reads;
  }
  // Before something is remembered: how much may be.
  void Limit(const EngineLimits& limits) {
    if (budget.over() != full) [[unlikely]]
      SetLimits(!full, limits);
  }
  // After something was remembered.
  void SetCharge() {
    if (state.TakeGrowth()) [[unlikely]]
      charge.Set(sizeof(ConnectionJudgement) + state.storage());
  }
  // After RDMA Read Requests.
  void ChargeReads() { reads_charge.Set(state.reads[0].storage() + state.reads[1].storage()); }

  RuleState state;
  HeldFindings held;
  const Budget& budget;
  Charge charge, reads_charge;
  bool full = false;  // the memory limit is reached
};

// What outlives a connection: its peers' thresholds, and xids for which RDMA was refused.
struct Peers {
  std::array<Address, 2> address;
  std::array<uint32_t, 2> threshold{};
};
struct RefusedCall {
  std::array<Address, 2> address;
  uint32_t xid = 0;
  std::vector<uint64_t> frames;
};

std::array<Address, 2> AddressesOf(const Connection& connection) {
  return {connection.info.endpoint[0].address, connection.info.endpoint[1].address};
}

std::optional<Procedure> ProcedureOf(const Context& context) {
  const auto& [message, transaction, event] = context.about;
  if (!transaction && !message) return std::nullopt;
  const rpc::CallHeader& call = transaction ? transaction->call.rpc : message->call;
  if (call.words < 6 || call.msg_type != rpc::kCall || call.rpc_version != 2) return std::nullopt;
  return Procedure{call.program, call.version, call.procedure};
}

// The frame of the message or packet that breaks the rule. What a message proves of the other side is about that side's
// half of the transaction.
FrameRef OffenderOf(const Context& context, const Violation& violation) {
  const auto& [message, transaction, event] = context.about;
  if (violation.at.number != 0) return violation.at;
  if (transaction && violation.from && (!message || message->from != *violation.from)) {
    const session::Half& half = *violation.from == transaction->requester
                                    ? static_cast<const session::Half&>(transaction->call)
                                    : transaction->reply;
    if (!event && half.frame.number != 0) return half.frame;
  }
  if (message) return message->frame;
  if (event) return event->frame;
  return transaction ? transaction->call.frame : context.connection.now;
}

}  // namespace

struct Engine::Impl {
  Impl(const EngineOptions& engine_options, FindingSink& finding_sink)
      : options(engine_options), sink(finding_sink), schedule(engine_options), budget(engine_options.memory_limit) {
    if (options.verify == Verify::kIfDebug) options.verify = kDebug ? Verify::kStop : Verify::kNo;
  }

  ConnectionJudgement* Find(const Connection& connection);
  Profile ProfileOf(const RuleState& state) const;
  Context MakeContext(const Connection& connection, RuleState& state, Profile profile) const;
  template <typename ContextType>
  Outcome Ask(const CheckSchedule::ScheduledCheck& check, ContextType& context);
  template <typename ContextType>
  void Learn(Facts facts, ContextType& context, CheckSchedule::EventClass& event_class);
  template <typename ContextType>
  void Verify(ContextType& context, const CheckSchedule::EventClass& event_class);
  template <typename ContextType, typename... About>
  void Run(Facts facts, const Connection& connection, ConnectionJudgement& judged, const About&... about);
  template <typename ContextType, typename... About>
  void AskChecks(Facts facts, CheckSchedule::EventClass& event_class, Profile profile, const Connection& connection,
                 ConnectionJudgement& judged, const About&... about);
  void RunMessage(Facts facts, const Connection& connection, ConnectionJudgement& judged, const Message& message,
                  const Transaction* transaction);
  void Report(Context& context, ConnectionJudgement& judged);
  void Merge();
  Finding MakeFinding(const Context& context, Staged& staged) const;
  void Remember(const Connection& connection);
  void Refuse(const Connection& connection, RuleState& state);

  EngineOptions options;
  FindingSink& sink;
  CheckSchedule schedule;
  Budget budget;
  std::unordered_map<session::ConnectionId, std::unique_ptr<ConnectionJudgement>> connections;
  session::ConnectionId newest_id = 0;
  ConnectionJudgement* newest = nullptr;  // what Find found last, if it is still there
  std::vector<Staged> staged;
  std::vector<std::string_view> disagreements;  // with what is known of a class; ids of rules
  std::vector<Peers> peers;
  std::vector<RefusedCall> refused;
  size_t next_peers = 0, next_refused = 0;
  Surroundings surroundings;
  Connection outside;  // stands for the connection of what belongs to none: number 0
  ConnectionJudgement outside_judged{sink, schedule, budget, options.limits};
};

// The state of a connection that is judged; null while nothing proves that it is RPC-over-RDMA, and where others borrow
// its header.
ConnectionJudgement* Engine::Impl::Find(const Connection& connection) {
  if (connection.foreign) [[unlikely]]
    return nullptr;
  if (newest && connection.info.id == newest_id) return newest;
  if (connection.proof != session::Proof::kRpcRdma) return nullptr;
  std::unique_ptr<ConnectionJudgement>& slot = connections[connection.info.id];
  if (!slot) {
    slot = std::make_unique<ConnectionJudgement>(sink, schedule, budget, options.limits);
    for (const Peers& earlier : peers)
      if (earlier.address == AddressesOf(connection)) slot->state.earlier_threshold = earlier.threshold;
    slot->state.TakeSetup(connection);
  }
  newest_id = connection.info.id;
  return newest = slot.get();
}

// `auto_profile` of the catalogue: RFC 8166, unless both peers have proven that they speak RFC 5666; once both have
// sent RFC 8797 private data they can't.
Profile Engine::Impl::ProfileOf(const RuleState& state) const {
  if (options.profile != Profile::kAuto) return options.profile;
  return state.legacy_proven ? Profile::kRfc5666 : Profile::kRfc8166;
}

Context Engine::Impl::MakeContext(const Connection& connection, RuleState& state, Profile profile) const {
  const bool settled = connection.setup[0].has_data() && connection.setup[1].has_data();
  const bool undecided = options.profile == Profile::kAuto && !state.legacy_proven && !settled;
  return Context(connection, state, profile, undecided, surroundings);
}

// Asks a check about an event; to events that it is not asked about it does not apply.
template <typename Asked, typename ContextType>
Outcome AskOf(Check<Asked>* ask, ContextType& context) {
  if constexpr (std::is_same_v<Asked, ArgumentsContext> && kIsAsked<Asked, ContextType>) {
    const rpcrdma::Header& header = context.transaction.call.header;
    const uint32_t proc = std::is_same_v<ContextType, CallContext> ? rpcrdma::kMsg : rpcrdma::kNomsg;
    if (header.status != ParseStatus::kOk || header.proc != proc) return Outcome::kNotApplicable;
    ArgumentsContext arguments(context, context.transaction);
    const Outcome result = ask(arguments);
    context.violation() = std::move(arguments.violation());
    return result;
  } else if constexpr (kIsAsked<Asked, ContextType>) {
    return ask(context);
  } else {
    return Outcome::kNotApplicable;
  }
}

template <typename ContextType>
Outcome AskOf(const AnyCheck& check, ContextType& context) {
  return std::visit([&context](auto* ask) { return AskOf(ask, context); }, check);
}

// The same, and keeps the violation.
template <typename ContextType>
Outcome Engine::Impl::Ask(const CheckSchedule::ScheduledCheck& check, ContextType& context) {
  const Outcome result = AskOf(check.check, context);
  if (result == Outcome::kFail && context.violation()) {
    staged.push_back({check.rule, std::move(*context.violation()), {}, false});
    context.violation().reset();
  }
  return result;
}

// The first event of a class: asks everything, and learns the results of the checks that have no suspicion.
template <typename ContextType>
void Engine::Impl::Learn(Facts facts, ContextType& context, CheckSchedule::EventClass& event_class) {
  event_class.learned = true;
  for (const CheckSchedule::ScheduledCheck& check : schedule.All(context.profile, KindOf<ContextType>())) {
    const Outcome result = Ask(check, context);
    if ((check.suspicions & facts) != 0 || result == Outcome::kFail) {
      event_class.asked.push_back(check);
      ++(*check.tally)[result];
    } else {
      event_class.known.push_back({check, result});
    }
  }
}

// Holds what is known of the class against what the checks say of this event.
template <typename ContextType>
void Engine::Impl::Verify(ContextType& context, const CheckSchedule::EventClass& event_class) {
  for (const CheckSchedule::KnownResult& known : event_class.known) {
    const bool same = AskOf(known.check.check, context) == known.result;
    context.violation().reset();
    if (!same) disagreements.push_back(Catalogue()[known.check.rule].id);
    STAG_CHECK(same || options.verify == Verify::kCount);
  }
}

// One event.
template <typename ContextType, typename... About>
void Engine::Impl::Run(Facts facts, const Connection& connection, ConnectionJudgement& judged, const About&... about) {
  const Profile profile = ProfileOf(judged.state);
  CheckSchedule::EventClass& event_class = schedule.ClassOf(profile, KindOf<ContextType>(), facts);
  if (event_class.learned && event_class.asked.empty() && options.verify == Verify::kNo) return;
  AskChecks<ContextType>(facts, event_class, profile, connection, judged, about...);
}

// Only when something is to be asked is the event's context made, from `about`.
template <typename ContextType, typename... About>
[[gnu::noinline]] void Engine::Impl::AskChecks(Facts facts, CheckSchedule::EventClass& event_class, Profile profile,
                                               const Connection& connection, ConnectionJudgement& judged,
                                               const About&... about) {
  ContextType context(MakeContext(connection, judged.state, profile), about...);
  staged.clear();
  if (!event_class.learned) {
    Learn(facts, context, event_class);
  } else {
    for (const CheckSchedule::ScheduledCheck& check : event_class.asked) ++(*check.tally)[Ask(check, context)];
    if (options.verify != Verify::kNo) Verify(context, event_class);
  }
  if (!staged.empty()) Report(context, judged);
}

void Engine::Impl::RunMessage(Facts facts, const Connection& connection, ConnectionJudgement& judged,
                              const Message& message, const Transaction* transaction) {
  switch (message.role) {
    case Role::kCall:
      return transaction ? Run<CallContext>(facts, connection, judged, message, *transaction)  // else: a guess
                         : Run<MessageContext>(facts, connection, judged, message, transaction);
    case Role::kError: return Run<ErrorContext>(facts, connection, judged, message, transaction);
    case Role::kReply:
      return transaction ? Run<ReplyContext>(facts, connection, judged, message, *transaction)
                         : Run<AnyReplyContext>(facts, connection, judged, message, transaction);
    case Role::kUnknown:
    case Role::kDone: return Run<MessageContext>(facts, connection, judged, message, transaction);
  }
}

// Gives what the checks found of one event to the sink, or keeps it back.
void Engine::Impl::Report(Context& context, ConnectionJudgement& judged) {
  if (staged.size() > 1) Merge();
  std::ranges::stable_sort(staged, {}, &Staged::rule);
  for (Staged& one : staged) {
    if (one.merged) continue;
    Finding finding = MakeFinding(context, one);
    judged.held.Take(context, one.violation, std::move(finding));
  }
}

// One event, one finding: within each group of the catalogue the first that was broken stays.
void Engine::Impl::Merge() {
  const std::span<const RuleInfo> catalogue = Catalogue();
  for (const std::span<const std::string_view> group : EventGroups()) {
    Staged* first = nullptr;
    for (const std::string_view id : group)
      for (Staged& one : staged) {
        if (one.merged || catalogue[one.rule].id != id) continue;
        if (!first) {
          first = &one;
        } else if (first != &one) {
          one.merged = true;
          first->see_also.push_back(catalogue[one.rule].id);
          first->see_also.insert(first->see_also.end(), one.see_also.begin(), one.see_also.end());
          first->violation.frames.insert(first->violation.frames.end(), one.violation.frames.begin(),
                                         one.violation.frames.end());
        }
      }
  }
}

Finding Engine::Impl::MakeFinding(const Context& context, Staged& one) const {
  Violation& violation = one.violation;
  Finding finding;
  finding.rule = &Catalogue()[one.rule];
  finding.profile = context.profile;
  if (options.start_ns) finding.start_ns = *options.start_ns;
  finding.severity =
      violation.severity ? std::min(*violation.severity, finding.rule->severity) : finding.rule->severity;
  finding.frame = OffenderOf(context, violation);
  finding.proven = context.connection.now;
  finding.connection = context.connection.info.id;
  finding.message = std::move(violation.message);
  finding.unseen = std::move(violation.unseen);
  if (!finding.unseen.empty()) {
    finding.certainty = Certainty::kPresumed;
    finding.severity = std::min(finding.severity, Severity::kWarning);
  }
  finding.expected = std::move(violation.expected);
  finding.actual = std::move(violation.actual);
  finding.see_also = std::move(one.see_also);
  finding.once_for = violation.once_for;
  finding.known = violation.known;

  const auto& [message, transaction, event] = context.about;
  session::Side from = 0;
  if (message) {
    from = message->from;
    if (message->header.words > 0) finding.xid = message->header.xid;
    violation.frames.push_back(message->frame.number);
  } else if (transaction) {
    from = transaction->requester;
  }
  if (event) {
    from = event->from;
    violation.frames.push_back(event->frame.number);
  }
  if (transaction) {
    if (!finding.xid) finding.xid = transaction->xid;
    if (finding.xid == transaction->xid) finding.call_number = transaction->number;
    violation.frames.push_back(transaction->call.frame.number);
  }
  finding.procedure = ProcedureOf(context);
  if (violation.xid) {  // of another transaction
    finding.xid = violation.xid;
    finding.call_number = 0;
    finding.procedure.reset();
  }
  finding.client_to_server = context.connection.IsClientToServer(violation.from.value_or(from));

  std::vector<uint64_t>& frames = violation.frames;
  std::ranges::sort(frames);
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  std::erase_if(frames, [&](uint64_t frame) {
    return frame == 0 || frame == finding.frame.number || frame == finding.proven.number;
  });
  finding.related_frames = std::move(frames);
  return finding;
}

void Engine::Impl::Remember(const Connection& connection) {
  const auto from0 = connection.threshold(0), from1 = connection.threshold(1);
  if (!from0 || !from1) return;
  const Peers entry{AddressesOf(connection), {*from0, *from1}};
  const auto known = std::ranges::find(peers, entry.address, &Peers::address);
  if (known != peers.end()) {
    *known = entry;
  } else if (peers.size() < kMaxPeers) {
    peers.push_back(entry);
  } else {
    peers[next_peers++ % kMaxPeers] = entry;
  }
}

// A NAK refused RDMA for a Call: counts it over the connections of these peers (CONN-005).
void Engine::Impl::Refuse(const Connection& connection, RuleState& state) {
  if (!state.refused_operation || !state.refused_operation->inside) return;
  const uint32_t xid = state.refused_operation->xid;
  const std::array<Address, 2> addresses = AddressesOf(connection);
  auto entry =
      std::ranges::find_if(refused, [&](const RefusedCall& r) { return r.xid == xid && r.address == addresses; });
  if (entry == refused.end()) {
    if (refused.size() < kMaxRefused) {
      refused.push_back({addresses, xid, {}});
      entry = refused.end() - 1;
    } else {
      entry = refused.begin() + static_cast<ptrdiff_t>(next_refused++ % kMaxRefused);
      *entry = {addresses, xid, {}};
    }
  }
  if (entry->frames.size() < 16) entry->frames.push_back(connection.now.number);
  state.refusals = entry->frames;
}

Engine::Engine(const EngineOptions& options, FindingSink& sink) : impl_(std::make_unique<Impl>(options, sink)) {}
Engine::~Engine() = default;

void Engine::OnConnection(const session::Connection& connection, const Event& event) {
  if (event.kind() != fabric::EventKind::kSetup) {
    const auto known = impl_->connections.find(connection.info.id);
    if (known != impl_->connections.end()) known->second->state.TakeSetup(connection);
    return;
  }
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  judged->state.TakeSetup(connection);
  const fabric::SetupMessage message = event.setup().message;
  if (message == fabric::SetupMessage::kDisconnectRequest || message == fabric::SetupMessage::kDisconnectReply)
    judged->held.OnDisconnect(event.from);
  impl_->Run<SetupContext>(fact::kOdd, connection, *judged, event);
  impl_->Remember(connection);
}

void Engine::OnConnectionClosed(const session::Connection& connection, const Event& event) {
  if (ConnectionJudgement* judged = impl_->Find(connection)) {
    judged->held.OnAcknowledged(connection);
    // Only what packets prove is proven; the end of the capture proves nothing.
    const fabric::CloseReason reason = event.closed().reason;
    if (reason != fabric::CloseReason::kEndOfCapture && reason != fabric::CloseReason::kEvicted) {
      impl_->Run<ClosedContext>(fact::kOdd, connection, *judged, event);
      judged->held.OnClosed(connection, event);
    }
    judged->held.OnEnd(connection);
  }
  impl_->connections.erase(connection.info.id);
  impl_->newest = nullptr;
}

void Engine::OnOrphan(const session::Connection& connection, const session::Message& message) {
  OnMessage(connection, message, nullptr);
}

void Engine::OnMessage(const session::Connection& connection, const session::Message& message,
                       const session::Transaction* transaction) {
  if (message.early) return;  // until its Call comes, or none can come
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  if (transaction && transaction->uncertain) transaction = nullptr;  // nobody is held to a guess
  judged->state.Before(connection, message, transaction);
  if (!judged->held.empty()) judged->held.OnMessage(connection, message, judged->state);
  const Facts facts = FactsOf(connection, judged->state, message, transaction);
  impl_->RunMessage(facts, connection, *judged, message, transaction);
  if (message.role == Role::kCall) judged->Limit(impl_->options.limits);
  judged->state.After(connection, message, transaction, facts);
  judged->SetCharge();
  impl_->surroundings.After(connection, message, transaction);
}

void Engine::OnAside(const fabric::Aside& aside) {
  impl_->surroundings.Before(aside);
  impl_->outside.now = aside.frame;
  impl_->Run<OutOfBandContext>(fact::kOdd, impl_->outside, impl_->outside_judged, aside);
  impl_->surroundings.After(aside);
}

void Engine::OnCallComplete(const session::Connection& connection, const session::Transaction& transaction) {
  // Completed by the end of its connection or of the memory only: what was missing is still missing.
  if (transaction.outcome == session::Outcome::kUnanswered || transaction.outcome == session::Outcome::kEvicted) return;
  if (transaction.uncertain) return;
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  const Facts facts = FactsOf(connection, judged->state, transaction);
  impl_->Run<CallCompleteContext>(facts, connection, *judged, transaction);
}

void Engine::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  if (operation.event->kind() == fabric::EventKind::kReadRequest) {
    judged->Limit(impl_->options.limits);
    judged->state.Before(operation);
    judged->ChargeReads();
  } else {
    judged->state.Before(operation);
  }
  if (!judged->held.empty()) judged->held.OnRdma(connection, operation);
  const Facts facts = FactsOf(connection, judged->state, operation);
  switch (operation.event->kind()) {
    case fabric::EventKind::kWrite: impl_->Run<WriteContext>(facts, connection, *judged, operation); break;
    case fabric::EventKind::kReadRequest: impl_->Run<ReadRequestContext>(facts, connection, *judged, operation); break;
    default: impl_->Run<ReadResponseContext>(facts, connection, *judged, operation); break;
  }
  judged->state.After(operation, facts);
  judged->SetCharge();
}

void Engine::OnNak(const session::Connection& connection, const Event& event) {
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  judged->held.OnAcknowledged(connection);
  // A Terminate comes in its stream's order: nothing before it is missing.
  if (event.nak().kind == fabric::NakKind::kTerminate) judged->held.OnHeard(connection, event.from, event.frame);
  judged->state.Before(event);
  if (RefusesAccess(event.nak())) {
    if (const RecentOperation* operation = judged->state.refused_operation)
      judged->held.OnRefused(connection, event.from, *operation);
    impl_->Refuse(connection, judged->state);
  }
  impl_->Run<NakContext>(fact::kOdd, connection, *judged, event);
}

void Engine::OnGap(const session::Connection& connection, const Event& event) {
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  judged->held.OnAcknowledged(connection);
  judged->state.Lost();
  judged->held.OnGap(event.from);
}

void Engine::OnAnomaly(const session::Connection& connection, const Event& event) {
  if (ConnectionJudgement* judged = impl_->Find(connection))
    impl_->Run<AnomalyContext>(fact::kOdd, connection, *judged, event);
}

void Engine::OnTransaction(const session::Connection& connection, const session::Transaction& transaction) {
  ConnectionJudgement* judged = impl_->Find(connection);
  if (!judged) return;
  judged->state.Ended(transaction);
  if (transaction.outcome == session::Outcome::kEvicted) judged->state.Lost();
}

std::vector<RuleTally> Engine::Tallies() const { return impl_->schedule.Tallies(); }
const std::vector<std::string_view>& Engine::disagreements() const { return impl_->disagreements; }

}  // namespace stag::conformance
