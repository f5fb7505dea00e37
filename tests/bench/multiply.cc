// SPDX-License-Identifier: GPL-2.0-or-later
//
// multiply IN OUT COPIES: a large capture from a small one. Each copy of the packets comes later than the one before
// and is between other hosts: the second and third byte of every IPv4 address tell the copy, so its connections are new
// ones. Checksums and ICRCs are left as they were, which neither stag nor tshark minds unless asked to.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file/reader.h"
#include "capture/file/writer.h"

namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "multiply: %s\n", message.c_str());
  std::exit(2);
}

constexpr size_t kIpAddresses = 14 + 12;      // Ethernet, IPv4 up to the addresses
constexpr size_t kBth = 14 + 20 + 8;          // Ethernet, IPv4, UDP
constexpr uint32_t kManagementQueuePair = 1;  // CM messages go there

void MoveAddress(std::byte* address, unsigned copy) {
  address[1] = static_cast<std::byte>(copy >> 8);
  address[2] = static_cast<std::byte>(copy);
}

// Of the packet, and where a CM message repeats it: tshark finds connections by these.
void Move(const stag::Frame& original, stag::MutableBytes moved, unsigned copy) {
  if (moved.size() < kIpAddresses + 8 || stag::LoadBe16(original.bytes.data() + 12) != 0x0800) return;
  MoveAddress(moved.data() + kIpAddresses, copy);
  MoveAddress(moved.data() + kIpAddresses + 4, copy);
  const bool roce =
      moved.size() > kBth + 12 && moved[14 + 9] == std::byte{17} && stag::LoadBe16(moved.data() + kBth - 6) == 4791;
  if (!roce || (stag::LoadBe32(moved.data() + kBth + 4) & 0xffffff) != kManagementQueuePair) return;
  const uint32_t source = stag::LoadBe32(original.bytes.data() + kIpAddresses);
  const uint32_t destination = stag::LoadBe32(original.bytes.data() + kIpAddresses + 4);
  for (size_t at = kBth + 12; at + 4 <= moved.size(); ++at) {
    const uint32_t word = stag::LoadBe32(original.bytes.data() + at);
    if (word == source || word == destination) MoveAddress(moved.data() + at, copy);
  }
}

struct Stored {
  stag::Frame frame;
  std::vector<std::byte> bytes;  // what frame.bytes is a view of
};

std::vector<Stored> Load(const char* path) {
  auto reader = stag::capture::Reader::Open(path);
  if (!reader) Die(reader.error().message);
  std::vector<Stored> stored;
  stag::Frame frame;
  while ((*reader)->ReadFrame(frame) == stag::capture::Reader::Next::kFrame)
    stored.push_back({frame, {frame.bytes.begin(), frame.bytes.end()}});
  for (Stored& s : stored) s.frame.bytes = s.bytes;
  if (!(*reader)->error().empty()) Die((*reader)->error());
  if (stored.empty()) Die("no frames");
  return stored;
}

// How many copies; zero if the text is not such a number.
uint32_t Copies(std::string_view text) {
  uint32_t copies = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), copies);
  return error == std::errc() && end == text.data() + text.size() && copies <= 65536 ? copies : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t copies = argc == 4 ? Copies(argv[3]) : 0;
  if (copies == 0) Die("usage: multiply IN OUT COPIES (1 to 65536)");
  const std::vector<Stored> stored = Load(argv[1]);
  const int64_t period =
      stored.back().frame.ref.time_ns - stored.front().frame.ref.time_ns + 1'000'000;  // a millisecond between copies
  auto writer = stag::capture::FileWriter::Create(argv[2], stag::capture::FileFormat::kPcap, stored[0].frame.link);
  if (!writer) Die(writer.error().message);
  std::vector<std::byte> bytes;
  for (unsigned copy = 0; copy < copies; ++copy) {
    for (const Stored& s : stored) {
      bytes = s.bytes;
      Move(s.frame, bytes, copy);
      stag::Frame frame = s.frame;
      frame.bytes = bytes;
      frame.ref.time_ns += copy * period;
      if (const auto written = (*writer)->Write(frame); !written) Die(written.error().message);
    }
  }
  if (const auto closed = (*writer)->Close(); !closed) Die(closed.error().message);
}
