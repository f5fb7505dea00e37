// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag probe: active conformance tests of a live server, and (--listen) of a client.
#include "replay/probe/client/probe.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/base/options.h"
#include "cli/live/client_probes.h"
#include "cli/live/live_monitor.h"
#include "cli/live/load_options.h"
#include "cli/live/probe_comparison.h"
#include "cli/live/probe_report.h"
#include "cli/live/probe_selectors.h"
#include "replay/endpoint/transports.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/probe/runner.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using probe::Probe;

struct ProbeArguments : LiveOptions {
  probe::ProbeOptions probe;
  std::string server;
  gss::InitiatorOptions gss;
  bool listens = false;
  ClientProbeOptions client;
  std::optional<std::chrono::milliseconds> timeout, quiet;
  std::vector<std::string> select, ignore;
  bool list = false;
  std::string explain;
  std::vector<std::string> compare, names;  // files, and what the runs in them are called
};

// Those that --dangerous names are selected, too.
bool Selected(const ProbeArguments& options, const Probe& probe) {
  const auto named = [&](const std::vector<std::string>& selectors) {
    return std::ranges::any_of(selectors, [&](const std::string& s) { return probe::Selects(s, probe); });
  };
  return ((options.select.empty() || named(options.select)) && !named(options.ignore)) ||
         std::ranges::find(options.client.dangerous, probe.id) != options.client.dangerous.end();
}

template <typename P>
std::vector<const P*> SelectedOf(std::span<const P> catalogue, const ProbeArguments& options) {
  std::vector<const P*> selected;
  for (const P& probe : catalogue)
    if (Selected(options, probe)) selected.push_back(&probe);
  return selected;
}

// The complaint, or empty.
std::string Settle(const ProbeArguments& options, size_t selected) {
  const bool is_report = options.format == Format::kJunit || options.format == Format::kHtml;
  if (is_report && (!options.sort.empty() || options.limit != 0 || options.wide))
    return "--sort, --limit and --wide are for lists, not for --format junit and html";
  if (!options.compare.empty())
    return options.format == Format::kJunit ? "--format junit is of probes that are run" : "";
  if (!options.names.empty()) return "--name is for --compare";
  if (selected == 0)
    return fmt::format("--select and --ignore leave no probe of a {}; {} is for probes of a {}",
                       options.listens ? "client" : "server", options.listens ? "HOST" : "--listen",
                       options.listens ? "server" : "client");
  if (options.list || !options.explain.empty())
    return options.format == Format::kJunit  ? "--format junit is of probes that are run"
           : options.format == Format::kHtml ? "--format html is of probes that are run, or compared"
                                             : "";
  if (options.listens) {
    if (!options.server.empty()) return "a server is probed, or with --listen a client: not both";
    if (!options.probe.path.empty() || !options.probe.directory.empty() || options.probe.program ||
        !options.probe.nfs4_path.empty() || !options.gss.keytab.empty())
      return "--export, --nfs4-export, --handle, --program and --keytab are for probes of a server";
    return {};
  }
  if (options.server.empty())
    return "which server? stag probe HOST[:PORT]; --listen is for clients; --list and --explain take none";
  if (!options.client.command.empty()) return "--client-command is for --listen";
  if (!options.probe.path.empty() && !options.probe.directory.empty())
    return "--export and --handle exclude each other";
  if (options.probe.mount_port && options.probe.path.empty()) return "--mount-port is for --export, and for --listen";
  if (options.probe.version && !options.probe.program) return "--program-version is for --program";
  if (options.gss.keytab.empty() && !(options.gss.principal.empty() && options.gss.service.empty()))
    return "--principal and --service are for --keytab";
  return {};
}

int PutCatalogue(const ProbeArguments& options) {
  std::vector<ListedProbe> listed;
  const auto add = [&](const Probe& probe, ProbedPeer peer) {
    if (options.explain.empty() || options.explain == probe.id)
      listed.push_back({ProbeName(probe), probe.asks, peer, probe.danger});
  };
  if (!options.listens)
    for (const Probe* probe : SelectedOf(probe::Catalogue(), options)) add(*probe, ProbedPeer::kServer);
  if (options.listens || listed.empty())
    for (const Probe* probe : SelectedOf(probe::client::ClientCatalogue(), options)) add(*probe, ProbedPeer::kClient);
  return WriteList(options, std::move(listed), [&](std::string& out, const auto& chosen, const Style& style) {
    options.explain.empty() ? PutProbeTable(out, chosen, style) : PutProbeExplanation(out, chosen.at(0), style);
  });
}

int RunProbe(ProbeArguments options) {
  const auto selected = SelectedOf(probe::Catalogue(), options);
  const auto of_clients = SelectedOf(probe::client::ClientCatalogue(), options);
  const bool explains = !options.explain.empty();
  if (explains) options.select.clear(), options.ignore.clear();
  const size_t count = explains ? 1 : options.listens ? of_clients.size() : selected.size();
  if (const std::string complaint = Settle(options, count); !complaint.empty()) {
    ComplainText(complaint);
    return kExitTrouble;
  }
  if (!options.compare.empty()) return RunProbeComparison(options, options.compare, options.names);
  if (options.list || explains) return PutCatalogue(options);
  if (options.listens) {
    options.client.timeout = options.timeout.value_or(options.client.timeout);
    options.client.quiet = options.quiet.value_or(options.client.quiet);
    options.client.mount_port = options.probe.mount_port;
    return RunClientProbes(options, options.client, of_clients);
  }
  options.probe.patience.answer = options.timeout.value_or(options.probe.patience.answer);
  options.probe.patience.quiet = options.quiet.value_or(options.probe.patience.quiet);

  if (!options.gss.keytab.empty()) {
    if (options.gss.service.empty()) options.gss.service = "nfs@" + options.probe.to.host;
    auto credentials = gss::OpenInitiator(options.gss);
    if (!credentials) return Trouble(credentials.error());
    options.probe.gss = std::move(*credentials);
  }

  const Signals signals;
  Output output(options);
  output.set_stop(signals.descriptor());
  LiveMonitor monitor(options, options.server, output);
  const auto transport = endpoint::OpenTransport(options.transport);
  if (!transport) return Trouble(transport.error());
  options.probe.crc = options.crc;
  options.probe.patience.stopped = [&signals] { return signals.caught(); };
  options.probe.patience.cancel = signals.descriptor();
  probe::Runner runner(**transport, options.probe, monitor.log() ? &monitor : nullptr);
  const Result<void> begun = runner.Begin();
  if (!begun) ComplainText(begun.error().message);
  bool failed = false;
  if (begun) {
    ProbeReport report(output, options);
    const probe::Target& target = runner.target();
    report.Begin(ProbedServer{options.server, (*transport)->name(), target.program, target.version, target.known,
                              !target.file.empty()});
    report.Run(selected, options.client.dangerous, runner, signals);
    failed = report.failed();
  }
  const Result<void> finished = runner.Finish();
  if (!finished) ComplainText(finished.error().message);
  monitor.Finish();
  output.Flush();
  if (!begun || !finished || output.failed() || monitor.failed()) return kExitTrouble;
  return failed ? kExitFindings : kExitFine;
}

void AddSelectors(CLI::App& command, const std::string& name, std::vector<std::string>& to,
                  const std::string& description) {
  command.add_option(name, to, description)
      ->delimiter(',')
      ->check([](const std::string& selector) { return WhyNoSelector(selector); })
      ->type_name("SELECTOR,...");
}

void AddTime(CLI::App& command, const std::string& name, std::optional<std::chrono::milliseconds>& time,
             const std::string& description) {
  AddParsed(
      command, name,
      [&time](std::string& text) {
        std::chrono::nanoseconds taken{0};
        std::string complaint = TakeDuration(text, taken);
        if (complaint.empty()) time = std::chrono::ceil<std::chrono::milliseconds>(taken);
        return complaint;
      },
      "TIME", description);
}

void AddServerOptions(CLI::App& command, ProbeArguments& o) {
  probe::ProbeOptions& probe = o.probe;
  command
      .add_option("--program", probe.program,
                  "Call NULL of this RPC program (default: NFS, or ECHO of stag serve, whichever is there)")
      ->type_name("N");
  command.add_option("--program-version", probe.version, "Its version (default: 3)")->type_name("N");
  command
      .add_option("--export", probe.path, "NFSv3: make a file in this exported directory, for the probes that need one")
      ->type_name("PATH");
  command
      .add_option("--nfs4-export", probe.nfs4_path,
                  "NFSv4.1: make files in this directory, a path from the server's root, for the probes nfs4.*")
      ->type_name("PATH");
  AddParsed(
      command, "--handle",
      [&probe](std::string& text) { return TakeHex(text, nfs_client::nfs3::kHandleMax, probe.directory); }, "HEX",
      "NFSv3: the directory's file handle; MOUNT is not asked");
  command
      .add_option("--mount-port", probe.mount_port,
                  "NFSv3: TCP port of MOUNT (default: the portmapper knows); with --listen: serve MOUNT there (0: any)")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  Reads(command.add_option("--keytab", o.gss.keytab,
                           "Kerberos: get tickets with the keys of this table, for the probes gss.* (RPCSEC_GSS)"))
      ->type_name("FILE");
  command.add_option("--principal", o.gss.principal, "Whose key (default: the first in the table)")->type_name("NAME");
  command.add_option("--service", o.gss.service, "What the tickets are for (default: nfs@ and the server)")
      ->type_name("SERVICE@HOST");
  command.add_option("--uid", probe.credential.uid, "AUTH_SYS user (default: 0)")->type_name("N");
  command.add_option("--gid", probe.credential.gid, "AUTH_SYS group (default: 0)")->type_name("N");
  AddTime(command, "--timeout", o.timeout,
          "How long to wait for what must come (default: 5s); with --listen: for the work of a probe (default: 30s)");
  AddTime(command, "--settle", o.quiet, "How long to look out for what must not come (default: 50ms)");
}

void AddClientOptions(CLI::App& command, ProbeArguments& o) {
  AddParsed(
      command, "--listen",
      [&o](std::string& text) {
        o.listens = true;
        const bool port_alone = text.find_first_not_of("0123456789") == std::string::npos;
        return TakeAddress(port_alone ? ":" + text : text, 20049, o.client.listen);
      },
      "[ADDR:]PORT", "Probe a client: listen there, as NFSv3 in memory; port 0: any that is free");
  command
      .add_option("--client-command", o.client.command,
                  "With --listen: what makes the client work, run by the shell for each probe (default: a load of\n"
                  "stag generate); finds ADDR, PORT, MOUNT_PORT and PROBE in its environment; its exit status: 0 all\n"
                  "is fine, 3 bytes were wrong, else something failed")
      ->type_name("CMD");
  command.add_option("--dangerous", o.client.dangerous, "Also run these probes, which can harm what is probed")
      ->delimiter(',')
      ->check([](const std::string& id) {
        const Probe* const probe = probe::client::FindAny(id);
        return probe && !probe->danger.empty()
                   ? std::string{}
                   : id + " is no dangerous probe; stag probe --list and --list --listen 0 show them";
      })
      ->type_name("PROBE,...");
}

// Last: all options but its own and those of the output are of runs.
void AddComparison(CLI::App& command, ProbeArguments& o) {
  CLI::Option* const compare = command.add_option(
      "--compare", o.compare,
      "Put the results of several runs side by side, which --format jsonl wrote to these files: as text,\n"
      "jsonl or html; what differs comes first");
  Reads(compare)->type_name("FILE");
  for (CLI::Option* const other : command.get_options())
    if (other != compare && !other->check_name("--format") && !other->check_name("--color") &&
        !other->check_name("--quiet") && !other->check_name("--help") && !other->check_name("--version"))
      compare->excludes(other);
  command.add_option("--name", o.names, "With --compare: what the runs are called (default: as their files)")
      ->delimiter(',')
      ->type_name("NAME,...");
}

}  // namespace

void AddProbe(CLI::App& app, Run& run) {
  auto options = std::make_shared<ProbeArguments>();
  CLI::App* command = app.add_subcommand("probe", "Active conformance tests of a live server, or of a client");
  command
      ->add_option_function<std::string>(
          "HOST[:PORT]", [](const std::string&) {}, "The server (default port: 20049)")
      ->check([options](const std::string& text) {
        options->server = text;
        return TakeServer(text, options->probe.to);
      })
      ->type_name("");
  command->add_flag("--list", options->list,
                    "List the probes of servers, or with --listen 0 of clients (those of --select), and end");
  command->add_option("--explain", options->explain, "Tell what a probe does and asks, and end")
      ->check([](const std::string& id) {
        return probe::client::FindAny(id) ? std::string{} : id + " is no probe; stag probe --list shows them";
      })
      ->type_name("PROBE");
  AddSelectors(*command, "--select", options->select,
               "Only these: probes, topics, or sections with all below them:\nheader.version, chunk, rfc8166-4.4");
  AddSelectors(*command, "--ignore", options->ignore, "Not these");
  AddServerOptions(*command, *options);
  AddClientOptions(*command, *options);
  AddLiveOptions(*command, *options, true);
  AddOutputOptions(*command, *options, Formats::kTests);
  AddComparison(*command, *options);
  AddListOptions(*command, *options, [o = options.get()]() -> const results::RecordInfo& {
    return !o->compare.empty()              ? results::InfoOf<ComparedProbe>()
           : o->list || !o->explain.empty() ? results::InfoOf<ListedProbe>()
                                            : results::InfoOf<ProbeResult>();
  });
  command->footer(
      "Each probe uses connections of its own, and lists what it tests: sections of the specification, and rules of "
      "stag\n"
      "rules. It passed; it failed (what was expected, what came); it is inconclusive; or it was skipped, for want of "
      "an\n"
      "export, say. The conformance engine looks on: an error that it finds on the server's side makes a probe fail, "
      "a\n"
      "warning is advice. A NULL on another connection after each probe tells whether the server lives; when it does "
      "not,\n"
      "that is the end. Probes send wrong messages on purpose: do not probe a server that others rely on.\n"
      "With --listen the client is probed: it connects and works, and in each probe the server does one thing wrong, "
      "late\n"
      "or rarely. The client has to live, to get no wrong byte, and to do what the specification allows.\n"
      "More: docs/probe.md.\n"
      "\nExit status: 0 nothing failed; 1 a probe failed; 2 usage, no server, or a client that does not work. Of\n"
      "--compare: 0, or 2 where a file cannot be read.\n"
      "\nExamples:\n"
      "  stag probe server\n"
      "  stag probe server:20049 --export /srv --record probe.pcapng\n"
      "  stag probe server --select header,chunk.position --format junit > probe.xml\n"
      "  stag probe server --select rfc8166-4.4,rfc8797\n"
      "  stag probe server --export /srv --keytab /etc/krb5.keytab --select gss\n"
      "  stag probe --list; stag probe --explain header.version\n"
      "  stag probe --compare knfsd-6.1.jsonl knfsd-7.3.jsonl ganesha.jsonl --format html > servers.html\n"
      "  stag probe --listen 20049 --mount-port 20048 --client-command ./mount-and-compare.sh\n"
      "  stag probe --listen 127.0.0.1:0 --select error,remote; stag probe --list --listen 0");
  command->callback([options, &run] { run = [options] { return RunProbe(*options); }; });
}

}  // namespace stag::cli
