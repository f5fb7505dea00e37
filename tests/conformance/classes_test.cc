// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether the facts of an event decide what the checks say of it: every check is asked about every event of every
// capture under each profile, and held against what is known of the event's class. One engine sees all captures, so
// that what one capture teaches is held against all others; damaged ones, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "conformance/engine/engine.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/run_capture.h"

namespace stag::conformance {
namespace {

namespace fs = std::filesystem;

bool IsCapture(const fs::path& path) {
  const std::string name = path.filename();
  return std::ranges::any_of(std::array{".pcap", ".pcapng", ".pcap.zst", ".pcap.gz"},
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<std::string> Captures() {
  std::vector<std::string> found;
  for (const char* folder :
       {STAG_SOURCE_DIR "/pcaps", STAG_SOURCE_DIR "/../shared/captures", STAG_SOURCE_DIR "/../shared/cases"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (IsCapture(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

class Classes : public testing::TestWithParam<Profile> {};

TEST_P(Classes, DecideWhatChecksSay) {
  test::Findings findings;
  Engine engine({.profile = GetParam(), .select = {}, .ignore = {}, .verify = Verify::kCount}, findings);
  size_t seen = 0;
  std::map<std::string, int> wrong;  // by rule and capture
  const auto judge = [&](std::span<const test::OwnedFrame> frames, const std::string& name) {
    test::Run(frames, {}, {}, {&engine});
    for (; seen < engine.disagreements().size(); ++seen)
      ++wrong[std::string(engine.disagreements()[seen]) + " in " + name];
  };
  for (const std::string& path : Captures()) {
    const std::vector<test::OwnedFrame> frames = test::LoadFrames(path);
    judge(frames, path);
    const size_t step = std::max<size_t>(frames.size() / 3, 1);
    for (size_t i = step / 2; i + 1 < frames.size(); i += step) {
      judge(test::Without(frames, i), path + " without a frame");
      judge(test::SwappedWithNext(frames, i), path + " with two frames swapped");
    }
    judge(test::Snapped(frames, 128), path + " cut to 128 bytes");
  }
  for (const auto& [what, times] : wrong) ADD_FAILURE() << what << ": " << times;
}

std::string NameOf(const testing::TestParamInfo<Profile>& info) { return std::string(ProfileName(info.param)); }
#ifdef STAG_SANITIZED  // each takes a quarter of a minute then
const auto kProfiles = testing::Values(Profile::kAuto);
#else
const auto kProfiles = testing::Values(Profile::kAuto, Profile::kRfc8166, Profile::kRfc5666bis, Profile::kRfc5666);
#endif
INSTANTIATE_TEST_SUITE_P(AllProfiles, Classes, kProfiles, NameOf);

}  // namespace
}  // namespace stag::conformance
