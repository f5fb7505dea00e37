// SPDX-License-Identifier: GPL-2.0-or-later
//
// PlanBuilder: makes a plan of what a Session observes, while the capture is read, with a bounded part of it in memory.
//
// A Call waits in the window until its transaction has ended and `slack` frames more were seen; then it goes to the
// sink after the Calls before it. When the window is full the oldest goes as it is: an answer that comes later is not
// waited for by the player, nor compared, but counted (PlanTotals::late).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "replay/replay/call_planner.h"

namespace stag::replay {

class PlanBuilder final : public session::Observer {
 public:
  // Both must outlive it.
  PlanBuilder(const PlanOptions& options, PlanSink& sink);

  void OnMessage(const session::Connection& connection, const session::Message& message,
                 const session::Transaction* transaction) override;
  void OnCallComplete(const session::Connection& connection, const session::Transaction& transaction) override;
  void OnTransaction(const session::Connection& connection, const session::Transaction& transaction) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event& event) override;
  // After Session::Finish: gives all that waits to the sink.
  void Finish();
  const PlanTotals& totals() const { return totals_; }

 private:
  struct Key {  // order of the Calls
    uint64_t frame = 0, serial = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Place {
    fabric::ConnectionId connection = 0;
    std::unique_ptr<PlannedCall> call;
    uint64_t bytes = 0;     // of `call`, as counted in bytes_
    uint64_t answered = 0;  // the frame in which the answer was there; 0: none that is waited for
    bool ended = false;     // the transaction
  };
  using Places = std::map<Key, Place>;
  // A recorded connection: as the Session has it, until it is closed; as it was when its first Call was planned.
  struct Known {
    const session::Connection* connection = nullptr;
    std::shared_ptr<const recording::RecordedConnection> planned;
  };

  Places::iterator PlaceOf(const session::Connection& connection, const session::Transaction& t);
  void Settle(Place& place);
  void Decide(Key key, Place& place);
  void Advance(const session::Connection& connection);
  void Rank(uint64_t frame);
  void Force();
  void Release();
  void Drop(Places::iterator it);

  const PlanOptions& options_;
  PlanSink& sink_;
  CallPlanner planner_;
  recording::RpcRecorder recorder_;
  PlanTotals totals_;
  Places places_;
  std::unordered_map<uint64_t, Places::iterator> by_serial_;
  std::unordered_set<uint64_t> gone_;  // serials of Calls that left the window before they ended
  uint64_t bytes_ = 0;                 // that the places take
  uint64_t now_ = 0;                   // the last frame
  std::unordered_map<fabric::ConnectionId, Known> connections_;

  // Answers by the frame in which they were there and the Call that they are of, until they have their rank.
  std::map<std::pair<uint64_t, Key>, PlannedCall*> answers_;
  uint64_t ranks_ = 0;
  std::deque<uint64_t> ranked_;  // frames of answers that have a rank and are not counted in before_
  uint64_t before_ = 0;          // answers that came before the Call that is planned next
};

}  // namespace stag::replay
