// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/file_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace stag::cli {
namespace {

namespace fs = std::filesystem;

Bytes AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class FileStoreTest : public ::testing::Test {
 protected:
  FileStoreTest() {
    std::string pattern = fs::temp_directory_path() / "stag-store-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~FileStoreTest() override { fs::remove_all(root_); }

  std::unique_ptr<FileStore> Open(bool force = false, FileStore::Limits limits = {}) {
    auto store = FileStore::Open((root_ / "out").string(), force, limits);
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  static void Put(FileStore& store, std::string_view handle, uint64_t offset, std::string_view data,
                  bool write = false) {
    ExtractedFile* file = store.Find("10.0.0.1", AsBytes(handle));
    ASSERT_NE(file, nullptr);
    const auto put = store.Put(*file, write, offset, data.size(), [&](const auto& sink) {
      sink(AsBytes(data));
      return true;
    });
    EXPECT_TRUE(put) << put.error().message;
  }
  std::string Content(const std::string& name) const {
    std::ifstream in(root_ / "out" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path root_;
};

TEST_F(FileStoreTest, LaterBytesStandAndHolesAreKnown) {
  const auto store = Open();
  store->Name("10.0.0.1", AsBytes("H1"), AsBytes("data"));
  Put(*store, "H1", 0, "aaaa");
  Put(*store, "H1", 2, "bb", true);
  Put(*store, "H1", 6, "cc");
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(Content("data"), std::string("aabb\0\0cc", 8));
  const ExtractedFile& file = store->files().front();
  EXPECT_EQ(file.size(), 8u);
  EXPECT_EQ(file.read.total(), 6u);
  EXPECT_EQ(file.written.total(), 2u);
  EXPECT_FALSE(file.complete());  // a hole at 4
}

TEST_F(FileStoreTest, NamesCollideWithoutLoss) {
  const auto store = Open();
  for (const std::string_view handle : {"H1", "H2", "H3"}) {
    store->Name("10.0.0.1", AsBytes(handle), AsBytes("same"));
    Put(*store, handle, 0, handle);
  }
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(Content("same"), "H1");
  EXPECT_EQ(Content("same~2"), "H2");
  EXPECT_EQ(Content("same~3"), "H3");
}

TEST_F(FileStoreTest, TwoServersWithOneHandleAreTwoFiles) {
  const auto store = Open();
  EXPECT_NE(store->Find("10.0.0.1", AsBytes("H")), store->Find("10.0.0.2", AsBytes("H")));
  EXPECT_EQ(store->files().size(), 2u);
}

TEST_F(FileStoreTest, NewestNameWinsButNotAMadeUpOne) {
  const auto store = Open();
  store->Name("10.0.0.1", AsBytes("H"), AsBytes("old"));
  Put(*store, "H", 0, "x");
  store->Name("10.0.0.1", AsBytes("H"), AsBytes("new"));
  store->Name("10.0.0.1", AsBytes("H"), AsBytes(".nfs0000000012345678"));
  store->Name("10.0.0.1", AsBytes("H"), AsBytes(".."));
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(store->files().front().path, "new");
}

TEST_F(FileStoreTest, NeverLeavesItsDirectory) {
  const auto store = Open();
  const std::string_view names[] = {"../evil", "/etc/evil", "a/../../evil", "sub/evil",
                                    std::string_view("nul\0evil", 8)};
  for (size_t i = 0; i < std::size(names); ++i) {
    const std::string handle = "H" + std::to_string(i);
    store->Name("10.0.0.1", AsBytes(handle), AsBytes(names[i]));
    Put(*store, handle, 0, "x");
  }
  ASSERT_TRUE(store->Finish());
  size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    there += entry.is_regular_file() && entry.path().parent_path() == root_ / "out";
  EXPECT_EQ(there, std::size(names));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
}

TEST_F(FileStoreTest, DoesNotFollowLinksThatArePlantedInTheDirectory) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "victim") << "untouched";
  fs::create_symlink(root_ / "victim", root_ / "out" / "data");
  const auto store = Open(true);
  store->Name("10.0.0.1", AsBytes("H"), AsBytes("data"));
  Put(*store, "H", 0, "x");
  ASSERT_TRUE(store->Finish());
  std::ifstream in(root_ / "victim");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "untouched");
  EXPECT_EQ(Content("data"), "x");
}

TEST_F(FileStoreTest, ADirectoryBelowIsNoLink) {
  fs::create_directories(root_ / "out");
  fs::create_directory(root_ / "victim");
  fs::create_symlink(root_ / "victim", root_ / "out" / "capture");
  const auto store = FileStore::Open((root_ / "out").string(), true, {}, "capture");
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is a link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(root_ / "victim"));
}

TEST_F(FileStoreTest, WithoutFinishNothingStays) {
  {
    const auto store = FileStore::Open((root_ / "out" / "deep").string(), false, {}, "capture");
    ASSERT_TRUE(store);
    Put(**store, "H1", 0, "a");
    Put(**store, "H2", 0, "a");
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(FileStoreTest, ADirectoryInTheWayKeepsItsName) {
  fs::create_directories(root_ / "out" / "data");
  const auto store = Open(true);
  store->Name("10.0.0.1", AsBytes("H"), AsBytes("data"));
  Put(*store, "H", 0, "x");
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(store->files().front().path, "data~2");
  EXPECT_EQ(Content("data~2"), "x");
}

// Neither is a file lost when another one has the name under which it was written.
TEST_F(FileStoreTest, NoNameIsThatOfAnotherPart) {
  const auto store = Open();
  Put(*store, "H1", 0, "one");
  Put(*store, "H2", 0, "two");
  store->Name("10.0.0.1", AsBytes("H1"), AsBytes(store->files().back().path));
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(Content(store->files().front().path), "one");
  EXPECT_EQ(Content(store->files().back().path), "two");
}

TEST_F(FileStoreTest, RefusesADirectoryThatIsNotEmpty) {
  fs::create_directory(root_ / "out");
  std::ofstream(root_ / "out" / "mine") << "mine";
  const auto store = FileStore::Open((root_ / "out").string(), false, {});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("--force"), std::string::npos);
}

TEST_F(FileStoreTest, ManyFilesWithFewDescriptors) {
  FileStore::Limits limits;
  limits.open_files = 2;
  const auto store = Open(false, limits);
  for (uint64_t round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) Put(*store, "H" + std::to_string(i), round * 2, std::to_string(10 + i));
  }
  ASSERT_TRUE(store->Finish());
  for (const ExtractedFile& file : store->files()) {
    EXPECT_EQ(file.path.substr(0, 3), "fh-");
    EXPECT_EQ(file.path.substr(file.path.size() - 4), ".bin");
    const std::string number = std::to_string(10 + std::stoi(file.handle.substr(1)));
    EXPECT_EQ(Content(file.path), number + number + number);
  }
}

TEST_F(FileStoreTest, TablesAreBounded) {
  FileStore::Limits limits;
  limits.files = 2;
  limits.ranges = 2;
  const auto store = Open(false, limits);
  Put(*store, "H1", 0, "a");
  Put(*store, "H2", 0, "a");
  EXPECT_EQ(store->Find("10.0.0.1", AsBytes("H3")), nullptr);
  EXPECT_EQ(store->files_refused(), 1u);
  for (uint64_t i = 1; i < 10; ++i) Put(*store, "H1", i * 2, "a");
  EXPECT_FALSE(store->files().front().ranges_kept);
  EXPECT_FALSE(store->files().front().complete());
  ASSERT_TRUE(store->Finish());
  EXPECT_EQ(Content(store->files().front().path).size(), 19u);
}

TEST_F(FileStoreTest, OffsetsThatNoFileHasAreLeftOut) {
  const auto store = Open();
  Put(*store, "H", UINT64_MAX - 1, "abcd", true);
  ASSERT_TRUE(store->Finish());
  EXPECT_TRUE(store->files().front().lost);
  EXPECT_TRUE(store->files().front().path.empty());
}

TEST(SafeFileName, Names) {
  EXPECT_EQ(SafeFileName("plain.txt"), "plain.txt");
  EXPECT_EQ(SafeFileName("a/b"), "a_b");
  EXPECT_EQ(SafeFileName("\x1b[31m"), "_[31m");
  EXPECT_EQ(SafeFileName("\xff\xc3\xbc"), "_\xc3\xbc");
  EXPECT_EQ(SafeFileName("\xc2\x9b"), "_");  // a C1 control
  EXPECT_EQ(SafeFileName("a\u202eb"), "a_b");
  EXPECT_EQ(SafeFileName("."), "");
  EXPECT_EQ(SafeFileName(".."), "");
  EXPECT_EQ(SafeFileName("..."), "...");
  EXPECT_EQ(SafeFileName(std::string(300, 'a')).size(), 255u);
  EXPECT_EQ(SafeFileName(std::string(254, 'a') + "\xc3\xbc").size(), 254u);  // never half a character
}

}  // namespace
}  // namespace stag::cli
