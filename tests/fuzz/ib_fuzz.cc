// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fuzz target: transport packets, MADs and CM messages. What parses must survive being written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "protocol/ib/cm.h"
#include "protocol/ib/icrc.h"
#include "protocol/ib/transport.h"

namespace {
using namespace stag;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckCm(Bytes data, uint64_t wire) {
  ib::CmMessage m = ib::ParseCm(ib::ParseMad(data, wire));
  if (m.status != ParseStatus::kOk || m.private_data_truncated) return;
  std::vector<std::byte> out;
  ib::AppendCm(out, m, 7);
  Require(out.size() == ib::kMadLength);
  ib::CmMessage again = ib::ParseCm(ib::ParseMad(out, out.size()));
  Require(again.status == ParseStatus::kOk && again.kind == m.kind && again.local_id == m.local_id &&
          again.remote_id == m.remote_id);
  Require(again.qp == m.qp && again.starting_psn == m.starting_psn && again.path_mtu == m.path_mtu &&
          again.service_id == m.service_id);
  Require(again.ip.has_value() == m.ip.has_value() && std::ranges::equal(again.private_data, m.private_data));
}

void CheckTransport(Bytes bytes, uint64_t wire) {
  ib::Transport t = ib::ParseTransport(bytes, wire);
  Require(t.data.size() <= t.data_length && t.data_length <= wire);
  if (t.status != ParseStatus::kOk) return;
  CheckCm(t.data, t.data_length);
  if (t.data.size() < t.data_length) return;
  std::vector<std::byte> out;
  ib::AppendTransport(out, t);
  out.insert(out.end(), ib::kIcrcLength, std::byte{0});
  ib::Transport again = ib::ParseTransport(out, out.size());
  Require(again.status == ParseStatus::kOk && again.reth == t.reth && again.aeth == t.aeth && again.deth == t.deth);
  Require(again.atomic == t.atomic && again.immediate == t.immediate && again.invalidated == t.invalidated);
  Require(std::ranges::equal(again.data, t.data));
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  Bytes bytes = std::as_bytes(std::span(data + 2, size - 2));
  uint64_t wire = bytes.size() + data[0];
  CheckTransport(bytes, wire);
  CheckCm(bytes, wire);
  link::Packet p;
  p.carrier = static_cast<link::Carrier>(1 + data[1] % 3);
  size_t headers = std::min<size_t>(bytes.size(), data[1] / 2);
  p.icrc_headers = bytes.first(headers);
  p.payload = bytes.subspan(headers);
  p.wire_length = p.payload.size();
  (void)ib::CheckIcrc(p);
  return 0;
}
