// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/file_set.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "capture/file/reader.h"

namespace stag::capture {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoon = 1'769'860'800'000'000'000;  // 2026-01-31 12:00:00 UTC

class FileSetTest : public testing::Test {
 protected:
  FileSetTest() {
    fs::create_directories(directory_);
    options_.path = directory_ / "a.pcapng";
  }
  ~FileSetTest() override { fs::remove_all(directory_); }

  // `count` frames of `size` bytes, one a second.
  void Write(uint64_t count, size_t size) {
    auto set = FileSet::Open(options_);
    ASSERT_TRUE(set);
    for (uint64_t i = 0; i < count; ++i) {
      const std::vector<std::byte> bytes(size, static_cast<std::byte>(i));
      ASSERT_TRUE((*set)->Write({{i + 1, kNoon + static_cast<int64_t>(i) * 1'000'000'000},
                                 LinkType::kEthernet,
                                 bytes,
                                 static_cast<uint32_t>(size)},
                                ""));
    }
    ASSERT_TRUE((*set)->Close({}));
    EXPECT_EQ((*set)->lost(), 0u);
    names_.assign((*set)->names().begin(), (*set)->names().end());
  }
  // The contents' first bytes, file by file, of what is there.
  std::vector<std::vector<int>> Contents() {
    std::vector<std::vector<int>> all;
    for (const std::string& name : names_) {
      auto reader = Reader::Open(name);
      EXPECT_TRUE(reader) << name;
      if (!reader) continue;
      Frame frame;
      std::vector<int> found;
      Reader::Next next;
      while ((next = (*reader)->ReadFrame(frame)) == Reader::Next::kFrame)
        if (!frame.bytes.empty()) found.push_back(static_cast<int>(frame.bytes[0]));
      EXPECT_EQ(next, Reader::Next::kEnd) << (*reader)->error();
      all.push_back(found);
    }
    return all;
  }
  std::vector<std::string> Listed() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  fs::path directory_ = fs::temp_directory_path() / ("stag_file_set_" + std::to_string(::getpid()));
  FileSetOptions options_;
  std::vector<std::string> names_;
};

TEST_F(FileSetTest, One) {
  Write(5, 100);
  EXPECT_EQ(Listed(), std::vector<std::string>{"a.pcapng"});
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{{0, 1, 2, 3, 4}}));
}

TEST_F(FileSetTest, BySize) {
  options_.max_bytes = 2 * (1000 + 32);
  Write(5, 1000);
  EXPECT_EQ(Listed(), (std::vector<std::string>{"a_00001_20260131120000.pcapng", "a_00002_20260131120002.pcapng",
                                                "a_00003_20260131120004.pcapng"}));
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4}}));
}

TEST_F(FileSetTest, ByTime) {
  options_.every = std::chrono::seconds(3);
  Write(7, 10);
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST_F(FileSetTest, OnlyTheLastAreKept) {
  options_.every = std::chrono::seconds(2);
  options_.keep = 2;
  Write(9, 10);
  EXPECT_EQ(Listed(), (std::vector<std::string>{"a_00004_20260131120006.pcapng", "a_00005_20260131120008.pcapng"}));
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{{6, 7}, {8}}));
}

TEST_F(FileSetTest, Compressed) {
  options_.path = directory_ / "a.pcapng.zst";
  options_.compression = Compression::kZstd;
  options_.every = std::chrono::seconds(300);
  Write(600, 5000);
  EXPECT_EQ(Listed(),
            (std::vector<std::string>{"a_00001_20260131120000.pcapng.zst", "a_00002_20260131120500.pcapng.zst"}));
  const auto contents = Contents();
  ASSERT_EQ(contents.size(), 2u);
  EXPECT_EQ(contents[0].size(), 300u);
  EXPECT_EQ(contents[1].size(), 300u);
  EXPECT_LT(fs::file_size(names_[0]), 300u * 500);
}

TEST_F(FileSetTest, NoRowOfAnEmptyCapture) {
  options_.max_bytes = 1 << 20;
  Write(0, 0);
  EXPECT_TRUE(Listed().empty());
}

TEST_F(FileSetTest, CannotBeMade) {
  options_.path = directory_ / "no" / "a.pcapng";
  const auto set = FileSet::Open(options_);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("No such file or directory"), std::string::npos) << set.error().message;
}

TEST_F(FileSetTest, FullDisk) {
  options_.path = "/dev/full";
  auto set = FileSet::Open(options_);
  ASSERT_TRUE(set);
  const std::vector<std::byte> bytes(100'000);
  uint64_t failed = 0;
  for (int i = 0; i < 10; ++i)
    failed += !(*set)->Write({{1, kNoon}, LinkType::kEthernet, bytes, 100'000}, "").has_value();
  EXPECT_GT(failed, 0u);
  const auto closed = (*set)->Close({});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_EQ((*set)->lost(), 10u);
}

// A row whose next file can't be made: the last one grows, and no packet is lost.
TEST_F(FileSetTest, NoNextFile) {
  const fs::path away = directory_.string() + "_away";
  options_.every = std::chrono::seconds(3);
  auto set = FileSet::Open(options_);
  ASSERT_TRUE(set);
  for (int i = 0; i < 20; ++i) {
    if (i == 5) fs::rename(directory_, away);
    if (i == 13) fs::rename(away, directory_);
    const auto byte = static_cast<std::byte>(i);
    const auto written =
        (*set)->Write({{1, kNoon + i * int64_t{1'000'000'000}}, LinkType::kEthernet, Bytes(&byte, 1), 1}, "");
    EXPECT_EQ(written.has_value(), i < 6 || i >= 13) << i;
    EXPECT_TRUE(written || written.error().message.ends_with("No such file or directory"));
    EXPECT_FALSE((*set)->over());
  }
  EXPECT_TRUE((*set)->Close({}));
  EXPECT_EQ((*set)->lost(), 0u);
  names_.assign((*set)->names().begin(), (*set)->names().end());
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{
                            {0, 1, 2}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {13, 14, 15}, {16, 17, 18}, {19}}));
}

// While a disk is full no file of a row is given up for one that stays empty.
TEST_F(FileSetTest, FullDiskOfARow) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  options_.every = std::chrono::seconds(2);
  options_.keep = 2;
  auto set = FileSet::Open(options_);
  ASSERT_TRUE(set);
  const std::vector<std::byte> bytes(1000);
  int64_t seconds = 0;
  const auto write = [&] {
    const auto written = (*set)->Write({{1, kNoon + seconds++ * 1'000'000'000}, LinkType::kEthernet, bytes, 1000}, "");
    return (*set)->Flush() && written;
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(write());
  const auto kept = Listed();
  const rlimit limit{0, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(write());
  EXPECT_EQ(Listed(), kept);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ((*set)->lost(), 10u);
  EXPECT_TRUE(write());
  EXPECT_TRUE(write());
  (void)(*set)->Close({});
  EXPECT_EQ((*set)->lost(), 10u);
  names_.assign((*set)->names().begin(), (*set)->names().end());
  EXPECT_EQ(Contents(), (std::vector<std::vector<int>>{{0, 0}, {0, 0}}));
}

TEST_F(FileSetTest, NoFirstFileOfARow) {
  options_.path = directory_ / "no" / "a.pcapng";
  options_.every = std::chrono::seconds(2);
  EXPECT_FALSE(FileSet::Open(options_, kNoon));
  auto set = FileSet::Open(options_);
  ASSERT_TRUE(set);
  EXPECT_FALSE((*set)->Write({{1, kNoon}, LinkType::kEthernet, {}, 0}, ""));
  EXPECT_TRUE((*set)->over());
  EXPECT_EQ((*set)->lost(), 1u);
}

}  // namespace
}  // namespace stag::capture
