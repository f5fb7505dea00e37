// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/catalogue/rule.h"

#include <algorithm>
#include <optional>

namespace stag::conformance {

namespace {

struct Document {
  std::string_view name, text;
  std::optional<Profile> profile;  // nullopt: all of them
};
// RFC 8797 updates RFC 8166; RFC 8167 and RFC 8267 build on it.
constexpr Document kDocuments[] = {
    {"RFC8166", "RFC 8166", Profile::kRfc8166},
    {"RFC8797", "RFC 8797", Profile::kRfc8166},
    {"RFC8167", "RFC 8167", Profile::kRfc8166},
    {"RFC8267", "RFC 8267", Profile::kRfc8166},
    {"rfc5666bis", "rfc5666bis", Profile::kRfc5666bis},
    {"RFC5666(draft-08)", "RFC 5666 (draft-08)", Profile::kRfc5666},
    // What carries RPC-over-RDMA is the same whatever its version.
    {"IBA", "InfiniBand Architecture volume 1", std::nullopt},
    {"RFC5040", "RFC 5040", std::nullopt},
    {"RFC5044", "RFC 5044", std::nullopt},
    {"RFC793", "RFC 793", std::nullopt},
};

const Document* Find(std::string_view name) {
  for (const Document& document : kDocuments)
    if (document.name == name) return &document;
  return nullptr;
}

}  // namespace

const RuleInfo* FindRule(std::string_view id) {
  for (const RuleInfo& rule : Catalogue())
    if (rule.id == id) return &rule;
  return nullptr;
}

std::span<const RuleInfo> FindGroup(std::string_view group) {
  const auto rules = Catalogue();
  const auto is_of_it = [&](const RuleInfo& rule) { return rule.group == group; };
  const auto first = std::ranges::find_if(rules, is_of_it);
  return {first, std::find_if_not(first, rules.end(), is_of_it)};
}

std::string_view ProfileName(Profile profile) {
  switch (profile) {
    case Profile::kAuto: return "auto";
    case Profile::kRfc8166: return "rfc8166";
    case Profile::kRfc5666bis: return "rfc5666bis";
    case Profile::kRfc5666: return "rfc5666";
  }
  return "";
}

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "";
}

std::string SourceText(const Source& source) {
  const Document* document = Find(source.document);
  std::string text(document ? document->text : source.document);
  if (!source.section.empty()) text.append(" ").append(source.section);
  return text;
}

bool InForce(const Source& source, Profile profile) {
  const Document* document = Find(source.document);
  return document && document->profile.value_or(profile) == profile;
}

std::vector<std::string> Specifications(const RuleInfo& rule, Profile profile) {
  std::vector<std::string> out;
  for (const Source& source : rule.sources)
    if (InForce(source, profile)) out.push_back(SourceText(source));
  if (out.empty())  // in force by an exception
    for (const Source& source : rule.sources) out.push_back(SourceText(source));
  return out;
}

}  // namespace stag::conformance
