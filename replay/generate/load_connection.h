// SPDX-License-Identifier: GPL-2.0-or-later
//
// LoadConnection: one connection under load. Sends Jobs when they are due, judges the answers, and accounts for every
// Job: it ends answered, or lost; one that a broken connection took along is sent again when there may be a new one
// (all operations of a load can be done twice). Used by one thread at a time.
#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "replay/generate/report.h"
#include "replay/generate/schedule.h"
#include "replay/generate/workload.h"

namespace stag::generate {

class LoadConnection final : public rpcrdma::AnswerSink {
 public:
  using Clock = Job::Clock;
  // `index` from 0. All must outlive it; `report` is its thread's.
  LoadConnection(const LoadOptions& options, uint32_t index, endpoint::Transport& transport, endpoint::EventLog* events,
                 const std::atomic<bool>& stop, LoadReport& report);

  // Connects, and gets all ready.
  Result<void> Begin();
  // From here on there are Jobs, until `end` (the largest: no such limit).
  void Start(Clock::time_point start, Clock::time_point end);
  // Sends what is due and takes what came; waits up to `wait` for the first answer, when there is nothing to send.
  // Returns how much happened.
  size_t Pump(std::chrono::microseconds wait);
  // When there is something to do though no answer comes.
  Clock::time_point next() const { return next_; }
  // All Jobs have ended, and there will be no more.
  bool done() const { return done_; }
  int descriptor();
  // Once it is done, or could not Begin: cleans up on the server, and disconnects.
  void End();

  uint64_t answers() const { return answers_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t failures() const { return failures_; }
  uint32_t outstanding() const { return busy_; }

  void OnAnswer(const rpcrdma::Answer& answer) override;

 private:
  struct Flight {
    Job job;
    Clock::time_point sent;
    bool busy = false;
  };

  // Sending.
  bool HaveNext(Clock::time_point now);
  bool MaySend(Clock::time_point now);
  size_t SendDue(Clock::time_point now);
  bool SendPending();
  bool Finishing(Clock::time_point now) const { return stop_.load(std::memory_order_relaxed) || now >= end_; }
  bool TakeNext();
  void CountUnsent(Clock::time_point now);
  // Answers.
  void Judge(const Job& job, const rpcrdma::Answer& answer);
  void Take(const Job& job, const Verdict& verdict);
  std::string Verify(const Job& job, const Verdict& verdict);
  void Failed(const Job& job, const std::string& what, bool wrong);
  void Release(const Job& job);
  // Trouble.
  void CheckTimes(Clock::time_point now);
  void Broken(std::string why, Clock::time_point now);
  void Reconnect(Clock::time_point now);
  void GiveUp();
  void NoteRequester();
  // READs and WRITEs that --verify keeps apart.
  bool Ranged(const Job& job) const {
    return options_.verify && (job.operation == Operation::kRead || job.operation == Operation::kWrite);
  }

  const LoadOptions& options_;
  const uint32_t index_;
  const std::atomic<bool>& stop_;
  LoadReport& report_;
  nfs_client::Caller caller_;
  JobSource source_;
  std::unique_ptr<Workload> workload_;
  std::vector<Contents> contents_;  // by part, with --verify
  InFlight in_flight_;
  std::optional<uint64_t> write_verifier_;

  std::optional<Schedule> schedule_;
  uint64_t budget_ = UINT64_MAX;  // Jobs that may still be made
  std::optional<Job> pending_;    // made, not sent
  bool waits_ = false;            // pending_, for one that overlaps
  std::deque<Job> again_;         // were lost, to be sent again
  std::vector<Flight> flights_;
  std::vector<uint32_t> free_;
  uint32_t busy_ = 0;

  Clock::time_point end_, next_, next_check_, retry_at_, stalled_since_, stopped_at_;
  std::chrono::milliseconds pause_{0};
  uint32_t attempts_ = 0;  // to reconnect, since the last answer
  bool stalled_ = false, broken_ = false, useless_ = false, finishing_ = false, unsent_counted_ = false, done_ = false;
  bool reached_ = false;  // once, at least
  uint64_t answers_ = 0, bytes_ = 0, failures_ = 0;
};

}  // namespace stag::generate
