// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/checked_capture.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/analysis/sharded_analysis.h"
#include "conformance/engine/check.h"

namespace stag::cli {
namespace {

// A rule of a host (GSS-006) is broken by what several connections show together, and found once for a host. Shards
// with connections of the same host may find it several times. This passes on what one engine finds: the first, and of
// several in the same frame the one whose related frames are the earliest.
class OncePerHost final : public conformance::FindingSink {
 public:
  explicit OncePerHost(conformance::FindingSink& next) : next_(next) {}
  void OnFinding(const conformance::Finding& finding) override {
    if (waiting_ && finding.once_for == waiting_->once_for && finding.rule == waiting_->rule &&
        finding.proven.number == waiting_->proven.number) {
      if (finding.related_frames < waiting_->related_frames) waiting_ = finding;
      return Drop(finding);
    }
    Finish();
    if (!finding.once_for) return next_.OnFinding(finding);
    const Found found{finding.rule, *finding.once_for};
    if (std::ranges::find(found_, found) != found_.end()) return Drop(finding);
    if (found_.size() < kMostFound) found_.push_back(found);
    waiting_ = finding;
  }
  void Finish() {
    if (waiting_) next_.OnFinding(*waiting_);
    waiting_.reset();
  }
  // What was not passed on: one engine counts it as not applicable. One for each rule that has any.
  const std::vector<conformance::RuleTally>& dropped() const { return dropped_; }

 private:
  void Drop(const conformance::Finding& finding) {
    conformance::RuleTally one{finding.rule, {}};
    ++one[conformance::Outcome::kFail];
    conformance::AddTallies(dropped_, {one});
  }

  static constexpr size_t kMostFound = 4096;
  struct Found {
    const conformance::RuleInfo* rule = nullptr;
    Address host;
    friend bool operator==(const Found&, const Found&) = default;
  };
  conformance::FindingSink& next_;
  std::vector<Found> found_;
  std::vector<conformance::RuleTally> dropped_;
  std::optional<conformance::Finding> waiting_;
};

class CheckShard final : public ShardResults<conformance::Finding>,
                         public conformance::FindingSink,
                         public session::Observer {
 public:
  // `sink` takes the findings in the reading thread.
  CheckShard(const conformance::EngineOptions& options, std::vector<session::Observer*> observers,
             conformance::FindingSink& sink)
      : engine_(options, *this), observers_(std::move(observers)), sink_(sink) {
    observers_.insert(observers_.end(), {&engine_, this});
  }
  std::vector<session::Observer*> Observers() override { return observers_; }
  void OnAside(const fabric::Aside& aside) override { asides_ += ShardedAnalysis::IsForAll(aside) ? 1 : 0; }
  void OnFinding(const conformance::Finding& finding) override {
    Emit([&](conformance::Finding& result) { result = finding; });
  }
  const conformance::Engine& engine() const { return engine_; }
  uint64_t asides() const { return asides_; }  // that every shard saw

 private:
  void Deliver(conformance::Finding& finding) override { sink_.OnFinding(finding); }

  conformance::Engine engine_;
  std::vector<session::Observer*> observers_;
  conformance::FindingSink& sink_;
  uint64_t asides_ = 0;
};

// What one engine counts: it sees once what all shards see, and finds nothing that was not passed on.
std::vector<conformance::RuleTally> Tallies(const std::vector<std::unique_ptr<CheckShard>>& shards,
                                            const OncePerHost& once) {
  using conformance::Outcome;
  std::vector<conformance::RuleTally> sum;
  for (const auto& shard : shards) conformance::AddTallies(sum, shard->engine().Tallies());
  const uint64_t repeated = (shards.size() - 1) * shards.front()->asides();
  for (conformance::RuleTally& tally : sum) {
    for (const conformance::RuleTally& dropped : once.dropped()) {
      if (dropped.rule != tally.rule) continue;
      tally[Outcome::kFail] -= dropped[Outcome::kFail];
      tally[Outcome::kNotApplicable] += dropped[Outcome::kFail];
    }
    for (const conformance::CheckEntry& check : conformance::Checks())
      if (std::holds_alternative<conformance::Check<conformance::OutOfBandContext>*>(check.check) &&
          check.id == tally.rule->id)
        tally[Outcome::kNotApplicable] -= repeated;
  }
  return sum;
}

}  // namespace

FileOutcome CheckCapture(const std::string& file, const CommonOptions& options,
                         const conformance::EngineOptions& engine, std::vector<session::Observer*> observers,
                         conformance::FindingSink& sink, Output& output, std::vector<conformance::RuleTally>& tallies) {
  const size_t count = observers.empty() ? options.jobs : 1;
  OncePerHost once(sink);
  conformance::FindingSink& to = count > 1 ? static_cast<conformance::FindingSink&>(once) : sink;
  std::vector<std::unique_ptr<CheckShard>> shards;
  while (shards.size() < count) shards.push_back(std::make_unique<CheckShard>(engine, observers, to));
  FileOutcome outcome = Analyze(file, options, false, output, shards);
  once.Finish();
  tallies = Tallies(shards, once);
  return outcome;
}

}  // namespace stag::cli
