// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/file_summary.h"

#include <algorithm>
#include <map>

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

// What the observers find, by connection and by rule.
class FileSummary::Gatherer final : public session::Observer,
                                    public session::CreditSink,
                                    public session::LimitsSink,
                                    public conformance::FindingSink {
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
  void OnChange(const Connection&, const session::CreditChange&) override {}
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    if (SummarizedConnection* const one = Find(c.info.id); one && requester == c.client) one->credits = summary;
  }
  void OnLimits(const Connection& c, const session::ConnectionLimits& limits) override {
    if (SummarizedConnection* const one = Find(c.info.id)) one->limits = limits;
  }
  void OnTransaction(const Connection& c, const Transaction& t) override {
    if (t.outcome != session::Outcome::kUnanswered && t.outcome != session::Outcome::kReissued) return;
    SummarizedConnection* const one = Find(c.info.id);
    if (!one || one->unanswered++ > 0) return;
    one->first_unanswered = t.call.frame.number;
    PutSubject(one->first_subject, t);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    if (c.proof != session::Proof::kRpcRdma) return;
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

namespace {

// The round-trip times and nothing else, for a screen of text: that is much cheaper.
class RoundTrips final : public session::Observer {
 public:
  explicit RoundTrips(LatencyTable& table) : table_(table) {}
  void OnTransaction(const Connection& c, const Transaction& t) override {
    if (c.proof != session::Proof::kRpcRdma || t.reply.frame.number == 0 || IsCut(t)) return;
    const std::optional<int64_t> round_trip = session::RoundTrip(t);
    if (!round_trip) return;
    sample_.rtt_ns = *round_trip;
    sample_.key.clear();
    PutSubject(sample_.key, t);
    table_.Add(sample_);
  }

 private:
  LatencyTable& table_;
  LatencySample sample_;
};

// All that is known of the times.
class AllTimes final : public LatencySampler {
 public:
  AllTimes(LatencyTable& table, LatencyCourse& course)
      : LatencySampler(LatencyKey::kProcedure, std::nullopt), table_(table), course_(course) {}

 private:
  void OnSample(const LatencySample& sample) override {
    table_.Add(sample);
    course_.Add(sample.reply_ns, static_cast<uint64_t>(sample.rtt_ns));
  }

  LatencyTable& table_;
  LatencyCourse& course_;
};

// Shows packets to two observers.
class BothSee final : public fabric::PacketObserver {
 public:
  BothSee(fabric::PacketObserver& a, fabric::PacketObserver& b) : observers_{&a, &b} {}
  void OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) override {
    for (auto* o : observers_) o->OnConnection(track, info, first_end);
  }
  void OnForgotten(Track track) override {
    for (auto* o : observers_) o->OnForgotten(track);
  }
  void OnFirstPsn(Track track, Side requester, uint32_t psn) override {
    for (auto* o : observers_) o->OnFirstPsn(track, requester, psn);
  }
  void OnPathMtu(Track track, uint32_t bytes) override {
    for (auto* o : observers_) o->OnPathMtu(track, bytes);
  }
  void OnPacket(Track track, const fabric::RcPacket& packet) override {
    for (auto* o : observers_) o->OnPacket(track, packet);
  }
  void OnCongestionNotification(Track track, Side from, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnCongestionNotification(track, from, frame);
  }
  void OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnSegment(track, from, packet, frame);
  }
  void OnCrcError(Track track, Side from, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnCrcError(track, from, frame);
  }
  void OnMpaFrame(Track track, Side from, const fabric::StreamPart& part) override {
    for (auto* o : observers_) o->OnMpaFrame(track, from, part);
  }
  void OnFpdu(Track track, Side from, const fabric::StreamPart& part, const iwarp::Fpdu& fpdu) override {
    for (auto* o : observers_) o->OnFpdu(track, from, part, fpdu);
  }

 private:
  std::array<fabric::PacketObserver*, 2> observers_;
};

}  // namespace

FileSummary::FileSummary(const std::string& file, const CommonOptions& options, const SummaryOptions& wanted,
                         Output& output)
    : name_(DisplayName(file)),
      gatherer_(std::make_unique<Gatherer>(wanted.reporter)),
      times_(std::make_unique<Times>(wanted.slowest)),
      credit_plotter_(std::make_unique<CreditPlotter>(*gatherer_)) {
  transport::TransportStatistics statistics(options.memory / 4, wanted.pictures ? &transport_plotter_ : nullptr);
  session::CreditHistory credits(wanted.pictures ? static_cast<session::CreditSink&>(*credit_plotter_) : *gatherer_);
  session::LimitsObserver limits(*gatherer_);
  BothSee packets(statistics, limits);
  conformance::Engine engine(wanted.engine, *gatherer_);
  std::vector<session::Observer*> observers;
  if (wanted.reporter) {
    wanted.reporter->BeginFile(name_);
    observers = wanted.reporter->Observers();
  }
  RoundTrips round_trips(times_->table);
  AllTimes all_times(times_->table, times_->course);
  session::Observer& times = wanted.pictures ? static_cast<session::Observer&>(all_times) : round_trips;
  observers.insert(observers.end(), {&engine, &credits, &limits, &times, gatherer_.get()});
  Clock clock;
  outcome_ = Analyze(file, options, false, clock, output, std::move(observers), &packets);
  times_->untimed = all_times.untimed();
  times_->phases_missing = all_times.phases_missing();
  if (wanted.reporter) wanted.reporter->EndFile(Summarize(outcome_, engine.Tallies()), outcome_.trouble);

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
