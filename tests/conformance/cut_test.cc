// SPDX-License-Identifier: GPL-2.0-or-later
//
// Real captures that end early: after each of their first frames, the large ones after frames spread over them. What
// the end hides is presumed at most, and the whole captures have nothing that is only presumed, but what kPresumed
// argues.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "conformance/engine/engine.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/run_capture.h"

namespace stag::conformance {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEvery = 500;  // captures of so many frames are cut after every one
constexpr size_t kCuts = 100;   // of a larger one

// What is presumed of a whole capture. The client sends a second Call before the first Reply, and the connection ends
// before the server is heard again: but for its part in the disconnect, which has no sequence number.
const std::set<std::string> kPresumed = {"rxe-ganesha-open-nfs4.0.pcap.zst CRED-005 in frame 216",
                                         "rxe-ganesha-open-nfs4.0.pcap.zst CRED-005 in frame 260"};

std::vector<std::string> RealCaptures() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(STAG_SOURCE_DIR "/pcaps/real"))
    if (entry.path().filename().string().find(".pcap") != std::string::npos) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::vector<Finding> Check(std::span<const test::OwnedFrame> frames) {
  test::Findings findings;
  Engine engine({}, findings);
  test::Run(frames, {}, {.keep_bulk = false}, {&engine});
  return findings.all;
}

class Cut : public testing::TestWithParam<std::string> {};

TEST_P(Cut, InventsNoError) {
  const auto frames = test::LoadFrames(GetParam());
  std::map<std::string_view, size_t> errors;
  for (const Finding& finding : Check(frames)) {
    const std::string what = fs::path(GetParam()).filename().string() + " " + std::string(finding.rule->id) +
                             " in frame " + std::to_string(finding.frame.number);
    EXPECT_TRUE(finding.certainty == Certainty::kProven || kPresumed.contains(what)) << what;
    if (finding.severity == Severity::kError) ++errors[finding.rule->id];
  }
  std::map<std::string, size_t> presumed;
  // Odd steps, so that the cuts fall at different places of the exchanges.
  const size_t step = frames.size() <= kEvery ? 1 : (frames.size() / kCuts) | 1;
  size_t cuts = 0;
  for (size_t end = 0; end < frames.size(); end += step, ++cuts) {
    std::map<std::string_view, size_t> found;
    for (const Finding& finding : Check(std::span(frames).first(end))) {
      if (finding.certainty == Certainty::kPresumed) {
        ++presumed[std::string(finding.rule->id) + ", " + finding.unseen];
        EXPECT_NE(finding.severity, Severity::kError);
        EXPECT_LE(finding.proven.number, end);  // the end of the capture, or of the connection
      } else if (finding.severity == Severity::kError) {
        EXPECT_LE(++found[finding.rule->id], errors[finding.rule->id])
            << "after " << end << " frames: " << finding.rule->id << " in frame " << finding.frame.number;
      }
    }
  }
  size_t total = 0;
  for (const auto& [what, times] : presumed) total += times;
  std::cout << fs::path(GetParam()).filename().string() << ": cut " << cuts << " times, " << total << " presumed\n";
  for (const auto& [what, times] : presumed) std::cout << "  " << times << " times " << what << "\n";
}

INSTANTIATE_TEST_SUITE_P(Real, Cut, testing::ValuesIn(RealCaptures()), [](const auto& parameter) {
  std::string name = fs::path(parameter.param).filename().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace stag::conformance
