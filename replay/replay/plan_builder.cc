// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan_builder.h"

#include <algorithm>
#include <utility>

namespace stag::replay {

PlanBuilder::PlanBuilder(const PlanOptions& options, PlanSink& sink)
    : options_(options), sink_(sink), planner_(options) {}

// The place of a transaction, made when it has none; end() for one that left the window.
PlanBuilder::Places::iterator PlanBuilder::PlaceOf(const session::Connection& connection,
                                                   const session::Transaction& t) {
  if (const auto it = by_serial_.find(t.serial); it != by_serial_.end()) return it->second;
  if (gone_.contains(t.serial)) return places_.end();
  connections_[connection.info.id].connection = &connection;
  const auto it = places_.try_emplace({t.call.frame.number, t.serial}).first;
  it->second.connection = connection.info.id;
  it->second.call = std::make_unique<PlannedCall>();
  by_serial_.emplace(t.serial, it);
  Settle(it->second);
  return it;
}

// Counts what the place takes now.
void PlanBuilder::Settle(Place& place) {
  const uint64_t bytes = sizeof(Places::value_type) + place.call->bytes();
  bytes_ += bytes - place.bytes;
  place.bytes = bytes;
}

void PlanBuilder::OnMessage(const session::Connection& connection, const session::Message&,
                            const session::Transaction* t) {
  if (t) PlaceOf(connection, *t);
  Advance(connection);
}

void PlanBuilder::OnCallComplete(const session::Connection& connection, const session::Transaction& t) {
  const auto it = PlaceOf(connection, t);
  if (it == places_.end()) return;
  recorder_.TakeCall(t, it->second.call->store, it->second.call->rpc);
  Settle(it->second);
}

void PlanBuilder::OnTransaction(const session::Connection& connection, const session::Transaction& t) {
  const auto it = PlaceOf(connection, t);
  if (it == places_.end()) {
    gone_.erase(t.serial);
  } else if (connection.proof != session::Proof::kRpcRdma) {
    Drop(it);
  } else if (session::IsCut(t)) {
    ++totals_.cut;
    Drop(it);
  } else {
    Place& place = it->second;
    recorder_.TakeAll(t, place.call->store, place.call->rpc);
    place.ended = true;
    Settle(place);
    Decide(it->first, place);
  }
  Advance(connection);
}

void PlanBuilder::OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) {
  const auto known = connections_.find(connection.info.id);
  if (known == connections_.end()) return;
  if (!known->second.planned)
    known->second.planned = std::make_shared<recording::RecordedConnection>(recording::Describe(connection));
  known->second.connection = nullptr;
  now_ = std::max(now_, connection.now.number);
  // Behind all its Calls; a capture that ends has nothing more to tell.
  if (event.closed().reason == fabric::CloseReason::kEndOfCapture) return;
  Place& place = places_.try_emplace({now_, UINT64_MAX - connection.info.id}).first->second;
  place.connection = connection.info.id;
  place.call = std::make_unique<PlannedCall>();
  place.call->what = PlannedCall::What::kClosed;
  place.ended = true;
  Settle(place);
  Advance(connection);
}

// What is to become of a Call that is known as well as it will be.
void PlanBuilder::Decide(Key key, Place& place) {
  PlannedCall& call = *place.call;
  planner_.Choose(call, place.connection);
  if (call.what != PlannedCall::What::kCall || call.rpc.reply_frame.number == 0) return;
  // A capture can have a Reply just before its Call: then it came with it.
  place.answered = std::max(call.rpc.reply_frame.number, call.rpc.call_frame.number);
  answers_.emplace(std::pair(place.answered, key), &call);
}

void PlanBuilder::Advance(const session::Connection& connection) {
  now_ = std::max(now_, connection.now.number);
  if (now_ > options_.slack) Rank(now_ - options_.slack);
  while (!places_.empty()) {
    const auto& [key, place] = *places_.begin();
    const bool ranked = place.answered == 0 || place.call->answer != kUnanswered;
    if (!place.ended || !ranked || key.frame + options_.slack > now_) break;
    Release();
  }
  while (bytes_ > options_.window && !places_.empty()) Force();
}

// Answers that were there up to a frame have their ranks from now on.
void PlanBuilder::Rank(uint64_t frame) {
  while (!answers_.empty() && answers_.begin()->first.first <= frame) {
    answers_.begin()->second->answer = ranks_++;
    ranked_.push_back(answers_.begin()->first.first);
    answers_.erase(answers_.begin());
  }
}

// The first place leaves the window, whatever is known of it.
void PlanBuilder::Force() {
  const auto it = places_.begin();
  Place& place = it->second;
  PlannedCall& call = *place.call;
  if (!place.ended) {
    gone_.insert(it->first.serial);
    const session::Connection* connection = connections_[place.connection].connection;
    if (connection && connection->proof != session::Proof::kRpcRdma) return Drop(it);
    if (!call.rpc.call.present) {
      call.rpc.call.missing = "it was not whole when the window was full; see --memory";
      call.rpc.call_frame.number = it->first.frame;
      call.rpc.serial = it->first.serial;
    }
    Decide(it->first, place);
    totals_.late += call.what != PlannedCall::What::kNotSelected && call.what != PlannedCall::What::kBackward;
  }
  if (place.answered != 0) Rank(place.answered);
  Release();
}

// Gives the first place to the sink.
void PlanBuilder::Release() {
  const auto it = places_.begin();
  PlannedCall& call = *it->second.call;
  Known& known = connections_[it->second.connection];
  if (!known.planned)
    known.planned = std::make_shared<recording::RecordedConnection>(recording::Describe(*known.connection));
  call.connection = known.planned;
  switch (call.what) {
    case PlannedCall::What::kCall:
      for (; !ranked_.empty() && ranked_.front() < call.rpc.call_frame.number; ranked_.pop_front()) ++before_;
      call.after = before_;
      planner_.FindValues(call);
      ++totals_.calls;
      totals_.unanswered += call.answer == kUnanswered;
      break;
    case PlannedCall::What::kRefused: ++totals_.refused; break;
    case PlannedCall::What::kNotSelected: ++totals_.not_selected; break;
    case PlannedCall::What::kBackward: break;
    case PlannedCall::What::kClosed: connections_.erase(it->second.connection); break;
  }
  std::unique_ptr<PlannedCall> released = std::move(it->second.call);
  Drop(it);
  sink_.OnPlanned(std::move(released));
}

void PlanBuilder::Drop(Places::iterator it) {
  bytes_ -= it->second.bytes;
  by_serial_.erase(it->first.serial);
  places_.erase(it);
}

void PlanBuilder::Finish() {
  Rank(UINT64_MAX);
  while (!places_.empty()) Force();
}

}  // namespace stag::replay
