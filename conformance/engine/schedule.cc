// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/schedule.h"

#include <algorithm>
#include <iterator>

#include "conformance/engine/selection.h"
#include "protocol/base/check.h"

namespace stag::conformance {

namespace {

// What is true of a check and events of a kind, as bits by kind.
struct Kinds {
  uint32_t asked = 0;   // the check is asked about them
  uint32_t family = 0;  // they are of the family of those: to them the rule does not apply
};

template <typename Asked>
constexpr bool kIsOfMessages = std::is_base_of_v<MessageContext, Asked> || std::is_same_v<Asked, ArgumentsContext>;

template <typename Asked, typename Given>
constexpr bool IsOfFamily() {
  if (kIsAsked<Asked, Given>) return true;
  if (std::is_base_of_v<MessageContext, Given>) return kIsOfMessages<Asked>;
  return std::is_base_of_v<RdmaContext, Given> && std::is_base_of_v<RdmaContext, Asked>;
}

template <typename Asked, size_t... kIndex>
constexpr Kinds KindsOf(std::index_sequence<kIndex...>) {
  Kinds kinds;
  ((kinds.asked |= uint32_t{kIsAsked<Asked, std::tuple_element_t<kIndex, EventContexts>>} << kIndex), ...);
  ((kinds.family |= uint32_t{IsOfFamily<Asked, std::tuple_element_t<kIndex, EventContexts>>()} << kIndex), ...);
  return kinds;
}

Kinds KindsOf(const AnyCheck& check) {
  return std::visit(
      []<typename Asked>(Check<Asked>*) { return KindsOf<Asked>(std::make_index_sequence<kEventKinds>{}); }, check);
}

}  // namespace

// All checks, each with its rule and the kinds of events: the same for every schedule.
std::span<const CheckSchedule::Selected> CheckSchedule::AllChecks() {
  static const std::vector<Selected> all = [] {
    std::vector<Selected> checks;
    for (const CheckEntry& entry : Checks()) {
      const RuleInfo* rule = FindRule(entry.id);
      STAG_CHECK(rule != nullptr);
      const auto [asked, family] = KindsOf(entry.check);
      checks.push_back({&entry, static_cast<size_t>(rule - Catalogue().data()), asked, family});
    }
    return checks;
  }();
  return all;
}

CheckSchedule::CheckSchedule(const EngineOptions& options) : rules_(Catalogue().size()) {
  const std::span<const RuleInfo> catalogue = Catalogue();
  for (size_t i = 0; i < catalogue.size(); ++i) rules_[i].tally.rule = &catalogue[i];
  for (const Selected& check : AllChecks()) {
    if (!IsSelected(catalogue[check.rule], options.select, options.ignore)) continue;
    selected_.push_back(check);
    rules_[check.rule].checked = true;
  }
}

void CheckSchedule::Fill(ClassesOfKind& of, Profile profile, size_t kind) {
  of.filled = true;
  for (const Selected& check : selected_) {
    RuleTally& tally = rules_[check.rule].tally;
    if ((check.family >> kind & 1) == 0 || !IsInForce(*tally.rule, profile)) continue;
    const bool asked = (check.asked >> kind & 1) != 0;
    (asked ? of.all : of.others).push_back({check.entry->check, check.rule, &tally, check.entry->suspicions});
  }
}

CheckSchedule::EventClass& CheckSchedule::Find(ClassesOfKind& of, Profile profile, size_t kind, Facts facts) {
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
  std::vector<RuleEntry> rules = rules_;
  for (const auto& of_profile : classes_)
    for (const ClassesOfKind& of : of_profile)
      for (const auto& [facts, event_class] : of.classes) {
        for (const ScheduledCheck& other : of.others)
          rules[other.rule].tally[Outcome::kNotApplicable] += event_class.events;
        for (const KnownResult& known : event_class.known)
          rules[known.check.rule].tally[known.result] += event_class.events;
      }
  std::vector<RuleTally> out;
  for (const RuleEntry& rule : rules)
    if (rule.checked) out.push_back(rule.tally);
  return out;
}

}  // namespace stag::conformance
