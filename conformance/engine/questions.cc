// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/questions.h"

#include "conformance/engine/selection.h"
#include "protocol/base/check.h"

namespace stag::conformance {

namespace {

bool IsOfMessages(Lane lane) { return lane >= Lane::kUnknown && lane <= Lane::kDone; }
bool IsOfMessages(Bucket bucket) { return bucket >= Bucket::kMessage && bucket <= Bucket::kAnswer; }

bool IsAskedIn(Bucket bucket, Lane lane) {
  switch (bucket) {
    case Bucket::kSetup: return lane == Lane::kSetup;
    case Bucket::kMessage: return IsOfMessages(lane);
    case Bucket::kCall: return lane == Lane::kCall;
    case Bucket::kReply: return lane == Lane::kReply;
    case Bucket::kError: return lane == Lane::kError;
    case Bucket::kAnswer: return lane == Lane::kReply || lane == Lane::kError;
    case Bucket::kCallComplete: return lane == Lane::kCallComplete;
    case Bucket::kRdma: return lane == Lane::kRdma;
    case Bucket::kNak: return lane == Lane::kNak;
    case Bucket::kClosed: return lane == Lane::kClosed;
    case Bucket::kAside: return lane == Lane::kAside;
  }
  return false;
}

}  // namespace

Lane LaneOf(Role role) {
  switch (role) {
    case Role::kUnknown: return Lane::kUnknown;
    case Role::kCall: return Lane::kCall;
    case Role::kReply: return Lane::kReply;
    case Role::kError: return Lane::kError;
    case Role::kDone: return Lane::kDone;
  }
  return Lane::kUnknown;
}

Questions::Questions(const EngineOptions& options) : rules_(Catalogue().size()) {
  const std::span<const RuleInfo> catalogue = Catalogue();
  for (size_t i = 0; i < catalogue.size(); ++i) {
    rules_[i].tally.rule = &catalogue[i];
    rules_[i].selected = IsSelected(catalogue[i], options.select, options.ignore);
  }
  for (const CheckEntry& entry : Checks()) {
    const RuleInfo* rule = FindRule(entry.id);
    STAG_CHECK(rule != nullptr);
    const auto index = static_cast<size_t>(rule - catalogue.data());
    if (!rules_[index].selected) continue;
    const Check check{entry.check, index, &rules_[index].tally};
    for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis, Profile::kRfc5666}) {
      if (!IsInForce(*rule, profile)) continue;
      for (size_t i = 0; i < kLanes; ++i) {
        const auto lane = static_cast<Lane>(i);
        Asked& asked = asked_[IndexOf(profile)][i];
        if (IsAskedIn(entry.bucket, lane)) {
          asked.checks.push_back(check);
        } else if (IsOfMessages(entry.bucket) && IsOfMessages(lane)) {
          asked.others.push_back(check);
        }
      }
    }
  }
}

RuleTally& Questions::tally(const RuleInfo& rule) {
  return rules_[static_cast<size_t>(&rule - Catalogue().data())].tally;
}

std::vector<RuleTally> Questions::Tallies() const {
  std::vector<RuleState> rules = rules_;
  for (const auto& of_profile : asked_)
    for (const Asked& asked : of_profile)
      for (const Check& other : asked.others) rules[other.rule].tally[Outcome::kNotApplicable] += asked.events;
  std::vector<RuleTally> out;
  for (const RuleState& rule : rules)
    if (rule.selected && rule.tally.rule->implemented) out.push_back(rule.tally);
  return out;
}

}  // namespace stag::conformance
