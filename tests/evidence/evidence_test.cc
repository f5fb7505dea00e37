// SPDX-License-Identifier: GPL-2.0-or-later
//
// The evidence captures of pcaps/rules: each gives exactly the findings of its rule's expected.json, which the cases of
// pcaps/generator declare from the specification; the folder is what the generator makes; every rule with a check is
// there.
#include "pcaps/generator/evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/engine/check.h"
#include "conformance/engine/engine.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/run_capture.h"

namespace stag::conformance {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = STAG_SOURCE_DIR "/pcaps/rules";

struct Evidence {
  std::string rule, file;
  Profile profile = Profile::kAuto;
  nlohmann::json findings;

  bool breaks() const { return file.starts_with("breaks"); }
  std::string path() const { return kFolder / rule / file; }
  // "HDR_001_breaks"
  std::string TestName() const {
    std::string name = rule + "_" + file.substr(0, file.find('.'));
    std::ranges::replace(name, '-', '_');
    return name;
  }
};
void PrintTo(const Evidence& evidence, std::ostream* out) { *out << evidence.TestName(); }

Profile ProfileOf(const std::string& name) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis, Profile::kRfc5666})
    if (ProfileName(profile) == name) return profile;
  return Profile::kAuto;
}

std::vector<Evidence> AllEvidence() {
  std::vector<Evidence> all;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (!entry.is_directory()) continue;
    std::ifstream file(entry.path() / "expected.json");
    const auto json = nlohmann::json::parse(file);
    for (const auto& capture : json["captures"])
      all.push_back({json["rule"], capture["file"], ProfileOf(capture["profile"]), capture["findings"]});
  }
  std::ranges::sort(all, {}, &Evidence::TestName);
  return all;
}

std::vector<Finding> Check(std::span<const test::OwnedFrame> frames, Profile profile) {
  test::Findings findings;
  Engine engine({.profile = profile, .select = {}, .ignore = {}}, findings);
  test::Run(frames, {}, {}, {&engine});
  return findings.all;
}

// One line for each finding, in a form that both sides of the comparison have.
std::string Line(const std::string& rule, uint64_t frame, uint64_t proven, std::string_view severity,
                 std::string_view certainty) {
  return "frame " + std::to_string(frame) + ", " + std::string(certainty) + " by " + std::to_string(proven) + ": " +
         rule + " " + std::string(severity);
}

class EvidenceTest : public testing::TestWithParam<Evidence> {};

TEST_P(EvidenceTest, GivesExactlyTheExpectedFindings) {
  const Evidence& evidence = GetParam();
  std::multiset<std::string> expected, found;
  for (const auto& f : evidence.findings)
    expected.insert(Line(f["rule"], f["frame"], f["proven_frame"], f["severity"].get<std::string>(),
                         f["certainty"].get<std::string>()));
  std::string messages;
  const auto findings = Check(test::LoadFrames(evidence.path()), evidence.profile);
  for (const Finding& f : findings) {
    const std::string line = Line(std::string(f.rule->id), f.frame.number, f.proven.number, SeverityName(f.severity),
                                  CertaintyName(f.certainty));
    found.insert(line);
    messages.append(line).append(": ").append(f.message).append("\n");
  }
  EXPECT_EQ(found, expected) << messages;

  // Rules that are named with a finding.
  for (const auto& f : evidence.findings)
    for (const std::string id : f.value("see_also", nlohmann::json::array()))
      EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& finding) {
        return finding.rule->id == f["rule"] && finding.frame.number == f["frame"] &&
               std::ranges::find(finding.see_also, id) != finding.see_also.end();
      })) << id;
}

// What a capture is named for is in its expectation, as a finding or beside one; a near miss does not have it.
TEST_P(EvidenceTest, IsWhatItsNameSays) {
  const Evidence& evidence = GetParam();
  bool broken = false;
  for (const auto& f : evidence.findings) {
    const auto see_also = f.value("see_also", std::vector<std::string>{});
    broken = broken || f["rule"] == evidence.rule || std::ranges::find(see_also, evidence.rule) != see_also.end();
  }
  EXPECT_EQ(broken, evidence.breaks());
}

// Fabric CRCs are right, but where that is the subject: Wireshark shows no complaint, and the decoder leaves nothing
// out.
TEST_P(EvidenceTest, HasRightCrcs) {
  const auto frames = test::LoadFrames(GetParam().path());
  struct : fabric::Sink {
    void OnEvent(const fabric::Event&) override {}
  } sink;
  const auto stats = test::Decode(frames, {.verify_crc = true}, sink);
  if (GetParam().rule != "FABRIC-005") {
    EXPECT_EQ(stats.bad_crc, 0U);
  }
  EXPECT_GT(stats.checked_crc, 0U);
}

// Right after the message or packet that offends, the finding is there: proven, or presumed with what was not seen. But
// not of these rules, where what comes later makes the offence.
const std::map<std::string_view, std::string_view> kNeedMore = {
    {"CCP-007", "the answer to an RDMA Read shows how many were in flight at once"},
    {"CONN-005", "the offence is that the last of three is refused, too"},
    {"CRED-012", "the answer to an RDMA Read shows how many were in flight at once"},
    {"DONE-003", "the offence is silence"},
    {"DONE-008", "the offence is silence"},
    {"ERR-007", "the offence is silence"},
    {"ERR-008", "the offence is silence"},
    {"FABRIC-004", "captures show requests behind their acknowledgement; that they are completed later proves it"},
    {"FRAME-001", "the bytes of a Long Call come by RDMA Read"},
    {"GSS-004", "the answer shows that the Reply did not fit"},
    {"GSS-006", "the host may serve no NFS over RDMA at all"},
    {"HDR-003", "another version breaks nothing until it is refused"},
    {"HDR-014", "the bytes of a Long Call come by RDMA Read"},
    {"LONG-003", "the bytes of a Long Call come by RDMA Read"},
    {"LONG-005", "the bytes of a Long Call come by RDMA Read"},
    {"MEM-005", "the first of the two Calls may have been answered"},
    {"NETID-003", "nothing but the first message shows that the connection is RPC-over-RDMA"},
    {"RDLIST-004", "the bytes of a Long Call come by RDMA Read"},
};

TEST_P(EvidenceTest, IsFoundWhenTheCaptureEndsWithTheOffence) {
  const Evidence& evidence = GetParam();
  const auto frames = test::LoadFrames(evidence.path());
  for (const auto& f : evidence.findings) {
    const size_t offence = f["frame"];
    const auto found = Check(std::span(frames).first(offence), evidence.profile);
    const bool there = std::ranges::any_of(found, [&](const Finding& finding) {
      return finding.rule->id == f["rule"] && finding.frame.number == offence;
    });
    const bool later = f["proven_frame"] != f["frame"];
    EXPECT_EQ(there, !(later && kNeedMore.contains(f["rule"].get<std::string>())))
        << f["rule"] << " in frame " << offence;
  }
}

// Lost, repeated, swapped and cut frames hide findings; they never bring rules into play that nobody broke. What is
// presumed then says itself that it is not certain.
TEST_P(EvidenceTest, DamageInventsNothing) {
  const Evidence& evidence = GetParam();
  const auto frames = test::LoadFrames(evidence.path());
  std::set<std::string_view> broken;
  for (const Finding& f : Check(frames, evidence.profile)) {
    broken.insert(f.rule->id);
    broken.insert(f.see_also.begin(), f.see_also.end());
  }
  const auto expect_nothing_new = [&](std::span<const test::OwnedFrame> damaged, const std::string& what) {
    for (const Finding& f : Check(damaged, evidence.profile))
      EXPECT_TRUE(broken.contains(f.rule->id) ||
                  (f.certainty == Certainty::kPresumed && f.severity != Severity::kError))
          << what << ": frame " << f.frame.number << ": " << f.rule->id << ": " << f.message;
  };
  for (size_t i = 0; i < frames.size(); i += test::kStride) {
    const std::string frame = "frame " + std::to_string(i + 1);
    expect_nothing_new(test::Without(frames, i), frame + " lost");
    expect_nothing_new(test::Duplicated(frames, i), frame + " twice");
    if (i + 1 < frames.size()) expect_nothing_new(test::SwappedWithNext(frames, i), frame + " swapped with the next");
    expect_nothing_new(std::span(frames).first(i), "ended before " + frame);
    expect_nothing_new(std::span(frames).subspan(i), "started with " + frame);
  }
  for (size_t snap = 2; snap < 400; snap += 4 * test::kStride)
    expect_nothing_new(test::Snapped(frames, snap), "cut to " + std::to_string(snap));
}

INSTANTIATE_TEST_SUITE_P(Rules, EvidenceTest, testing::ValuesIn(AllEvidence()),
                         [](const auto& parameter) { return parameter.param.TestName(); });

// `./dev evidence` repairs it.
TEST(EvidenceFolder, IsWhatTheGeneratorMakes) {
  const auto files = evidence::AllFiles();
  for (const auto& [name, bytes] : files) {
    ASSERT_TRUE(fs::exists(kFolder / name)) << name;
    EXPECT_TRUE(test::LoadBytes(kFolder / name) == bytes) << name;
  }
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), kFolder).generic_string();
    EXPECT_TRUE(files.contains(name)) << name;
  }
}

TEST(EvidenceFolder, HasEveryRuleWithACheck) {
  std::map<std::string, std::set<bool>> kinds;
  for (const Evidence& evidence : AllEvidence()) kinds[evidence.rule].insert(evidence.breaks());
  for (const auto& [rule, both] : kinds)
    EXPECT_EQ(both.size(), 2U) << rule << " lacks a breaking or a near-miss capture";
  for (const RuleInfo& rule : Catalogue()) {
    if (!conformance::WhyNotChecked(rule).empty()) continue;
    EXPECT_TRUE(kinds.contains(std::string(rule.id))) << rule.id << " has a check and no evidence";
  }
}

}  // namespace
}  // namespace stag::conformance
