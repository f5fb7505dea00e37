// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/story.h"

#include <algorithm>

namespace stag::conformance {

namespace {

using Kind = Arrow::Kind;

constexpr size_t kMaxWatches = 16;               // per connection
constexpr uint32_t kPatience = 256;              // arrows until a ladder is closed in any case
constexpr uint32_t kPatienceAfterTheAnswer = 8;  // for a NAK or the end of the connection
constexpr size_t kNeighbours = 4;                // arrows before a finding that is about no RPC
constexpr size_t kLookBack = 8;                  // operations that may come between two packets of one

bool IsRdma(Kind kind) { return kind == Kind::kWrite || kind == Kind::kReadRequest || kind == Kind::kReadResponse; }

// What may explain, or follow from, any RPC.
bool IsUpheaval(Kind kind) { return kind == Kind::kNak || kind == Kind::kGap || kind == Kind::kClosed; }

bool Answers(const Arrow& arrow) {
  return arrow.kind == Kind::kSend && (arrow.role == session::Role::kReply || arrow.role == session::Role::kError);
}

// Both directions of a connection may use one xid.
bool IsOf(const Arrow& arrow, std::optional<uint32_t> xid, std::optional<bool> backward) {
  return xid && arrow.xid == xid && (!backward || !arrow.backward || *arrow.backward == *backward);
}

// Of an RDMA operation of the finding's transaction any packet may be the related one.
bool Related(const Arrow& arrow, const Finding& finding) {
  const auto& frames = finding.related_frames;
  const auto first = std::ranges::lower_bound(frames, arrow.first_frame);
  if (first == frames.end() || *first > arrow.frame.number) return false;
  return *first == arrow.first_frame || std::ranges::binary_search(frames, arrow.frame.number) ||
         (IsRdma(arrow.kind) && arrow.xid == finding.xid);
}

}  // namespace

void Story::OnConnection(const session::Connection& connection, const fabric::Event& event) {
  if (event.kind() == fabric::EventKind::kSetup) Record(connection, MakeSetupArrow(connection, event));
}

void Story::OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) {
  Record(connection, MakeEventArrow(connection, event));
  closed_ = connection.info.id;  // the engine may yet find something
}

void Story::OnMessage(const session::Connection& connection, const session::Message& message,
                      const session::Transaction* transaction) {
  Record(connection, MakeSendArrow(connection, message, transaction));
}

void Story::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  Record(connection, MakeRdmaArrow(connection, operation));
}

void Story::OnNak(const session::Connection& connection, const fabric::Event& event) {
  Record(connection, MakeEventArrow(connection, event));
}

void Story::OnGap(const session::Connection& connection, const fabric::Event& event) {
  Record(connection, MakeEventArrow(connection, event));
}

void Story::OnCallComplete(const session::Connection& connection, const session::Transaction& transaction) {
  const auto it = histories_.find(connection.info.id);
  if (it == histories_.end()) return;
  std::deque<Arrow>& arrows = it->second.arrows;
  const auto call = std::find_if(arrows.rbegin(), arrows.rend(), [&](const Arrow& arrow) {
    return arrow.kind == Kind::kSend && arrow.xid == transaction.xid &&
           arrow.frame.number == transaction.call.frame.number;
  });
  if (call == arrows.rend()) return;
  TakeOperations(*call, transaction);
  for (const Watch& watch : it->second.watches) watch.ladder->Update(*call);
}

void Story::Record(const session::Connection& connection, Arrow arrow) {
  if (closed_ != 0) Forget(closed_);
  closed_ = 0;
  const auto [it, fresh] = histories_.try_emplace(connection.info.id);
  History& history = it->second;
  if (fresh) {
    history.age = by_age_.insert(by_age_.end(), connection.info.id);
  } else {
    by_age_.splice(by_age_.end(), by_age_, history.age);
  }
  const bool extended = Extend(history, arrow);
  if (!extended) {
    arrow.serial = ++serial_;
    history.arrows.push_back(std::move(arrow));
    ++arrows_;
  }
  if (history.arrows.size() > options_.arrows_per_connection) {
    history.arrows.pop_front();
    --arrows_;
    history.forgot = true;
  }
  Grow(history, history.arrows.back(), extended);
  while (arrows_ > options_.arrows && by_age_.front() != connection.info.id) Forget(by_age_.front());
}

// Whether the arrow is a further packet of an operation; that one is the newest then.
bool Story::Extend(History& history, const Arrow& arrow) {
  if (!IsRdma(arrow.kind)) return false;
  for (size_t back = 0; back < std::min(kLookBack, history.arrows.size()); ++back) {
    const auto at = history.arrows.end() - 1 - static_cast<ptrdiff_t>(back);
    if (at->kind != arrow.kind || at->client_to_server != arrow.client_to_server) continue;
    if (at->last || at->handle != arrow.handle || at->offset + at->length != arrow.offset) return false;
    at->length += arrow.length;
    at->frame = arrow.frame;
    at->now = arrow.now;
    at->last = arrow.last;
    at->overrun = at->overrun || arrow.overrun;
    std::rotate(at, at + 1, history.arrows.end());
    return true;
  }
  return false;
}

void Story::Grow(History& history, const Arrow& arrow, bool extended) {
  std::erase_if(history.watches, [&](Watch& watch) {
    const bool belongs = watch.xid ? IsOf(arrow, watch.xid, watch.backward) : arrow.kind == Kind::kSetup;
    const bool found = watch.frame != 0 && (arrow.now == watch.frame || arrow.frame.number == watch.frame);
    if (extended) {
      watch.ladder->Update(arrow);
    } else if (belongs || found || IsUpheaval(arrow.kind)) {
      watch.ladder->Add(arrow, found ? Mark::kOffending : Mark::kNone);
      if (found) watch.frame = 0;
    }
    if (belongs && Answers(arrow)) watch.patience = std::min(watch.patience, kPatienceAfterTheAnswer);
    return --watch.patience == 0 || arrow.kind == Kind::kClosed;
  });
}

void Story::Forget(fabric::ConnectionId id) {
  const auto it = histories_.find(id);
  if (it == histories_.end()) return;
  arrows_ -= it->second.arrows.size();
  by_age_.erase(it->second.age);
  histories_.erase(it);
}

// A finding that was kept back until another message proved it is about an earlier arrow, or one that never came.
std::pair<size_t, size_t> Story::History::Culprit(const Finding& finding) const {
  size_t proof = arrows.size();
  for (size_t i = arrows.size(); i-- > 0 && proof == arrows.size();)
    if (arrows[i].now == finding.frame.number || arrows[i].frame.number == finding.frame.number) proof = i;
  if (proof == arrows.size() || !finding.xid) return {proof, proof};
  // A NAK or a set-up message is of no transaction, the end of a connection only proves.
  const auto fits = [&](const Arrow& a) {
    return a.client_to_server == finding.client_to_server && a.kind != Kind::kClosed &&
           (!a.xid || a.xid == finding.xid);
  };
  if (fits(arrows[proof])) return {proof, proof};
  for (size_t i = arrows.size(); i-- > 0;)
    if (fits(arrows[i]) && arrows[i].xid && Related(arrows[i], finding)) return {i, proof};
  return {arrows[proof].xid == finding.xid ? proof : arrows.size(), proof};
}

std::shared_ptr<const Ladder> Story::Tell(const Finding& finding) {
  const auto it = histories_.find(finding.connection);
  if (it == histories_.end()) return nullptr;
  History& history = it->second;
  const std::deque<Arrow>& arrows = history.arrows;
  const auto [culprit, proof] = history.Culprit(finding);
  const bool of_setup = !finding.xid && culprit < arrows.size() && arrows[culprit].kind == Kind::kSetup;

  // The transaction's direction, from the newest arrow that tells; and its Call.
  std::optional<bool> backward;
  size_t call = arrows.size();
  for (size_t i = arrows.size(); i-- > 0;) {
    if (!IsOf(arrows[i], finding.xid, backward)) continue;
    if (!backward) backward = arrows[i].backward;
    call = i;
    if (arrows[i].kind == Kind::kSend && arrows[i].role == session::Role::kCall) break;
  }

  std::vector<std::pair<const Arrow*, Mark>> chosen;
  bool answered = false;
  for (size_t i = 0; i < arrows.size(); ++i) {
    const Arrow& arrow = arrows[i];
    const Mark mark = i == culprit              ? Mark::kOffending
                      : i == proof              ? Mark::kProof
                      : Related(arrow, finding) ? Mark::kRelated
                                                : Mark::kNone;
    const bool belongs = i >= call && IsOf(arrow, finding.xid, backward);
    const bool neighbour = !finding.xid && !of_setup && i + kNeighbours >= proof;
    answered = answered || (belongs && Answers(arrow));
    if (mark != Mark::kNone || belongs || neighbour || (of_setup && arrow.kind == Kind::kSetup) ||
        (!chosen.empty() && IsUpheaval(arrow.kind)))
      chosen.emplace_back(&arrow, mark);
  }
  // What was held back for reordering stands where it was on the wire.
  std::ranges::stable_sort(chosen, {}, [](const auto& choice) { return choice.first->frame.number; });
  auto ladder = std::make_shared<Ladder>();
  for (const auto& [arrow, mark] : chosen) ladder->Add(*arrow, mark);

  const bool call_seen =
      call < arrows.size() && arrows[call].kind == Kind::kSend && arrows[call].role == session::Role::kCall;
  if (finding.xid && !call_seen)
    ladder->beginning = history.forgot ? Ladder::Beginning::kForgotten : Ladder::Beginning::kNotCaptured;

  const bool over = !arrows.empty() && arrows.back().kind == Kind::kClosed;
  if ((finding.xid || of_setup) && !over && history.watches.size() < kMaxWatches)
    history.watches.push_back({ladder, finding.xid, backward, proof < arrows.size() ? 0 : finding.frame.number,
                               answered ? kPatienceAfterTheAnswer : kPatience});
  return ladder;
}

}  // namespace stag::conformance
