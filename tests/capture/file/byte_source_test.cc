// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the bytes come from: compressed data, whole and damaged; files, directories, standard input; files that change
// while they are read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

ByteVector Gzip(Bytes bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  ByteVector out(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

ByteVector Zstd(Bytes bytes) {
  ByteVector out(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  EXPECT_EQ(ZSTD_isError(size), 0u);
  out.resize(size);
  return out;
}

ByteVector Joined(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// `count` frames of varied content, so that neither compressor makes one block of it.
ByteVector Capture(uint32_t count) {
  FileBytes file(false);
  file.PcapHeader(0xa1b23c4d, 1);
  uint32_t state = 1;
  for (uint32_t i = 0; i < count; ++i) {
    ByteVector frame(200);
    for (auto& b : frame) b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    file.PcapRecord(i, 0, frame, 200);
  }
  return file.bytes();
}

struct Compression {
  const char* name;
  ByteVector (*compress)(Bytes);
};

void PrintTo(const Compression& compression, std::ostream* out) { *out << compression.name; }

class Compressed : public testing::TestWithParam<Compression> {};

TEST_P(Compressed, IsTheSame) {
  const ByteVector file = Capture(20000);  // 4 MB: many reads
  const ReadBack plain = ReadAll(file);
  const ReadBack read = ReadAll(GetParam().compress(file));
  EXPECT_EQ(read.open_error, "");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.end, Reader::Next::kEnd);
  EXPECT_EQ(read.frames, plain.frames);
}

TEST_P(Compressed, SeveralMembersAreOne) {
  const ByteVector file = Capture(50);
  const Bytes bytes = file;
  const ByteVector parts =
      Joined({GetParam().compress(bytes.first(10)), GetParam().compress({}),
              GetParam().compress(bytes.subspan(10, 5000)), GetParam().compress(bytes.subspan(5010))});
  EXPECT_EQ(ReadAll(parts).frames, ReadAll(file).frames);
  EXPECT_EQ(ReadAll(parts).end, Reader::Next::kEnd);
}

TEST_P(Compressed, CutAnywhereGivesAPrefix) {
  const ByteVector file = GetParam().compress(Capture(20));
  const ReadBack whole = ReadAll(file);
  ASSERT_EQ(whole.frames.size(), 20u);
  for (size_t length = 0; length < file.size(); ++length) {
    SCOPED_TRACE(length);
    const ReadBack read = ReadAll(Bytes(file).first(length));
    if (!read.open_error.empty()) continue;
    EXPECT_EQ(read.end, Reader::Next::kDamaged);
    EXPECT_NE(read.error.find("data is cut off at byte " + std::to_string(length)), std::string::npos) << read.error;
    ASSERT_LE(read.frames.size(), whole.frames.size());
    EXPECT_TRUE(std::equal(read.frames.begin(), read.frames.end(), whole.frames.begin()));
  }
}

TEST_P(Compressed, FlippedBitsAreNeverMoreFrames) {
  const ByteVector file = GetParam().compress(Capture(20));
  for (size_t i = 0; i < file.size(); ++i) {
    ByteVector damaged = file;
    damaged[i] ^= std::byte{0x10};
    EXPECT_LE(ReadAll(damaged).frames.size(), 20u) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Compressed, testing::Values(Compression{"gzip", Gzip}, Compression{"zstd", Zstd}),
                         [](const auto& tested) { return tested.param.name; });

// A pipe whose writer is silent from a byte on: a Read there would wait.
class SilentSource final : public ByteSource {
 public:
  SilentSource(Bytes bytes, const size_t& limit) : bytes_(bytes), limit_(limit) {}
  size_t Read(MutableBytes out) override {
    EXPECT_LT(at_, limit_) << "it waits";
    const Bytes some = bytes_.subspan(at_, std::min({out.size(), limit_ - at_, size_t{50}}));
    std::ranges::copy(some, out.begin());
    at_ += some.size();
    return some.size();
  }
  bool Waits(std::chrono::milliseconds) const override { return at_ == limit_; }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return at_; }
  uint64_t size() const override { return 0; }

 private:
  const Bytes bytes_;
  const size_t& limit_;
  size_t at_ = 0;
  const std::string error_;
};

// `ends`: where the writer may fall silent: the first, before any frame; the others, behind a frame each.
void ReadsWhatIsThere(Bytes file, const std::vector<size_t>& ends, bool anywhere = true) {
  size_t limit = ends.front();
  auto reader = Reader::Open(std::make_unique<SilentSource>(file, limit), "pipe");
  ASSERT_TRUE(reader);
  Frame frame;
  for (size_t n = 1; n < ends.size(); ++n) {
    for (; limit < ends[n]; limit = anywhere ? limit + 1 : ends[n])
      ASSERT_TRUE((*reader)->Waits(std::chrono::milliseconds{0})) << limit;
    ASSERT_FALSE((*reader)->Waits(std::chrono::milliseconds{0})) << limit;
    ASSERT_EQ((*reader)->ReadFrame(frame), Reader::Next::kFrame);
    EXPECT_EQ(frame.ref.number, n);
  }
  EXPECT_TRUE((*reader)->Waits(std::chrono::milliseconds{0}));
}

TEST(Pipe, WhetherAFrameIsThere) {
  for (const bool big_endian : {false, true}) {
    FileBytes pcap(big_endian), pcapng(big_endian);
    pcap.PcapHeader(0xa1b23c4d, 1);
    std::vector<size_t> ends{pcap.bytes().size()};
    for (uint32_t n = 0; n < 5; ++n) ends.push_back(pcap.PcapRecord(n, 0, Pattern(60 + n), 60 + n).bytes().size());
    ReadsWhatIsThere(pcap.bytes(), ends);

    pcapng.Section();
    ends = {pcapng.bytes().size()};
    pcapng.Interface(1);
    for (uint32_t n = 0; n < 5; ++n) {
      pcapng.Enhanced(0, n, Pattern(60 + n), 60 + n);
      ends.push_back(pcapng.bytes().size());
      pcapng.Block(5, pcapng.Body().U32(0).U64(n));  // statistics: no frame
    }
    // The second length of a block is only read with the next one.
    ReadsWhatIsThere(Bytes(pcapng.bytes()).first(ends.back()), ends);
  }
}

// Each frame is flushed by the compressor.
TEST(Pipe, WhetherAFrameIsThereInGzip) {
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  ByteVector out(1 << 16);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  std::vector<size_t> ends;
  for (uint32_t n = 0; n <= 5; ++n) {
    FileBytes part(false);
    if (n == 0) {
      part.PcapHeader(0xa1b23c4d, 1);
    } else {
      part.PcapRecord(n, 0, Pattern(60), 60);
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.bytes().data()));
    stream.avail_in = static_cast<uInt>(part.bytes().size());
    ASSERT_EQ(deflate(&stream, Z_SYNC_FLUSH), Z_OK);
    ends.push_back(stream.total_out);
  }
  deflateEnd(&stream);
  ReadsWhatIsThere(Bytes(out).first(ends.back()), ends, false);
}

TEST(Gzip, WhatFollowsTheLastMemberIsIgnored) {
  const ByteVector file = Joined({Gzip(Capture(3)), ByteVector(512)});
  EXPECT_EQ(ReadAll(file).frames.size(), 3u);
  EXPECT_EQ(ReadAll(file).end, Reader::Next::kEnd);
}

// Wrong checksums are only known at the end, after the frames; what is no data of the format is known at once.
TEST(Compression, DamageIsSaid) {
  ByteVector gzip = Gzip(Capture(2000));
  gzip[gzip.size() - 8] ^= std::byte{1};
  const ByteVector zstd = Joined({Zstd(Capture(2000)), ByteVector(16)});
  for (const auto& [file, expected] :
       {std::pair{gzip, "the gzip data is damaged at byte "}, std::pair{zstd, "the zstd data is damaged at byte "}}) {
    const ReadBack read = ReadAll(file);
    EXPECT_EQ(read.frames.size(), 2000u);
    EXPECT_EQ(read.end, Reader::Next::kDamaged);
    EXPECT_NE(read.error.find(expected), std::string::npos) << read.error;
  }
}

// A block that claims 2 GiB, and many zeros in few bytes: streamed, never held.
TEST(Gzip, BombsAreStreamed) {
  FileBytes file(false);
  file.Section().U32(0x77).U32(0x7ffffffc);
  const ByteVector bomb = Joined({Gzip(file.bytes()), Gzip(ByteVector(64u << 20))});
  const ReadBack read = ReadAll(bomb);
  EXPECT_EQ(read.end, Reader::Next::kDamaged);
  EXPECT_NE(read.error.find("file is cut off in frame 1 at byte "), std::string::npos) << read.error;
}

class Files : public testing::Test {
 protected:
  Files() {
    char name[] = "/tmp/stag_capture_XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }

  std::string Save(const ByteVector& bytes) const {
    const std::string path = directory_ + "/file";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string directory_;
};

TEST_F(Files, PositionAndSize) {
  const ByteVector file = Capture(100);
  for (const ByteVector& stored : {file, Gzip(file), Zstd(file)}) {
    auto reader = Reader::Open(Save(stored));
    ASSERT_TRUE(reader);
    EXPECT_EQ((*reader)->size(), stored.size());
    Frame frame;
    while ((*reader)->ReadFrame(frame) == Reader::Next::kFrame) EXPECT_LE((*reader)->position(), stored.size());
    EXPECT_EQ((*reader)->position(), stored.size());
  }
}

TEST_F(Files, CannotBeOpened) {
  EXPECT_EQ(ReadAll(Reader::Open(directory_ + "/none")).open_error,
            "cannot open " + directory_ + "/none: No such file or directory");
  EXPECT_EQ(ReadAll(Reader::Open(directory_)).open_error, directory_ + " is a directory: give the capture files in it");
}

// Within what was read, and behind it.
TEST_F(Files, ShrinkingWhileReadIsACut) {
  constexpr size_t kRead = 256 << 10;
  for (const size_t size : {size_t{100}, size_t{5000}, size_t{1'000'000}, size_t{3'000'000}}) {
    SCOPED_TRACE(size);
    const ByteVector file = Capture(20000);
    const std::string path = Save(file);
    auto reader = Reader::Open(path);
    ASSERT_TRUE(reader);
    Frame frame;
    ASSERT_EQ((*reader)->ReadFrame(frame), Reader::Next::kFrame);
    std::filesystem::resize_file(path, size);
    size_t frames = 1;
    Reader::Next next;
    while ((next = (*reader)->ReadFrame(frame)) == Reader::Next::kFrame) {
      ++frames;
      EXPECT_TRUE(std::ranges::equal(frame.bytes, Bytes(file).subspan(24 + frames * 216 - 200, 200))) << frames;
    }
    EXPECT_EQ(next, Reader::Next::kDamaged);
    EXPECT_GE(frames, size > 216 ? (size - 24) / 216 : 1u);
    EXPECT_LE(frames, std::max(size, kRead) / 216);
    const std::string said = "the file became shorter while it was read, in frame ";
    EXPECT_EQ((*reader)->error().substr(0, said.size()), said) << (*reader)->error();
  }
}

TEST_F(Files, ShrinkingIsTheReasonInEveryFormat) {
  FileBytes pcapng(false);
  pcapng.Section().Interface(1);
  for (uint32_t i = 0; i < 20000; ++i) pcapng.Enhanced(0, i, Pattern(200), 200);
  const ByteVector pcap = Capture(60000);
  for (const ByteVector& file : {pcapng.bytes(), Gzip(pcap), Zstd(pcap)}) {
    const std::string path = Save(file);
    auto reader = Reader::Open(path);
    ASSERT_TRUE(reader);
    std::filesystem::resize_file(path, file.size() / 3);
    const ReadBack read = ReadAll(std::move(reader));
    EXPECT_EQ(read.end, Reader::Next::kDamaged);
    EXPECT_GT(read.frames.size(), 1000u);
    EXPECT_NE(read.error.find("the file became shorter while it was read"), std::string::npos) << read.error;
  }
}

// As when somebody still captures into it.
TEST_F(Files, GrowingWhileReadIsReadToItsEnd) {
  const ByteVector file = Capture(20000);
  for (const size_t size : {1'000'000u, 1u << 20, 24u, 30u}) {
    SCOPED_TRACE(size);
    const std::string path = Save(ByteVector(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)));
    auto reader = Reader::Open(path);
    ASSERT_TRUE(reader);
    std::ofstream(path, std::ios::binary | std::ios::app)
        .write(reinterpret_cast<const char*>(file.data() + size), static_cast<std::streamsize>(file.size() - size));
    const ReadBack read = ReadAll(std::move(reader));
    EXPECT_EQ(read.frames, ReadAll(file).frames);
    EXPECT_EQ(read.error, "");
  }
}

// Standard input is a pipe, written to in pieces.
TEST_F(Files, StandardInput) {
  const ByteVector file = Capture(5000);
  for (const ByteVector& stored : {file, Gzip(file), Zstd(file)}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const int saved = ::dup(STDIN_FILENO);
    ASSERT_EQ(::dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    ::close(ends[0]);
    std::thread feeder([&] {
      for (size_t at = 0; at < stored.size();) {
        const ssize_t n = ::write(ends[1], stored.data() + at, std::min<size_t>(stored.size() - at, 777));
        if (n <= 0) break;
        at += static_cast<size_t>(n);
      }
      ::close(ends[1]);
    });
    const ReadBack read = ReadAll(Reader::Open("-"));
    feeder.join();
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
    EXPECT_EQ(read.frames, ReadAll(file).frames);
    EXPECT_EQ(read.end, Reader::Next::kEnd);
  }
}

TEST(ByteSource, FailureWhileReadingIsSaid) {
  class Failing final : public ByteSource {
   public:
    explicit Failing(ByteVector bytes) : bytes_(std::move(bytes)), inner_(MemorySource(bytes_)) {}
    size_t Read(MutableBytes out) override {
      const size_t n = inner_->Read(out.first(std::min<size_t>(out.size(), 100)));
      if (n == 0) error_ = "the disk is on fire";
      return n;
    }
    const std::string& error() const override { return error_; }
    uint64_t position() const override { return 0; }
    uint64_t size() const override { return 0; }

   private:
    ByteVector bytes_;
    std::unique_ptr<ByteSource> inner_;
    std::string error_;
  };
  const ByteVector file = Capture(3);
  const auto read = [](ByteVector bytes) {
    return ReadAll(Reader::Open(std::make_unique<Failing>(std::move(bytes)), "file"));
  };
  EXPECT_EQ(read(file).error, "the disk is on fire, before frame 4 at byte 672");
  EXPECT_EQ(read(ByteVector(file.begin(), file.end() - 1)).error, "the disk is on fire, in frame 3 at byte 456");
  EXPECT_EQ(read(ByteVector(file.begin(), file.begin() + 3)).open_error, "file: the disk is on fire");
  EXPECT_EQ(read(ByteVector(file.begin(), file.begin() + 9)).open_error, "file: the disk is on fire");
}

}  // namespace
}  // namespace stag::capture
