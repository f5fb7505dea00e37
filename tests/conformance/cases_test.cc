// SPDX-License-Identifier: GPL-2.0-or-later
//
// Golden tests: the captures of pcaps/cases, each with what must be found in it and what must not. The format of the
// expectations is described in pcaps/cases/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/engine/engine.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/run_capture.h"

namespace stag::conformance {
namespace {

namespace fs = std::filesystem;

Profile ProfileOf(const std::string& name) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis, Profile::kRfc5666})
    if (ProfileName(profile) == name) return profile;
  return Profile::kAuto;
}

std::vector<Finding> Check(std::span<const test::OwnedFrame> frames, Profile profile) {
  test::Findings findings;
  Engine engine({.profile = profile, .select = {}, .ignore = {}}, findings);
  test::Run(frames, {}, {}, {&engine});
  return findings.all;
}
std::vector<Finding> Check(const std::string& path, Profile profile) { return Check(test::LoadFrames(path), profile); }

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(STAG_SOURCE_DIR "/pcaps/cases"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

using Strings = std::vector<std::string>;
bool Has(const Strings& list, std::string_view value) { return std::ranges::find(list, value) != list.end(); }

class Case : public testing::TestWithParam<std::string> {};

TEST_P(Case, FindsWhatItMust) {
  const std::string base = std::string(STAG_SOURCE_DIR "/pcaps/cases/") + GetParam();
  std::ifstream file(base + ".json");
  const auto json = nlohmann::json::parse(file);
  const auto findings = Check(base + ".pcap", ProfileOf(json["profile"]));

  Strings allowed = json["also_allowed"].get<Strings>();
  for (const auto& expected : json["expect"]) {
    Strings ids = expected["or"].get<Strings>();
    ids.push_back(expected["rule"]);
    allowed.insert(allowed.end(), ids.begin(), ids.end());
    const auto severities = expected["severity"].get<Strings>();
    const auto matches = [&](const Finding& finding) {
      if (!Has(ids, finding.rule->id) || !Has(severities, SeverityName(finding.severity))) return false;
      if (expected["frames"].is_null()) return true;
      const auto frames = expected["frames"].get<std::set<uint64_t>>();
      return frames.count(finding.frame.number) > 0 || frames.count(finding.proven.number) > 0 ||
             std::ranges::any_of(finding.related_frames, [&](uint64_t frame) { return frames.count(frame) > 0; });
    };
    EXPECT_TRUE(std::ranges::any_of(findings, matches)) << expected.dump();
  }
  const Strings must_not = json["must_not"].get<Strings>();
  for (const Finding& finding : findings) {
    const std::string id(finding.rule->id);
    if (finding.severity == Severity::kError) {
      EXPECT_TRUE(Has(allowed, id)) << id << " in frame " << finding.frame.number << ": " << finding.message;
    }
    if (finding.severity != Severity::kNote) {
      EXPECT_FALSE(Has(must_not, id)) << id << " in frame " << finding.frame.number << ": " << finding.message;
    }
  }
}

// Findings come in the order of their proof: all of their story is before it.
TEST_P(Case, FindingsAreInFrameOrder) {
  uint64_t last = 0;
  for (const Finding& finding :
       Check(std::string(STAG_SOURCE_DIR "/pcaps/cases/") + GetParam() + ".pcap", Profile::kAuto)) {
    EXPECT_GE(finding.proven.number, last);
    EXPECT_LE(finding.frame.number, finding.proven.number);
    last = finding.proven.number;
    EXPECT_TRUE(std::ranges::is_sorted(finding.related_frames));
    for (const uint64_t frame : finding.related_frames) {
      EXPECT_LT(frame, finding.proven.number);
      EXPECT_NE(frame, finding.frame.number);
    }
    EXPECT_FALSE(finding.message.empty());
  }
}

// Loss, duplication, reordering and truncation hide findings; they never invent errors.
TEST_P(Case, DamageInventsNothing) {
  const std::string base = std::string(STAG_SOURCE_DIR "/pcaps/cases/") + GetParam();
  std::ifstream file(base + ".json");
  const auto json = nlohmann::json::parse(file);
  const Profile profile = ProfileOf(json["profile"]);
  Strings allowed = json["also_allowed"].get<Strings>();
  for (const auto& expected : json["expect"]) {
    const Strings ids = expected["or"].get<Strings>();
    allowed.insert(allowed.end(), ids.begin(), ids.end());
    allowed.push_back(expected["rule"]);
  }
  const auto frames = test::LoadFrames(base + ".pcap");
  const auto expect_nothing_new = [&](std::span<const test::OwnedFrame> damaged, const std::string& what) {
    for (const Finding& finding : Check(damaged, profile)) {
      if (finding.severity != Severity::kError) continue;
      EXPECT_TRUE(Has(allowed, finding.rule->id))
          << what << ": " << finding.rule->id << " in frame " << finding.frame.number << ": " << finding.message;
    }
  };
  for (size_t i = 0; i < frames.size(); i += test::kStride) {
    const std::string frame = "frame " + std::to_string(i + 1);
    expect_nothing_new(test::Without(frames, i), frame + " lost");
    expect_nothing_new(test::Duplicated(frames, i), frame + " twice");
    if (i + 1 < frames.size()) expect_nothing_new(test::SwappedWithNext(frames, i), frame + " swapped with the next");
    expect_nothing_new(std::span(frames).first(i), "ended before " + frame);
    expect_nothing_new(std::span(frames).subspan(i), "started with " + frame);
  }
  for (size_t snap = 1; snap < 600; snap += test::kStride)
    expect_nothing_new(test::Snapped(frames, snap), "cut to " + std::to_string(snap));
}

INSTANTIATE_TEST_SUITE_P(Pcaps, Case, testing::ValuesIn(Cases()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// Real captures beside or in the repository: every error that is found there is argued in docs/divergences.md.
const std::set<std::string_view> kKnownDivergences = {"PVT-006"};
// Captures of clients that break rules on purpose.
bool IsDeliberate(const std::string& name) { return name.find("rdma_error") != std::string::npos; }

TEST(RealCaptures, NoErrorButArguedOnes) {
  for (const char* folder : {STAG_SOURCE_DIR "/pcaps/real", STAG_SOURCE_DIR "/../shared/captures"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (name.find(".pcap") == std::string::npos || IsDeliberate(name)) continue;
      for (const Profile profile : {Profile::kAuto, Profile::kRfc8166})
        for (const Finding& finding : Check(entry.path(), profile))
          EXPECT_TRUE(finding.severity == Severity::kNote || kKnownDivergences.count(finding.rule->id))
              << entry.path().filename() << ":" << finding.frame.number << ": " << finding.rule->id << ": "
              << finding.message;
    }
  }
}

}  // namespace
}  // namespace stag::conformance
