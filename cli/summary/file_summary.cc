// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/file_summary.h"

#include <algorithm>
#include <map>

#include "cli/analysis/checked_capture.h"
#include "cli/analysis/reporting.h"
#include "cli/analysis/transaction_facts.h"
#include "cli/latency/latency_sampler.h"
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

// What the shards find, by connection and by rule; in the reading thread.
class FileSummary::Gatherer final : public session::CreditSink, public conformance::FindingSink {
 public:
  // `next` gets the findings, too; null: nobody.
  explicit Gatherer(conformance::FindingSink* next) : next_(next) {}

  void OnFinding(const Finding& finding) override {
    ++findings[static_cast<size_t>(finding.severity)];
    BrokenRule& one = broken[{finding.rule->id, finding.client_to_server}];
    one.rule = finding.rule;
    one.by_client = finding.client_to_server;
    one.severity = std::max(one.severity, finding.severity);
    if (one.count++ == 0) {
      one.first_frame = finding.frame.number;
      one.message = MessageText(finding);
    }
    if (next_) next_->OnFinding(finding);
  }
  void OnChange(const session::CreditChange&) override {}
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    if (SummarizedConnection* const one = Find(c.info.id); one && requester == c.client) one->credits = summary;
  }
  void TakeLimits(fabric::ConnectionId id, const session::ConnectionLimits& limits) {
    if (SummarizedConnection* const one = Find(id)) one->limits = limits;
  }
  void TakeUnanswered(fabric::ConnectionId id, uint64_t call_frame, const std::string& subject) {
    SummarizedConnection* const one = Find(id);
    if (!one || one->unanswered++ > 0) return;
    one->first_unanswered = call_frame;
    one->first_subject = subject;
  }
  void TakeConnection(const Connection& c) {
    if (SummarizedConnection* const one = Find(c.info.id)) {
      one->connection = c;
    } else {
      ++left_out;
    }
  }

  std::map<fabric::ConnectionId, SummarizedConnection> connections;
  uint64_t left_out = 0;
  std::map<std::pair<std::string_view, bool>, BrokenRule> broken;
  std::array<uint64_t, 3> findings{};

 private:
  SummarizedConnection* Find(fabric::ConnectionId id) {
    const auto found = connections.find(id);
    if (found != connections.end()) return &found->second;
    return connections.size() < kMostConnections ? &connections[id] : nullptr;
  }

  conformance::FindingSink* const next_;
};

struct FileSummary::Times {
  explicit Times(size_t slowest) : table(slowest) {}

  LatencyTable table;
  LatencyCourse course;
  uint64_t untimed = 0, phases_missing = 0;
};

// Observes some of the connections, or all.
class FileSummary::Shard final : public EngineShard, private session::CreditSink, private session::LimitsSink {
 public:
  Shard(CheckedFile& file, FileSummary& summary, bool pictures)
      : EngineShard(file), summary_(summary), pictures_(pictures) {}
  const LatencySampler& sampler() const { return all_times_; }

 private:
  // The round-trip times and nothing else, for a screen of text: that is much cheaper.
  class RoundTrips final : public session::Observer {
   public:
    explicit RoundTrips(Shard& shard) : shard_(shard) {}
    void OnTransaction(const Connection& c, const Transaction& t) override {
      if (c.proof != session::Proof::kRpcRdma || t.reply.frame.number == 0 || IsCut(t)) return;
      const std::optional<int64_t> round_trip = session::RoundTrip(t);
      if (!round_trip) return;
      key_.clear();
      PutSubject(key_, t);
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
  class AllTimes final : public LatencySampler {
   public:
    explicit AllTimes(Shard& shard) : LatencySampler(LatencyKey::kProcedure, std::nullopt), shard_(shard) {}

   private:
    void OnSample(const LatencySample& sample) override {
      const auto take = [times = shard_.summary_.times_.get()](const LatencySample& one) {
        times->table.Add(one);
        times->course.Add(one.reply_ns, static_cast<uint64_t>(one.rtt_ns));
      };
      shard_.Tell(take, sample);
    }
    Shard& shard_;
  };
  class Ends final : public session::Observer {
   public:
    explicit Ends(Shard& shard) : shard_(shard) {}
    void OnTransaction(const Connection& c, const Transaction& t) override {
      if (t.outcome != session::Outcome::kUnanswered && t.outcome != session::Outcome::kReissued) return;
      subject_.clear();
      PutSubject(subject_, t);
      const auto take = [to = shard_.summary_.gatherer_.get()](fabric::ConnectionId id, uint64_t frame,
                                                               const std::string& subject) {
        to->TakeUnanswered(id, frame, subject);
      };
      shard_.Tell(take, c.info.id, t.call.frame.number, subject_);
    }
    void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
      if (c.proof != session::Proof::kRpcRdma) return;
      const auto take = [to = shard_.summary_.gatherer_.get()](const Connection& one) { to->TakeConnection(one); };
      shard_.Tell(take, c);
    }

   private:
    Shard& shard_;
    std::string subject_;
  };

  std::vector<session::Observer*> Further() override {
    session::Observer& times = pictures_ ? static_cast<session::Observer&>(all_times_) : round_trips_;
    return {&credits_, &limits_, &times, &ends_};
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
  void OnLimits(const Connection& c, const session::ConnectionLimits& limits) override {
    const auto take = [to = summary_.gatherer_.get()](fabric::ConnectionId id, const session::ConnectionLimits& one) {
      to->TakeLimits(id, one);
    };
    Tell(take, c.info.id, limits);
  }

  FileSummary& summary_;
  const bool pictures_;
  session::CreditHistory credits_{*this};
  session::LimitsObserver limits_{*this};
  RoundTrips round_trips_{*this};
  AllTimes all_times_{*this};
  Ends ends_{*this};
};

FileSummary::FileSummary(const std::string& file, const CommonOptions& options, const SummaryOptions& wanted,
                         Output& output)
    : name_(DisplayName(file)),
      gatherer_(std::make_unique<Gatherer>(wanted.reporter)),
      times_(std::make_unique<Times>(wanted.slowest)),
      credit_plotter_(std::make_unique<CreditPlotter>(*gatherer_)) {
  transport::TransportStatistics statistics(options.memory / 4, wanted.pictures ? &transport_plotter_ : nullptr);
  if (wanted.reporter) wanted.reporter->BeginFile(name_);
  CheckedFile checked(wanted.engine, options.memory, wanted.reporter, *gatherer_, options.jobs);
  std::vector<std::unique_ptr<Shard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<Shard>(checked, *this, wanted.pictures));
  outcome_ = Analyze(file, options, false, output, shards, &statistics);
  for (const auto& shard : shards) {
    times_->untimed += shard->sampler().untimed();
    times_->phases_missing += shard->sampler().phases_missing();
  }
  const std::vector<conformance::RuleTally> tallies = checked.Finish(shards);
  if (wanted.reporter) wanted.reporter->EndFile(Summarize(outcome_, tallies), outcome_.trouble);

  for (const BrokenRule* one : broken()) wrong_.push_back(WhatBroke(*one));
  int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
  // One by one, so that no connection takes memory twice.
  for (auto at = gatherer_->connections.begin(); at != gatherer_->connections.end();
       at = gatherer_->connections.erase(at)) {
    SummarizedConnection& one = at->second;
    if (one.connection.proof != session::Proof::kRpcRdma) continue;
    one.health = statistics.Find(at->first);
    start_ns = std::min(start_ns, one.connection.first_frame.time_ns);
    end_ns = std::max(end_ns, one.connection.last_frame.time_ns);
    std::ranges::move(WhatIsWrongWith(one), std::back_inserter(wrong_));
    connections_.push_back(std::move(one));
  }
  if (!connections_.empty()) span_ns_ = Elapsed({1, start_ns}, {1, end_ns}).value_or(0);
  std::ranges::stable_sort(wrong_, {}, &Wrong::rank);
}

FileSummary::~FileSummary() = default;

uint64_t FileSummary::connections_left_out() const { return gatherer_->left_out; }
const LatencyTable& FileSummary::latency() const { return times_->table; }
const LatencyCourse& FileSummary::course() const { return times_->course; }
uint64_t FileSummary::untimed() const { return times_->untimed; }
uint64_t FileSummary::phases_missing() const { return times_->phases_missing; }
uint64_t FileSummary::findings(Severity severity) const { return gatherer_->findings[static_cast<size_t>(severity)]; }

std::vector<const BrokenRule*> FileSummary::broken() const {
  std::vector<const BrokenRule*> all;
  for (const auto& [key, one] : gatherer_->broken) all.push_back(&one);
  std::ranges::stable_sort(all, [](const BrokenRule* a, const BrokenRule* b) {
    return a->severity != b->severity ? a->severity > b->severity : a->count > b->count;
  });
  return all;
}

}  // namespace stag::cli
