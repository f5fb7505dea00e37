// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/delivery/evidence.h"

#include <gtest/gtest.h>

#include <random>

namespace stag::delivery {
namespace {

FrameRef Frame(uint64_t number) { return {number, static_cast<int64_t>(number) * 1000}; }

TEST(EvidenceTest, TheFirstFrameThatProvesANumberCounts) {
  Evidence evidence;
  EXPECT_FALSE(evidence.any());
  EXPECT_EQ(evidence.Find(1), nullptr);
  EXPECT_TRUE(evidence.Add(10, Frame(1)));
  EXPECT_FALSE(evidence.Add(9, Frame(2)));
  EXPECT_TRUE(evidence.Add(20, Frame(3)));
  EXPECT_EQ(evidence.Find(10)->number, 1u);
  EXPECT_EQ(evidence.Find(11)->number, 3u);
  EXPECT_EQ(evidence.Find(21), nullptr);
  EXPECT_TRUE(evidence.Proves(20));
  EXPECT_FALSE(evidence.Proves(21));
}

// Against all that was said, in any order of the frames.
TEST(EvidenceTest, IsWhatAListOfAllProofsSays) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Evidence evidence;
    std::vector<std::pair<uint64_t, uint64_t>> said;  // number, frame
    for (uint64_t i = 0; i < 40; ++i) {
      const uint64_t number = 1 + random() % 30, frame = 1 + random() % 100;
      said.emplace_back(number, frame);
      (void)evidence.Add(number, Frame(frame));
      for (uint64_t n = 1; n <= 31; ++n) {
        uint64_t first = 0;
        for (const auto& [proven, in] : said)
          if (proven >= n && (first == 0 || in < first)) first = in;
        const FrameRef* const found = evidence.Find(n);
        ASSERT_EQ(found ? found->number : 0, first) << "round " << round << ", number " << n;
      }
    }
  }
}

}  // namespace
}  // namespace stag::delivery
