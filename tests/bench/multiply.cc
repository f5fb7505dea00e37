// SPDX-License-Identifier: GPL-2.0-or-later
//
// multiply IN OUT COPIES: a large capture from a small one. Each copy of the packets comes later than the one before and
// is between other hosts: the second and third byte of every IPv4 address tell the copy, so its connections are new ones.
// Checksums and ICRCs are left as they were, which neither stag nor tshark minds unless asked to.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "capture/file/reader.h"
#include "capture/file/writer.h"

namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "multiply: %s\n", message.c_str());
  std::exit(2);
}

void Move(stag::MutableBytes ethernet, unsigned copy) {
  constexpr size_t kAddresses = 14 + 12;
  if (ethernet.size() < kAddresses + 8 || stag::LoadBe16(ethernet.data() + 12) != 0x0800) return;
  for (const size_t address : {kAddresses, kAddresses + 4}) {
    ethernet[address + 1] = static_cast<std::byte>(copy >> 8);
    ethernet[address + 2] = static_cast<std::byte>(copy);
  }
}

struct Stored {
  stag::Frame frame;
  std::vector<std::byte> bytes;
};

std::vector<Stored> Load(const char* path) {
  auto reader = stag::capture::Reader::Open(path);
  if (!reader) Die(reader.error().message);
  std::vector<Stored> stored;
  stag::Frame frame;
  while ((*reader)->ReadFrame(frame) == stag::capture::Reader::Next::kFrame)
    stored.push_back({frame, {frame.bytes.begin(), frame.bytes.end()}});
  if (!(*reader)->error().empty()) Die((*reader)->error());
  if (stored.empty()) Die("no frames");
  return stored;
}

}  // namespace

int main(int argc, char** argv) {
  const int copies = argc == 4 ? std::atoi(argv[3]) : 0;
  if (copies < 1 || copies > 65536) Die("usage: multiply IN OUT COPIES (1 to 65536)");
  std::vector<Stored> stored = Load(argv[1]);
  const int64_t period =
      stored.back().frame.ref.time_ns - stored.front().frame.ref.time_ns + 1'000'000;  // a millisecond between copies
  auto writer = stag::capture::FileWriter::Create(argv[2], stag::capture::FileFormat::kPcap, stored[0].frame.link);
  if (!writer) Die(writer.error().message);
  for (int copy = 0; copy < copies; ++copy) {
    for (Stored& s : stored) {
      Move(s.bytes, static_cast<unsigned>(copy));
      stag::Frame frame = s.frame;
      frame.bytes = s.bytes;
      frame.ref.time_ns += copy * period;
      if (const auto written = (*writer)->Write(frame); !written) Die(written.error().message);
    }
  }
  if (const auto closed = (*writer)->Close(); !closed) Die(closed.error().message);
}
