// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/checked_capture.h"

#include <algorithm>

#include "cli/analysis/sharded_analysis.h"
#include "conformance/engine/check.h"

namespace stag::cli {

using conformance::Finding;
using conformance::Outcome;
using conformance::RuleTally;

void OncePerHost::OnFinding(const Finding& finding) {
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

void OncePerHost::Finish() {
  if (waiting_) next_.OnFinding(*waiting_);
  waiting_.reset();
}

void OncePerHost::Drop(const Finding& finding) {
  RuleTally one{finding.rule, {}};
  ++one[Outcome::kFail];
  conformance::AddTallies(dropped_, {one});
}

CheckedFile::CheckedFile(const conformance::EngineOptions& engine, const CommonOptions& options,
                         conformance::Reporter* reporter, conformance::FindingSink& sink)
    : options_(options),
      engine_(engine),
      reporter_(reporter),
      once_(sink),
      sink_(options.jobs > 1 ? static_cast<conformance::FindingSink&>(once_) : sink),
      several_(options.jobs > 1),
      history_(conformance::ConnectionHistoryOptions::Of(options.memory / 16)) {
  engine_.memory_limit = options.memory / 16 / options.jobs;
  if (several_ && reporter_ && reporter_->wants().ladders)
    reporter_->SetLadderSource([this](const Finding& finding) { return history_.LadderOf(finding); });
}

// What one engine counts: it sees once what all shards see, and finds nothing that was not passed on. `repeated`:
// asides that further shards saw, too.
std::vector<RuleTally> CheckedFile::OfOne(std::vector<RuleTally> sum, uint64_t repeated) const {
  for (RuleTally& tally : sum) {
    for (const RuleTally& dropped : once_.dropped()) {
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

static conformance::EngineOptions StartingAt(const int64_t& start_ns, conformance::EngineOptions options) {
  options.start_ns = &start_ns;
  return options;
}

EngineShard::EngineShard(CheckedFile& file)
    : file_(file),
      filter_(file.options_.filter, clock().first_time_ns, *this),
      engine_(StartingAt(clock().first_time_ns, file.engine_),
              filtered() ? filter_ : static_cast<conformance::FindingSink&>(*this)) {}

std::vector<session::Observer*> EngineShard::Observers() {
  std::vector<session::Observer*> observers;
  conformance::Reporter* const reporter = file_.reporter_;
  if (reporter && !file_.several_) observers = reporter->Observers();
  if (reporter && file_.several_) {
    if (reporter->wants().ladders) observers.push_back(&steps_);
    if (reporter->wants().connections) observers.push_back(&closings_);
  }
  if (filtered()) observers.push_back(&filter_.openings());
  observers.insert(observers.end(), {&engine_, &asides_});
  if (filtered()) observers.push_back(&filter_);
  const std::vector<session::Observer*> further = Further();
  observers.insert(observers.end(), further.begin(), further.end());
  return observers;
}

void EngineShard::OnFinding(const Finding& finding) {
  Tell([this](const Finding& found) { file_.sink_.OnFinding(found); }, finding);
}

void EngineShard::Steps::OnStep(conformance::HistoryStep&& step) {
  const auto take = [file = &shard_.file_](conformance::HistoryStep taken) { file->history_.OnStep(std::move(taken)); };
  shard_.Tell(take, step);
}

void EngineShard::Closings::OnConnectionClosed(const session::Connection& connection, const fabric::Event&) {
  const auto take = [file = &shard_.file_](const session::Connection& c) { file->reporter_->OnConnection(c); };
  shard_.Tell(take, connection);
}

void EngineShard::Asides::OnAside(const fabric::Aside& aside) { for_all += ShardedAnalysis::IsForAll(aside) ? 1 : 0; }

}  // namespace stag::cli
