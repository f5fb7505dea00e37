// SPDX-License-Identifier: GPL-2.0-or-later
//
// PlayLink: one live connection that plays the Calls of one recorded connection: what is next, what is under way, and
// what becomes of it when the connection is lost. Internal to replay/replay.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "replay/replay/callback_listener.h"
#include "replay/replay/callbacks.h"
#include "replay/replay/live_values.h"
#include "replay/replay/options.h"
#include "replay/replay/report.h"
#include "replay/rpcrdma/requester.h"

namespace stag::replay {

using PlayClock = std::chrono::steady_clock;

// How a connection is set up: as recorded where the options do not say otherwise.
rpcrdma::RequesterOptions LinkOptions(const recording::RecordedConnection& recorded, const PlayOptions& options);
// What `transport` cannot do is cleared in `requester`.
endpoint::EndpointOptions LinkEndpoint(const recording::RecordedConnection& recorded, const PlayOptions& options,
                                       rpcrdma::RequesterOptions& requester, const endpoint::Transport& transport);

// What the links of a client share, and of all clients the report.
class PlayClient {
 public:
  PlayClient(uint32_t number, ClientIdentity identity, const PlayOptions& options, PlayReport& report);
  bool Ready(const PlannedCall& call) const { return prefix_ >= call.after && !held_; }
  // A place for the server to call back at (NFSv4.0), unless there is one.
  void ListenForCallbacks(const endpoint::HostPort& server);
  // The server knows that place now: nothing more is sent until it has tried to call, for a while. Servers give
  // delegations only to clients that they can call.
  void HoldForCallback(PlayClock::time_point now);
  // Answers what the server calls; to be called now and then. Whether Calls are held.
  bool PollCallbacks(PlayClock::time_point now);
  // The Call ended, however it did: nothing waits for its answer any more.
  void Done(const PlannedCall& call);
  // Counts `live` against what was recorded.
  void Compare(const PlannedCall& call, const AnswerStatus& live, bool identical);
  ProcedureReport& Of(const PlannedCall& call);

  const uint32_t number;
  LiveValues values;
  Callbacks callbacks;
  PlayReport& report;
  PlayCounts counts;

 private:
  uint64_t prefix_ = 0;        // answers that have come, without a hole, in recorded order
  std::deque<bool> answered_;  // whether that of prefix_ has come, the next one ...
  std::unique_ptr<CallbackListener> listener_;
  bool listened_ = false;  // it was tried
  bool held_ = false;
  PlayClock::time_point held_until_;
  uint64_t called_ = 0;    // by the server, as counted in the report
  PlannedProcedure last_;  // of Of
  ProcedureReport* last_report_ = nullptr;
};

class PlayLink final : public rpcrdma::AnswerSink {
 public:
  // All must outlive it, but for `recorded`.
  PlayLink(std::shared_ptr<const recording::RecordedConnection> recorded, endpoint::Transport& transport,
           const PlayOptions& options, PlayClient& client);

  // The next Call of the connection.
  void Add(PlannedCallPtr call) { queue_.push_back(std::move(call)); }
  // The recorded connection ended after the Calls before.
  void AddEnd() { ends_ = true; }

  enum class Sent : uint8_t {
    kSent,
    kLater,  // answers, credits or slots are missing
    kGone    // no connection any more; the Call was counted as not sent
  };
  // Whether there is a Call to be sent, and which: one to be sent again first.
  const PlannedCall* next() const;
  Sent SendNext();
  // Takes what came. Returns how many answers.
  size_t Poll();
  // Calls that were put off for long enough are next. With `stop` none will be sent any more: each ends with the answer
  // that it had.
  void Resume(PlayClock::time_point now, bool stop);
  // Gives up waiting for answers whose time is over; with `all`, for the ones that the recording does not have, too.
  // And the connection, when it had no credit or slot to spare for as long.
  void GiveUp(PlayClock::time_point now, bool all);
  // Nothing to send, nothing to wait for (but what the recording has no answer for: `quiet`).
  bool finished() const { return !next() && waiting_ == 0; }
  bool quiet() const { return !next() && waiting_ == extra_; }
  // It played all of a recorded connection that ended.
  bool through() const { return ends_ && finished(); }
  // Disconnects; Poll until it is over.
  void Close();
  bool connected() const { return requester_ != nullptr; }
  bool gone() const { return gone_; }  // for good
  int descriptor();
  uint32_t outstanding() const { return waiting_; }

 private:
  struct InFlight {
    PlannedCallPtr call;  // nullptr: free, or given up
    PlannedCallPtr lent;  // what the server may read the argument of
    RewrittenCall rewritten;
    PlayClock::time_point deadline;
    uint32_t tries = 0;
    // While the server puts it off: since when, until when it waits now, and what the server said last.
    uint32_t put_off = 0;  // times
    PlayClock::time_point put_off_since, resume_at;
    AnswerStatus said;
  };
  void OnAnswer(const rpcrdma::Answer& answer) override;
  void OnBackwardCall(Bytes message, std::vector<std::byte>& reply) override;
  bool Connect();
  void Ended();
  void Trouble(std::string text);
  void Refuse(const PlannedCall& call);
  void Lose(uint32_t place);
  void Free(uint32_t place);
  // False: the Call is not over, but put off.
  bool Take(uint32_t place, const rpcrdma::Answer& answer);
  bool MayComeAgain(const InFlight& entry, const AnswerStatus& status) const;
  void Conclude(const PlannedCall& call, const AnswerStatus& status, bool identical);
  uint32_t Place();
  Sent Stall(const PlannedCall& call, uint64_t& counted, uint64_t& stalls);
  Sent Transmit(const PlannedCall& call, uint32_t place);

  const std::shared_ptr<const recording::RecordedConnection> recorded_;
  endpoint::Transport& transport_;
  const PlayOptions& options_;
  PlayClient& client_;
  Values live_;
  std::deque<PlannedCallPtr> queue_;  // that are not under way yet
  bool ends_ = false;                 // after these
  std::vector<InFlight> in_flight_;
  std::unique_ptr<rpcrdma::Requester> requester_;  // goes before the arguments that its peer may read
  std::vector<uint32_t> free_;
  std::deque<uint32_t> again_;         // in_flight_ places that are to be sent again
  std::vector<uint32_t> paused_;       // that are put off
  uint32_t waiting_ = 0, extra_ = 0;   // Calls under way; of them without a recorded answer
  uint32_t attempts_ = 0;              // connections made
  PlayClock::time_point not_before_;   // of the next attempt
  PlayClock::time_point stuck_since_;  // without a credit or slot; the epoch: it is not
  uint64_t stalled_ = 0;               // serial of the Call that was counted as one
  uint64_t slotless_ = 0;
  std::vector<uint32_t> write_chunks_;  // scratch
  bool gone_ = false, closing_ = false;
};

}  // namespace stag::replay
