// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

struct Variant {
  const char* name;
  uint32_t magic;
  bool big_endian;
  int64_t unit_ns;
  bool modified;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }
constexpr Variant kVariants[] = {
    {"MicroLittle", 0xa1b2c3d4, false, 1000, false},   {"MicroBig", 0xa1b2c3d4, true, 1000, false},
    {"NanoLittle", 0xa1b23c4d, false, 1, false},       {"NanoBig", 0xa1b23c4d, true, 1, false},
    {"ModifiedLittle", 0xa1b2cd34, false, 1000, true}, {"ModifiedBig", 0xa1b2cd34, true, 1000, true},
};

class PcapVariant : public testing::TestWithParam<Variant> {
 protected:
  // Three frames: whole, empty, and cut by the snap length.
  FileBytes Build() {
    FileBytes file(GetParam().big_endian);
    file.PcapHeader(GetParam().magic, 1);
    record_ends_ = {file.bytes().size()};
    Add(file, 1700000000, 123456, Pattern(60), 60);
    Add(file, 1700000001, 0, {}, 0);
    Add(file, 4294967295, 4294967295, Pattern(33, 9), 9000);
    return file;
  }
  void Add(FileBytes& file, uint32_t seconds, uint32_t fraction, const ByteVector& frame, uint32_t on_wire) {
    if (GetParam().modified) {
      file.U32(seconds).U32(fraction).U32(static_cast<uint32_t>(frame.size())).U32(on_wire);
      file.U32(2).U16(0x800).Put(Pattern(2)).Put(frame);
    } else {
      file.PcapRecord(seconds, fraction, frame, on_wire);
    }
    record_ends_.push_back(file.bytes().size());
  }
  std::vector<size_t> record_ends_;
};

TEST_P(PcapVariant, IsRead) {
  const FileBytes file = Build();
  const ReadBack read = ReadAll(file.bytes());
  ASSERT_EQ(read.open_error, "");
  EXPECT_EQ(read.end, Reader::Next::kEnd);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.frames.size(), 3u);
  const int64_t unit = GetParam().unit_ns;
  const ReadBack::Item first{{1, 1700000000'000000000 + 123456 * unit}, LinkType::kEthernet, Pattern(60), 60};
  const ReadBack::Item second{{2, 1700000001'000000000}, LinkType::kEthernet, {}, 0};
  const ReadBack::Item third{{3, 4294967295'000000000 + 4294967295 * unit}, LinkType::kEthernet, Pattern(33, 9), 9000};
  EXPECT_EQ(read.frames[0], first);
  EXPECT_EQ(read.frames[1], second);
  EXPECT_EQ(read.frames[2], third);
}

TEST_P(PcapVariant, CutAnywhereGivesWhatWasThere) {
  const FileBytes file = Build();
  const ReadBack whole = ReadAll(file.bytes());
  for (size_t length = 0; length < file.bytes().size(); ++length) {
    SCOPED_TRACE(length);
    const ReadBack read = ReadAll(Bytes(file.bytes()).first(length));
    if (length < record_ends_[0]) {
      EXPECT_NE(read.open_error, "");
      continue;
    }
    const auto complete = static_cast<size_t>(std::upper_bound(record_ends_.begin(), record_ends_.end(), length) -
                                              record_ends_.begin() - 1);
    ASSERT_EQ(read.frames.size(), complete);
    EXPECT_TRUE(std::equal(read.frames.begin(), read.frames.end(), whole.frames.begin()));
    if (length == record_ends_[complete]) {
      EXPECT_EQ(read.end, Reader::Next::kEnd);
    } else {
      EXPECT_EQ(read.end, Reader::Next::kDamaged);
      EXPECT_EQ(read.error,
                "file is cut off in frame " + std::to_string(complete + 1) + " at byte " + std::to_string(length));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PcapVariant, testing::ValuesIn(kVariants),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Pcap, LinkTypes) {
  const std::pair<uint32_t, LinkType> kExpected[] = {
      {1, LinkType::kEthernet},
      {113, LinkType::kLinuxSll},
      {276, LinkType::kLinuxSll2},
      {101, LinkType::kRawIp},
      {12, LinkType::kRawIp},
      {14, LinkType::kRawIp},
      {228, LinkType::kRawIp},
      {229, LinkType::kRawIp},
      {197, LinkType::kErf},
      {247, LinkType::kInfiniBand},
      {105, LinkType::kUnsupported},
      {0xf4000001, LinkType::kEthernet},  // frame check sequence of four bytes, in the upper bits
  };
  for (const auto& [number, link] : kExpected) {
    FileBytes file(false);
    file.PcapHeader(0xa1b2c3d4, number).PcapRecord(1, 2, Pattern(10), 10);
    const ReadBack read = ReadAll(file.bytes());
    ASSERT_EQ(read.frames.size(), 1u) << number;
    EXPECT_EQ(read.frames[0].link, link) << number;
  }
}

TEST(Pcap, OldVersionsHaveTheLengthsTheOtherWayRound) {
  FileBytes old(false);
  old.PcapHeader(0xa1b2c3d4, 1, 2).U32(1).U32(0).U32(1500).U32(60).Put(Pattern(60));
  FileBytes either(false);
  either.PcapHeader(0xa1b2c3d4, 1, 3)
      .U32(1)
      .U32(0)
      .U32(1500)
      .U32(60)
      .Put(Pattern(60))
      .PcapRecord(2, 0, Pattern(60), 1500);
  for (const auto& file : {old, either}) {
    const ReadBack read = ReadAll(file.bytes());
    EXPECT_EQ(read.end, Reader::Next::kEnd);
    for (const auto& frame : read.frames) {
      EXPECT_EQ(frame.bytes, Pattern(60));
      EXPECT_EQ(frame.wire_length, 1500u);
    }
  }
}

TEST(Pcap, AbsurdLengthIsDamage) {
  for (const uint32_t claimed : {0xffffffffu, 0x7fffffffu, (1u << 20) + 1}) {
    FileBytes file(false);
    file.PcapHeader(0xa1b2c3d4, 1).PcapRecord(1, 2, Pattern(10), 10).U32(1).U32(2).U32(claimed).U32(60);
    const ReadBack read = ReadAll(file.bytes());
    EXPECT_EQ(read.frames.size(), 1u);
    EXPECT_EQ(read.end, Reader::Next::kDamaged);
    EXPECT_EQ(read.error,
              "frame 2 at byte 50 claims " + std::to_string(claimed) + " captured bytes: the file is damaged there");
  }
}

TEST(Pcap, WireLengthIsNeverLessThanWhatWasCaptured) {
  FileBytes file(false);
  file.PcapHeader(0xa1b2c3d4, 1).PcapRecord(1, 2, Pattern(10), 4);
  EXPECT_EQ(ReadAll(file.bytes()).frames.at(0).wire_length, 10u);
}

TEST(Pcap, LargestFrameAndManyFrames) {
  FileBytes file(false);
  file.PcapHeader(0xa1b23c4d, 1);
  const ByteVector largest = Pattern(1u << 20, 3);
  for (uint32_t i = 0; i < 3; ++i) file.PcapRecord(i, 0, largest, 1u << 20);
  for (uint32_t i = 0; i < 5000; ++i) file.PcapRecord(i, 0, Pattern(i % 400, static_cast<uint8_t>(i)), 400);
  const ReadBack read = ReadAll(file.bytes());
  EXPECT_EQ(read.end, Reader::Next::kEnd);
  ASSERT_EQ(read.frames.size(), 5003u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(read.frames[i].bytes, largest);
  for (uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(read.frames[i + 3].ref.number, i + 4);
    ASSERT_EQ(read.frames[i + 3].bytes, Pattern(i % 400, static_cast<uint8_t>(i)));
  }
}

TEST(Pcap, NotACapture) {
  EXPECT_EQ(ReadAll(Bytes{}).open_error, "file is empty: there is no capture in it");
  EXPECT_EQ(ReadAll(Pattern(100)).open_error,
            "file is not a pcap, pcapng or ERF capture (nor one compressed with gzip or zstd); editcap -F pcapng file "
            "OUT.pcapng converts what Wireshark can read");
  FileBytes version(false);
  version.U32(0xa1b2c3d4).U16(3).U16(0).U32(0).U32(0).U32(0).U32(1);
  EXPECT_EQ(ReadAll(version.bytes()).open_error, "file is pcap version 3: only version 2 is known");
}

}  // namespace
}  // namespace stag::capture
