// SPDX-License-Identifier: GPL-2.0-or-later
//
// Software iWARP beside bare TCP, both on the loopback interface, in the same run: messages in a closed loop, and bulk
// data. A thread for each end. Prints rates, the CPU time that both ends took, and ratios.
#include "replay/endpoint/soft_iwarp.h"
#include "tests/bench/one_way.h"

namespace stag::endpoint {
namespace {

using namespace stag::bench;

EndpointPair IwarpPair(bool crc, uint32_t receives) {
  EndpointOptions options;
  options.crc = crc;
  options.receive_size = kMessage;
  options.receives = receives;
  return {*MakeSoftIwarp(), *MakeSoftIwarp(), "127.0.0.1", options};
}

void IwarpEcho(Endpoint& endpoint, uint64_t begin, uint64_t count) {
  auto region = endpoint.Register(kMessage, Access::kLocal);
  Require(region.has_value(), "register");
  const Bytes message(region->bytes);
  const auto post = [&] { Require(endpoint.Send(std::span(&message, 1), 0).has_value(), "send"); };
  for (uint64_t i = 0; i < begin; ++i) post();
  uint64_t received = 0, sent = begin, completed = 0;
  Drive(endpoint, [&](const Completion& c) {
    if (c.work == Work::kSend) {
      ++completed;
    } else {
      endpoint.Release(c);
      ++received;
      if (sent < count) post(), ++sent;
    }
    return received == count && completed == count;
  });
}

Cost IwarpMessages(bool crc) {
  const EndpointPair pair = IwarpPair(crc, 2 * kDepth);
  return Measure(kMessages, [&] {
    std::thread server([&] { IwarpEcho(*pair.server, 0, kMessages); });
    IwarpEcho(*pair.client, kDepth, kMessages);
    server.join();
  });
}

// 1 MiB that stays in the cache, as the buffers of the TCP stream do.
Cost IwarpBulk(bool crc, Work work) {
  std::vector<EndpointPair> pair;
  const Load load{work, kBulk, kBulkDepth, kBulks};
  pair.push_back(IwarpPair(crc, ReceivesFor(load)));
  return OneWay(pair, load);
}

void Run() {
  fmt::print("{} bytes there and back, {} at a time\n", kMessage, kDepth);
  Compare("thousand/s", 1e-3,
          {{"TCP", [] { return TcpMessages(false); }, {}},
           {"TCP, many in one send", [] { return TcpMessages(true); }, {}},
           {"software iWARP", [] { return IwarpMessages(false); }, {}},
           {"software iWARP, CRC", [] { return IwarpMessages(true); }, {}}});
  fmt::print("1 MiB one way, {} at a time\n", kBulkDepth);
  Compare("GB/s      ", kBulk * 1e-9,
          {{"TCP", TcpStreamed, {}},
           {"RDMA Write", [] { return IwarpBulk(false, Work::kWrite); }, {}},
           {"RDMA Read", [] { return IwarpBulk(false, Work::kRead); }, {}},
           {"RDMA Write, CRC", [] { return IwarpBulk(true, Work::kWrite); }, {}},
           {"RDMA Read, CRC", [] { return IwarpBulk(true, Work::kRead); }, {}}});
}

}  // namespace
}  // namespace stag::endpoint

int main() {
  stag::endpoint::Run();
  return 0;
}
