// SPDX-License-Identifier: GPL-2.0-or-later
//
// NULL Calls one at a time over software iWARP on the loopback interface, with `stag relay` between client and server
// and without, in turns: the round trips, their ratio, and how often each side went to sleep for one. relay_bench
// [CALLS].
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>

#include "replay/endpoint/soft_iwarp.h"
#include "replay/generate/generator.h"
#include "replay/relay/relay.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/server.h"
#include "tests/bench/beside_tcp.h"

namespace stag::relay {
namespace {

using namespace stag::bench;

constexpr int kRounds = 9;

// How often the calling thread waited in the kernel.
uint64_t Sleeps() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw);
}

struct Peer {
  const int stop = ::eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<endpoint::Transport> transport = endpoint::MakeSoftIwarp();
  std::unique_ptr<endpoint::Listener> listener;
  uint64_t sleeps = 0;
  std::thread thread;

  template <typename Fn>
  void Start(Fn run) {
    auto made = transport->Listen({"127.0.0.1", 0});
    Require(made.has_value(), "listen");
    listener = std::move(*made);
    thread = std::thread([this, run] {
      run(*this);
      sleeps = Sleeps();
    });
  }
  void End() {
    Require(::eventfd_write(stop, 1) == 0, "stop");
    thread.join();
    ::close(stop);
  }
};

struct Round {
  double us = 0;       // of a Call, half of which took no longer
  double cpu_us = 0;   // of all sides, for a Call
  double sleeps[3]{};  // of the client, the relay and the server, for a Call
};

Round Play(uint64_t calls, bool relayed) {
  const auto service = serve::MakeNullService();
  Peer server, relay;
  server.Start([&service](Peer& self) {
    serve::ServerOptions options;
    options.crc = false;
    options.stop = self.stop;
    Require(serve::Server(*self.listener, *service, nullptr, options).Run().has_value(), "serve");
  });
  if (relayed)
    relay.Start([&server](Peer& self) {
      RelayOptions options;
      options.crc = false;
      options.to = {"127.0.0.1", server.listener->port()};
      options.stop = self.stop;
      Require(Relay(*self.listener, *self.transport, options).Run().has_value(), "relay");
    });
  generate::LoadOptions load;
  generate::Weight(load.jobs.mix, generate::Operation::kNull) = 1;
  load.files = 0;
  load.calls = calls;
  load.depth = 1;
  load.threads = 1;
  load.crc = false;
  load.to = {"127.0.0.1", (relayed ? relay : server).listener->port()};
  const auto transport = endpoint::MakeSoftIwarp();
  generate::Generator generator(*transport, load, nullptr);
  Round round;
  const Cost cost = Measure(calls, [&] { Require(generator.Run().has_value(), "generate"); });
  Require(generator.report().fine(), "a call failed");
  round.cpu_us = cost.cpu_us;
  rpcrdma::Histogram latency;
  for (const auto& of_one : generator.report().operations) latency.Merge(of_one.latency);
  round.us = static_cast<double>(latency.Percentile(50)) / 1e3;
  if (relayed) relay.End();
  server.End();
  round.sleeps[1] = static_cast<double>(relay.sleeps) / static_cast<double>(calls);
  round.sleeps[2] = static_cast<double>(server.sleeps) / static_cast<double>(calls);
  return round;
}

double Median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

void Run(uint64_t calls) {
  std::vector<double> ratios, direct, relayed;
  fmt::print("{:>12}{:>12}{:>8}{:>14}{:>14}{:>16}{:>16}\n", "direct us", "relayed us", "ratio", "direct CPU us",
             "relayed CPU us", "server sleeps", "relay sleeps");
  for (int i = 0; i < kRounds; ++i) {
    const Round a = Play(calls, false), b = Play(calls, true);
    direct.push_back(a.us);
    relayed.push_back(b.us);
    ratios.push_back(b.us / a.us);
    fmt::print("{:>12.1f}{:>12.1f}{:>8.2f}{:>14.1f}{:>14.1f}{:>8.2f}{:>8.2f}{:>16.2f}\n", a.us, b.us, b.us / a.us,
               a.cpu_us, b.cpu_us, a.sleeps[2], b.sleeps[2], b.sleeps[1]);
  }
  fmt::print("median of {}: {:.2f}; best of each: {:.1f} and {:.1f} us, {:.2f}\n", kRounds, Median(ratios),
             *std::ranges::min_element(direct), *std::ranges::min_element(relayed),
             *std::ranges::min_element(relayed) / *std::ranges::min_element(direct));
}

}  // namespace
}  // namespace stag::relay

int main(int argc, char** argv) {
  uint64_t calls = 20'000;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), calls);
  stag::relay::Run(calls);
  return 0;
}
