// SPDX-License-Identifier: GPL-2.0-or-later
//
// The pipeline on real captures: frames to fabric events, and frames to transactions, per frame.
#include <benchmark/benchmark.h>

#include <string>

#include "tests/support/run_capture.h"

namespace stag {
namespace {

class Nobody final : public fabric::Sink {
 public:
  void OnEvent(const fabric::Event& event) override { benchmark::DoNotOptimize(&event); }
};

int64_t TotalBytes(const std::vector<test::OwnedFrame>& frames) {
  int64_t total = 0;
  for (const auto& frame : frames) total += static_cast<int64_t>(frame.bytes.size());
  return total;
}

void Count(benchmark::State& state, const std::vector<test::OwnedFrame>& frames) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(frames.size()));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * TotalBytes(frames));
}

void Events(benchmark::State& state, const std::string& capture) {
  const auto frames = test::LoadFrames(STAG_SOURCE_DIR "/pcaps/real/" + capture);
  Nobody nobody;
  for (auto _ : state) benchmark::DoNotOptimize(test::Decode(frames, {}, nobody));
  Count(state, frames);
}
BENCHMARK_CAPTURE(Events, rxe, "rxe-nfs4.1.pcap.zst");
BENCHMARK_CAPTURE(Events, siw, "siw-nfs4.1.pcap.zst");

void Transactions(benchmark::State& state, const std::string& capture, bool keep_bulk) {
  const auto frames = test::LoadFrames(STAG_SOURCE_DIR "/pcaps/real/" + capture);
  session::SessionOptions options;
  options.keep_bulk = keep_bulk;
  for (auto _ : state) benchmark::DoNotOptimize(test::Run(frames, {}, options, {}));
  Count(state, frames);
}
BENCHMARK_CAPTURE(Transactions, rxe, "rxe-nfs4.1.pcap.zst", false);
BENCHMARK_CAPTURE(Transactions, rxe_with_data, "rxe-nfs4.1.pcap.zst", true);
BENCHMARK_CAPTURE(Transactions, siw, "siw-nfs4.1.pcap.zst", false);
BENCHMARK_CAPTURE(Transactions, siw_with_data, "siw-nfs4.1.pcap.zst", true);

}  // namespace
}  // namespace stag
