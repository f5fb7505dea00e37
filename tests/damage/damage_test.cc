// SPDX-License-Identifier: GPL-2.0-or-later
//
// What loss, duplication, reordering and truncation may do to an analysis: make RPCs incomplete, never wrong; hide
// findings, never invent them. Every real capture that the repository ships is damaged at every frame (the larger ones,
// and those beside the repository, at frames spread over it), analysed, and compared with the analysis of the whole
// capture.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "protocol/ib/opcode.h"
#include "protocol/link/packet.h"
#include "tests/support/analysis.h"

namespace stag {
namespace {

namespace fs = std::filesystem;
using test::OwnedFrame;

using test::Analyse;
using test::Analysis;

// Nothing in `damaged` that `whole` does not have.
void ExpectNothingNew(const Analysis& whole, const Analysis& damaged, const std::string& what) {
  for (const std::string& found : test::NewIn(damaged, whole)) ADD_FAILURE() << what << ": " << found;
}

struct Capture {
  std::string path;
  size_t positions;  // how many frames are damaged, one at a time
};

std::vector<Capture> Captures() {
  std::vector<Capture> out;
  const auto add = [&](const fs::path& folder, size_t positions) {
    if (!fs::is_directory(folder)) return;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.find(".pcap") != std::string::npos) out.push_back({entry.path().string(), positions});
    }
  };
  const bool thorough = std::getenv("STAG_THOROUGH") != nullptr;
  add(fs::path(STAG_SOURCE_DIR) / "pcaps" / "real", thorough ? 100000 : 150 / test::kStride);
  add(fs::path(STAG_SOURCE_DIR) / ".." / "shared" / "captures", thorough ? 400 : 12 / test::kStride);
  std::sort(out.begin(), out.end(), [](const Capture& a, const Capture& b) { return a.path < b.path; });
  return out;
}

class Damage : public testing::TestWithParam<Capture> {
 protected:
  void SetUp() override {
    frames_ = test::LoadFrames(GetParam().path);
    whole_ = Analyse(frames_);
    step_ = std::max<size_t>(1, frames_.size() / GetParam().positions);
  }
  std::vector<OwnedFrame> frames_;
  Analysis whole_;
  size_t step_ = 1;
};

TEST_P(Damage, LosingAFrame) {
  for (size_t i = 0; i < frames_.size(); i += step_)
    ExpectNothingNew(whole_, Analyse(test::Without(frames_, i)), "without frame " + std::to_string(i + 1));
}

TEST_P(Damage, DuplicatingAFrame) {
  for (size_t i = 0; i < frames_.size(); i += step_) {
    const Analysis damaged = Analyse(test::Duplicated(frames_, i));
    ExpectNothingNew(whole_, damaged, "frame " + std::to_string(i + 1) + " twice");
    EXPECT_EQ(damaged.complete, whole_.complete) << "frame " << i + 1 << " twice";
  }
}

// A RoCE packet with that opcode.
bool IsRoce(const test::OwnedFrame& frame, uint8_t opcode) {
  const link::Packet packet = link::Decode(frame.view());
  return packet.status == ParseStatus::kOk && packet.carrier == link::Carrier::kRoceV2 && !packet.payload.empty() &&
         packet.payload[0] == std::byte{opcode};
}

TEST_P(Damage, SwappingNeighbours) {
  for (size_t i = 0; i + 1 < frames_.size(); i += step_) {
    const Analysis damaged = Analyse(test::SwappedWithNext(frames_, i));
    ExpectNothingNew(whole_, damaged, "frames " + std::to_string(i + 1) + " and " + std::to_string(i + 2) + " swapped");
    // At the very start of a capture that joins mid-stream nothing tells a reply without its Call from a swapped one.
    // An RDMA Write in front of the Call that advertises its memory belongs to no RPC: that one is not complete then.
    if (i > 0 && !(IsRoce(frames_[i], ib::kSendOnly) && IsRoce(frames_[i + 1], ib::kWriteOnly))) {
      EXPECT_EQ(damaged.complete, whole_.complete) << "frames " << i + 1 << " and " << i + 2 << " swapped";
    }
  }
}

TEST_P(Damage, EndingEarly) {
  for (size_t i = 0; i < frames_.size(); i += step_)
    ExpectNothingNew(whole_, Analyse(std::span(frames_).first(i)), "the first " + std::to_string(i) + " frames");
}

TEST_P(Damage, StartingLate) {
  for (size_t i = 1; i < frames_.size(); i += step_)
    ExpectNothingNew(whole_, Analyse(std::span(frames_).subspan(i)), "from frame " + std::to_string(i + 1));
}

TEST_P(Damage, SnapLength) {
  for (size_t snap = 1; snap < 400; snap += 3 * test::kStride)
    ExpectNothingNew(whole_, Analyse(test::Snapped(frames_, snap)), "cut to " + std::to_string(snap) + " bytes");
}

std::string TestName(const testing::TestParamInfo<Capture>& info) {
  std::string name = fs::path(info.param.path).filename().string();
  if (info.param.path.find("pcaps") == std::string::npos) name = "shared_" + name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Captures, Damage, testing::ValuesIn(Captures()), TestName);

}  // namespace
}  // namespace stag
