// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/questions.h"

#include "conformance/engine/selection.h"
#include "protocol/base/check.h"

namespace stag::conformance {

namespace {

bool IsOfMessages(Lane lane) { return lane >= Lane::kUnknown && lane <= Lane::kDone; }
bool IsOfMessages(Bucket bucket) { return bucket >= Bucket::kMessage && bucket <= Bucket::kAnswer; }

bool IsOfRdma(Lane lane) { return lane >= Lane::kWrite && lane <= Lane::kReadResponse; }
bool IsOfRdma(Bucket bucket) { return bucket >= Bucket::kRdma && bucket <= Bucket::kReadResponse; }

Traits TraitsOf(const rpcrdma::Header& h) {
  if (h.status != ParseStatus::kOk) return kAnyTraits;
  return static_cast<Traits>((h.reads.empty() ? 0 : kReads) | (h.write_chunks.empty() ? 0 : kWrites) |
                             (h.reply_chunk ? kReplyChunk : 0) | (h.proc == rpcrdma::kNomsg ? kNomsg : 0));
}

bool IsAskedIn(Bucket bucket, Lane lane) {
  switch (bucket) {
    case Bucket::kSetup: return lane == Lane::kSetup;
    case Bucket::kMessage: return IsOfMessages(lane);
    case Bucket::kCall: return lane == Lane::kCall;
    case Bucket::kReply: return lane == Lane::kReply;
    case Bucket::kError: return lane == Lane::kError;
    case Bucket::kAnswer: return lane == Lane::kReply || lane == Lane::kError;
    case Bucket::kCallComplete: return lane == Lane::kCallComplete;
    case Bucket::kRdma: return IsOfRdma(lane);
    case Bucket::kWrite: return lane == Lane::kWrite;
    case Bucket::kReadRequest: return lane == Lane::kReadRequest;
    case Bucket::kReadResponse: return lane == Lane::kReadResponse;
    case Bucket::kNak: return lane == Lane::kNak;
    case Bucket::kClosed: return lane == Lane::kClosed;
    case Bucket::kAside: return lane == Lane::kAside;
  }
  return false;
}

// Whether events of the lane are among those that the bucket is made of, or of which it leaves some out.
bool IsOf(Bucket bucket, Lane lane) {
  if (IsOfMessages(bucket)) return IsOfMessages(lane);
  if (IsOfRdma(bucket)) return IsOfRdma(lane);
  return IsAskedIn(bucket, lane);
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

Lane LaneOf(fabric::EventKind operation) {
  if (operation == fabric::EventKind::kWrite) return Lane::kWrite;
  return operation == fabric::EventKind::kReadRequest ? Lane::kReadRequest : Lane::kReadResponse;
}

Traits TraitsOf(const Message* message, const Transaction* transaction) {
  return static_cast<Traits>((message ? TraitsOf(message->header) : 0) |
                             (transaction ? TraitsOf(transaction->call.header) : 0));
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
    if (rules_[index].selected) selected_.push_back({&entry, index});
  }
}

void Questions::Fill(Asked& asked, Profile profile, Lane lane, Traits traits) {
  for (const auto& [entry, rule] : selected_) {
    RuleTally& tally = rules_[rule].tally;
    if (!IsInForce(*tally.rule, profile) || !IsOf(entry->bucket, lane)) continue;
    const bool ask = IsAskedIn(entry->bucket, lane) && (entry->needs == 0 || (entry->needs & traits) != 0);
    (ask ? asked.checks : asked.others).push_back({entry->check, rule, &tally});
  }
}

RuleTally& Questions::tally(const RuleInfo& rule) {
  return rules_[static_cast<size_t>(&rule - Catalogue().data())].tally;
}

std::vector<RuleTally> Questions::Tallies() const {
  std::vector<RuleState> rules = rules_;
  for (const auto& of_profile : asked_)
    for (const auto& of_lane : of_profile)
      for (const Asked& asked : of_lane)
        for (const Check& other : asked.others) rules[other.rule].tally[Outcome::kNotApplicable] += asked.events;
  std::vector<RuleTally> out;
  for (const RuleState& rule : rules)
    if (rule.selected && rule.tally.rule->implemented) out.push_back(rule.tally);
  return out;
}

}  // namespace stag::conformance
