// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/file_summary.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/connection_filter.h"
#include "analysis/latency_sampler.h"
#include "analysis/transaction_facts.h"
#include "cli/analysis/checked_capture.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/reporting.h"
#include "conformance/engine/engine.h"
#include "session/limits/connection_limits.h"
#include "session/rpcrdma/credit_history.h"
#include "session/transport/transport_statistics.h"

namespace stag::cli {

using conformance::Finding;
using conformance::Severity;
using fabric::Side;
using session::Connection;
using session::CreditSummary;
using session::Transaction;

// What the shards find, by connection and by rule; in the reading thread. What is kept of connections is bounded: those
// with trouble stay rather than others, and of both the first.
class FileSummary::Gatherer final : public session::CreditSink, public conformance::FindingSink {
 public:
  // `next` gets the findings, too; null: nobody.
  Gatherer(conformance::FindingSink* next, uint64_t memory)
      : next_(next),
        details_(memory / 16),
        sentences_(memory / 64),
        unanswered_(memory / 64),
        late_(RowMemory(memory).late) {}
  void SetStatistics(transport::TransportStatistics& statistics) { statistics_ = &statistics; }

  void OnFinding(const Finding& finding) override {
    ++findings[static_cast<size_t>(finding.severity)];
    BrokenRule& one = broken[{finding.rule->id, finding.client_to_server, finding.known}];
    one.rule = finding.rule;
    one.by_client = finding.client_to_server;
    one.known = finding.known;
    const bool first = one.count() == 0 || finding.severity > one.severity;
    ++one.counts[static_cast<size_t>(finding.severity)];
    if (first) {
      one.severity = finding.severity;
      one.first_frame = finding.frame.number;
      one.connection = finding.connection;
      one.message = MessageText(finding);
    }
    if (next_) next_->OnFinding(finding);
  }
  // What comes of a connection when it closes, before TakeEnd.
  void OnChange(const session::CreditChange&) override {}
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    if (requester == c.client) credits_ = summary;
  }
  void TakeLimits(const session::ConnectionLimits& limits) { limits_ = limits; }
  void TakeStatusFlags(const std::vector<session::FlagSpan>& spans) { status_flags_ = spans; }
  void TakePromise(const session::PromiseStep& step) { promises_.Take(step); }
  // The first of each server: who is refused tries again, and each shard tells of the same.
  void TakeAside(const fabric::Aside& aside) {
    const bool refused = aside.kind == fabric::Aside::Kind::kRefused;
    const Endpoint& server = refused ? aside.from : aside.to;
    if (refused_.size() < kMostRefused && std::ranges::find(refused_, server, &Refused::server) == refused_.end())
      refused_.push_back({server, WhatWasRefused(aside)});
  }
  void TakeUnanswered(fabric::ConnectionId id, bool backward, session::Answer answer, uint64_t call_frame,
                      int64_t waited_ns, const std::string& subject) {
    auto known = waiting_.find(id);
    if (known == waiting_.end()) {
      Unanswered one(unanswered_);
      if (!one.charge.TrySet(sizeof(Unanswered) + kNode)) {
        ++untold_;
        return;
      }
      known = waiting_.emplace(id, std::move(one)).first;
    }
    SummarizedConnection::Unanswered& one = known->second.calls[backward][static_cast<size_t>(answer)];
    one.longest_ns = std::max(one.longest_ns, waited_ns);
    if (++one.count > 1) return;
    one.first_frame = call_frame;
    one.first_subject = subject;
    known->second.charge.Set(known->second.charge.bytes() + one.first_subject.capacity());
  }
  // It is RPC-over-RDMA.
  void TakeConnection(const Connection& c) {
    auto one = std::make_unique<SummarizedConnection>();
    one->connection = c;
    one->credits = std::exchange(credits_, std::nullopt);
    one->limits = std::exchange(limits_, std::nullopt);
    one->status_flags = std::exchange(status_flags_, {});
    if (const auto found = waiting_.find(c.info.id); found != waiting_.end())
      one->unanswered = std::move(found->second.calls);
    TakeEnd(c.info.id, std::move(one));
  }
  // Every connection ends; `one` is null where it is no RPC-over-RDMA, or not asked for.
  void TakeEnd(fabric::ConnectionId id, std::unique_ptr<SummarizedConnection> one) {
    credits_.reset();
    limits_.reset();
    status_flags_.clear();
    waiting_.erase(id);
    late_.Add({id, std::move(one)}, [this](Row& row) { Settle(row); });
  }
  // After the last frame.
  void Finish() {
    late_.Finish([this](Row& row) { Settle(row); });
  }

  // Gives up what is kept, in order of the numbers of connections.
  void Give(std::deque<SummarizedConnection>& connections, std::vector<Wrong>& wrong) {
    for (auto at = wrong_.begin(); at != wrong_.end(); at = wrong_.erase(at))
      wrong.push_back(std::move(at->second.wrong));
    for (auto at = kept_.begin(); at != kept_.end(); at = kept_.erase(at))
      connections.push_back(std::move(*at->second.one));
  }
  std::vector<session::Promises::Open> open_promises() const { return promises_.StillOpen(); }
  // The server said of some connection that callbacks do not work.
  bool callbacks_broken() const { return callbacks_broken_; }
  FrameRef last_frame() const { return last_frame_; }
  // TCP connections that came to nothing.
  void GiveRefused(std::vector<Wrong>& wrong) {
    for (Refused& one : refused_) wrong.push_back(std::move(one.wrong));
    refused_.clear();
  }
  uint64_t connections() const { return connections_; }
  uint64_t left_out() const { return connections_ - kept_.size(); }
  uint64_t uncounted() const { return uncounted_; }
  uint64_t untold() const { return untold_; }
  uint64_t wrong_left_out() const { return sentences_left_out_; }
  std::optional<int64_t> span_ns() const {
    if (connections_ == 0 || !timed_) return std::nullopt;
    return Elapsed({1, start_ns_}, {1, end_ns_}).value_or(0);
  }

  std::map<std::tuple<std::string_view, bool, bool>, BrokenRule> broken;  // by rule, side, and whether it is known
  std::array<uint64_t, 3> findings{};

 private:
  struct Row {
    fabric::ConnectionId id = 0;
    std::unique_ptr<SummarizedConnection> one;
  };
  struct Unanswered {
    explicit Unanswered(Budget& budget) : charge(budget) {}
    Charge charge;
    std::array<SummarizedConnection::ByAnswer, 2> calls;
  };
  struct Refused {
    Endpoint server;
    Wrong wrong;
  };
  static constexpr size_t kMostRefused = 16;
  struct Kept {
    Charge charge;
    std::unique_ptr<SummarizedConnection> one;
  };
  struct Sentence {
    Charge charge;
    Wrong wrong;
  };
  static constexpr uint64_t kNode = 128;  // of a table, and what the allocator takes

  void Settle(Row& row) {
    auto health = statistics_->Take(row.id);
    if (!row.one) return;
    SummarizedConnection& one = *row.one;
    one.health = std::move(health);
    ++connections_;
    uncounted_ += one.health ? 0 : 1;
    start_ns_ = std::min(start_ns_, one.connection.first_frame.time_ns);
    end_ns_ = std::max(end_ns_, one.connection.last_frame.time_ns);
    if (one.connection.last_frame.number > last_frame_.number) last_frame_ = one.connection.last_frame;
    constexpr uint32_t kOfCallbacks = 0x601;  // CB_PATH_DOWN, CB_PATH_DOWN_SESSION, BACKCHANNEL_FAULT
    for (const session::FlagSpan& span : one.status_flags) callbacks_broken_ |= (span.flag & kOfCallbacks) != 0;
    timed_ |= one.connection.first_frame.timed || one.connection.last_frame.timed;
    std::vector<Wrong> wrong = WhatIsWrongWith(one);
    (wrong.empty() ? fine_ : troubled_).insert(row.id);
    kept_.emplace(row.id, Kept{Charge(details_, CostOf(one)), std::move(row.one)});
    while (details_.over()) {
      std::set<fabric::ConnectionId>& last = fine_.empty() ? troubled_ : fine_;
      kept_.erase(*last.rbegin());
      last.erase(std::prev(last.end()));
    }
    for (size_t i = 0; i < wrong.size(); ++i) {
      const uint64_t cost = sizeof(Sentence) + kNode + wrong[i].text.capacity();
      wrong_.emplace(std::pair(row.id, i), Sentence{Charge(sentences_, cost), std::move(wrong[i])});
    }
    for (; sentences_.over(); ++sentences_left_out_) wrong_.erase(std::prev(wrong_.end()));
  }
  static uint64_t CostOf(const SummarizedConnection& one) {
    uint64_t cost = sizeof(one) + sizeof(Kept) + 3 * kNode;
    cost += one.status_flags.capacity() * sizeof(session::FlagSpan);
    for (const SummarizedConnection::ByAnswer& calls : one.unanswered)
      for (const SummarizedConnection::Unanswered& some : calls) cost += some.first_subject.capacity();
    for (const session::SetupData& setup : one.connection.setup) cost += setup.bytes.capacity();
    if (one.health) cost += sizeof(*one.health) + one.health->episodes.capacity() * sizeof(transport::Episode);
    return cost;
  }

  conformance::FindingSink* const next_;
  transport::TransportStatistics* statistics_ = nullptr;
  Budget details_, sentences_, unanswered_;
  std::optional<CreditSummary> credits_;                          // of the connection that is closing
  std::optional<session::ConnectionLimits> limits_;               // of the connection that is closing
  std::unordered_map<fabric::ConnectionId, Unanswered> waiting_;  // of connections that are open
  std::vector<session::FlagSpan> status_flags_;                   // of the connection that is closing
  session::Promises promises_;
  std::vector<Refused> refused_;
  FrameRef last_frame_;
  bool callbacks_broken_ = false;
  LateRows<Row> late_;
  std::map<fabric::ConnectionId, Kept> kept_;
  std::set<fabric::ConnectionId> fine_, troubled_;  // those that are kept
  std::map<std::pair<fabric::ConnectionId, size_t>, Sentence> wrong_;
  uint64_t connections_ = 0, uncounted_ = 0, untold_ = 0, sentences_left_out_ = 0;
  int64_t start_ns_ = INT64_MAX, end_ns_ = INT64_MIN;
  bool timed_ = false;
};

struct FileSummary::Times {
  Times(size_t slowest, uint64_t memory) : table(slowest, memory / 32), course(memory / 64) {}

  analysis::LatencyTable table;
  LatencyCourse course;
  uint64_t untimed = 0, phases_missing = 0;
};

// Observes some of the connections, or all.
class FileSummary::Shard final : public EngineShard,
                                 private session::CreditSink,
                                 private session::LimitsSink,
                                 private session::StatusFlagsSink,
                                 private session::PromiseSink {
 public:
  Shard(CheckedFile& file, FileSummary& summary, const analysis::Filter& filter, bool pictures)
      : EngineShard(file), filter_(filter, clock().first_time_ns), summary_(summary), pictures_(pictures) {}
  const analysis::LatencySampler& sampler() const { return all_times_; }
  const analysis::NfsErrors& nfs_errors() const { return errors_.all; }

 private:
  // The round-trip times and nothing else, for a screen of text: that is much cheaper.
  class RoundTrips final : public session::Observer {
   public:
    explicit RoundTrips(Shard& shard) : shard_(shard) {}
    bool WantsDeliveries() const override { return true; }
    bool WantsBytesLater() const override { return false; }
    void OnTransaction(const Connection& c, const Transaction& t) override {
      if (c.proof != session::Proof::kRpcRdma || t.reply.frame.number == 0 || session::IsCut(t)) return;
      if (!shard_.filter_.Takes(c, t)) return;
      const std::optional<int64_t> round_trip = session::RoundTrip(t);
      if (!round_trip) return;
      key_.clear();
      analysis::PutSubject(key_, t);
      const auto take = [times = shard_.summary_.times_.get()](const std::string& key, uint64_t ns) {
        times->table.AddRoundTrip(key, ns);
      };
      shard_.Tell(take, key_, static_cast<uint64_t>(*round_trip));
    }

   private:
    Shard& shard_;
    std::string key_;
  };
  // All that is known of the times.
  class AllTimes final : public analysis::LatencySampler {
   public:
    explicit AllTimes(Shard& shard)
        : analysis::LatencySampler(analysis::LatencyKey::kProcedure, std::nullopt, 0, shard.filter_.filter(),
                                   shard.clock().first_time_ns),
          shard_(shard) {}

   private:
    void OnSample(const analysis::LatencySample& sample) override {
      const auto take = [times = shard_.summary_.times_.get()](const analysis::LatencySample& one) {
        times->table.Add(one);
        times->course.Add(one.reply_ns, static_cast<uint64_t>(one.rtt_ns));
      };
      shard_.Tell(take, sample);
    }
    Shard& shard_;
  };
  // Of the RPCs that are asked for.
  class Errors final : public session::Observer {
   public:
    explicit Errors(Shard& shard) : shard_(shard) {}
    void OnTransaction(const Connection& c, const Transaction& t) override {
      if (shard_.filter_.Takes(c, t)) all.OnTransaction(c, t);
    }
    analysis::NfsErrors all;

   private:
    Shard& shard_;
  };
  class Ends final : public session::Observer {
   public:
    explicit Ends(Shard& shard) : shard_(shard) {}
    void OnTransaction(const Connection& c, const Transaction& t) override {
      if (t.answer == session::Answer::kCaptured || t.outcome == session::Outcome::kEvicted) return;
      subject_.clear();
      analysis::PutSubject(subject_, t);
      const auto take = [to = shard_.summary_.gatherer_.get()](fabric::ConnectionId id, bool backward,
                                                               session::Answer answer, uint64_t frame,
                                                               int64_t waited_ns, const std::string& subject) {
        to->TakeUnanswered(id, backward, answer, frame, waited_ns, subject);
      };
      shard_.Tell(take, c.info.id, t.backward, t.answer, t.call.frame.number, t.waited_ns.value_or(0), subject_);
    }
    void OnAside(const fabric::Aside& aside) override {
      using Kind = fabric::Aside::Kind;
      if (aside.kind != Kind::kRefused && aside.kind != Kind::kUnanswered) return;
      shard_.Tell([to = shard_.summary_.gatherer_.get()](const fabric::Aside& one) { to->TakeAside(one); }, aside);
    }
    // Behind those that tell of its credits and limits.
    void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
      Gatherer* const to = shard_.summary_.gatherer_.get();
      if (c.proof == session::Proof::kRpcRdma && shard_.filter_.Takes(c)) {
        shard_.Tell([to](const Connection& one) { to->TakeConnection(one); }, c);
      } else {
        shard_.Tell([to](fabric::ConnectionId id) { to->TakeEnd(id, nullptr); }, c.info.id);
      }
    }

   private:
    Shard& shard_;
    std::string subject_;
  };

  std::vector<session::Observer*> Further() override {
    session::Observer& times = pictures_ ? static_cast<session::Observer&>(all_times_) : round_trips_;
    return filter_.Behind({&credits_, &limits_, &times, &errors_, &status_flags_, &promises_, &ends_});
  }
  void OnChange(const session::CreditChange& change) override {
    if (!pictures_) return;
    Tell([to = summary_.credit_plotter_.get()](const session::CreditChange& one) { to->OnChange(one); }, change);
  }
  // The plotter passes it on to the gatherer.
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    const auto take = [to = summary_.credit_plotter_.get()](const Connection& of, Side by, const CreditSummary& one) {
      to->OnSummary(of, by, one);
    };
    if (pictures_) return Tell(take, c, requester, summary);
    const auto only = [to = summary_.gatherer_.get()](const Connection& of, Side by, const CreditSummary& one) {
      to->OnSummary(of, by, one);
    };
    Tell(only, c, requester, summary);
  }
  void OnLimits(const Connection&, const session::ConnectionLimits& limits) override {
    const auto take = [to = summary_.gatherer_.get()](const session::ConnectionLimits& one) { to->TakeLimits(one); };
    Tell(take, limits);
  }

  void OnStatusFlags(const Connection&, const std::vector<session::FlagSpan>& spans) override {
    const auto take = [to = summary_.gatherer_.get()](const std::vector<session::FlagSpan>& some) {
      to->TakeStatusFlags(some);
    };
    Tell(take, spans);
  }
  void OnPromise(const session::PromiseStep& step) override {
    Tell([to = summary_.gatherer_.get()](const session::PromiseStep& one) { to->TakePromise(one); }, step);
  }

  analysis::ConnectionFilter filter_;
  FileSummary& summary_;
  const bool pictures_;
  session::CreditHistory credits_{*this};
  session::LimitsObserver limits_{*this};
  RoundTrips round_trips_{*this};
  AllTimes all_times_{*this};
  Errors errors_{*this};
  session::StatusFlagsObserver status_flags_{*this};
  session::PromiseObserver promises_{*this};
  Ends ends_{*this};
};

// Findings on their way to `next`.
struct CountedFindings final : conformance::FindingSink {
  explicit CountedFindings(conformance::FindingSink& sink) : next(sink) {}
  void OnFinding(const Finding& finding) override {
    ++count;
    next.OnFinding(finding);
  }
  conformance::FindingSink& next;
  uint64_t count = 0;
};

FileSummary::FileSummary(const std::string& file, const CommonOptions& options, const SummaryOptions& wanted,
                         Output& output)
    : name_(DisplayName(file)),
      gatherer_(std::make_unique<Gatherer>(wanted.reporter, options.memory)),
      times_(std::make_unique<Times>(wanted.slowest, options.memory)),
      transport_plotter_(0, RowMemory(options.memory).pictures / 2),
      credit_plotter_(std::make_unique<CreditPlotter>(*gatherer_, RowMemory(options.memory).pictures / 2)) {
  const RowMemory memory(options.memory);
  transport::TransportStatistics statistics({.memory = memory.transport, .late = memory.late},
                                            wanted.pictures ? &transport_plotter_ : nullptr);
  gatherer_->SetStatistics(statistics);
  if (wanted.reporter) wanted.reporter->BeginFile(name_);
  CountedFindings all(wanted.accept ? wanted.accept->Before(*gatherer_) : *gatherer_);
  CheckedFile checked(wanted.engine, options, wanted.reporter, all);
  std::vector<std::unique_ptr<Shard>> shards;
  while (shards.size() < options.jobs)
    shards.push_back(std::make_unique<Shard>(checked, *this, options.filter, wanted.pictures));
  outcome_ = Analyze(file, options, false, output, shards, &statistics);
  analysis::NfsErrors errors;
  for (const auto& shard : shards) {
    errors.Add(shard->nfs_errors());
    times_->untimed += shard->sampler().untimed();
    times_->phases_missing += shard->sampler().phases_missing();
  }
  const std::vector<conformance::RuleTally> tallies = checked.Finish(shards);
  if (wanted.reporter) wanted.reporter->EndFile(Summarize(outcome_, tallies), outcome_.trouble);
  accepted_ = all.count - std::accumulate(gatherer_->findings.begin(), gatherer_->findings.end(), uint64_t{0});

  for (const BrokenRule* one : broken()) wrong_.push_back(WhatBroke(*one));
  gatherer_->Finish();
  connection_count_ = gatherer_->connections();
  wrong_left_out_ = gatherer_->wrong_left_out();
  span_ns_ = gatherer_->span_ns();
  if (!options.quiet && outcome_.opened && !output.closed()) ReportWhatIsMissing(output.diagnostics());
  if (const std::string disorder = DisorderText(outcome_.disorder); !disorder.empty())
    wrong_.push_back({.kind = "disorder", .blames = analysis::Blame::kCapture, .text = disorder + '.'});
  if (const fabric::DecoderStats& stats = outcome_.decoder; stats.unclear_copies > 0)
    wrong_.push_back(WhatIsUnclear(stats.unclear_copies, stats.first_unclear_copy));
  nfs_errors_ = errors.Kinds();
  gatherer_->Give(connections_, wrong_);
  if (options.filter.empty()) FindWhatIsOfNoConnection();
  for (const analysis::NfsErrors::Kind& kind : nfs_errors_)
    if (std::optional<Wrong> one = WhatFailed(kind)) wrong_.push_back(std::move(*one));
  PutInOrder(wrong_);
}

FileSummary::~FileSummary() = default;

void FileSummary::FindWhatIsOfNoConnection() {
  // What the capture lacks may have returned, ended, or answered it.
  const session::Judged& judged = outcome_.session.judged;
  const bool whole = outcome_.decoder.gaps + outcome_.decoder.truncated_frames == 0 &&
                     DisorderText(outcome_.disorder).empty() &&
                     judged.missing + judged.one_direction + judged.sampled + judged.dropped == 0;
  if (whole && !outcome_.slice)
    for (const session::Promises::Open& open : gatherer_->open_promises())
      wrong_.push_back(WhatIsOpen(open, gatherer_->last_frame(), gatherer_->callbacks_broken()));
  if (connection_count_ == 0) gatherer_->GiveRefused(wrong_);
}

void FileSummary::ReportWhatIsMissing(Diagnostics& diagnostics) const {
  diagnostics.OverMemory(name_, gatherer_->left_out(), "connection", " in the totals only");
  diagnostics.OverMemory(name_, gatherer_->uncounted(), "connection", " without counted packets");
  diagnostics.OverMemory(name_, gatherer_->untold(), "unanswered RPC", " left out");
  diagnostics.OverMemory(name_, wrong_left_out_, "sentence", " about connections left out");
  diagnostics.OverMemory(name_, latency().left_out(), "RPC", " left out of latencies");
}

const analysis::LatencyTable& FileSummary::latency() const { return times_->table; }
const LatencyCourse& FileSummary::course() const { return times_->course; }
uint64_t FileSummary::untimed() const { return times_->untimed; }
uint64_t FileSummary::phases_missing() const { return times_->phases_missing; }
uint64_t FileSummary::findings(Severity severity) const { return gatherer_->findings[static_cast<size_t>(severity)]; }

std::vector<const BrokenRule*> FileSummary::broken() const {
  std::vector<const BrokenRule*> all;
  for (const auto& [key, one] : gatherer_->broken) all.push_back(&one);
  std::ranges::stable_sort(all, [](const BrokenRule* a, const BrokenRule* b) {
    return a->severity != b->severity ? a->severity > b->severity : a->count() > b->count();
  });
  return all;
}

}  // namespace stag::cli
