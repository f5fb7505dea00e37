// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/judging_shares.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/shares.h"
#include "conformance/engine/check.h"

namespace stag::cli {
namespace {

// Passes findings on; of those that are found once for a host, when several shares found one, what one engine would
// have found: the first, and of several of the same frame the one whose story begins first.
class OncePerHost final : public conformance::FindingSink {
 public:
  explicit OncePerHost(conformance::FindingSink& next) : next_(next) {}
  void OnFinding(const conformance::Finding& finding) override {
    if (waiting_ && finding.once_for == waiting_->once_for && finding.rule == waiting_->rule &&
        finding.frame.number == waiting_->frame.number) {
      if (finding.related_frames < waiting_->related_frames) waiting_ = finding;
      return Drop(finding);
    }
    Finish();
    if (!finding.once_for) return next_.OnFinding(finding);
    const Told told{finding.rule, *finding.once_for};
    if (std::ranges::find(told_, told) != told_.end()) return Drop(finding);
    if (told_.size() < kMostTold) told_.push_back(told);
    waiting_ = finding;
  }
  void Finish() {
    if (waiting_) next_.OnFinding(*waiting_);
    waiting_.reset();
  }
  // To one engine they would have been no findings. One for each rule that has any.
  const std::vector<conformance::RuleTally>& dropped() const { return dropped_; }

 private:
  void Drop(const conformance::Finding& finding) {
    conformance::RuleTally one{finding.rule, {}};
    ++one[conformance::Outcome::kFail];
    conformance::AddTallies(dropped_, {one});
  }

  static constexpr size_t kMostTold = 4096;
  struct Told {
    const conformance::RuleInfo* rule = nullptr;
    Address host;
    friend bool operator==(const Told&, const Told&) = default;
  };
  conformance::FindingSink& next_;
  std::vector<Told> told_;
  std::vector<conformance::RuleTally> dropped_;
  std::optional<conformance::Finding> waiting_;
};

// Judges one share of a capture.
class CheckingShare final : public ShareOf<conformance::Finding>,
                            public conformance::FindingSink,
                            public session::Observer {
 public:
  // `sink` takes the findings in the reading thread.
  CheckingShare(const conformance::EngineOptions& options, conformance::FindingSink& sink)
      : engine_(options, *this), sink_(sink) {}
  std::vector<session::Observer*> Observers() override { return {&engine_, this}; }
  void OnAside(const fabric::Aside& aside) override { asides_ += Shares::IsForAll(aside) ? 1 : 0; }
  void OnFinding(const conformance::Finding& finding) override { Add() = finding; }
  const conformance::Engine& engine() const { return engine_; }
  uint64_t asides() const { return asides_; }  // that every share saw

 private:
  void Give(conformance::Finding& finding) override { sink_.OnFinding(finding); }

  conformance::Engine engine_;
  conformance::FindingSink& sink_;
  uint64_t asides_ = 0;
};

// What one engine would have counted: it sees what all shares see once, and finds nothing that was dropped.
std::vector<conformance::RuleTally> Tallies(const std::vector<std::unique_ptr<CheckingShare>>& shares,
                                            const OncePerHost& once) {
  using conformance::Outcome;
  std::vector<conformance::RuleTally> sum;
  for (const auto& share : shares) conformance::AddTallies(sum, share->engine().Tallies());
  const uint64_t repeated = (shares.size() - 1) * shares.front()->asides();
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

Outcome JudgeInShares(const std::string& file, const CommonOptions& options, const conformance::EngineOptions& engine,
                      conformance::FindingSink& sink, Output& output, std::vector<conformance::RuleTally>& tallies) {
  OncePerHost once(sink);
  std::vector<std::unique_ptr<CheckingShare>> shares;
  std::vector<Share*> all;
  while (shares.size() < options.jobs) {
    shares.push_back(std::make_unique<CheckingShare>(engine, once));
    all.push_back(shares.back().get());
  }
  Outcome outcome = Analyze(file, options, false, output, std::move(all));
  once.Finish();
  tallies = Tallies(shares, once);
  return outcome;
}

}  // namespace stag::cli
