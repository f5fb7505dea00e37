// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/settings.h"

#include <algorithm>

#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {

namespace {

uint8_t EncodedSize(uint32_t bytes) { return static_cast<uint8_t>(std::clamp(bytes / 1024, 1u, 256u) - 1); }

}  // namespace

std::vector<std::byte> EncodeSettings(uint32_t send_size, uint32_t receive_size, bool remote_invalidation) {
  rpcrdma::PrivateData data;
  data.flags = remote_invalidation ? 1 : 0;
  data.send_size = EncodedSize(send_size);
  data.receive_size = EncodedSize(receive_size);
  std::vector<std::byte> out;
  rpcrdma::Encode(data, out);
  return out;
}

Settings Agree(Bytes ours, Bytes theirs) {
  using Found = rpcrdma::PrivateDataSearch::Found;
  const auto read = [](Bytes bytes) {
    const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(bytes);
    return search.found == Found::kData ? search.data : rpcrdma::PrivateData{};  // 1024 both ways, R clear
  };
  const rpcrdma::PrivateData a = read(ours), b = read(theirs);
  return {std::min(a.send_bytes(), b.receive_bytes()), std::min(b.send_bytes(), a.receive_bytes()),
          a.remote_invalidation() && b.remote_invalidation()};
}

}  // namespace stag::rpcrdma
