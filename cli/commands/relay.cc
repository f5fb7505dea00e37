// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag relay: stands between live clients and a live server until a signal ends it, and reports what crossed.
#include "replay/relay/relay.h"

#include <memory>

#include "cli/base/options.h"
#include "cli/live/fault_rule.h"
#include "cli/live/live_output.h"
#include "cli/live/relay_report.h"
#include "replay/endpoint/transports.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct RelayArguments : LiveOptions {
  endpoint::HostPort listen;
  relay::RelayOptions relay;
  std::vector<std::string> faults;  // as given
};

int RunRelay(RelayArguments options) {
  const Signals signals;
  LiveOutput to(options, results::InfoOf<DirectionRow>());
  to.output.set_stop(signals.descriptor());
  auto transport = endpoint::OpenTransport(options.transport);
  if (!transport) return Trouble(transport.error());
  auto listener = (*transport)->Listen(options.listen);
  if (!listener) return Trouble(listener.error());
  options.listen.port = (*listener)->port();
  const std::string name = (*transport)->name(), server = AddressText(options.relay.to);
  to.Begin(RelayListeningRow{name, options.listen.host, options.listen.port, server},
           fmt::format("listening on {} by {} for {}", AddressText(options.listen), name, server));

  LiveMonitor monitor(options, fmt::format("port {}", options.listen.port), to.output);
  options.relay.stop = signals.descriptor();
  options.relay.events = monitor.log();
  options.relay.crc = options.crc;
  options.relay.notice = Notices(options.quiet);
  relay::Relay relay(**listener, **transport, options.relay);
  const Result<void> ran = relay.Run();
  monitor.Drain();
  if (to.rows.as_text()) {
    PutRelayText(to.output.buffer(), relay.report(), options.faults, to.output.style());
  } else {
    PutRelayRows(to.rows, relay.report(), options.faults);
  }
  return to.End(monitor, ran);
}

std::string TakeFault(const std::string& text, RelayArguments& options) {
  auto rule = ParseFaultRule(text);
  if (!rule) return rule.error().message;
  options.relay.link.faults.rules.push_back(std::move(*rule));
  options.faults.push_back(text);
  return {};
}

void AddTerms(CLI::App& command, const std::string& name, relay::RelayTerms& terms, const std::string& description) {
  AddParsed(
      command, name,
      [&terms](std::string& text) {
        auto parsed = relay::ParseRelayTerms(text);
        if (!parsed) return parsed.error().message;
        terms = *parsed;
        return std::string{};
      },
      "TERMS", description);
}

}  // namespace

void AddRelay(CLI::App& app, Run& run) {
  auto options = std::make_shared<RelayArguments>();
  CLI::App* command =
      app.add_subcommand("relay", "Stand between clients and a server: record, check and disturb both sides");
  RelayArguments* const o = options.get();
  AddParsed(
      *command, "--listen", [o](std::string& text) { return TakeAddress(text, 20049, o->listen); }, "[ADDR]:PORT",
      "Where clients connect (default: :20049, on every address); port 0: any that is free");
  AddParsed(
      *command, "--to", [o](std::string& text) { return TakeServer(text, o->relay.to); }, "HOST[:PORT]",
      "The server (default port: 20049)")
      ->required();
  AddTerms(*command, "--to-server", o->relay.to_server,
           "Private data (RFC 8797) for the server: pass (default) that of the client; none; or SEND/RECEIVE[/R],\n"
           "the inline thresholds in bytes and the R flag: 1024/4096/R");
  AddTerms(*command, "--to-client", o->relay.to_client, "The same for clients; pass: that of the server");
  AddRange(*command, "--credits", o->relay.link.credits, 1, 4096,
           "The most that clients are granted, and the server is asked for (default: 128)");
  AddSize(*command, "--max-message", o->relay.link.max_message, 65536, 1u << 30,
          "What all chunks of one call may have (default: 16M); a call with more gets ERR_CHUNK");
  AddRange(*command, "--max-connections", o->relay.max_connections, 1, 65536,
           "Clients at a time (default: 256); the one that is idle for longest gives way to one more, and one\n"
           "more is rejected when none is");
  command->add_flag("--once", o->relay.once, "End when the first client has");
  AddParsed(
      *command, "--fault", [o](std::string& text) { return TakeFault(text, *o); }, "KIND@PROCEDURE[/PERCENT]",
      "Disturb so many percent (default: 100) of the calls of a procedure: see below. Can be repeated");
  command->add_option("--seed", o->relay.link.faults.seed, "Which calls faults hit, for the same traffic (default: 1)")
      ->type_name("N");
  AddLiveOptions(*command, *options);
  AddSize(*command, "--chunk-memory,--memory", o->relay.memory, 1u << 20, UINT64_MAX,
          "What the chunks of all clients' calls may take (default: 256M); calls wait when there is no more");
  AddLiveOutput(*command, *options);
  command->footer(
      "Each client gets a connection of its own to the server. Messages keep their xid, payload and chunks; the "
      "memory\n"
      "that chunks name is the relay's on each side. What is too long for a side's inline threshold becomes a Long\n"
      "Call or Reply there. When one side ends or breaks, the other is closed. SIGINT and SIGTERM end with a summary.\n"
      "\n"
      "Faults: PROCEDURE is any, a name (READ: also COMPOUNDs with that operation), or PROGRAM:PROCEDURE. KIND is\n"
      "  drop            the call is not passed on         drop-reply     its answer is not\n"
      "  delay:TIME      its answer waits (20ms)           disconnect     both connections are ended instead\n"
      "  error:ERR_CHUNK or error:ERR_VERS: the relay answers; the call is not passed on\n"
      "  credit:N        its answer grants N credits       corrupt-xid    its answer has another rdma_xid\n"
      "  bad-handle      the server sees an invalid handle in the first segment of its chunks\n"
      "  short-chunk     the server sees half of the last segment of its first Write chunk, or Reply chunk\n"
      "Those that hit nothing because a call has no chunks are not counted as injected.\n"
      "\nExamples:\n"
      "  stag relay --listen :20049 --to nfs.example.org --record both.pcapng\n"
      "  stag relay --listen :20050 --to 10.0.0.1 --check --format jsonl\n"
      "  stag relay --listen :20050 --to 10.0.0.1 --to-server 1024/1024 --to-client 4096/4096/R\n"
      "  stag relay --to 10.0.0.1 --fault delay:50ms@WRITE/1 --fault drop-reply@COMMIT/10 --seed 7\n"
      "  mount -t nfs -o vers=4.1,proto=rdma,port=20050 RELAY:/ /mnt");
  command->callback([options, &run] { run = [options] { return RunRelay(*options); }; });
}

}  // namespace stag::cli
