// SPDX-License-Identifier: GPL-2.0-or-later
//
// The whole path, `stag generate` to `stag serve`, beside bare TCP, in the same run on the loopback interface: RPC
// Calls inline in a closed loop, and 1 MiB of NFSv3 READ and WRITE by chunks, a file from its begin to its end and
// again. A thread for each end; and two connections, each with a thread of the client, on one and on two threads of the
// server. load_bench [NAME]: only the lines with that name (ECHO, READ ...), for a profile.
#include <sys/eventfd.h>

#include <algorithm>

#include "replay/endpoint/soft_iwarp.h"
#include "replay/generate/generator.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/server.h"
#include "tests/bench/beside_tcp.h"

namespace stag::generate {
namespace {

using namespace stag::bench;

// What the load costs, both ends together, the making of files included in the CPU time.
Cost Load(rpcrdma::Service& service, LoadOptions load, bool crc, uint32_t threads = 1) {
  const auto transport = endpoint::MakeSoftIwarp();
  auto listener = transport->Listen({"127.0.0.1", 0});
  Require(listener.has_value(), "listen");
  serve::ServerOptions options;
  options.crc = crc;
  options.threads = threads;
  options.responder.receive_size = options.responder.send_size = 8192;
  options.stop = ::eventfd(0, EFD_CLOEXEC);
  serve::Server server(**listener, service, nullptr, options);
  std::thread serving([&] { Require(server.Run().has_value(), "serve"); });
  load.crc = crc;
  load.to = {"127.0.0.1", (*listener)->port()};
  load.requester.send_size = load.requester.receive_size = 8192;
  load.requester.credits = load.depth;
  Generator generator(*transport, load, nullptr);
  Cost cost = Measure(load.calls, [&] {
    Require(generator.Run().has_value(), "generate");
    Require(::eventfd_write(options.stop, 1) == 0, "stop");
    serving.join();
  });
  ::close(options.stop);
  Require(generator.report().fine(), "a call failed");
  cost.per_second = static_cast<double>(load.calls) / generator.report().seconds;
  return cost;
}

Cost Null(bool crc, uint32_t threads = 0) {
  LoadOptions load;
  if (threads > 0) load.connections = load.threads = 2;
  Weight(load.jobs.mix, Operation::kNull) = 1;
  load.files = 0;
  load.calls = kMessages;
  return Load(*serve::MakeNullService(), load, crc, std::max(threads, 1u));
}

Cost Echo(bool crc) {
  LoadOptions load;
  load.mode = LoadMode::kEcho;
  Weight(load.jobs.mix, Operation::kEcho) = 1;
  load.jobs.sizes = {{kMessage, kMessage, 1}};
  load.files = 0;
  load.calls = kMessages;
  return Load(*serve::MakeEchoService(), load, crc);
}

// `threads`: of the server, for two connections; 0: one connection.
Cost Nfs(Operation operation, bool crc, uint32_t threads = 0) {
  serve::MemoryFs fs(uint64_t{64} << 20);
  LoadOptions load;
  load.mode = LoadMode::kNfs3;
  Weight(load.jobs.mix, operation) = 1;
  load.jobs.sizes = {{kBulk, kBulk, 1}};
  load.jobs.sequential = true;  // as TCP's bytes come, and as files are written
  load.depth = kBulkDepth;
  load.calls = kBulks;
  if (threads > 0) load.connections = load.threads = 2;
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  load.directory.assign(handle.begin() + 4, handle.end());  // without its count
  return Load(*serve::MakeNfsMemoryService(fs), load, crc, std::max(threads, 1u));
}

void Run(std::string_view only) {
  fmt::print("{} bytes there and back (NULL: no data), {} at a time\n", kMessage, kDepth);
  Compare("thousand/s", 1e-3,
          {{"TCP", [] { return TcpMessages(false); }, {}},
           {"TCP, many in one send", [] { return TcpMessages(true); }, {}},
           {"NULL", [] { return Null(false); }, {}},
           {"NULL, 2 connections", [] { return Null(false, 1); }, {}},
           {"NULL, 2 threads", [] { return Null(false, 2); }, {}},
           {"ECHO", [] { return Echo(false); }, {}},
           {"ECHO, CRC", [] { return Echo(true); }, {}}},
          only);
  fmt::print("1 MiB one way, {} at a time\n", kBulkDepth);
  Compare("GB/s      ", kBulk * 1e-9,
          {{"TCP", TcpStreamed, {}},
           {"READ", [] { return Nfs(Operation::kRead, false); }, {}},
           {"WRITE", [] { return Nfs(Operation::kWrite, false); }, {}},
           {"READ, 2 connections", [] { return Nfs(Operation::kRead, false, 1); }, {}},
           {"READ, 2 threads", [] { return Nfs(Operation::kRead, false, 2); }, {}},
           {"READ, CRC", [] { return Nfs(Operation::kRead, true); }, {}},
           {"WRITE, CRC", [] { return Nfs(Operation::kWrite, true); }, {}}},
          only);
}

}  // namespace
}  // namespace stag::generate

int main(int argc, char** argv) {
  stag::generate::Run(argc > 1 ? argv[1] : "");
  return 0;
}
