// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/client_probes.h"

#include <algorithm>

#include "cli/live/probe_report.h"
#include "replay/endpoint/transports.h"
#include "replay/probe/client/files.h"
#include "replay/probe/client/runner.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using probe::Verdict;
using probe::client::ClientProbe;

constexpr uint64_t kMemory = 256 << 20;  // of the files that clients write

// What runs on this machine connects there.
std::string AddressToConnect(const endpoint::HostPort& listen) {
  const bool any = listen.host.empty() || listen.host == "0.0.0.0" || listen.host == "::";
  return any ? "127.0.0.1" : listen.host;
}

}  // namespace

int RunClientProbes(const LiveOptions& live, ClientProbeOptions options,
                    const std::vector<const ClientProbe*>& selected) {
  const Signals signals;
  Output output(live);
  output.set_stop(signals.descriptor());
  serve::MemoryFs fs(kMemory);
  if (auto made = probe::client::Furnish(fs); !made) return Trouble(made.error());
  const auto service = serve::MakeNfsMemoryService(fs);
  const auto mount_service = serve::MakeMountService(fs);

  const auto transport = endpoint::OpenTransport(live.transport);
  if (!transport) return Trouble(transport.error());
  if (options.command.empty() && (*transport)->name() != "iwarp") {
    ComplainText("a client over an RDMA device is another machine's: give --client-command, or --transport iwarp");
    return kExitTrouble;
  }
  const auto listener = (*transport)->Listen(options.listen);
  if (!listener) return Trouble(listener.error());
  const uint16_t port = (*listener)->port();
  std::unique_ptr<rpcrdma::TcpRpc> mount;
  if (options.mount_port) {
    auto opened = rpcrdma::TcpRpc::Listen({options.listen.host, *options.mount_port}, *mount_service);
    if (!opened) return Trouble(opened.error());
    mount = std::move(*opened);
  }
  const std::string address = AddressToConnect(options.listen);
  std::unique_ptr<probe::client::ClientWork> work;
  if (options.command.empty()) {
    work = probe::client::MakeGeneratorWork(
        **transport, probe::client::GeneratorLoad({address, port}, probe::client::RootHandle(fs)));
  } else {
    std::vector<std::string> variables = {"ADDR=" + address, fmt::format("PORT={}", port)};
    if (mount) variables.push_back(fmt::format("MOUNT_PORT={}", mount->port()));
    work = probe::client::MakeCommandWork(options.command, variables);
  }

  LiveMonitor monitor(live, fmt::format("port {}", port), output);
  probe::Patience patience{options.timeout, options.quiet, [&signals] { return signals.caught(); }};
  probe::client::ClientRunner runner(**listener, *service, mount.get(), *work, patience, live.crc,
                                     monitor.log() ? &monitor : nullptr);
  const Result<void> begun = runner.Begin();
  if (!begun) ComplainText(begun.error().message);
  bool failed = false;
  if (begun) {
    ProbeReport report(output, live);
    report.Begin(ProbedClient{options.command, (*transport)->name(), port});
    report.Run(selected, options.dangerous, runner, signals);
    failed = report.failed();
  }
  monitor.Finish();
  output.Flush();
  if (!begun || output.failed() || monitor.failed()) return kExitTrouble;
  return failed ? kExitFindings : kExitFine;
}

}  // namespace stag::cli
