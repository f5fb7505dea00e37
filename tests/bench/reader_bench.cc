// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reading capture files: every frame of a file in memory, in both formats.
#include <benchmark/benchmark.h>

#include "capture/file/reader.h"
#include "capture/file/writer.h"
#include "tests/support/run_capture.h"

namespace stag::capture {
namespace {

void BM_Read(benchmark::State& state) {
  const auto frames = test::LoadFrames(STAG_SOURCE_DIR "/pcaps/real/rxe-nfs4.1.pcap.zst");
  std::vector<std::byte> file;
  auto encoder = FileEncoder::Start(static_cast<FileFormat>(state.range(0)), LinkType::kEthernet, file);
  for (int copy = 0; copy < 10; ++copy)
    for (const auto& frame : frames)
      if (!encoder->Append(frame.view(), {}, file)) return state.SkipWithError("the sample cannot be written");
  int64_t count = 0;
  for (auto _ : state) {
    auto reader = Reader::Open(MemorySource(file), "memory");
    Frame frame;
    while ((*reader)->ReadFrame(frame) == Reader::Next::kFrame) ++count;
  }
  state.SetItemsProcessed(count);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(file.size()));
}
BENCHMARK(BM_Read)
    ->ArgName("pcapng")
    ->Arg(static_cast<int>(FileFormat::kPcap))
    ->Arg(static_cast<int>(FileFormat::kPcapng));

}  // namespace
}  // namespace stag::capture
