// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/load_connection.h"

#include <fmt/format.h>

#include <algorithm>

namespace stag::generate {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{100};                             // between looks at the clock, when nothing else happens
constexpr milliseconds kDrain{400};                            // for answers, once all is to stop
constexpr milliseconds kFirstPause{100}, kLongestPause{5000};  // between attempts to reconnect
constexpr uint32_t kMostSends = 4;                             // of one Job: perhaps it is what breaks the connection

std::unique_ptr<Workload> MakeWorkload(const LoadOptions& options, uint32_t index, const std::vector<Part>& share) {
  if (options.mode == LoadMode::kNfs3) return MakeNfs3Workload(options, share);
  if (options.mode == LoadMode::kNfs4) return MakeNfs4Workload(options, index, share);
  return MakePlainWorkload(options);
}

nfs_client::CallerOptions OfCaller(const LoadOptions& options, endpoint::EventLog* events,
                                   const std::atomic<bool>& stop) {
  return {options.to, options.requester, options.timeout, events, options.crc, &stop, options.cancel};
}

}  // namespace

LoadConnection::LoadConnection(const LoadOptions& options, uint32_t index, endpoint::Transport& transport,
                               endpoint::EventLog* events, const std::atomic<bool>& stop, LoadReport& report)
    : options_(options),
      index_(index),
      stop_(stop),
      report_(report),
      caller_(transport, OfCaller(options, events, stop), *this),
      source_(options.jobs, index, ShareOf(index, options.connections, options.files, options.file_size)),
      workload_(MakeWorkload(options, index, source_.share())),
      flights_(options.depth) {
  for (uint32_t i = options.depth; i-- > 0;) free_.push_back(i);
  if (options.calls > 0) budget_ = options.calls / options.connections + (index < options.calls % options.connections);
  if (options.verify)
    for (const Part& part : source_.share()) contents_.emplace_back(part.file, part.begin, part.length);
}

Result<void> LoadConnection::Begin() {
  if (auto connected = caller_.Connect(); !connected) return connected;
  reached_ = true;
  ++report_.connections;
  return workload_->Begin(caller_, false);
}

void LoadConnection::Start(Clock::time_point start, Clock::time_point end) {
  end_ = end;
  next_check_ = start + kTick;
  const double all = options_.rate > 0 ? options_.rate : options_.bandwidth;
  if (all > 0) schedule_.emplace(start, all / options_.connections, double(index_) / options_.connections);
}

int LoadConnection::descriptor() {
  return broken_ || !caller_.connected() ? -1 : caller_.requester().endpoint().descriptor();
}

size_t LoadConnection::Pump(std::chrono::microseconds wait) {
  if (done_) return 0;
  auto now = Clock::now();
  next_ = now + kTick;
  if (broken_) {
    if (stop_.load(std::memory_order_relaxed)) {
      GiveUp();
    } else if (now >= retry_at_) {
      Reconnect(now);
    } else {
      next_ = std::min(next_, retry_at_);
    }
    return 0;
  }
  size_t happened = SendDue(now);
  if (done_) return happened;
  if (finishing_ && busy_ == 0 && !pending_ && again_.empty()) {
    done_ = true;
    return happened;
  }
  const auto until = std::chrono::floor<std::chrono::microseconds>(next_ - now);
  const size_t answered = caller_.requester().Poll(std::clamp(until, std::chrono::microseconds{0}, wait));
  happened += answered;
  if (answered > 0) attempts_ = 0;
  now = Clock::now();
  if (useless_ || (answered == 0 && !caller_.connected())) {
    Broken(useless_ ? "the session was lost" : caller_.trouble(), now);
  } else if (now >= next_check_) {
    CheckTimes(now);
  }
  return happened;
}

// ------------------------------------------------------------------------------------------------------------ sending

// Whether there is a Job to be sent, now or later.
bool LoadConnection::HaveNext(Clock::time_point now) {
  finishing_ |= Finishing(now) || (budget_ == 0 && !pending_ && again_.empty());
  if (!pending_ && !again_.empty()) {
    pending_ = again_.front();
    again_.pop_front();
    waits_ = false;
  }
  // What was lost with a connection goes before a new Job, which may have to wait for its range.
  if (pending_ && pending_->sends == 0 && !again_.empty()) std::swap(*pending_, again_.front());
  if (finishing_ && !(pending_ && pending_->sends > 0)) CountUnsent(now);
  if (pending_) return true;
  if (finishing_) return false;
  waits_ = false;
  return TakeNext();
}

// A new Job is pending, if there is one.
bool LoadConnection::TakeNext() {
  if (budget_ == 0) return false;
  --budget_;
  pending_ = source_.Next();
  if (schedule_) pending_->intended = schedule_->Next(options_.rate > 0 ? 1 : pending_->size);
  return true;
}

// No new Job is sent any more. Open loop: counts those that were due before the end, once.
void LoadConnection::CountUnsent(Clock::time_point now) {
  const auto end = std::min(now, end_);
  if (schedule_ && !unsent_counted_) {
    for (; (pending_ || TakeNext()) && pending_->intended < end; pending_.reset()) ++report_.unsent;
  }
  unsent_counted_ = true;
  pending_.reset();
}

bool LoadConnection::MaySend(Clock::time_point now) {
  const Job& job = *pending_;
  if (job.sends == 0 && schedule_ && job.intended > now) {
    next_ = std::min(next_, job.intended);
    return false;
  }
  const bool write = job.operation == Operation::kWrite;
  if (job.sends == 0 && Ranged(job) && !in_flight_.Apart(job.part, job.offset, job.size, write)) {
    report_.range_waits += !waits_;
    waits_ = true;
    return false;
  }
  if (!workload_->Ready()) return false;
  rpcrdma::Requester& requester = caller_.requester();
  const uint64_t stalls = requester.stats().credit_stalls;
  const bool can = requester.CanSend();
  const bool stalled = requester.stats().credit_stalls != stalls;
  if (stalled && !stalled_) {
    ++report_.credit_stalls;
    stalled_since_ = now;
  } else if (!stalled && stalled_) {
    report_.credit_stalled += now - stalled_since_;
  }
  stalled_ = stalled;
  return can;
}

size_t LoadConnection::SendDue(Clock::time_point now) {
  size_t sent = 0;
  while (busy_ < options_.depth && HaveNext(now) && MaySend(now) && SendPending()) ++sent;
  return sent;
}

bool LoadConnection::SendPending() {
  Job& job = *pending_;
  const auto now = Clock::now();
  if (job.sends == 0 && !schedule_) job.intended = now;
  rpcrdma::CallSpec call;
  call.position_zero = job.position_zero;
  call.cookie = free_.back();
  workload_->Encode(job, call);
  if (const auto sent = caller_.requester().Send(call); !sent) {
    workload_->Drop(job);
    if (caller_.requester().ending()) return false;  // Poll sees to that
    // The options ask for what the server's threshold does not allow: no other Job would do better.
    report_.Trouble(std::string(OperationName(job.operation)) + " cannot be sent: " + sent.error().message);
    GiveUp();
    return false;
  }
  if (job.sends++ == 0) {
    if (Ranged(job)) in_flight_.Add(job.part, job.offset, job.size, job.operation == Operation::kWrite);
  } else {
    ++report_.resent;
  }
  flights_[free_.back()] = {job, now, true};
  free_.pop_back();
  ++busy_;
  pending_.reset();
  return true;
}

// ------------------------------------------------------------------------------------------------------------ answers

void LoadConnection::OnAnswer(const rpcrdma::Answer& answer) {
  const auto index = static_cast<uint32_t>(answer.cookie);
  const Job job = flights_[index].job;
  flights_[index].busy = false;
  free_.push_back(index);
  --busy_;
  if (answer.kind == rpcrdma::AnswerKind::kLost) {
    workload_->Drop(job);
    again_.push_back(job);
    return;
  }
  ++answers_;
  OperationReport& operation = report_.of(job.operation);
  ++operation.calls;
  operation.latency.Record(Clock::now() - job.intended);
  Judge(job, answer);
}

void LoadConnection::Judge(const Job& job, const rpcrdma::Answer& answer) {
  std::string failure;
  Bytes results;
  if (answer.kind == rpcrdma::AnswerKind::kReply) {
    nfs_client::RpcResults taken = nfs_client::TakeResults(answer.message);
    results = taken.bytes;
    failure = std::move(taken.failure);
  } else {
    failure = nfs_client::AnswerText(answer);
  }
  if (failure.empty()) return Take(job, workload_->Judge(job, results, answer.chunks));
  workload_->Drop(job);
  Failed(job, failure, answer.kind == rpcrdma::AnswerKind::kBad);
}

void LoadConnection::Take(const Job& job, const Verdict& verdict) {
  useless_ |= verdict.over;
  if (!verdict.failure.empty()) return Failed(job, verdict.failure, verdict.wrong);
  if (options_.verify)
    if (const std::string wrong = Verify(job, verdict); !wrong.empty()) return Failed(job, wrong, true);
  uint64_t moved = 0;
  if (job.operation == Operation::kRead) moved = verdict.data.size();
  if (job.operation == Operation::kWrite) moved = verdict.written;
  if (moved < job.size && job.operation != Operation::kEcho) ++report_.short_transfers;
  if (job.operation == Operation::kEcho) moved = uint64_t{2} * job.size;
  OperationReport& operation = report_.of(job.operation);
  ++operation.ok;
  operation.bytes += moved;
  bytes_ += moved;
  if (Ranged(job)) {
    Release(job);
    if (job.operation == Operation::kWrite) contents_[job.part].Wrote(job.offset, verdict.written, job.generation);
  }
}

// What is wrong with the data; empty: nothing.
std::string LoadConnection::Verify(const Job& job, const Verdict& verdict) {
  if (job.operation == Operation::kEcho) {
    if (FindMismatch(verdict.data, 0, 0, job.generation)) return "another echo than what was sent";
    report_.verified_bytes += verdict.data.size();
  } else if (job.operation == Operation::kRead) {
    const Contents::Checked checked = contents_[job.part].Check(job.offset, verdict.data);
    report_.verified_bytes += checked.good;
    report_.unknown_bytes += checked.unknown;
    if (checked.wrong) return "wrong data";
    if (verdict.data.size() < job.size && verdict.eof) return "the end of the file, too early";
  } else if (job.operation == Operation::kWrite) {
    if (write_verifier_ && write_verifier_ != verdict.verifier) {
      report_.Trouble("the server's write verifier changed: what was not stable may be gone, and is not verified");
      for (Contents& contents : contents_) contents.ForgetAll();
    }
    write_verifier_ = verdict.verifier;
  }
  return {};
}

void LoadConnection::Failed(const Job& job, const std::string& what, bool wrong) {
  ++failures_;
  report_.wrong += wrong;
  std::string sample = OperationName(job.operation);
  if (!source_.share().empty()) sample += " of " + FileName(options_, source_.share()[job.part].file);
  if (job.size > 0) sample += fmt::format(" at {}, {} bytes", job.offset, job.size);
  report_.of(job.operation).Fail(what, std::move(sample));
  if (!Ranged(job)) return;
  Release(job);
  if (job.operation == Operation::kWrite) contents_[job.part].Forget(job.offset, job.size);
}

void LoadConnection::Release(const Job& job) {
  in_flight_.Remove(job.part, job.offset, job.size, job.operation == Operation::kWrite);
}

// ------------------------------------------------------------------------------------------------------------ trouble

void LoadConnection::CheckTimes(Clock::time_point now) {
  next_check_ = now + kTick;
  if (stop_.load(std::memory_order_relaxed)) {
    if (stopped_at_ == Clock::time_point{}) stopped_at_ = now;
    if (now - stopped_at_ >= kDrain) GiveUp();
    return;
  }
  const bool late = std::ranges::any_of(
      flights_, [&](const Flight& flight) { return flight.busy && now - flight.sent >= options_.timeout; });
  if (late) Broken(fmt::format("no answer within {} s", std::chrono::duration<double>(options_.timeout).count()), now);
}

void LoadConnection::NoteRequester() {
  const rpcrdma::RequesterStats& stats = caller_.requester().stats();
  report_.max_outstanding = std::max(report_.max_outstanding, stats.max_outstanding);
  report_.backward_calls += stats.backward_calls;
  if (stats.discarded > 0)
    report_.Trouble("messages of the server were discarded: their headers cannot be read, or they answer no call");
  if (report_.grant == 0 || stats.grant < report_.grant) report_.grant = stats.grant;
}

// The connection has ended, or is given up. What was outstanding is to be sent again.
void LoadConnection::Broken(std::string why, Clock::time_point now) {
  ++report_.connections_lost;
  report_.Trouble(why.empty() ? "the server ended the connection" : std::move(why));
  NoteRequester();
  caller_.Drop();
  broken_ = true;
  useless_ = false;
  for (uint32_t i = 0; i < flights_.size(); ++i) {
    if (!flights_[i].busy) continue;
    flights_[i].busy = false;
    free_.push_back(i);
    workload_->Drop(flights_[i].job);
    again_.push_back(flights_[i].job);
  }
  busy_ = 0;
  if (pending_ && pending_->sends > 0) {
    again_.push_front(*pending_);
    pending_.reset();
  }
  std::erase_if(again_, [this](const Job& job) {
    if (job.sends < kMostSends) return false;
    Failed(job, "lost with the connection, again and again", false);
    ++report_.of(job.operation).calls;
    ++report_.lost;
    return true;
  });
  if (attempts_ >= options_.reconnects) return GiveUp();
  retry_at_ = now + pause_;
}

void LoadConnection::Reconnect(Clock::time_point now) {
  ++attempts_;
  auto connected = caller_.Connect();
  if (connected) connected = workload_->Begin(caller_, true);
  if (connected) {
    broken_ = false;
    pause_ = milliseconds{0};
    ++report_.reconnects;
    return;
  }
  if (caller_.connected()) caller_.Drop();
  report_.Trouble(connected.error().message);
  if (attempts_ >= options_.reconnects) return GiveUp();
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  retry_at_ = now + pause_;
}

// Nothing more on this connection: every Job that was sent and not answered is lost.
void LoadConnection::GiveUp() {
  done_ = true;
  ++report_.abandoned;
  if (caller_.connected()) NoteRequester();
  caller_.Drop();
  if (pending_ && pending_->sends > 0) again_.push_back(*pending_);
  pending_.reset();
  for (Flight& flight : flights_) {
    if (flight.busy) again_.push_back(flight.job);
    flight.busy = false;
  }
  busy_ = 0;
  for (const Job& job : again_) {
    if (job.sends == 0) continue;
    Failed(job, "lost with the connection", false);
    ++report_.of(job.operation).calls;
    ++report_.lost;
  }
  again_.clear();
}

void LoadConnection::End() {
  if (stalled_) report_.credit_stalled += Clock::now() - stalled_since_;
  if (!reached_) return;
  const bool connected = caller_.connected();
  if (connected) NoteRequester();
  if (options_.mode == LoadMode::kNfs3 || options_.mode == LoadMode::kNfs4) {
    Result<void> cleaned;
    if (!connected) {
      if (stop_.load()) cleaned = Fail("interrupted");
      if (cleaned) cleaned = caller_.Connect();
      if (cleaned) cleaned = workload_->Begin(caller_, true);
    }
    if (cleaned) cleaned = workload_->End(caller_);
    if (!cleaned)
      report_.Trouble(fmt::format("{}; files called stag-generate.{}.* may be left in {}", cleaned.error().message,
                                  options_.jobs.seed, options_.path));
  }
  caller_.Disconnect();
}

}  // namespace stag::generate
