// SPDX-License-Identifier: GPL-2.0-or-later
//
// MappedFile: what it shows is the file; what a shrinking file takes away becomes zeros, and nothing else does.
#include "capture/file/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

namespace stag::capture {
namespace {

constexpr uint64_t kPage = MappedFile::kPage;

// A file without a name. Every byte of a page tells which page it is; none is 0.
class Pages {
 public:
  explicit Pages(size_t pages) {
    char name[] = "/tmp/stag_mapped_XXXXXX";
    descriptor_ = ::mkstemp(name);
    ::unlink(name);
    for (size_t i = 0; i < pages; ++i) {
      const std::vector<std::byte> page(kPage, Content(i));
      EXPECT_EQ(::write(descriptor_, page.data(), page.size()), static_cast<ssize_t>(page.size()));
    }
    size_ = pages * kPage;
  }
  ~Pages() { ::close(descriptor_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  static std::byte Content(size_t page) { return static_cast<std::byte>(page % 255 + 1); }
  int descriptor() const { return descriptor_; }
  std::shared_ptr<MappedFile> Map() const {
    MappedFile::HandleBusErrors();
    return MappedFile::Make(descriptor_, size_);
  }
  void Shrink(uint64_t size) const { ASSERT_EQ(::ftruncate(descriptor_, static_cast<off_t>(size)), 0); }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// In a process of its own, in which nobody has installed it.
TEST(MappedFileDeathTest, NothingIsMappedWithoutTheHandler) {
  const auto map = [] {
    const Pages file(1);
    std::exit(MappedFile::Make(file.descriptor(), kPage) ? 1 : 0);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process, whatever other tests did in this one
  EXPECT_EXIT(map(), testing::ExitedWithCode(0), "");
}

TEST(MappedFile, ShowsTheFile) {
  const Pages file(1000);
  const auto mapped = file.Map();
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->size(), 1000 * kPage);
  for (size_t first = 0; first + 300 <= 1000; first += 250) {
    const FrameMemory piece = mapped->Piece(first * kPage, 300 * kPage);
    ASSERT_TRUE(piece.owner);
    ASSERT_EQ(piece.size, 300 * kPage);
    for (size_t i = 0; i < piece.size; i += 512) EXPECT_EQ(piece.owner.get()[i], Pages::Content(first + i / kPage));
  }
  EXPECT_FALSE(mapped->shrunk());
}

// How much is in memory of this process: mincore would tell what is in the page cache.
size_t ResidentPages(const std::byte* begin, uint64_t size) {
  size_t resident = 0;
  std::vector<uint64_t> entries(size / kPage);
  const size_t length = entries.size() * sizeof(uint64_t);
  const int map = ::open("/proc/self/pagemap", O_RDONLY);
  const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(begin) / kPage * sizeof(uint64_t));
  EXPECT_EQ(::pread(map, entries.data(), length, place), static_cast<ssize_t>(length));
  ::close(map);
  for (const uint64_t entry : entries) resident += entry >> 63;
  return resident;
}

TEST(MappedFile, WhatNobodyOwnsIsNotResident) {
  const Pages file(2048);
  const auto mapped = file.Map();
  ASSERT_TRUE(mapped);
  FrameMemory first = mapped->Piece(0, 1024 * kPage);
  const std::byte* const begin = first.owner.get();
  unsigned sum = 0;
  for (size_t i = 0; i < first.size; i += kPage) sum += static_cast<unsigned>(first.owner.get()[i]);
  EXPECT_GT(sum, 0u);
  EXPECT_EQ(ResidentPages(begin, 1024 * kPage), 1024u);
  FrameMemory copy = first;
  first = {};
  EXPECT_EQ(ResidentPages(begin, 1024 * kPage), 1024u);
  copy = {};
  EXPECT_EQ(ResidentPages(begin, 1024 * kPage), 0u);
}

// As a file is gone through, and what is a few MiB back is looked at again.
TEST(MappedFile, WhatSomebodyComesBackToGoesAgain) {
  constexpr size_t kPages = 24576, kPiece = 256, kBack = 768;
  const Pages file(kPages);
  const auto mapped = file.Map();
  ASSERT_TRUE(mapped);
  for (size_t first = 0; first < kPages; first += kPiece) {
    const FrameMemory piece = mapped->Piece(first * kPage, kPiece * kPage);
    if (first < kBack) continue;
    const size_t back = first - kBack;
    EXPECT_EQ(mapped->bytes()[back * kPage], Pages::Content(back));
  }
  EXPECT_LT(ResidentPages(mapped->bytes().data(), mapped->size()), 512u);
}

// As a file is gone through: each piece shares a page with the one before.
TEST(MappedFile, LittleIsLeftBehind) {
  const Pages file(16384);
  const auto mapped = file.Map();
  ASSERT_TRUE(mapped);
  FrameMemory piece = mapped->Piece(0, 256 * kPage);
  const std::byte* const begin = piece.owner.get();
  size_t most = 0;
  for (size_t first = 255; first + 256 <= 16384; first += 255) {
    piece = mapped->Piece(first * kPage, 256 * kPage);
    ASSERT_EQ(piece.owner.get()[0], Pages::Content(first));
    most = std::max(most, ResidentPages(begin, 16384 * kPage));
  }
  piece = {};
  EXPECT_LE(most, 2 * 512u + 256u);  // the piece, in huge pages
  EXPECT_LE(ResidentPages(begin, 16384 * kPage), 512u);
}

TEST(MappedFile, WhatIsGoneIsZeros) {
  const Pages file(20), other(20);
  const auto mapped = file.Map(), mapped_other = other.Map();
  ASSERT_TRUE(mapped);
  ASSERT_TRUE(mapped_other);
  const FrameMemory piece = mapped->Piece(0, 10 * kPage), piece_other = mapped_other->Piece(0, 20 * kPage);
  file.Shrink(3 * kPage + 100);
  for (size_t page = 0; page < 10; ++page)
    for (size_t i = 0; i < kPage; i += 50)
      EXPECT_EQ(piece.owner.get()[page * kPage + i],
                page * kPage + i < 3 * kPage + 100 ? Pages::Content(page) : std::byte{0});
  EXPECT_TRUE(mapped->shrunk());
  EXPECT_FALSE(mapped_other->shrunk());
  for (size_t page = 0; page < 20; ++page) EXPECT_EQ(piece_other.owner.get()[page * kPage], Pages::Content(page));
  const FrameMemory behind = mapped->Piece(10 * kPage, 10 * kPage);
  for (size_t page = 0; page < 10; ++page) EXPECT_EQ(behind.owner.get()[page * kPage], std::byte{0});
}

TEST(MappedFile, ShrinkingIsKnownWithoutAFault) {
  const Pages file(2);
  const auto mapped = file.Map();
  ASSERT_TRUE(mapped);
  file.Shrink(kPage + 10);
  EXPECT_TRUE(mapped->shrunk());
}

// Only so many at once; the others are read.
TEST(MappedFile, PlacesAreUsedAgain) {
  const Pages file(1);
  for (size_t round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<MappedFile>> all;
    while (auto one = file.Map()) all.push_back(std::move(one));
    EXPECT_EQ(all.size(), 16u);
  }
}

TEST(MappedFile, WhatCannotBeMappedIsNot) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(MappedFile::Make(ends[0], kPage), nullptr);
  ::close(ends[0]);
  ::close(ends[1]);
  const Pages file(1);
  EXPECT_EQ(MappedFile::Make(file.descriptor(), uint64_t{1} << 63), nullptr);
  EXPECT_TRUE(file.Map());  // it gave its place back
}

// Behind the end of a file that somebody else mapped.
TEST(MappedFileDeathTest, ABusErrorElsewhereIsFatal) {
  const auto fault = [] {
    const Pages file(2);
    const auto mapped = file.Map();
    const auto* const own =
        static_cast<const std::byte*>(::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, file.descriptor(), 0));
    file.Shrink(kPage);
    ::exit(own[kPage] == std::byte{0} ? 0 : 1);
  };
  EXPECT_DEATH(fault(), "");
}

}  // namespace
}  // namespace stag::capture
