// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/schedule.h"

#include "conformance/engine/selection.h"
#include "protocol/base/check.h"

namespace stag::conformance {

namespace {

bool IsOfMessages(EventKind kind) { return kind >= EventKind::kUnknown && kind <= EventKind::kDone; }
bool IsOfMessages(Bucket bucket) { return bucket >= Bucket::kMessage && bucket <= Bucket::kAnswer; }

bool IsOfRdma(EventKind kind) { return kind >= EventKind::kWrite && kind <= EventKind::kReadResponse; }
bool IsOfRdma(Bucket bucket) { return bucket >= Bucket::kRdma && bucket <= Bucket::kReadResponse; }

bool IsAskedOf(Bucket bucket, EventKind kind) {
  switch (bucket) {
    case Bucket::kSetup: return kind == EventKind::kSetup;
    case Bucket::kMessage: return IsOfMessages(kind);
    case Bucket::kCall: return kind == EventKind::kCall;
    case Bucket::kReply: return kind == EventKind::kReply;
    case Bucket::kError: return kind == EventKind::kError;
    case Bucket::kAnswer: return kind == EventKind::kReply || kind == EventKind::kError;
    case Bucket::kCallComplete: return kind == EventKind::kCallComplete;
    case Bucket::kRdma: return IsOfRdma(kind);
    case Bucket::kWrite: return kind == EventKind::kWrite;
    case Bucket::kReadRequest: return kind == EventKind::kReadRequest;
    case Bucket::kReadResponse: return kind == EventKind::kReadResponse;
    case Bucket::kNak: return kind == EventKind::kNak;
    case Bucket::kClosed: return kind == EventKind::kClosed;
    case Bucket::kAside: return kind == EventKind::kAside;
  }
  return false;
}

// Whether events of the kind are of the family that the bucket is a part of.
bool IsOfFamily(Bucket bucket, EventKind kind) {
  if (IsOfMessages(bucket)) return IsOfMessages(kind);
  if (IsOfRdma(bucket)) return IsOfRdma(kind);
  return IsAskedOf(bucket, kind);
}

}  // namespace

EventKind KindOf(Role role) {
  switch (role) {
    case Role::kUnknown: return EventKind::kUnknown;
    case Role::kCall: return EventKind::kCall;
    case Role::kReply: return EventKind::kReply;
    case Role::kError: return EventKind::kError;
    case Role::kDone: return EventKind::kDone;
  }
  return EventKind::kUnknown;
}

EventKind KindOf(fabric::EventKind operation) {
  if (operation == fabric::EventKind::kWrite) return EventKind::kWrite;
  return operation == fabric::EventKind::kReadRequest ? EventKind::kReadRequest : EventKind::kReadResponse;
}

CheckSchedule::CheckSchedule(const EngineOptions& options) : rules_(Catalogue().size()) {
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

void CheckSchedule::Fill(ClassesOfKind& of, Profile profile, EventKind kind) {
  of.filled = true;
  for (const auto& [entry, rule] : selected_) {
    RuleTally& tally = rules_[rule].tally;
    if (!IsInForce(*tally.rule, profile) || !IsOfFamily(entry->bucket, kind)) continue;
    (IsAskedOf(entry->bucket, kind) ? of.all : of.others).push_back({entry->check, rule, &tally, entry->suspicions});
  }
}

CheckSchedule::EventClass& CheckSchedule::Find(ClassesOfKind& of, Profile profile, EventKind kind, Facts facts) {
  if (!of.filled) Fill(of, profile, kind);
  if (of.classes.size() >= kMaxClasses && !of.classes.contains(facts)) facts = fact::kOdd;
  EventClass& event_class = of.classes[facts];
  if (!event_class.learned && facts == fact::kOdd) {
    event_class.learned = true;
    event_class.asked = of.all;
  }
  return event_class;
}

RuleTally& CheckSchedule::tally(const RuleInfo& rule) {
  return rules_[static_cast<size_t>(&rule - Catalogue().data())].tally;
}

std::vector<RuleTally> CheckSchedule::Tallies() const {
  std::vector<RuleState> rules = rules_;
  for (const auto& of_profile : classes_)
    for (const ClassesOfKind& of : of_profile) {
      for (const ScheduledCheck& other : of.others) rules[other.rule].tally[Outcome::kNotApplicable] += of.events;
      for (const auto& [facts, event_class] : of.classes)
        for (const KnownResult& known : event_class.known)
          rules[known.check.rule].tally[known.result] += event_class.events;
    }
  std::vector<RuleTally> out;
  for (const RuleState& rule : rules)
    if (rule.selected && rule.tally.rule->implemented) out.push_back(rule.tally);
  return out;
}

}  // namespace stag::conformance
