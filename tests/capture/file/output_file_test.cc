// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace stag::capture {
namespace {

namespace fs = std::filesystem;

Bytes AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    std::string pattern = fs::temp_directory_path() / "stag-output-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~OutputFileTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return root_ / name; }
  void Make(const std::string& name, std::string_view text) const { std::ofstream(root_ / name) << text; }
  std::string Content(const std::string& name) const {
    std::ifstream in(root_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t Entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(root_), {})); }

  fs::path root_;
};

TEST_F(OutputFileTest, HasItsNameWhenItIsWhole) {
  Make("out", "old");
  fs::permissions(root_ / "out", fs::perms(0640));
  auto file = OutputFile::Create(Path("out"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->unnamed());
  ASSERT_TRUE(file->Write(AsBytes("new")));
  EXPECT_EQ(Content("out"), "old");
  ASSERT_TRUE(file->Finish());
  EXPECT_EQ(Content("out"), "new");
  EXPECT_EQ(fs::status(root_ / "out").permissions(), fs::perms(0640));
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(OutputFileTest, GoesWithoutFinish) {
  Make("out", "old");
  {
    auto file = OutputFile::Create(Path("out"));
    ASSERT_TRUE(file && file->Write(AsBytes("new")));
    EXPECT_EQ(Entries(), 2u);
  }
  EXPECT_EQ(Content("out"), "old");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(OutputFileTest, WhatGrowsHasItsNameFromTheStart) {
  Make("out", "old");
  const int before = ::open(Path("out").c_str(), O_RDONLY | O_CLOEXEC);
  {
    auto file = OutputFile::Create(Path("out"), OutputFile::Named::kAtOnce);
    ASSERT_TRUE(file && file->Write(AsBytes("new")));
    EXPECT_EQ(Content("out"), "new");
  }
  EXPECT_EQ(Content("out"), "new");
  EXPECT_EQ(Entries(), 1u);
  char text[4] = {};
  EXPECT_EQ(::read(before, text, sizeof text), 3);  // the old file is not what was written
  EXPECT_STREQ(text, "old");
  ::close(before);
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  fs::create_directory(root_ / "far");
  fs::create_symlink("far/there", root_ / "one");  // to nothing yet
  fs::create_symlink("one", root_ / "two");
  ASSERT_TRUE(WriteWhole(Path("two"), "text"));
  EXPECT_TRUE(fs::is_symlink(root_ / "two") && fs::is_symlink(root_ / "one"));
  EXPECT_EQ(Content("far/there"), "text");
  fs::create_symlink("loop", root_ / "loop");
  EXPECT_FALSE(WriteWhole(Path("loop"), "text"));
}

TEST_F(OutputFileTest, WhatIsReadIsNotWrittenByAnyName) {
  Make("in", "input");
  DeclareInput(Path("in"));
  fs::create_hard_link(root_ / "in", root_ / "hard");
  fs::create_symlink("in", root_ / "soft");
  fs::create_directory(root_ / "sub");
  const int descriptor = ::open(Path("in").c_str(), O_RDWR | O_CLOEXEC);
  for (const std::string& path :
       {Path("in"), Path("./in"), Path("sub/../in"), Path("hard"), Path("soft"),
        "/dev/fd/" + std::to_string(descriptor), "/proc/self/fd/" + std::to_string(descriptor)}) {
    for (const auto named : {OutputFile::Named::kWhenWhole, OutputFile::Named::kAtOnce}) {
      const auto file = OutputFile::Create(path, named);
      ASSERT_FALSE(file) << path;
      EXPECT_NE(file.error().message.find("the command reads"), std::string::npos) << file.error().message;
    }
    EXPECT_EQ(Content("in"), "input") << path;
  }
  ::close(descriptor);
  EXPECT_EQ(WhyNotWritten(Path("other")), "");
  EXPECT_EQ(WhyNotWritten("/dev/null"), "");
}

TEST_F(OutputFileTest, AnInputThatTakesTheNameMeanwhileStays) {
  DeclareInput(Path("late"));
  auto file = OutputFile::Create(Path("late"));
  ASSERT_TRUE(file);
  Make("late", "input");
  EXPECT_FALSE(file->Finish());
  EXPECT_EQ(Content("late"), "input");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(OutputFileTest, PipesDevicesAndDescriptorsTakeTheBytes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const std::string& path : {"/dev/fd/" + std::to_string(ends[1]), std::string("/dev/null")}) {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_FALSE(file->seekable() || file->unnamed());
    EXPECT_TRUE(file->Write(AsBytes("text")) && file->Finish());
  }
  char text[5] = {};
  EXPECT_EQ(::read(ends[0], text, 4), 4);
  EXPECT_STREQ(text, "text");
  ::close(ends[0]), ::close(ends[1]);
  auto full = OutputFile::Create("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->Write(AsBytes("text")).error().message, "cannot write /dev/full: No space left on device");
}

TEST_F(OutputFileTest, WhatCannotBeMade) {
  EXPECT_EQ(OutputFile::Create(Path("none/out")).error().message,
            "cannot write " + Path("none/out") + ": No such file or directory");
  EXPECT_EQ(OutputFile::Create(root_).error().message, "cannot write " + root_.string() + ": Is a directory");
}

// A child that is interrupted takes its temporary names with it, those of directories last.
TEST_F(OutputFileTest, ASignalRemovesWhatHasNoName) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);
      fs::create_directory(root_ / "made");
      TemporaryName directory(AT_FDCWD, Path("made"), true);
      auto one = OutputFile::Create(Path("made/one")), two = OutputFile::Create(Path("made/two"));
      const bool both = one && two && two->Write(AsBytes("text"));
      ::raise(signal);
      ::_exit(both ? 1 : 2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(Entries(), 0u);
  }
}

TEST_F(OutputFileTest, ASignalThatIsIgnoredStaysSo) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGHUP, SIG_IGN);  // nohup
    auto file = OutputFile::Create(Path("out"));
    ::raise(SIGHUP);
    ::_exit(file && file->Write(AsBytes("text")) && file->Finish() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Content("out"), "text");
}

TEST_F(OutputFileTest, AFileWithoutNameCanBeReadAndLeavesNone) {
  const auto made = NamelessFile(root_);
  ASSERT_TRUE(made);
  EXPECT_EQ(::write(*made, "text", 4), 4);
  char text[5] = {};
  EXPECT_EQ(::pread(*made, text, 4, 0), 4);
  EXPECT_STREQ(text, "text");
  EXPECT_EQ(Entries(), 0u);
  ::close(*made);
  EXPECT_FALSE(NamelessFile(Path("none")));
}

}  // namespace
}  // namespace stag::capture
