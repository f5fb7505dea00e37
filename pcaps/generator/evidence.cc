// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/evidence.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/catalogue/rule.h"
#include "pcaps/generator/require.h"

namespace stag::evidence {

namespace {

namespace fs = std::filesystem;
using conformance::RuleInfo;

struct Played {
  const Case* source = nullptr;
  std::string file;
  std::vector<Expected> expected;
};

const RuleInfo& InfoOf(std::string_view id) {
  const auto rules = conformance::Catalogue();
  const auto rule = std::ranges::find(rules, id, &RuleInfo::id);
  Require(rule != rules.end(), "a case names a rule that is not in the catalogue");
  return *rule;
}

std::string FileName(const Case& c) {
  std::string name(c.kind == Kind::kBreaks ? "breaks" : "near-miss");
  if (!c.name.empty()) name.append("-").append(c.name);
  return name + ".pcap";
}

Buffer BytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string ExpectedJson(std::string_view rule, const std::vector<Played>& captures) {
  nlohmann::ordered_json json{{"rule", rule}, {"captures", nlohmann::ordered_json::array()}};
  for (const Played& capture : captures) {
    auto findings = nlohmann::ordered_json::array();
    for (const Expected& e : capture.expected) {
      findings.push_back({{"rule", e.rule},
                          {"frame", e.frame},
                          {"proven_frame", e.proven},
                          {"certainty", e.presumed ? "presumed" : "proven"},
                          {"severity", conformance::SeverityName(e.severity)}});
      if (!e.see_also.empty()) findings.back()["see_also"] = e.see_also;
    }
    json["captures"].push_back({{"file", capture.file},
                                {"what", capture.source->shows},
                                {"profile", conformance::ProfileName(capture.source->profile)},
                                {"findings", std::move(findings)}});
  }
  return json.dump(1) + "\n";
}

std::string FindingsText(const Played& capture) {
  if (capture.expected.empty()) return "Nothing is found.";
  std::string text = "Found: ";
  for (const Expected& e : capture.expected) {
    if (&e != &capture.expected.front()) text += "; ";
    text.append(e.rule).append(" in frame ").append(std::to_string(e.frame));
    if (e.presumed) {
      text.append(", presumed");
    } else if (e.proven != e.frame)
      text.append(", proven by frame ").append(std::to_string(e.proven));
    text.append(" (").append(conformance::SeverityName(e.severity));
    for (const std::string& rule : e.see_also) text.append(", also ").append(rule);
    text.append(")");
  }
  return text + ".";
}

std::string Readme(const RuleInfo& rule, const std::vector<Played>& captures) {
  std::string text;
  text.append("# ")
      .append(rule.id)
      .append(": ")
      .append(rule.title)
      .append("\n\n")
      .append(rule.requirement)
      .append(" (");
  for (const conformance::Source& source : rule.sources) {
    if (&source != rule.sources.data()) text += "; ";
    text += SourceText(source);
  }
  text += ")\n\n";
  for (const Played& capture : captures) {
    text.append("- `").append(capture.file).append("`: ").append(capture.source->shows).append(" ");
    text.append(FindingsText(capture)).append("\n");
  }
  const Played& first = captures.front();
  text.append("\nLook: `stag check ");
  if (first.source->profile != Profile::kAuto)
    text.append("--profile ").append(ProfileName(first.source->profile)).append(" ");
  text.append("pcaps/rules/").append(rule.id).append("/").append(first.file);
  text.append("`; `stag explain ").append(rule.id).append("` says more of the rule.\n");
  return text;
}

constexpr std::string_view kFolderReadme = R"(# Evidence

For each rule that `stag check` applies: small captures that break it (`breaks*.pcap`) and near misses that do not
(`near-miss*.pcap`). `expected.json` lists all that is found in them, by the specification; the README.md beside it says what
each capture shows. `pcaps/generator` makes all of it (`./dev evidence`): change it there. The captures are ours to give.

Addresses, times and handles are invented. 192.0.2.1 is the client, 192.0.2.2 the server.
)";

}  // namespace

std::map<std::string, Buffer> AllFiles() {
  std::map<std::string, Buffer> files;
  std::map<std::string_view, std::vector<Played>> rules;
  for (const std::span<const Case> group : AllCases())
    for (const Case& c : group) {
      Capture capture;
      const auto script = MakeScript(c.fabric, capture);
      c.play(*script);
      script->Settle();
      const std::string file = FileName(c);
      const bool fresh = files.emplace(std::string(c.rule) + "/" + file, capture.File()).second;
      Require(fresh, "two cases have one name");
      rules[c.rule].push_back({&c, file, capture.expected()});
    }
  for (const auto& [id, captures] : rules) {
    const std::string folder = std::string(id) + "/";
    files[folder + "expected.json"] = BytesOf(ExpectedJson(id, captures));
    files[folder + "README.md"] = BytesOf(Readme(InfoOf(id), captures));
  }
  files["README.md"] = BytesOf(kFolderReadme);
  return files;
}

Result<void> WriteAll(const std::string& directory) {
  const auto files = AllFiles();
  std::error_code error;
  fs::create_directories(directory, error);
  std::vector<fs::path> stale;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error))
    if (entry.is_regular_file() && !files.contains(fs::relative(entry.path(), directory).generic_string()))
      stale.push_back(entry.path());
  for (const fs::path& path : stale) {
    fs::remove(path, error);
    if (fs::is_empty(path.parent_path(), error)) fs::remove(path.parent_path(), error);
  }
  for (const auto& [name, bytes] : files) {
    const fs::path path = fs::path(directory) / name;
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) return Fail("cannot write " + path.string());
  }
  return {};
}

}  // namespace stag::evidence
