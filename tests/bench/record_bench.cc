// SPDX-License-Identifier: GPL-2.0-or-later
//
// What `--record` costs a thread: RDMA Writes of 1 MiB, as RoCEv2 and as iWARP, to /dev/null (or record_bench FILE), by
// its processor time; and beside it, in the same run, what the checksums alone would.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "protocol/base/crc.h"
#include "protocol/link/encode.h"
#include "replay/record/recorder.h"
#include "session/fabric/fabric_event.h"

namespace stag::record {
namespace {

constexpr size_t kWrite = 1u << 20;
constexpr int kWrites = 1000, kRounds = 5;

double ThreadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// GB/s, the best of some rounds.
template <typename Fn>
double Best(Fn run) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = ThreadSeconds();
    run();
    best = std::max(best, kWrites * static_cast<double>(kWrite) * 1e-9 / (ThreadSeconds() - begin));
  }
  return best;
}

void Record(const char* path, fabric::FabricKind kind, const std::vector<std::byte>& data) {
  auto recorder = FrameRecorder::Create(path, "record_bench", "bench");
  if (!recorder) {
    fmt::print(stderr, "{}\n", recorder.error().message);
    std::exit(1);
  }
  fabric::ConnectionInfo info;
  info.id = 1;
  info.fabric = kind;
  info.roles_known = true;
  info.service_port = 20049;
  for (int i = 0; i < kWrites; ++i) {
    const FrameRef now{static_cast<uint64_t>(i) + 1, i};
    fabric::Write write;
    write.bytes = data;
    write.length = data.size();
    write.handle = 7;
    write.last = true;
    (*recorder)->OnEvent({info, 1, now, now, write});
  }
  (*recorder)->Finish();
}

void Run(const char* path) {
  std::vector<std::byte> data(kWrite);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  uint32_t sum = 0;
  const auto each = [&](auto fn) {
    return Best([&] {
      for (int i = 0; i < kWrites; ++i) fn();
    });
  };
  fmt::print("GB/s of a thread: CRC32C {:.1f}, CRC-32 {:.1f}, TCP checksum {:.1f}\n",
             each([&] { sum += Crc32c(0, data); }), each([&] { sum += Crc32(0, data); }),
             each([&] { sum += link::ChecksumSum(0, data); }));
  fmt::print("recorded as RoCEv2 {:.1f}, as iWARP {:.1f}{}\n",
             Best([&] { Record(path, fabric::FabricKind::kRoceV2, data); }),
             Best([&] { Record(path, fabric::FabricKind::kIwarp, data); }), sum == 1 ? " " : "");
}

}  // namespace
}  // namespace stag::record

int main(int argc, char** argv) {
  stag::record::Run(argc > 1 ? argv[1] : "/dev/null");
  return 0;
}
