// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/eligible.h"

#include <algorithm>

#include "protocol/nfs/walk.h"

namespace stag::rpcrdma {

bool ReducesOnlyEligible(const rpcrdma::Header& header, Bytes call) {
  const auto ordinary = [](const rpcrdma::ReadSegment& read) { return read.position != 0; };
  if (std::ranges::none_of(header.reads, ordinary)) return true;
  struct Items final : nfs::Visitor {
    bool IsReduced(const nfs::Item& item) override {
      offsets.push_back(item.offset);
      return false;  // they are all there again
    }
    std::vector<uint64_t> offsets;
  } items;
  const nfs::Walk walk = nfs::WalkCall(rpc::DecodeCall(call, call.size()), call, call.size(), items);
  if (walk.status != ParseStatus::kOk) return true;
  return std::ranges::all_of(header.reads, [&](const rpcrdma::ReadSegment& read) {
    return !ordinary(read) || std::ranges::find(items.offsets, read.position) != items.offsets.end();
  });
}

}  // namespace stag::rpcrdma
