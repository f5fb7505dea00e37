// SPDX-License-Identifier: GPL-2.0-or-later
//
// CheckSchedule: which checks are asked about which event, and how often they came out how. Events with equal facts are
// a class: the first event of a class is asked everything; of later ones only the checks that have a suspicion are
// asked, and the others have the result that they had.
#pragma once

#include <array>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "conformance/engine/check.h"
#include "conformance/engine/engine.h"
#include "conformance/engine/facts.h"

namespace stag::conformance {

// The contexts that events come in, from the general to the special; their places in this list are the kinds of events.
// A MessageContext alone is a message of unknown role, or RDMA_DONE.
using EventContexts = std::tuple<SetupContext, ClosedContext, NakContext, OutOfBandContext, WriteContext,
                                 ReadRequestContext, ReadResponseContext, MessageContext, CallContext, ErrorContext,
                                 AnyReplyContext, ReplyContext, CallCompleteContext, AnomalyContext>;
inline constexpr size_t kEventKinds = std::tuple_size_v<EventContexts>;

template <typename ContextType, size_t kIndex = 0>
constexpr size_t KindOf() {
  if constexpr (std::is_same_v<std::tuple_element_t<kIndex, EventContexts>, ContextType>) {
    return kIndex;
  } else {
    return KindOf<ContextType, kIndex + 1>();
  }
}

// Whether a check with that context is asked about events that come in `Given`.
template <typename Asked, typename Given>
inline constexpr bool kIsAsked = std::is_same_v<Asked, ArgumentsContext>
                                     ? std::is_same_v<Given, CallContext> || std::is_same_v<Given, CallCompleteContext>
                                     : std::is_base_of_v<Asked, Given>;

class CheckSchedule {
 public:
  struct ScheduledCheck {
    AnyCheck check;
    size_t rule = 0;             // index in the catalogue
    RuleTally* tally = nullptr;  // of the rule, to be counted up when the check was asked
    Facts suspicions = 0;
  };
  struct KnownResult {
    ScheduledCheck check;
    Outcome result = Outcome::kNotApplicable;
  };
  struct EventClass {
    bool learned = false;               // else all checks are to be asked, and Learn called
    std::vector<ScheduledCheck> asked;  // of each event
    std::vector<KnownResult> known;     // of every event
    uint64_t events = 0;
  };

  // Of the rules that `options` select, under each profile those that are in force.
  explicit CheckSchedule(const EngineOptions& options);
  CheckSchedule(const CheckSchedule&) = delete;
  CheckSchedule& operator=(const CheckSchedule&) = delete;

  // The class of an event of a kind (KindOf), with the event counted. `profile`: not kAuto. Valid until the schedule
  // goes.
  EventClass& ClassOf(Profile profile, size_t kind, Facts facts) {
    ClassesOfKind& of = classes_[IndexOf(profile)][kind];
    Recent& recent = of.recent[(facts * 0x9e3779b97f4a7c15u) >> (64 - kRecentBits)];
    if (recent.facts != facts) recent = {facts, &Find(of, profile, kind, facts)};
    ++recent.event_class->events;
    return *recent.event_class;
  }
  // All checks that are asked about events of a kind, in the order of the table of checks.
  std::span<const ScheduledCheck> All(Profile profile, size_t kind) const {
    return classes_[IndexOf(profile)][kind].all;
  }

  RuleTally& tally(const RuleInfo& rule);
  // Engine::Tallies.
  std::vector<RuleTally> Tallies() const;

 private:
  static constexpr size_t kProfiles = 3, kMaxClasses = 512, kRecentBits = 6;
  static size_t IndexOf(Profile profile) { return static_cast<size_t>(profile) - 1; }

  struct Recent {
    Facts facts = 0;  // never 0 in a class
    EventClass* event_class = nullptr;
  };
  struct ClassesOfKind {
    bool filled = false;
    std::vector<ScheduledCheck> all, others;  // others: of events of the same family; not applicable to these
    std::unordered_map<Facts, EventClass> classes;
    std::array<Recent, size_t{1} << kRecentBits> recent{};
  };
  struct RuleEntry {
    bool checked = false;  // one of `selected_` is of it
    RuleTally tally;
  };
  struct Selected {
    const CheckEntry* entry = nullptr;
    size_t rule = 0;                 // index in the catalogue
    uint32_t asked = 0, family = 0;  // kinds of events, as bits: the check is asked about them, or is of their family
  };
  static std::span<const Selected> AllChecks();

  EventClass& Find(ClassesOfKind& of, Profile profile, size_t kind, Facts facts);
  void Fill(ClassesOfKind& of, Profile profile, size_t kind);

  std::vector<RuleEntry> rules_;  // parallel to Catalogue()
  std::vector<Selected> selected_;
  std::array<std::array<ClassesOfKind, kEventKinds>, kProfiles> classes_;  // filled when needed first
};

}  // namespace stag::conformance
