// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the benchmarks of live peers share: bare TCP on the loopback interface to compare with (messages in a closed
// loop, and bulk data, a thread for each end), what things cost, and the table.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace stag::bench {

using Clock = std::chrono::steady_clock;

inline constexpr uint32_t kMessage = 4096, kDepth = 32;
inline constexpr uint64_t kMessages = 200'000;
inline constexpr size_t kBulk = 1u << 20;
inline constexpr uint64_t kBulks = 2'000, kBulkDepth = 8;

inline void Require(bool condition, const char* what) {
  if (condition) return;
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

inline double CpuSeconds() {
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
inline Cost Measure(uint64_t count, const std::function<void()>& run) {
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

inline void SendAll(int fd, const std::byte* bytes, size_t n) {
  while (n > 0) {
    const ssize_t sent = ::send(fd, bytes, n, 0);
    Require(sent > 0, "send");
    bytes += sent;
    n -= static_cast<size_t>(sent);
  }
}

// Answers every whole message that a receive brought with one message: each sent by itself, or all `at_once`, as one
// stretch of bytes, which is as well as TCP can.
inline void TcpEcho(int fd, uint64_t begin, uint64_t count, bool at_once) {
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
    if (at_once && answers > 0) SendAll(fd, buffer.data(), answers * kMessage);
    for (uint64_t i = 0; !at_once && i < answers; ++i) SendAll(fd, buffer.data() + i * kMessage, kMessage);
  }
}

inline Cost TcpMessages(bool at_once) {
  TcpPair pair;
  return Measure(kMessages, [&] {
    std::thread server([&] { TcpEcho(pair.server, 0, kMessages, at_once); });
    TcpEcho(pair.client, kDepth, kMessages, at_once);
    server.join();
  });
}

inline Cost TcpStreamed() {
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

// The best of some rounds, in which all take turns: the machine may have other things to do, too. `only`: the one of
// that name; empty: all.
struct Contender {
  const char* name;
  std::function<Cost()> run;
  Cost best;
};

inline void Compare(const char* unit, double scale, std::vector<Contender> all, std::string_view only = {}) {
  if (!only.empty()) std::erase_if(all, [&](const Contender& c) { return c.name != only; });
  if (all.empty()) return;
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

}  // namespace stag::bench
