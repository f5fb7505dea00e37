// SPDX-License-Identifier: GPL-2.0-or-later
//
// HeldFindings: findings of one connection that what follows in the capture may yet excuse. They wait until it proves
// or refutes them. What neither happens to is presumed when the connection ends.
#pragma once

#include <array>
#include <vector>

#include "conformance/engine/check.h"
#include "conformance/engine/engine.h"
#include "conformance/engine/schedule.h"
#include "protocol/base/budget.h"

namespace stag::conformance {

class HeldFindings {
 public:
  // REQUIRES: all outlive this. `sink` gets the findings, `schedule` has the tallies that refuted ones are taken from;
  // at most `most` wait, as far as `budget` has room for them.
  HeldFindings(FindingSink& sink, CheckSchedule& schedule, Budget& budget, size_t most)
      : sink_(sink), schedule_(schedule), most_(most), charge_(budget) {}

  bool empty() const { return held_.empty(); }
  // A new finding, from the violation of a rule in `context`: goes to the sink, or waits.
  void Take(const Context& context, const Violation& violation, Finding finding);

  // What decides about those that wait. Before the checks of the event; of a message after RuleState::Before.
  void OnMessage(const Connection& connection, const Message& message, const RuleState& state);
  void OnRdma(const Connection& connection, const RdmaOperation& operation);
  // What `side` sent in `frame` is there, and nothing that it sent before is missing.
  void OnHeard(const Connection& connection, Side side, const FrameRef& frame);
  // What the ends acknowledged before the event that comes now.
  void OnAcknowledged(const Connection& connection);
  // The side whose memory an RDMA operation touches refuses it: whatever was lost, it did not allow it.
  void OnRefused(const Connection& connection, Side by, const RecentOperation& operation);
  // Packets of `side` are missing.
  void OnGap(Side side);
  // `side` asks by CM to disconnect, or agrees to.
  void OnDisconnect(Side side) { disconnected_[side] = true; }
  // A connection that ends by what packets say, never by the end of the capture.
  void OnClosed(const Connection& connection, const fabric::Event& event);
  // Nothing more comes of the connection: what is not proven by then is presumed.
  void OnEnd(const Connection& connection);

 private:
  // What a finding waits for.
  enum class Until : uint8_t {
    kNothing,
    kAnswer,  // a use of the older protocol under Profile::kAuto: excused when the answer proves that both peers speak
              // it
    kDone,    // likewise, by RDMA_DONE
    kHeard,   // something from `side`, without a gap before it, or an acknowledgement of the other side that shows what
              // it had received: then nothing was lost that could explain it away
  };
  struct Held {
    Finding finding;
    Until until = Until::kNothing;
    Side side = 0;                   // the requester; for kHeard who must be heard
    std::optional<uint32_t> handle;  // of an RDMA operation: of the memory that it touches
    uint64_t cost = 0;               // bytes, when it began to wait
  };
  // Takes those out for which it returns true.
  template <typename Fn>
  void EraseIf(Fn fn);

  static Until UntilOf(const Context& context, const Violation& violation, const Finding& finding);
  template <typename Proves>
  void Settle(const Connection& connection, Proves proves);
  template <typename Explains>
  void Excuse(Explains explains);
  void Release(const Connection& connection, Held& held);
  void Presume(const Connection& connection, Held& held);
  void Drop(const Held& held, Outcome instead);

  FindingSink& sink_;
  CheckSchedule& schedule_;
  const size_t most_;
  std::vector<Held> held_;
  Charge charge_;
  std::array<bool, 2> disconnected_{};
};

}  // namespace stag::conformance
