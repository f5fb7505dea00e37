// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>

#include "capture/file/writer.h"
#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

constexpr uint32_t kOldPacket = 2, kNameResolution = 4, kSimple = 3, kStatistics = 5, kJournal = 9, kSecrets = 10,
                   kCustom = 0xbad, kUnknown = 0x77;

FileBytes TimeOptions(const FileBytes& like, uint8_t resolution, int64_t offset) {
  FileBytes options = like.Body();
  options.U16(2).U16(5).Put(Pattern(5)).Pad();  // if_name: to be stepped over
  options.U16(9).U16(1).Put(std::vector{std::byte{resolution}}).Pad();
  options.U16(14).U16(8).U64(static_cast<uint64_t>(offset)).U16(0).U16(0);
  return options;
}

class PcapngOrder : public testing::TestWithParam<bool> {};

TEST_P(PcapngOrder, EveryPacketBlockAndSeveralInterfaces) {
  FileBytes file(GetParam());
  file.Section().Interface(1).Enhanced(0, 1'000'000, Pattern(60), 60);
  file.Interface(113, 40, TimeOptions(file, 0x80 | 20, 1000));
  file.Block(kSimple, file.Body().U32(60).Put(Pattern(60, 2)));
  file.Block(kUnknown, file.Body().Put(Pattern(301))).Block(kNameResolution, file.Body().U32(0));
  file.Block(kStatistics, file.Body().U32(0).U64(0)).Block(kSecrets, file.Body().U32(0).U32(4).U32(0));
  file.Block(kOldPacket, file.Body().U16(1).U16(0).U32(0).U32(5u << 20).U32(33).U32(70).Put(Pattern(33, 3)));
  file.Enhanced(1, (7u << 20) + (1u << 18), Pattern(41, 4), 99);
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.open_error, "");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.end, Reader::Next::kEnd);
  ASSERT_EQ(read.frames.size(), 4u);
  EXPECT_EQ(read.frames[0], (ReadBack::Item{{1, 1'000'000'000}, LinkType::kEthernet, Pattern(60), 60}));
  EXPECT_EQ(read.frames[1], (ReadBack::Item{{2, 1'000'000'000, false}, LinkType::kEthernet, Pattern(60, 2), 60}));
  EXPECT_EQ(read.frames[2], (ReadBack::Item{{3, 1005'000'000'000}, LinkType::kLinuxSll, Pattern(33, 3), 70}));
  EXPECT_EQ(read.frames[3], (ReadBack::Item{{4, 1007'250'000'000}, LinkType::kLinuxSll, Pattern(41, 4), 99}));
}

// What a time of 64 bits in the unit of if_tsresol, and the seconds of if_tsoffset, come to: 146 years from 1970 at
// most.
TEST_P(PcapngOrder, TimesFarAway) {
  constexpr int64_t kMost = (int64_t{1} << 62) - 1, kYear = int64_t{365} * 86400;
  struct Case {
    uint8_t resolution;
    int64_t offset;
    uint64_t time;
    int64_t ns;
  };
  const Case cases[] = {
      {9, 0, kMost, kMost},
      {9, 0, uint64_t{kMost} + 1, kMost},
      {9, 0, INT64_MAX, kMost},
      {9, 0, uint64_t{1} << 63, kMost},
      {9, 0, UINT64_MAX, kMost},
      {6, 0, UINT64_MAX, kMost},
      {0, 0, UINT64_MAX, kMost},
      {0, 0, 4'000'000'000, 4'000'000'000'000'000'000},
      {12, 0, UINT64_MAX, 18'446'744'073'709'551},
      {19, 0, UINT64_MAX, 1'844'674'407},
      {28, 0, UINT64_MAX, 1},
      {29, 0, UINT64_MAX, 0},
      {127, 0, UINT64_MAX, 0},
      {0x80, 0, 4'000'000'000, 4'000'000'000'000'000'000},
      {0x80, 0, UINT64_MAX, kMost},
      {0x80 | 30, 0, UINT64_MAX, kMost},
      {0x80 | 64, 0, UINT64_MAX, 999'999'999},
      {0x80 | 94, 0, UINT64_MAX, 0},
      {0xff, 0, UINT64_MAX, 0},
      {9, INT64_MAX, 0, kMost},
      {9, INT64_MAX, UINT64_MAX, kMost},
      {9, INT64_MIN, 0, -kMost},
      {9, INT64_MIN, UINT64_MAX, -kMost},
      {0, INT64_MIN, UINT64_MAX, kMost},  // more seconds forward than back
      {9, -18'446'744'073, UINT64_MAX, 709'551'615},
      {6, -100 * kYear, 0, -100 * kYear * 1'000'000'000},
  };
  FileBytes file(GetParam());
  file.Section();
  for (const Case& one : cases) file.Interface(1, 0, TimeOptions(file, one.resolution, one.offset));
  for (uint32_t i = 0; i < std::size(cases); ++i) file.Enhanced(i, cases[i].time, Pattern(9), 9);
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.frames.size(), std::size(cases));
  for (size_t i = 0; i < std::size(cases); ++i) EXPECT_EQ(read.frames[i].ref.time_ns, cases[i].ns) << i;
}

TEST_P(PcapngOrder, SectionsStandForThemselves) {
  FileBytes file(GetParam());
  FileBytes other(!GetParam());
  file.Section().Interface(1).Interface(101).Enhanced(1, 1, Pattern(9), 9);
  other.Section().Interface(276).Enhanced(0, 2, Pattern(8), 8).Enhanced(1, 3, Pattern(7), 7);
  file.Put(other.bytes());
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.frames.size(), 2u);
  EXPECT_EQ(read.frames[0].link, LinkType::kRawIp);
  EXPECT_EQ(read.frames[1].link, LinkType::kLinuxSll2);
  EXPECT_EQ(read.frames[1].ref.number, 2u);
  EXPECT_EQ(read.end, Reader::Next::kDamaged) << "interface 1 was of the section before";
  EXPECT_NE(read.error.find("names interface 1, but its section describes only 1"), std::string::npos) << read.error;
}

TEST_P(PcapngOrder, CutAnywhereGivesWhatWasThere) {
  FileBytes file(GetParam());
  std::vector<size_t> block_ends, frame_ends;
  const auto add = [&](auto&& append, size_t frame_size) {
    append();
    block_ends.push_back(file.bytes().size());
    if (frame_size != 0) frame_ends.push_back(file.bytes().size() - 4 - (RoundUp4(frame_size) - frame_size));
  };
  add([&] { file.Section(); }, 0);
  add([&] { file.Interface(1, 0, TimeOptions(file, 9, 0)); }, 0);
  add([&] { file.Enhanced(0, 123456789, Pattern(61), 61); }, 61);
  add([&] { file.Block(kUnknown, file.Body().Put(Pattern(40))); }, 0);
  add([&] { file.Block(kSimple, file.Body().U32(50).Put(Pattern(50))); }, 50);
  add([&] { file.Section(); }, 0);
  add([&] { file.Interface(1); }, 0);
  add([&] { file.Enhanced(0, 987654321, Pattern(64), 1000); }, 64);
  const ReadBack whole = ReadAll(file.bytes());
  ASSERT_EQ(whole.frames.size(), frame_ends.size());
  for (size_t length = 0; length < file.bytes().size(); ++length) {
    SCOPED_TRACE(length);
    const ReadBack read = ReadAll(Bytes(file.bytes()).first(length));
    if (!read.open_error.empty()) {
      EXPECT_LT(length, block_ends[0]);
      continue;
    }
    const auto complete = static_cast<size_t>(std::ranges::upper_bound(frame_ends, length) - frame_ends.begin());
    ASSERT_EQ(read.frames.size(), complete);
    EXPECT_TRUE(std::equal(read.frames.begin(), read.frames.end(), whole.frames.begin()));
    if (std::ranges::find(block_ends, length) != block_ends.end()) {
      EXPECT_EQ(read.end, Reader::Next::kEnd);
    } else {
      EXPECT_EQ(read.end, Reader::Next::kDamaged);
      EXPECT_EQ(read.error,
                "file is cut off in frame " + std::to_string(complete + 1) + " at byte " + std::to_string(length));
    }
  }
}

// epb_flags between two comments, then what stands behind the end of the options.
TEST_P(PcapngOrder, Comments) {
  FileBytes file(GetParam());
  file.Section().Interface(1).Enhanced(0, 1, Pattern(9), 9);
  const auto text = [](std::string_view words) {
    const Bytes bytes = std::as_bytes(std::span(words));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  FileBytes body = file.Body();
  body.U32(0).U32(0).U32(2).U32(7).U32(7).Put(Pattern(7)).Pad();
  body.U16(1).U16(5).Put(text("first")).Pad();
  body.U16(2).U16(4).U32(0);
  body.U16(1).U16(6).Put(text("second")).Pad();
  body.U16(0).U16(0).U16(1).U16(4).Put(text("none"));
  file.Block(6, body).Enhanced(0, 3, Pattern(8), 8);
  for (size_t cut = 0; cut <= file.bytes().size(); ++cut) {
    auto opened = Reader::Open(MemorySource(Bytes(file.bytes()).first(cut)), "a test");
    if (!opened) continue;
    Frame frame;
    std::vector<std::string> comments;
    while ((*opened)->ReadFrame(frame) == Reader::Next::kFrame) comments.push_back((*opened)->comment());
    const std::string both("first\0second", 12);
    if (cut == file.bytes().size()) {
      EXPECT_EQ(comments, (std::vector<std::string>{"", both, ""}));
    } else if (comments.size() > 1) {
      EXPECT_TRUE(comments[1].empty() || comments[1] == both) << cut;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothOrders, PcapngOrder, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Big" : "Little"; });

TEST(Pcapng, TimeResolutions) {
  const struct {
    uint8_t resolution;
    uint64_t units;
    int64_t ns;
  } kCases[] = {
      {6, 1'700'000'000'123'456, 1'700'000'000'123'456'000},
      {9, 1'700'000'000'123'456'789, 1'700'000'000'123'456'789},
      {0, 1'700'000'000, 1'700'000'000'000'000'000},
      {3, 1'700'000'000'123, 1'700'000'000'123'000'000},
      {12, 1'700'000'123'456'789'999, 1'700'000'123'456'789},
      {127, ~uint64_t{0}, 0},
      {0x80, 1'700'000'000, 1'700'000'000'000'000'000},
      {0x80 | 1, 3, 1'500'000'000},
      {0x80 | 32, 0x6553f100'80000000, 1'700'000'000'500'000'000},
      {0xff, ~uint64_t{0}, 0},
  };
  for (const auto& c : kCases) {
    FileBytes file(false);
    file.Section().Interface(1, 0, TimeOptions(file, c.resolution, 0)).Enhanced(0, c.units, Pattern(4), 4);
    const ReadBack read = ReadAll(file.bytes());
    ASSERT_EQ(read.frames.size(), 1u);
    EXPECT_EQ(read.frames[0].ref.time_ns, c.ns) << int{c.resolution};
  }
  FileBytes file(false);
  file.Section().Interface(1, 0, TimeOptions(file, 9, -5)).Enhanced(0, 7'000'000'001, Pattern(4), 4);
  EXPECT_EQ(ReadAll(file.bytes()).frames.at(0).ref.time_ns, 2'000'000'001);
}

// Seen with Wireshark 4.0: journal and custom blocks have frame numbers of their own, other blocks do not.
TEST(Pcapng, FrameNumbersAreWiresharks) {
  FileBytes file(false);
  file.Section().Interface(1).Enhanced(0, 1'000'000, Pattern(60), 60);
  file.Block(kCustom, file.Body().U32(12345).Put(Pattern(8))).Enhanced(0, 2'000'000, Pattern(60), 60);
  file.Block(kJournal, file.Body().Put(Pattern(20))).Block(kUnknown, file.Body().U32(0));
  file.Block(0x40000000 | kCustom, file.Body().U32(12345)).Enhanced(0, 3'000'000, Pattern(60), 60);
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.frames.size(), 6u);
  EXPECT_EQ(read.frames[5].ref.number, 6u);
  EXPECT_EQ(read.frames[5].link, LinkType::kEthernet);
  EXPECT_EQ(read.frames[3].link, LinkType::kUnsupported);
  EXPECT_EQ(read.frames[3].ref.time_ns, 2'000'000'000);
}

// What those are (draft-ietf-opsawg-pcapng sections 4.6 and 4.7), and that they can be written again.
TEST_P(PcapngOrder, OtherBlocksAreKnownAndCanBeWritten) {
  FileBytes file(GetParam());
  file.Section().Block(kCustom, file.Body().U32(12345).Put(Pattern(8)));
  file.Interface(1).Enhanced(0, 1'000'000, Pattern(60), 60);
  file.Block(kJournal, file.Body().Put(Pattern(20))).Block(0x40000000 | kCustom, file.Body().U32(7));
  file.Block(kCustom, file.Body());
  std::vector<std::byte> bytes = file.bytes();
  for (int round = 0; round < 2; ++round) {
    auto opened = Reader::Open(MemorySource(bytes), "a test");
    ASSERT_TRUE(opened);
    std::vector<std::byte> again;
    auto encoder = FileEncoder::Start(FileFormat::kPcapng, std::nullopt, again);
    ASSERT_TRUE(encoder);
    Frame frame;
    std::vector<std::string> seen;
    while ((*opened)->ReadFrame(frame) == Reader::Next::kFrame) {
      const OtherBlock* const other = (*opened)->other_block();
      if (!other) {
        seen.push_back("frame");
        EXPECT_TRUE(encoder->Append(frame, {}, again));
        continue;
      }
      seen.push_back(std::to_string(static_cast<int>(other->kind)) + " " + std::to_string(other->enterprise) + " " +
                     std::to_string(other->data.size()));
      EXPECT_TRUE(std::ranges::equal(other->data, Pattern(other->data.size())));
      EXPECT_EQ(encoder->Append(*other, again).has_value(), other->whole);
      EXPECT_EQ(other->whole, seen.size() < 5) << "a custom block without its number";
    }
    std::vector<std::string> want = {"0 12345 8", "frame", "2 0 20", "1 7 0", "0 0 0"};
    if (round > 0) want.pop_back();
    EXPECT_EQ(seen, want);
    bytes = again;
  }
  std::vector<std::byte> out;
  auto pcap = FileEncoder::Start(FileFormat::kPcap, LinkType::kEthernet, out);
  ASSERT_TRUE(pcap);
  EXPECT_FALSE(pcap->Append(OtherBlock{}, out));
  // Its header waits for the first frame.
  out.clear();
  auto later = FileEncoder::Start(FileFormat::kPcap, std::nullopt, out);
  ASSERT_TRUE(later);
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(later->Append({{1, 0}, LinkType::kRawIp, {}, 0}, {}, out));
  EXPECT_EQ(out.size(), 24u + 16u);
}

TEST(Pcapng, SimplePacketIsCutByTheSnapLength) {
  FileBytes file(false);
  file.Section().Interface(1, 30).Block(kSimple, file.Body().U32(100).Put(Pattern(30)));
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.frames.size(), 1u);
  EXPECT_EQ(read.frames[0].bytes, Pattern(30));
  EXPECT_EQ(read.frames[0].wire_length, 100u);
}

// A block's claims against what it holds, and claims that nothing could hold: damage, without reserving memory for
// them.
TEST(Pcapng, ContradictionsAreDamage) {
  const auto start = [] {
    FileBytes file(false);
    file.Section().Interface(1).Enhanced(0, 1, Pattern(4), 4);
    return file;
  };
  std::vector<std::pair<std::string, FileBytes>> damaged;
  damaged.emplace_back("a frame longer than its block",
                       start().Block(6, start().Body().U32(0).U32(0).U32(0).U32(1000).U32(1000).Put(Pattern(40))));
  damaged.emplace_back("a frame of 4 GiB",
                       start().Block(6, start().Body().U32(0).U32(0).U32(0).U32(~0u).U32(~0u).Put(Pattern(40))));
  damaged.emplace_back("a block of no packet header", start().Block(6, start().Body().U32(0)));
  damaged.emplace_back("a simple packet before any interface",
                       FileBytes(false).Section().Block(kSimple, FileBytes(false).U32(4).Put(Pattern(4))));
  damaged.emplace_back("an option longer than its block",
                       start().Block(1, start().Body().U16(1).U16(0).U32(0).U16(9).U16(500)));
  damaged.emplace_back("a block of 4 bytes", start().U32(kUnknown).U32(4).U32(4));
  damaged.emplace_back("a block of odd length", start().U32(kUnknown).U32(13).Put(Pattern(30)));
  damaged.emplace_back("a block of 4 GiB", start().U32(kUnknown).U32(0xfffffffc).Put(Pattern(30)));
  damaged.emplace_back("two lengths", start().U32(kUnknown).U32(12).U32(16));
  damaged.emplace_back("a section without byte order", start().U32(0x0a0d0d0a).U32(28).Put(Pattern(20)));
  damaged.emplace_back("a section of version 2",
                       start().Block(0x0a0d0d0a, start().Body().U32(0x1a2b3c4d).U16(2).U16(0).U64(0)));
  for (const auto& [what, file] : damaged) {
    const ReadBack read = ReadAll(file.bytes());
    EXPECT_EQ(read.end, Reader::Next::kDamaged) << what;
    EXPECT_NE(read.error, "") << what;
    EXPECT_LE(read.frames.size(), 1u) << what;
  }
}

TEST(Pcapng, InterfacesAreBounded) {
  FileBytes file(false);
  file.Section();
  for (int i = 0; i <= 65536; ++i) file.Interface(1);
  const ReadBack read = ReadAll(file.bytes());
  EXPECT_EQ(read.error, "more than 65536 interfaces in one section");
}

TEST(Pcapng, UnreadableSectionFailsToOpen) {
  FileBytes version(false);
  version.Block(0x0a0d0d0a, version.Body().U32(0x1a2b3c4d).U16(2).U16(0).U64(0));
  EXPECT_EQ(ReadAll(version.bytes()).open_error,
            "file is no readable pcapng capture: the section at byte 0 is pcapng version 2: only version 1 is known");
}

}  // namespace
}  // namespace stag::capture
