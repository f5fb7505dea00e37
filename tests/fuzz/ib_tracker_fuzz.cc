// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fuzz target: the decoder fed with a sequence of frames. Input: one byte of options, then per frame two bytes of flags
// and length (4 and 12 bits) and that many bytes. A frame is a link-layer frame, or (flag) only a transport packet,
// which gets headers put in front so that mutations reach the tracker.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "protocol/ib/icrc.h"
#include "protocol/link/encode.h"
#include "session/fabric/decoder.h"
#include "tests/fuzz/tiny_limits.h"
#include "tests/fuzz/transport_check.h"
#include "tests/support/event_fields.h"

namespace {
using namespace stag;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Checker : public fabric::Sink {
 public:
  void OnEvent(const fabric::Event& e) override {
    Require(e.connection != nullptr && e.connection->id != 0);
    const auto f = stag::test::FieldsOf(e);
    Require(f.bytes.size() <= f.length || e.kind() == fabric::EventKind::kSetup);
    Require((f.bytes.size() == f.length) == (f.missing == fabric::Missing::kNothing) ||
            e.kind() == fabric::EventKind::kReadRequest || e.kind() == fabric::EventKind::kNak ||
            f.missing == fabric::Missing::kLost);
    for (std::byte b : f.bytes) sum_ = sum_ + std::to_integer<unsigned>(b);  // every byte must be readable
    for (std::byte b : f.private_data) sum_ = sum_ + std::to_integer<unsigned>(b);
    connections_ = std::max(connections_, e.connection->id);
  }
  fabric::ConnectionId connections() const { return connections_; }

 private:
  volatile unsigned sum_ = 0;
  fabric::ConnectionId connections_ = 0;
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  fabric::DecoderOptions options = stag::test::TinyLimits(data[0] >> 2).Decoder();
  options.verify_crc = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) options.memory_limit = 20'000;
  transport::TransportStatistics statistics({.memory = uint64_t{1} << 20});
  options.packets = &statistics;
  Checker sink;
  fabric::Decoder decoder(options, sink);
  Bytes rest = std::as_bytes(std::span(data + 1, size - 1));
  uint64_t number = 0;
  int64_t time = 0;
  while (rest.size() >= 2) {
    uint16_t head = LoadBe16(rest.data());
    size_t length = std::min<size_t>(head & 0x0fff, rest.size() - 2);
    Bytes body = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    std::vector<std::byte> bytes;
    if ((head & 0x8000) != 0) {
      auto side = static_cast<uint8_t>((head >> 14) & 1);
      link::AppendIpv4(bytes, link::Ipv4Address(10, 0, 0, side), link::Ipv4Address(10, 0, 0, 1 - side), 17,
                       body.size() + 8);
      link::AppendUdp(bytes, 50000, link::kRoceV2Port, body.size());
    }
    bytes.insert(bytes.end(), body.begin(), body.end());
    time += (head & 0x2000) != 0 ? 5'000'000'000 : 1000;
    uint32_t cut = (head & 0x1000) != 0 ? 300 : 0;
    decoder.OnFrame({{++number, time},
                     (head & 0x8000) != 0 ? LinkType::kRawIp : LinkType::kEthernet,
                     bytes,
                     static_cast<uint32_t>(bytes.size()) + cut});
  }
  decoder.Finish();
  stag::test::CheckTransport(statistics, sink.connections());
  return 0;
}
