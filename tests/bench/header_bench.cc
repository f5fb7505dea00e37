// SPDX-License-Identifier: GPL-2.0-or-later
//
// Decoding and encoding RPC-over-RDMA headers, without and with chunks.
#include <benchmark/benchmark.h>

#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {
namespace {

Header Sample(int segments) {
  Header header;
  header.xid = 0x12345678;
  header.vers = 1;
  header.credit = 128;
  header.proc = kMsg;
  for (int i = 0; i < segments; ++i) {
    header.reads.push_back({});
    header.segments.push_back({});
  }
  if (segments != 0) header.write_chunks.push_back({0, static_cast<uint32_t>(segments)});
  return header;
}

void BM_DecodeHeader(benchmark::State& state) {
  std::vector<std::byte> bytes;
  Encode(Sample(static_cast<int>(state.range(0))), bytes);
  bytes.resize(bytes.size() + 200);  // an RPC message follows
  Header header;
  for (auto _ : state) benchmark::DoNotOptimize(Decode(bytes, bytes.size(), header));
  if (header.status != ParseStatus::kOk) state.SkipWithError("the sample header is wrong");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DecodeHeader)->ArgName("segments")->Arg(0)->Arg(2)->Arg(64);

void BM_EncodeHeader(benchmark::State& state) {
  const Header header = Sample(static_cast<int>(state.range(0)));
  std::vector<std::byte> bytes;
  for (auto _ : state) {
    bytes.clear();
    Encode(header, bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_EncodeHeader)->ArgName("segments")->Arg(0)->Arg(2)->Arg(64);

}  // namespace
}  // namespace stag::rpcrdma
