// SPDX-License-Identifier: GPL-2.0-or-later
//
// Software iWARP beside bare TCP, both on the loopback interface, in the same run: messages in a closed loop, and bulk
// data. A thread for each end. Prints rates, the CPU time that both ends took, and ratios.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "replay/endpoint/soft_iwarp.h"

namespace stag::replay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t kMessage = 4096, kDepth = 32;
constexpr uint64_t kMessages = 200'000;
constexpr size_t kBulk = 1u << 20;
constexpr uint64_t kBulks = 2'000, kBulkDepth = 8;

void Require(bool condition, const char* what) {
  if (condition) return;
  fmt::print(stderr, "endpoint_bench: {}\n", what);
  std::exit(1);
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Cost {
  double per_second = 0, cpu_us = 0;
};

// What `count` of something cost while `run` did them.
Cost Measure(uint64_t count, const std::function<void()>& run) {
  const double cpu = CpuSeconds();
  const auto begin = Clock::now();
  run();
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto n = static_cast<double>(count);
  return {n / wall, (CpuSeconds() - cpu) / n * 1e6};
}

// ----------------------------------------------------------------------------------------------------------- bare TCP

struct TcpPair {
  int client = -1, server = -1;
  TcpPair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    Require(::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(listener, 1) == 0,
            "listen");
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    client = ::socket(AF_INET, SOCK_STREAM, 0);
    Require(::connect(client, reinterpret_cast<sockaddr*>(&address), length) == 0, "connect");
    server = ::accept(listener, nullptr, nullptr);
    ::close(listener);
    const int on = 1;
    for (const int fd : {client, server}) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~TcpPair() {
    ::close(client);
    ::close(server);
  }
  TcpPair(const TcpPair&) = delete;
  TcpPair& operator=(const TcpPair&) = delete;
};

void SendAll(int fd, const std::byte* bytes, size_t n) {
  while (n > 0) {
    const ssize_t sent = ::send(fd, bytes, n, 0);
    Require(sent > 0, "send");
    bytes += sent;
    n -= static_cast<size_t>(sent);
  }
}

// Answers every whole message that a receive brought with one message, all in one send: as well as TCP can.
void TcpEcho(int fd, uint64_t begin, uint64_t count) {
  std::vector<std::byte> buffer(kDepth * kMessage);
  if (begin > 0) SendAll(fd, buffer.data(), begin * kMessage);
  uint64_t received = 0, sent = begin;
  while (received < count * kMessage) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    Require(n > 0, "recv");
    const uint64_t before = received / kMessage;
    received += static_cast<uint64_t>(n);
    const uint64_t answers = std::min(received / kMessage - before, count - sent);
    sent += answers;
    if (answers > 0) SendAll(fd, buffer.data(), answers * kMessage);
  }
}

Cost TcpMessages() {
  TcpPair pair;
  return Measure(kMessages, [&] {
    std::thread server([&] { TcpEcho(pair.server, 0, kMessages); });
    TcpEcho(pair.client, kDepth, kMessages);
    server.join();
  });
}

Cost TcpStreamed() {
  TcpPair pair;
  return Measure(kBulks, [&] {
    std::thread server([&] {
      std::vector<std::byte> buffer(kBulk);
      for (uint64_t left = kBulks * kBulk; left > 0;) {
        const ssize_t n = ::recv(pair.server, buffer.data(), buffer.size(), 0);
        Require(n > 0, "recv");
        left -= static_cast<uint64_t>(n);
      }
    });
    const std::vector<std::byte> buffer(kBulk);
    for (uint64_t i = 0; i < kBulks; ++i) SendAll(pair.client, buffer.data(), kBulk);
    server.join();
  });
}

// -------------------------------------------------------------------------------------------------------------- iWARP

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

// The best of some rounds, in which all take turns: the machine may have other things to do, too.
struct Contender {
  const char* name;
  std::function<Cost()> run;
  Cost best;
};

void Compare(const char* unit, double scale, std::vector<Contender> all) {
  for (int round = 0; round < 3; ++round) {
    for (Contender& c : all) {
      const Cost cost = c.run();
      if (cost.per_second > c.best.per_second) c.best = cost;
    }
  }
  for (const Contender& c : all)
    fmt::print("  {:24} {:10.2f} {} {:8.2f} us CPU each {:6.2f} of TCP\n", c.name, c.best.per_second * scale, unit,
               c.best.cpu_us, c.best.per_second / all[0].best.per_second);
}

void Run() {
  fmt::print("{} bytes there and back, {} at a time\n", kMessage, kDepth);
  Compare("thousand/s", 1e-3,
          {{"TCP", TcpMessages, {}},
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
