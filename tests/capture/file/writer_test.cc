// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

const FileFormat kFormats[] = {FileFormat::kPcap, FileFormat::kPcapng};

ByteVector Encode(FileFormat format, const std::vector<ReadBack::Item>& frames, std::string_view comment = {}) {
  ByteVector out;
  auto encoder = FileEncoder::Start(format, frames.at(0).link, out);
  EXPECT_TRUE(encoder);
  for (const auto& f : frames) EXPECT_TRUE(encoder->Append({f.ref, f.link, f.bytes, f.wire_length}, comment, out));
  return out;
}

// decode(encode(x)) == x
TEST(FileEncoder, RoundTrip) {
  std::mt19937 random(7);
  for (const FileFormat format : kFormats) {
    std::vector<ReadBack::Item> frames;
    for (uint32_t i = 0; i < 300; ++i) {
      const auto size = random() % 500;
      const uint64_t time_ns = uint64_t{random()} * 1'000'000'000 + random() % 1'000'000'000;
      frames.push_back({{i + 1, static_cast<int64_t>(time_ns)},
                        LinkType::kEthernet,
                        Pattern(size, static_cast<uint8_t>(i)),
                        static_cast<uint32_t>(size + random() % 100)});
    }
    const ReadBack read = ReadAll(Encode(format, frames));
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.frames, frames);
    EXPECT_EQ(ReadAll(Encode(format, frames, "a comment")).frames, format == FileFormat::kPcap ? frames : read.frames);
  }
}

TEST(FileEncoder, EveryLinkTypeThatFilesKnow) {
  const LinkType kStored[] = {LinkType::kEthernet, LinkType::kLinuxSll, LinkType::kLinuxSll2,
                              LinkType::kRawIp,    LinkType::kErf,      LinkType::kInfiniBand};
  std::vector<ReadBack::Item> all;
  for (const LinkType link : kStored) {
    const ReadBack::Item item{{1, 5}, link, Pattern(9), 9};
    EXPECT_EQ(ReadAll(Encode(FileFormat::kPcap, {item})).frames, std::vector{item});
    all.push_back(item);
    all.back().ref.number = all.size();
  }
  EXPECT_EQ(ReadAll(Encode(FileFormat::kPcapng, all)).frames, all) << "an interface for each";

  ByteVector out;
  EXPECT_FALSE(FileEncoder::Start(FileFormat::kPcap, LinkType::kErfEthernet, out));
  EXPECT_FALSE(FileEncoder::Start(FileFormat::kPcapng, LinkType::kUnsupported, out));
}

TEST(FileEncoder, WhatCannotBeStoredIsRefusedAndNotWritten) {
  for (const FileFormat format : kFormats) {
    ByteVector out;
    auto encoder = FileEncoder::Start(format, LinkType::kEthernet, out);
    ASSERT_TRUE(encoder);
    const ByteVector before = out;
    const ByteVector bytes = Pattern((1u << 20) + 1);
    EXPECT_FALSE(encoder->Append({{1, -1}, LinkType::kEthernet, Bytes(bytes).first(4), 4}, {}, out));
    EXPECT_FALSE(encoder->Append({{1, 0}, LinkType::kEthernet, bytes, 1u << 20}, {}, out));
    EXPECT_FALSE(encoder->Append({{1, 0}, LinkType::kErfEthernet, Bytes(bytes).first(4), 4}, {}, out));
    EXPECT_FALSE(
        encoder->Append({{1, 0}, LinkType::kEthernet, Bytes(bytes).first(4), 4}, std::string(65536, 'x'), out));
    if (format == FileFormat::kPcap) {
      EXPECT_FALSE(encoder->Append({{1, int64_t{1} << 62}, LinkType::kEthernet, Bytes(bytes).first(4), 4}, {}, out));
      EXPECT_FALSE(encoder->Append({{1, 0}, LinkType::kRawIp, Bytes(bytes).first(4), 4}, {}, out));
    }
    EXPECT_EQ(out, before);
  }
}

TEST(FileWriter, WritesFiles) {
  char name[] = "/tmp/stag_writer_XXXXXX";
  const std::string directory = ::mkdtemp(name);
  const std::string path = directory + "/out";
  for (const FileFormat format : kFormats) {
    auto writer = FileWriter::Create(path, format, LinkType::kEthernet);
    ASSERT_TRUE(writer);
    const ByteVector bytes = Pattern(1000);
    for (int i = 0; i < 2000; ++i) ASSERT_TRUE((*writer)->Write({{0, i}, LinkType::kEthernet, bytes, 1000}, "comment"));
    ASSERT_TRUE((*writer)->Close());
    const ReadBack read = ReadAll(Reader::Open(path));
    ASSERT_EQ(read.frames.size(), 2000u);
    EXPECT_EQ(read.frames[1999], (ReadBack::Item{{2000, 1999}, LinkType::kEthernet, bytes, 1000}));
    EXPECT_EQ(read.end, Reader::Next::kEnd);
  }
  auto nowhere = FileWriter::Create(directory + "/none/out", FileFormat::kPcap, LinkType::kEthernet);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "cannot write " + directory + "/none/out: No such file or directory");
  std::filesystem::remove_all(directory);
}

// Small pieces are buffered, large ones are written from where they lie: the file is the same.
TEST(FileWriter, FramesInPieces) {
  char name[] = "/tmp/stag_writer_XXXXXX";
  const std::string directory = ::mkdtemp(name);
  const size_t large = FileEncoder::kViewed;
  for (const FileFormat format : kFormats) {
    for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
      ByteVector files[2];
      for (const bool whole : {false, true}) {
        const std::string path = directory + "/out";
        auto writer = FileWriter::Create(path, format, LinkType::kEthernet, {}, compression);
        ASSERT_TRUE(writer);
        for (const size_t size : {size_t{0}, size_t{7}, large - 1, large, large + 1, 3 * large}) {
          const ByteVector head = Pattern(54, 1), data = Pattern(size, 2), tail = Pattern(5, 3);
          ByteVector all = head;
          all.insert(all.end(), data.begin(), data.end());
          all.insert(all.end(), tail.begin(), tail.end());
          all.insert(all.end(), data.begin(), data.end());
          const std::array<Bytes, 4> pieces = {head, data, tail, data};
          const Frame frame{{0, 5}, LinkType::kEthernet, all, static_cast<uint32_t>(all.size())};
          const std::string_view comment = format == FileFormat::kPcapng && size == 7 ? "a comment" : "";
          ASSERT_TRUE(whole ? (*writer)->Write(frame, comment) : (*writer)->WritePieces(frame, pieces, comment));
        }
        ASSERT_TRUE((*writer)->Close());
        const ReadBack read = ReadAll(Reader::Open(path));
        EXPECT_EQ(read.error, "");
        EXPECT_EQ(read.frames.size(), 6u);
        for (const ReadBack::Item& item : read.frames) {
          files[whole].insert(files[whole].end(), item.bytes.begin(), item.bytes.end());
          EXPECT_EQ(item.bytes.size(), item.wire_length);
        }
      }
      EXPECT_EQ(files[0], files[1]);
    }
  }
  std::filesystem::remove_all(directory);
}

// A file, and a limit to its size, for a disk that is full.
class FullDisk {
 public:
  FullDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullDisk() {
    Clear();
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return directory_ + "/out"; }
  void FillAt(rlim_t size) {
    const rlimit limit{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  void Clear() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  char name_[24] = "/tmp/stag_writer_XXXXXX";
  const std::string directory_ = ::mkdtemp(name_);
  rlimit before_{};
};

// ... and when the disk is full in the midst of a large piece, it ends with the frame before.
TEST(FileWriter, AFullDiskInALargePiece) {
  FullDisk disk;
  const ByteVector small = Pattern(100), large = Pattern(2 * FileEncoder::kViewed);
  const std::array<Bytes, 2> pieces = {small, large};
  const auto size = static_cast<uint32_t>(small.size() + large.size());
  for (const FileFormat format : kFormats) {
    auto writer = FileWriter::Create(disk.path(), format, LinkType::kEthernet);
    ASSERT_TRUE(writer);
    disk.FillAt(2 * FileEncoder::kViewed);
    ASSERT_TRUE((*writer)->Write({{0, 1}, LinkType::kEthernet, small, 100}));
    EXPECT_FALSE((*writer)->WritePieces({{0, 2}, LinkType::kEthernet, {}, size}, pieces));
    EXPECT_FALSE((*writer)->WritePieces({{0, 3}, LinkType::kEthernet, {}, size}, pieces));
    disk.Clear();
    EXPECT_FALSE((*writer)->Close());
    const ReadBack read = ReadAll(Reader::Open(disk.path()));
    EXPECT_EQ(read.end, Reader::Next::kEnd) << read.error;
    EXPECT_EQ(read.frames.size(), 1u);
    EXPECT_EQ((*writer)->lost(), 2u);
  }
}

TEST(FileWriter, FullDiskIsSaid) {
  auto writer = FileWriter::Create("/dev/full", FileFormat::kPcap, LinkType::kEthernet);
  ASSERT_TRUE(writer);
  const auto closed = (*writer)->Close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, "cannot write /dev/full: No space left on device");
}

// What a pcapng file says of itself, block by block, as the draft has it (sections 4.1, 4.2 and 4.6).
TEST(FileEncoder, NotesAndStatistics) {
  const FileNotes notes{.application = "stag 1",
                        .comment = "made by a test",
                        .interface_name = "mlx5_0",
                        .interface_description = "a device"};
  ByteVector out;
  auto encoder = FileEncoder::Start(FileFormat::kPcapng, LinkType::kEthernet, out, notes);
  ASSERT_TRUE(encoder);
  const ByteVector frame = Pattern(4);
  ASSERT_TRUE(encoder->Append({{1, 0x1'0000'0005}, LinkType::kEthernet, frame, 4}, {}, out));
  ASSERT_TRUE(encoder->Append({{2, 0x2'0000'0006}, LinkType::kEthernet, frame, 4}, {}, out));
  encoder->AppendStatistics(1, {}, out);

  FileBytes expected(false);
  const auto text = [](std::string_view t) { return std::as_bytes(std::span(t)); };
  const auto body = [&] { return expected.Body(); };
  expected.Block(0x0a0d0d0a, body()
                                 .U32(0x1a2b3c4d)
                                 .U16(1)
                                 .U16(0)
                                 .U64(~uint64_t{0})
                                 .U16(1)
                                 .U16(14)
                                 .Put(text("made by a test"))
                                 .Pad()
                                 .U16(4)
                                 .U16(6)
                                 .Put(text("stag 1"))
                                 .Pad()
                                 .U32(0));
  expected.Interface(
      1, 1u << 20,
      body().U16(2).U16(6).Put(text("mlx5_0")).Pad().U16(3).U16(8).Put(text("a device")).U16(9).U16(1).U32(9).U32(0));
  expected.Enhanced(0, 0x1'0000'0005, frame, 4).Enhanced(0, 0x2'0000'0006, frame, 4);
  expected.Block(5, body()
                        .U32(0)
                        .U32(2)
                        .U32(6)
                        .U16(2)
                        .U16(8)
                        .U32(1)
                        .U32(5)  // begin
                        .U16(3)
                        .U16(8)
                        .U32(2)
                        .U32(6)  // end
                        .U16(4)
                        .U16(8)
                        .U64(2)  // received
                        .U16(5)
                        .U16(8)
                        .U64(1)  // dropped
                        .U32(0));
  EXPECT_EQ(out, expected.bytes());
  const ReadBack read = ReadAll(out);
  EXPECT_EQ(read.frames.size(), 2u);
  EXPECT_EQ(read.end, Reader::Next::kEnd);
}

// As on a full disk, at every place in a frame: the file ends with the last that is whole, and is readable.
TEST(FileWriter, AFullDiskLeavesWholeFrames) {
  FullDisk disk;
  const ByteVector bytes = Pattern(100);
  for (const FileFormat format : kFormats) {
    for (rlim_t size = 500; size < 650; ++size) {
      auto writer = FileWriter::Create(disk.path(), format, LinkType::kEthernet);
      ASSERT_TRUE(writer);
      disk.FillAt(size);
      for (int i = 0; i < 10; ++i) ASSERT_TRUE((*writer)->Write({{0, i}, LinkType::kEthernet, bytes, 100}));
      EXPECT_FALSE((*writer)->Flush());
      EXPECT_FALSE((*writer)->Write({{0, 10}, LinkType::kEthernet, bytes, 100}));
      disk.Clear();
      const auto closed = (*writer)->Close();
      ASSERT_FALSE(closed);
      EXPECT_EQ(closed.error().message, "cannot write " + disk.path() + ": File too large");
      const ReadBack read = ReadAll(Reader::Open(disk.path()));
      EXPECT_EQ(read.end, Reader::Next::kEnd) << read.error << ' ' << size;
      const uint64_t header = format == FileFormat::kPcap ? 24 : 28 + 32,
                     each = format == FileFormat::kPcap ? 116 : 132;
      EXPECT_EQ(read.frames.size(), (size - header) / each) << size;
      EXPECT_EQ((*writer)->lost(), 11 - read.frames.size());
    }
  }
}

// ... and goes on when there is room again, whatever got lost: frames, the description of an interface, the header.
TEST(FileWriter, RoomAgain) {
  FullDisk disk;
  const ByteVector bytes = Pattern(100);
  for (const FileFormat format : kFormats) {
    for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
      for (rlim_t size = 0; size < 400; size += 7) {
        auto writer = FileWriter::Create(disk.path(), format, LinkType::kEthernet, {}, compression);
        ASSERT_TRUE(writer);
        int64_t time = 0;
        const auto write = [&](LinkType link) {
          return (*writer)->Write({{0, ++time}, format == FileFormat::kPcap ? LinkType::kEthernet : link, bytes, 100});
        };
        disk.FillAt(size);
        for (int i = 0; i < 10; ++i) ASSERT_TRUE(write(i % 2 == 0 ? LinkType::kEthernet : LinkType::kInfiniBand));
        const bool full = !(*writer)->Flush();
        EXPECT_TRUE(full || compression == Compression::kZstd);
        disk.Clear();
        EXPECT_FALSE((*writer)->over());
        (void)(*writer)->Flush();  // it is tried again behind this
        for (int i = 0; i < 10; ++i) ASSERT_TRUE(write(i % 2 == 0 ? LinkType::kInfiniBand : LinkType::kEthernet));
        EXPECT_EQ((*writer)->Close().has_value(), !full);
        const ReadBack read = ReadAll(Reader::Open(disk.path()));
        EXPECT_EQ(read.end, Reader::Next::kEnd) << read.error << ' ' << size;
        EXPECT_EQ(read.frames.size() + (*writer)->lost(), 20u);
        ASSERT_GE(read.frames.size(), 10u);
        for (const ReadBack::Item& item : read.frames) EXPECT_EQ(item.bytes, bytes);
        EXPECT_EQ(read.frames.back().ref.time_ns, 20);
        EXPECT_EQ(read.frames.end()[-2].link,
                  format == FileFormat::kPcapng ? LinkType::kInfiniBand : LinkType::kEthernet);
      }
    }
  }
}

}  // namespace
}  // namespace stag::capture
