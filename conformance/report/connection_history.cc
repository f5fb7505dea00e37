// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/connection_history.h"

#include <algorithm>

namespace stag::conformance {

namespace {

using Kind = DiagramEvent::Kind;

constexpr size_t kMaxWatches = 16;               // per connection
constexpr uint32_t kWatchPatience = 256;         // entries until a ladder is closed in any case
constexpr uint32_t kPatienceAfterTheAnswer = 8;  // for a NAK or the end of the connection
constexpr size_t kNeighbours = 4;                // entries before a finding that is about no RPC
constexpr size_t kTimelineCost = 3;              // of a connection without entries, in entries
constexpr size_t kLookBack = 8;                  // operations that may come between two packets of one

// What may explain, or follow from, any RPC.
bool IsUpheaval(Kind kind) { return kind == Kind::kNak || kind == Kind::kGap || kind == Kind::kClosed; }

bool Answers(const DiagramEvent& entry) {
  return entry.kind == Kind::kSend && (entry.role == session::Role::kReply || entry.role == session::Role::kError);
}

// Both directions of a connection may use one xid.
bool IsOf(const DiagramEvent& entry, std::optional<uint32_t> xid, std::optional<bool> backward) {
  return xid && entry.xid == xid && (!backward || !entry.backward || *entry.backward == *backward);
}

// Of an RDMA operation of the finding's transaction any packet may be the related one.
bool Related(const DiagramEvent& entry, const Finding& finding) {
  const auto& frames = finding.related_frames;
  const auto first = std::ranges::lower_bound(frames, entry.first_frame);
  if (first == frames.end() || *first > entry.frame.number) return false;
  return *first == entry.first_frame || std::ranges::binary_search(frames, entry.frame.number) ||
         (IsRdma(entry.kind) && entry.xid == finding.xid);
}

}  // namespace

void HistorySteps::OnConnection(const session::Connection& c, const fabric::Event& event) {
  if (event.kind() == fabric::EventKind::kSetup)
    OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeSetupEvent(c, event)});
}

void HistorySteps::OnConnectionClosed(const session::Connection& c, const fabric::Event& event) {
  OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeOtherEvent(c, event)});
}

void HistorySteps::OnMessage(const session::Connection& c, const session::Message& message,
                             const session::Transaction* transaction) {
  OnStep({message.again ? HistoryStep::Kind::kAgain : HistoryStep::Kind::kEntry, c.info.id,
          MakeSendEvent(c, message, transaction)});
}

void HistorySteps::OnRdma(const session::Connection& c, const session::RdmaOperation& operation) {
  OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeRdmaEvent(c, operation)});
}

void HistorySteps::OnNak(const session::Connection& c, const fabric::Event& event) {
  OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeOtherEvent(c, event)});
}

void HistorySteps::OnGap(const session::Connection& c, const fabric::Event& event) {
  OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeOtherEvent(c, event)});
}

void HistorySteps::OnAnomaly(const session::Connection& c, const fabric::Event& event) {
  OnStep({HistoryStep::Kind::kEntry, c.info.id, MakeOtherEvent(c, event)});
}

void HistorySteps::OnCallComplete(const session::Connection& c, const session::Transaction& transaction) {
  HistoryStep step{HistoryStep::Kind::kOperations, c.info.id, {}};
  step.entry.xid = transaction.xid;
  step.entry.frame = transaction.call.frame;
  TakeOperations(step.entry, transaction);
  OnStep(std::move(step));
}

void ConnectionHistory::OnStep(HistoryStep&& step) {
  switch (step.kind) {
    case HistoryStep::Kind::kEntry: {
      const bool closes = step.entry.kind == Kind::kClosed;
      Record(step.connection, std::move(step.entry));
      if (closes) closed_ = step.connection;  // the engine may yet find something
      return;
    }
    case HistoryStep::Kind::kAgain: return Again(step.connection, std::move(step.entry));
    case HistoryStep::Kind::kOperations: return TakeOperations(step.connection, step.entry);
  }
}

void ConnectionHistory::Again(fabric::ConnectionId connection, DiagramEvent&& entry) {
  const auto it = timelines_.find(connection);
  if (it == timelines_.end()) return Record(connection, std::move(entry));
  std::deque<DiagramEvent>& entries = it->second.entries;
  const auto known = std::find_if(entries.rbegin(), entries.rend(), [&](const DiagramEvent& other) {
    return other.kind == Kind::kSend && other.frame.number == entry.frame.number && other.xid == entry.xid;
  });
  if (known == entries.rend()) return;
  entry.serial = known->serial;
  entry.now = known->now;
  *known = std::move(entry);
  for (const Watch& watch : it->second.watches) watch.ladder->Update(*known);
}

void ConnectionHistory::TakeOperations(fabric::ConnectionId connection, const DiagramEvent& call) {
  const auto it = timelines_.find(connection);
  if (it == timelines_.end()) return;
  std::deque<DiagramEvent>& entries = it->second.entries;
  const auto known = std::find_if(entries.rbegin(), entries.rend(), [&](const DiagramEvent& entry) {
    return entry.kind == Kind::kSend && entry.xid == call.xid && entry.frame.number == call.frame.number;
  });
  if (known == entries.rend()) return;
  known->operations = call.operations;
  known->operation_count = call.operation_count;
  if (call.procedure) known->procedure = call.procedure;
  for (const Watch& watch : it->second.watches) watch.ladder->Update(*known);
}

void ConnectionHistory::Record(fabric::ConnectionId connection, DiagramEvent&& entry) {
  if (closed_ != 0) Forget(closed_);
  closed_ = 0;
  const auto [it, fresh] = timelines_.try_emplace(connection);
  Timeline& timeline = it->second;
  if (fresh) {
    timeline.age = by_age_.insert(by_age_.end(), connection);
  } else {
    by_age_.splice(by_age_.end(), by_age_, timeline.age);
  }
  const bool extended = Extend(timeline, entry);
  if (!extended) {
    entry.serial = ++serial_;
    timeline.entries.push_back(std::move(entry));
    ++entries_;
  }
  if (timeline.entries.size() > options_.entries_per_connection) {
    timeline.entries.pop_front();
    --entries_;
    timeline.forgot = true;
  }
  Grow(timeline, timeline.entries.back(), extended);
  while (entries_ + kTimelineCost * timelines_.size() > options_.entries && by_age_.front() != connection)
    Forget(by_age_.front());
}

// Whether the entry is a further packet of an operation; that one is the newest then.
bool ConnectionHistory::Extend(Timeline& timeline, const DiagramEvent& entry) {
  if (!IsRdma(entry.kind)) return false;
  for (size_t back = 0; back < std::min(kLookBack, timeline.entries.size()); ++back) {
    const auto at = timeline.entries.end() - 1 - static_cast<ptrdiff_t>(back);
    if (at->kind != entry.kind || at->client_to_server != entry.client_to_server) continue;
    if (at->last || at->handle != entry.handle || at->offset + at->length != entry.offset) return false;
    at->length += entry.length;
    at->frame = entry.frame;
    at->now = entry.now;
    at->last = entry.last;
    at->overrun = at->overrun || entry.overrun;
    std::rotate(at, at + 1, timeline.entries.end());
    return true;
  }
  return false;
}

void ConnectionHistory::Grow(Timeline& timeline, const DiagramEvent& entry, bool extended) {
  std::erase_if(timeline.watches, [&](Watch& watch) {
    const bool belongs = watch.xid ? IsOf(entry, watch.xid, watch.backward) : entry.kind == Kind::kSetup;
    const bool found = watch.frame != 0 && (entry.now == watch.frame || entry.frame.number == watch.frame);
    if (extended) {
      watch.ladder->Update(entry);
    } else if (belongs || found || IsUpheaval(entry.kind)) {
      watch.ladder->Add(entry, found ? watch.mark : Mark::kNone);
      if (found) watch.frame = 0;
    }
    if (belongs && Answers(entry)) watch.patience = std::min(watch.patience, kPatienceAfterTheAnswer);
    return --watch.patience == 0 || entry.kind == Kind::kClosed;
  });
}

void ConnectionHistory::Forget(fabric::ConnectionId id) {
  const auto it = timelines_.find(id);
  if (it == timelines_.end()) return;
  entries_ -= it->second.entries.size();
  by_age_.erase(it->second.age);
  timelines_.erase(it);
}

std::pair<size_t, size_t> ConnectionHistory::Timeline::FindOffender(const Finding& finding) const {
  // A frame may hold several entries: the one of the finding's transaction and side is the offender's, else one of no
  // transaction (a NAK, a set-up message), else any.
  size_t offender = entries.size(), proof = entries.size();
  int best = -1;
  for (size_t i = entries.size(); i-- > 0;) {
    const DiagramEvent& entry = entries[i];
    const bool several = IsRdma(entry.kind) && entry.first_frame <= finding.frame.number;
    if (entry.frame.number != finding.frame.number && !(several && entry.frame.number > finding.frame.number)) continue;
    const int fit = (entry.client_to_server == finding.client_to_server ? 2 : 0) + (entry.xid == finding.xid ? 1 : 0);
    if (fit <= best || (several && entry.client_to_server != finding.client_to_server)) continue;
    offender = i;
    best = fit;
  }
  if (finding.certainty == Certainty::kPresumed) return {offender, proof};
  if (finding.proven.number == finding.frame.number) return {offender, offender};
  for (size_t i = entries.size(); i-- > 0 && proof == entries.size();) {
    const bool there = entries[i].now == finding.proven.number || entries[i].frame.number == finding.proven.number;
    if (there && i != offender) proof = i;
  }
  return {offender, proof};
}

std::shared_ptr<const Ladder> ConnectionHistory::LadderOf(const Finding& finding) {
  const auto it = timelines_.find(finding.connection);
  if (it == timelines_.end()) return nullptr;
  Timeline& timeline = it->second;
  const std::deque<DiagramEvent>& entries = timeline.entries;
  const auto [offender, proof] = timeline.FindOffender(finding);
  const size_t anchor = offender < entries.size() ? offender : proof;
  const bool of_setup = !finding.xid && offender < entries.size() && entries[offender].kind == Kind::kSetup;

  // The transaction's direction, from the newest entry that has it; and its Call.
  std::optional<bool> backward;
  size_t call = entries.size();
  for (size_t i = entries.size(); i-- > 0;) {
    if (!IsOf(entries[i], finding.xid, backward)) continue;
    if (!backward) backward = entries[i].backward;
    call = i;
    if (entries[i].kind == Kind::kSend && entries[i].role == session::Role::kCall) break;
  }

  std::vector<std::pair<const DiagramEvent*, Mark>> chosen;
  bool answered = false;
  for (size_t i = 0; i < entries.size(); ++i) {
    const DiagramEvent& entry = entries[i];
    const Mark mark = i == offender             ? Mark::kOffending
                      : i == proof              ? Mark::kProof
                      : Related(entry, finding) ? Mark::kRelated
                                                : Mark::kNone;
    const bool belongs = i >= call && IsOf(entry, finding.xid, backward);
    const bool neighbour = !finding.xid && !of_setup && i + kNeighbours >= anchor;
    answered = answered || (belongs && Answers(entry));
    if (mark != Mark::kNone || belongs || neighbour || (of_setup && entry.kind == Kind::kSetup) ||
        (!chosen.empty() && IsUpheaval(entry.kind)))
      chosen.emplace_back(&entry, mark);
  }
  // What was held back for reordering stands where it was on the wire.
  std::ranges::stable_sort(chosen, {}, [](const auto& choice) { return choice.first->frame.number; });
  auto ladder = std::make_shared<Ladder>();
  for (const auto& [entry, mark] : chosen) ladder->Add(*entry, mark);

  const bool call_seen =
      call < entries.size() && entries[call].kind == Kind::kSend && entries[call].role == session::Role::kCall;
  if (finding.xid && !call_seen)
    ladder->beginning = timeline.forgot ? Ladder::Beginning::kForgotten : Ladder::Beginning::kNotCaptured;

  const bool over = !entries.empty() && entries.back().kind == Kind::kClosed;
  if ((finding.xid || of_setup) && !over && timeline.watches.size() < kMaxWatches) {
    // The finding may come before the event that breaks the rule, or that proves it, is recorded.
    const bool proven = finding.certainty == Certainty::kProven;
    const Mark missing = offender == entries.size()          ? Mark::kOffending
                         : proven && proof == entries.size() ? Mark::kProof
                                                             : Mark::kNone;
    const uint64_t frame = missing == Mark::kOffending ? finding.frame.number : finding.proven.number;
    timeline.watches.push_back({ladder, finding.xid, backward, missing == Mark::kNone ? 0 : frame, missing,
                                answered ? kPatienceAfterTheAnswer : kWatchPatience});
  }
  return ladder;
}

}  // namespace stag::conformance
