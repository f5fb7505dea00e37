// SPDX-License-Identifier: GPL-2.0-or-later
//
// TrackerContext: what the two trackers share: connection numbers, statistics, the memory budget and the way out.
// A tracker takes one link::Packet at a time and emits Events in the order that fabric_event.h promises.
#pragma once

#include "protocol/base/budget.h"
#include "protocol/link/packet.h"
#include "session/fabric/ack_timeouts.h"
#include "session/fabric/decoder.h"
#include "session/fabric/packet_observer.h"

namespace stag::fabric {

// An Event whose rest is filled in where it is.
template <typename Kind>
struct EventOf : Event {
  EventOf(const ConnectionInfo& info, Side from_side, const FrameRef& first, const FrameRef& last)
      : Event(info, from_side, first, last, std::in_place_type<Kind>) {}
  Kind& rest() { return *std::get_if<Kind>(&what); }
};

class TrackerContext {
 public:
  TrackerContext(const DecoderOptions& options, Sink& sink)
      : options_(options), sink_(sink), budget_(options.memory_limit) {}

  const DecoderOptions& options() const { return options_; }
  const DecoderLimits& limits() const { return options_.limits; }
  DecoderStats& stats() { return stats_; }
  AckTimeouts& ack_timeouts() { return ack_timeouts_; }
  // Null: there is none.
  PacketObserver* packets() const { return options_.packets; }
  PacketObserver::Track NewTrack() { return ++last_track_; }
  // Names a new connection; CloseConnection when its kClosed was emitted.
  void OpenConnection(ConnectionInfo& info) {
    info.id = ++last_connection_;
    info.slot = slots_.Take();
    info.of_slice = options_.slice;
  }
  void CloseConnection(const ConnectionInfo& info) { slots_.Give(info.slot); }

  // The frame being processed; set by the Decoder before a tracker is called.
  void set_now(const FrameRef& now) { now_ = now; }
  const FrameRef& now() const { return now_; }

  // The frame being processed is a copy of an earlier one, and is dropped.
  void NoteCopy() {
    if (last_copy_ + 1 != now_.order()) first_copy_ = now_.order();
    last_copy_ = now_.order();
  }
  // Whether `later` comes right behind `earlier`, but for copies.
  bool Follows(uint64_t earlier, uint64_t later) const {
    return later == earlier + 1 || (first_copy_ == earlier + 1 && last_copy_ + 1 == later);
  }

  void Emit(Event& event) {
    event.now = now_;
    if (event.kind() == EventKind::kGap) ++stats_.gaps;
    sink_.OnEvent(event);
  }

  void Emit(const Aside& aside) { sink_.OnAside(aside); }
  void Emit(const Recovery& recovery) { sink_.OnRecovery(recovery); }
  void Emit(const Sighting& sighting) { sink_.OnSighting(sighting); }

  // The budget over all connections. A tracker that is over it gives connections up between packets (Relieve).
  Budget& budget() { return budget_; }
  // A table of a tracker has grown beyond its cap.
  void Crowd() { crowded_ = true; }
  // Whether a tracker has to be relieved between packets.
  bool crowded() const { return crowded_ || budget_.over(); }
  void Relieved() { crowded_ = false; }
  uint64_t used() const { return budget_.used(); }

 private:
  DecoderOptions options_;
  Sink& sink_;
  DecoderStats stats_;
  AckTimeouts ack_timeouts_;
  ConnectionId last_connection_ = 0;
  PacketObserver::Track last_track_ = 0;
  Slots slots_;
  FrameRef now_;
  uint64_t first_copy_ = 0, last_copy_ = 0;  // numbers: the newest frames that are copies, one right behind the other
  Budget budget_;
  bool crowded_ = false;
};

}  // namespace stag::fabric
