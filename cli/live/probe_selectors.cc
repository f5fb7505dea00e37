// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/probe_selectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "cli/base/suggestion.h"
#include "replay/probe/client/probe.h"

namespace stag::cli {
namespace {

using probe::Probe;

std::vector<const Probe*> All() {
  std::vector<const Probe*> all;
  for (const Probe& probe : probe::Catalogue()) all.push_back(&probe);
  for (const Probe& probe : probe::client::ClientCatalogue()) all.push_back(&probe);
  return all;
}

// "4.10.1" behind "4.9".
struct ByNumber {
  static std::vector<unsigned> Numbers(std::string_view section) {
    std::vector<unsigned> numbers;
    while (!section.empty()) {
      unsigned number = 0;
      const char* const end = std::from_chars(section.data(), section.data() + section.size(), number).ptr;
      numbers.push_back(number);
      section.remove_prefix(std::min(static_cast<size_t>(end - section.data()) + 1, section.size()));
    }
    return numbers;
  }
  bool operator()(const std::string& a, const std::string& b) const { return Numbers(a) < Numbers(b); }
};
using Sections = std::map<std::string, std::set<std::string, ByNumber>>;  // by document: "RFC 8166"

Sections TestedSections() {
  Sections sections;
  for (const Probe* probe : All())
    for (const std::string_view part : probe::Parts(probe->sections)) {
      const size_t space = part.rfind(' ');
      sections[std::string(part.substr(0, space))].emplace(part.substr(space + 1));
    }
  return sections;
}

std::string Hint(const std::string& selector) {
  const std::string word = ClosestWord(selector, ProbeSelectors());
  return word.empty() ? "stag probe --list shows them" : fmt::format("did you mean {}?", word);
}

}  // namespace

std::vector<std::string> ProbeIds() {
  std::vector<std::string> ids;
  for (const Probe* probe : All()) ids.emplace_back(probe->id);
  return ids;
}

std::vector<std::string> ProbeSelectors() {
  std::vector<std::string> selectors;
  const auto add = [&](std::string selector) {
    if (std::ranges::find(selectors, selector) == selectors.end()) selectors.push_back(std::move(selector));
  };
  for (const Probe* probe : All()) add(std::string(probe->id.substr(0, probe->id.find('.'))));
  for (const auto& [document, sections] : TestedSections()) {
    const std::string name = "rfc" + document.substr(document.find(' ') + 1);
    add(name);
    for (const std::string& section : sections)
      for (size_t end = 0; end != std::string::npos;) {
        end = section.find('.', end + 1);
        add(fmt::format("{}-{}", name, section.substr(0, end)));
      }
  }
  for (std::string& id : ProbeIds()) add(std::move(id));
  return selectors;
}

std::string WhyNoSelector(const std::string& selector) {
  if (std::ranges::any_of(All(), [&](const Probe* probe) { return probe::Selects(selector, *probe); })) return {};
  const auto wanted = probe::ParseSection(selector);
  if (!wanted)
    return fmt::format("{} names no probe and no topic, and is no section as in rfc8166-4.4; {}", selector,
                       Hint(selector));
  const Sections tested = TestedSections();
  const auto document = tested.find(wanted->document);
  if (document == tested.end()) {
    std::vector<std::string> documents;
    for (const auto& [name, sections] : tested) documents.push_back(name);
    return fmt::format("no probe tests {}; there are some of {}", wanted->document, fmt::join(documents, ", "));
  }
  return fmt::format("no probe tests section {} of {}; there are some of {}", wanted->section, wanted->document,
                     fmt::join(document->second, ", "));
}

}  // namespace stag::cli
