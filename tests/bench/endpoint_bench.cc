// SPDX-License-Identifier: GPL-2.0-or-later
//
// Software iWARP beside bare TCP, both on the loopback interface, in the same run: messages in a closed loop, and bulk
// data. A thread for each end. Prints rates, the CPU time that both ends took, and ratios.
#include "replay/endpoint/soft_iwarp.h"
#include "tests/bench/beside_tcp.h"

namespace stag::replay {
namespace {

using namespace stag::bench;
using std::chrono::milliseconds;

struct IwarpPair {
  std::unique_ptr<Endpoint> client, server;
  explicit IwarpPair(bool crc) {
    EndpointOptions options;
    options.crc = crc;
    options.receive_size = kMessage;
    options.receives = 2 * kDepth;
    auto listener = MakeSoftIwarp()->Listen({"127.0.0.1", 0});
    Require(listener.has_value(), "listen");
    std::thread accept([&] {
      auto incoming = (*listener)->Wait(milliseconds(10'000));
      Require(incoming && *incoming, "accept");
      auto endpoint = (*incoming)->Accept(options);
      Require(endpoint.has_value(), "accept");
      server = std::move(*endpoint);
    });
    auto endpoint = MakeSoftIwarp()->Connect({"127.0.0.1", (*listener)->port()}, options);
    Require(endpoint.has_value(), "connect");
    client = std::move(*endpoint);
    accept.join();
  }
};

// Polls until `done` says so of a completion.
template <typename Done>
void Drive(Endpoint& endpoint, Done done) {
  std::array<Completion, 64> out;
  for (;;) {
    const size_t n = endpoint.Poll(out, milliseconds(10'000));
    Require(n > 0, endpoint.trouble().text.empty() ? "nothing happens" : endpoint.trouble().text.c_str());
    for (size_t i = 0; i < n; ++i) {
      Require(out[i].outcome == Outcome::kOk, endpoint.trouble().text.c_str());
      if (done(out[i])) return;
    }
  }
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
  IwarpPair pair(crc);
  return Measure(kMessages, [&] {
    std::thread server([&] { IwarpEcho(*pair.server, 0, kMessages); });
    IwarpEcho(*pair.client, kDepth, kMessages);
    server.join();
  });
}

// The server reads from, or writes to, the client's memory, as for NFS. `touched`: 1 MiB that stays in the cache, as
// the buffers of the TCP stream do.
Cost IwarpBulk(bool crc, bool read) {
  IwarpPair pair(crc);
  auto offered = pair.client->Register(kBulk, read ? Access::kRemoteRead : Access::kRemoteWrite);
  auto local = pair.server->Register(kBulk, Access::kLocal);
  Require(offered && local, "register");
  return Measure(kBulks, [&] {
    std::thread client([&] {
      const Bytes empty;
      Require(pair.client->Send(std::span(&empty, 1), 0).has_value(), "send");
      Drive(*pair.client, [](const Completion& c) { return c.work == Work::kReceive; });
    });
    uint64_t posted = 0, completed = 0;
    const auto post = [&] {
      ++posted;
      Require(read ? pair.server->Read(local->bytes, offered->handle, offered->offset, 0).has_value()
                   : pair.server->Write(local->bytes, offered->handle, offered->offset, 0).has_value(),
              "post");
    };
    while (posted < kBulkDepth) post();
    Drive(*pair.server, [&](const Completion& c) {
      completed += c.work != Work::kReceive;
      if (c.work != Work::kReceive && posted < kBulks) post();
      return completed == kBulks;
    });
    const Bytes empty;
    Require(pair.server->Send(std::span(&empty, 1), 0).has_value(), "send");
    Drive(*pair.server, [](const Completion& c) { return c.work == Work::kSend; });
    client.join();
  });
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
           {"RDMA Write", [] { return IwarpBulk(false, false); }, {}},
           {"RDMA Read", [] { return IwarpBulk(false, true); }, {}},
           {"RDMA Write, CRC", [] { return IwarpBulk(true, false); }, {}},
           {"RDMA Read, CRC", [] { return IwarpBulk(true, true); }, {}}});
}

}  // namespace
}  // namespace stag::replay

int main() {
  stag::replay::Run();
  return 0;
}
