// SPDX-License-Identifier: GPL-2.0-or-later
//
// RuleInfo: what the catalogue says of a rule, as generate.py makes it from rules.yaml and advice.yaml.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stag::conformance {

// The document that is applied: RFC 8166 with RFC 8797, 8167 and 8267; the draft of May 2016 between the two RFCs; or
// RFC 5666 (draft-08). kAuto: per connection, RFC 8166 unless both peers prove that they speak RFC 5666.
enum class Profile : uint8_t { kAuto, kRfc8166, kRfc5666bis, kRfc5666 };
std::string_view ProfileName(Profile profile);  // "auto", "rfc8166", "rfc5666bis", "rfc5666"

enum class Severity : uint8_t { kNote, kWarning, kError };
std::string_view SeverityName(Severity severity);  // "note", "warning", "error"

struct Source {
  std::string_view document, section;  // "RFC8166", "4.3.1"; the section may be empty
};
// "RFC 8166 4.3.1", "RFC 5666 (draft-08) 3.4", "rfc5666bis 5.3".
std::string SourceText(const Source& source);
// Whether `profile` (not kAuto) applies that document.
bool InForce(const Source& source, Profile profile);

// Whether a rule is in force under a profile where its texts decide otherwise than its sources.
struct ProfileException {
  Profile profile = Profile::kRfc8166;
  bool in_force = false;
};

// Under Profile::kAuto, what a finding of a use of the older protocol waits for: it may prove that both peers speak it.
enum class HeldUntil : uint8_t {
  kNothing,
  kAnswer,  // the answer to the Call that breaks the rule
  kDone,    // RDMA_DONE for the Reply that does
};

// A rule of the catalogue (conformance/catalogue/rules.yaml and advice.yaml). All text is static; what may be missing
// is empty then.
struct RuleInfo {
  std::string_view id;     // "RDLIST-003"; never changes meaning
  std::string_view group;  // "RDLIST"
  std::string_view title, requirement;
  std::string_view level;  // MUST, SHOULD, structural, MAY-context
  Severity severity = Severity::kNote;
  std::string_view matters;         // what goes wrong when it is broken
  std::string_view remedy;          // what to do then; may be missing
  std::string_view example, bytes;  // in a line, and as words or messages in lines to be kept; may be missing
  std::string_view degree;          // observable: full, partial, none
  std::string_view why;             // of the degree; may be missing
  std::string_view needs;           // what a check has to see, separated by "; "
  std::string_view check;           // what is looked at
  std::string_view exceptions;      // what is not flagged
  std::string_view differs;         // between the documents; may be missing
  std::string_view data;            // how data become wrong by it; missing: they do not by it alone
  std::string_view known;           // between which implementations it does no harm; may be missing
  std::span<const Source> sources;
  std::span<const std::string_view> traps;  // captures that need care: a sentence each
  std::span<const ProfileException> profile_exceptions;
  HeldUntil held_until = HeldUntil::kNothing;
};

// Every rule, in the order of the catalogue; one by id (nullptr when unknown); those of a group (none when unknown).
std::span<const RuleInfo> Catalogue();
const RuleInfo* FindRule(std::string_view id);
std::span<const RuleInfo> FindGroup(std::string_view group);

// The sentences that a finding of `rule` under `profile` rests on, as SourceText.
std::vector<std::string> Specifications(const RuleInfo& rule, Profile profile);

// Rules that one event can break together: the first that it breaks is reported, the others are named in see_also.
std::span<const std::span<const std::string_view>> EventGroups();

}  // namespace stag::conformance
