// SPDX-License-Identifier: GPL-2.0-or-later
//
// Against Wireshark's own tools: a real capture converted by editcap reads the same in every format, and tshark sees in
// files of ours the numbers, times and lengths that we see.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "capture/file/writer.h"
#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

const std::string kReal = STAG_SOURCE_DIR "/pcaps/real/rxe-rdma_error.pcap";

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

class Convert : public testing::Test {
 protected:
  Convert() {
    char name[] = "/tmp/stag_convert_XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~Convert() override { std::filesystem::remove_all(directory_); }

  // What tshark says of each frame: number, time, length on the wire, captured length.
  void ExpectTsharkAgrees(const std::string& path) {
    const ReadBack read = ReadAll(Reader::Open(path));
    std::ostringstream ours;
    for (const auto& frame : read.frames) {
      char line[128];
      std::snprintf(line, sizeof line, "%llu %lld.%09lld %u %zu\n", static_cast<unsigned long long>(frame.ref.number),
                    static_cast<long long>(frame.ref.time_ns / 1'000'000'000),
                    static_cast<long long>(frame.ref.time_ns % 1'000'000'000), frame.wire_length, frame.bytes.size());
      ours << line;
    }
    EXPECT_EQ(OutputOf("tshark -r " + path +
                       " -T fields -E separator=' ' -e frame.number -e frame.time_epoch -e frame.len -e frame.cap_len"
                       " 2>" +
                       directory_ + "/errors"),
              ours.str());
    EXPECT_FALSE(read.frames.empty());
  }
  std::string directory_;
};

TEST_F(Convert, EveryFormatOfEditcap) {
  const ReadBack real = ReadAll(Reader::Open(kReal));
  ASSERT_EQ(real.end, Reader::Next::kEnd);
  ASSERT_FALSE(real.frames.empty());
  const struct {
    const char* format;
    bool nanoseconds;
  } kFormats[] = {{"pcap", false}, {"nsecpcap", true}, {"pcapng", true}, {"modpcap", false}};
  for (const auto& [format, nanoseconds] : kFormats) {
    const std::string path = directory_ + "/converted";
    (void)OutputOf(std::string("editcap -F ") + format + " " + kReal + " " + path);
    const ReadBack read = ReadAll(Reader::Open(path));
    EXPECT_EQ(read.open_error, "");
    EXPECT_EQ(read.error, "");
    ASSERT_EQ(read.frames.size(), real.frames.size()) << format;
    for (size_t i = 0; i < read.frames.size(); ++i) {
      ReadBack::Item expected = real.frames[i];
      if (!nanoseconds) expected.ref.time_ns -= expected.ref.time_ns % 1000;
      EXPECT_EQ(read.frames[i], expected) << format << ' ' << i;
    }
  }
}

TEST_F(Convert, TsharkReadsWhatWeWrite) {
  const ReadBack real = ReadAll(Reader::Open(kReal));
  for (const FileFormat format : {FileFormat::kPcap, FileFormat::kPcapng}) {
    const std::string path = directory_ + "/written";
    auto writer = FileWriter::Create(path, format, LinkType::kEthernet);
    ASSERT_TRUE(writer);
    for (const auto& f : real.frames) ASSERT_TRUE((*writer)->Write({f.ref, f.link, f.bytes, f.wire_length + 3}, "why"));
    ASSERT_TRUE((*writer)->Close());
    ExpectTsharkAgrees(path);
    const std::string comment =
        OutputOf("tshark -r " + path + " -c 1 -T fields -e frame.comment 2>" + directory_ + "/errors");
    EXPECT_EQ(comment, format == FileFormat::kPcapng ? "why\n" : "\n");
  }
}

TEST_F(Convert, CapinfosReadsNotesAndStatistics) {
  const std::string path = directory_ + "/written";
  auto writer = FileWriter::Create(path, FileFormat::kPcapng, LinkType::kEthernet,
                                   {"stag 1", "made by a test", "mlx5_0", "a device"});
  ASSERT_TRUE(writer);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*writer)->Write({{0, i}, LinkType::kEthernet, Pattern(60), 60}));
  ASSERT_TRUE((*writer)->Close());
  const std::string info = OutputOf("capinfos " + path);
  for (const char* part : {"Wireshark/... - pcapng", "nanoseconds (9)", "Capture application: stag 1",
                           "Capture comment:     made by a test", "Name = mlx5_0", "Description = a device",
                           "Number of stat entries = 1", "Number of packets = 3"})
    EXPECT_NE(info.find(part), std::string::npos) << part << '\n' << info;
}

// Both byte orders, two sections, times in powers of two with an offset.
TEST_F(Convert, TsharkAgreesOnPcapng) {
  FileBytes file(true);
  FileBytes options(true), little(false);
  options.U16(9).U16(1).Put(std::vector{std::byte{0x80 | 20}}).Pad().U16(14).U16(8).U64(1000).U16(0).U16(0);
  file.Section().Interface(1).Enhanced(0, 1'700'000'000'123'456, Pattern(60), 60);
  file.Interface(1, 0, options).Enhanced(1, (uint64_t{1'700'000'001} << 20) + (1u << 19), Pattern(61), 99);
  file.Block(2, file.Body().U16(1).U16(0).U32(5).U32(1u << 19).U32(60).U32(60).Put(Pattern(60)));
  little.Section().Interface(1).Enhanced(0, 1'700'000'000'654'321, Pattern(62), 62);
  file.Put(little.bytes());
  const std::string path = directory_ + "/built";
  FILE* out = std::fopen(path.c_str(), "wb");
  ASSERT_EQ(std::fwrite(file.bytes().data(), 1, file.bytes().size(), out), file.bytes().size());
  std::fclose(out);
  ExpectTsharkAgrees(path);
}

}  // namespace
}  // namespace stag::capture
