// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionLimits: how the time of a connection is spent, from its first Call to its last Reply, or to its last frame
// where a Call stays unanswered. At each moment the first of these that holds:
//
//     recovery        between an RNR NAK or sequence NAK and the packet that mends it
//     unknown         no Call is known to be outstanding, and one may be: its Reply, or the Call, was not captured
//     idle            no Call is outstanding
//     credit_limited  as many are as min(granted, requested), from the first Reply on
//     moving_data     between an RPC's first and last RDMA Read, or its first and last RDMA Write
//     server          the rest
//
// A Call whose answer was not captured is outstanding for nobody; one may be until a frame proves the answer. Where the
// capture has one direction alone, or a sample, all is unknown. Calls of the server (RFC 8167) are left out.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "session/limits/timeline.h"
#include "session/rpcrdma/session.h"

namespace stag::session {

struct ConnectionLimits {
  std::array<int64_t, kLimits> ns{};  // by Limit; together they are the span
  int64_t span_ns = 0;
  uint64_t calls = 0, replies = 0;  // forward ones
  uint64_t untimed = 0;             // of the Calls, those without a time
  uint64_t not_captured = 0;        // Calls whose answer the capture has not
  int64_t longest_answer_ns = 0;    // of those that it has
  // What is known to make mounts slow.
  uint64_t quarter_pauses = 0;  // of about 250 ms without a packet, when all credits had just been used
  uint64_t rnr_naks = 0;
  int64_t longest_rnr_ns = 0;  // from an RNR NAK to the packet that mends it
  uint64_t sequence_naks = 0;
  bool one_credit = false;     // no Reply granted more than one
  uint64_t put_off = 0;        // Replies with NFS4ERR_DELAY, NFS4ERR_GRACE or NFS3ERR_JUKEBOX
  uint64_t copies = 0;         // COPY operations that the server goes on with behind its Reply ...
  uint64_t offloads_done = 0;  // ... and CB_OFFLOADs, which end them
  bool unanswered = false;     // a Call is
  int64_t timed_ns = 0;        // of recovery, when all that waited did so for its sender's timer
  // No message and no RDMA operation came meanwhile, and Calls were outstanding. Nothing that was sent again ends it.
  struct Silence {
    FrameRef since, until;
    int64_t ns() const { return Elapsed(since, until).value_or(0); }
  };
  std::vector<Silence> silences;  // the longest ones, from 10 ms on, in order

  // How much of the span a part is, in percent.
  double percent(Limit limit) const {
    const auto part = static_cast<double>(ns[static_cast<size_t>(limit)]);
    return span_ns > 0 ? part / static_cast<double>(span_ns) * 100 : 0;
  }
  // The part that the connection is limited by: recovery from a tenth of the time on that it is not idle, else the
  // largest; kUnknown: no Call was seen, or no time.
  Limit verdict() const;
};

// Takes the limits of a connection when it closes.
class LimitsSink {
 public:
  virtual ~LimitsSink() = default;
  virtual void OnLimits(const Connection& connection, const ConnectionLimits& limits) = 0;
};

// Finds the limits of each RPC-over-RDMA connection.
class LimitsObserver final : public Observer {
 public:
  // `sink` must outlive this.
  explicit LimitsObserver(LimitsSink& sink) : sink_(sink) {}

  void OnConnection(const Connection& connection, const fabric::Event& event) override;
  void OnMessage(const Connection& connection, const Message& message, const Transaction* t) override;
  void OnRdma(const Connection& connection, const RdmaOperation& operation) override;
  void OnTransaction(const Connection& connection, const Transaction& t) override;
  void OnConnectionClosed(const Connection& connection, const fabric::Event& event) override;
  void OnRecovery(const Connection& connection, const fabric::Recovery& recovery) override;
  void OnOrphan(const Connection& connection, const Message& message) override;
  bool WantsDeliveries() const override { return true; }
  bool WantsBytesLater() const override { return false; }
  void OnWait(const Connection& connection, const Wait& wait) override;
  void OnSpurious(const Connection& connection, const Spurious& spurious) override;

 private:
  struct Mending {
    bool waits = false, rnr = false;
    int64_t since = 0;
  };
  struct Outstanding {
    uint64_t serial = 0;
    int64_t sent = 0;
  };
  // A Call that was answered, until it is known which frame delivered the Reply.
  struct Answered {
    uint64_t serial = 0;
    int64_t at = 0;
  };
  struct State {
    ConnectionLimits limits;
    bool begun = false, replied = false;
    int64_t now = 0;
    uint32_t granted = 0, requested = 0;
    std::vector<Outstanding> open;   // Calls, in order of their serials
    std::vector<Answered> answered;  // in the order of the answers
    std::array<Mending, 2> mending;  // by requester
    Timeline timeline;
    std::array<FrameRef, 2> stray;  // the first and the last RDMA operation of no Call since the last Reply of none
    int64_t told = 0;               // up to here, what counts has come: the last Reply
    FrameRef last_packet;
    int64_t last_full = INT64_MIN;
  };

  // Events of a connection mostly come in runs.
  State& StateOf(fabric::ConnectionId id) {
    if (!last_ || last_id_ != id) {
      last_ = &states_[id];
      last_id_ = id;
    }
    return *last_;
  }
  static bool IsFull(const State& s);
  static void Advance(State& s, const FrameRef& frame);
  static void Decide(const Connection& connection, State& s);
  static void Miss(State& s, const Transaction& t, int64_t sent);
  static void MissCall(const Connection& connection, State& s, const FrameRef& reply);
  static std::vector<Outstanding>::iterator Find(State& s, const Transaction& t);
  static void Settle(const Connection& connection, State& s, const Transaction& t);
  void Leave(const Connection& connection, State& s, const Transaction& t);
  void TakeResults(State& s, const Transaction& t) const;
  void Pause(State& s, const FrameRef& frame);
  static void KeepSilence(State& s, const FrameRef& until);
  static void ForgetSilence(State& s, const FrameRef& again);

  LimitsSink& sink_;
  std::unordered_map<fabric::ConnectionId, State> states_;
  State* last_ = nullptr;  // of StateOf
  fabric::ConnectionId last_id_ = 0;
};

}  // namespace stag::session
