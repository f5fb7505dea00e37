// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "replay/probe/probe.h"

namespace stag::probe {

std::span<const Probe> Catalogue() {
  static const std::vector<Probe> all = [] {
    std::vector<Probe> probes;
    for (const auto topic : {SetupProbes(), RpcProbes(), HeaderProbes(), ChunkProbes(), CreditProbes(), MemoryProbes(),
                             XidProbes(), RegionProbes(), ConnectionProbes(), Nfs3Probes(), AgainProbes(),
                             SessionProbes(), Nfs4Probes(), CallbackProbes(), GssProbes()})
      probes.insert(probes.end(), topic.begin(), topic.end());
    return probes;
  }();
  return all;
}

const Probe* Find(std::string_view id) {
  for (const Probe& probe : Catalogue())
    if (probe.id == id) return &probe;
  return nullptr;
}

std::optional<SectionSelector> ParseSection(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.size() < 4 || (text.substr(0, 3) != "rfc" && text.substr(0, 3) != "RFC")) return {};
  text.remove_prefix(3);
  const size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  if (end == 0) return {};
  SectionSelector selector{"RFC " + std::string(text.substr(0, end)), {}};
  if (end == text.size()) return selector;
  selector.section = text.substr(end + 1);
  bool number = false;  // a number was before
  for (const char c : selector.section) {
    const bool digit = kDigits.find(c) != std::string_view::npos;
    if (!digit && (c != '.' || !number)) return {};
    number = digit;
  }
  if (!number || (text[end] != '-' && text[end] != ':')) return {};
  return selector;
}

bool Selects(std::string_view selector, const Probe& probe) {
  if (selector == probe.id || selector == probe.id.substr(0, probe.id.find('.'))) return true;
  const auto wanted = ParseSection(selector);
  if (!wanted) return false;
  const std::string exact = wanted->document + (wanted->section.empty() ? "" : " " + wanted->section);
  const std::string below = exact + (wanted->section.empty() ? " " : ".");
  return std::ranges::any_of(Parts(probe.sections),
                             [&](std::string_view section) { return section == exact || section.starts_with(below); });
}

std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(", ");
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 2);
  }
  return parts;
}

}  // namespace stag::probe
