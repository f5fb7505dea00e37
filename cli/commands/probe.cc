// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag probe: active conformance tests of a live server.
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/live/live_monitor.h"
#include "cli/live/load_options.h"
#include "cli/live/probe_report.h"
#include "replay/endpoint/transports.h"
#include "replay/generate/nfs3_calls.h"
#include "replay/probe/runner.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using replay::probe::Probe;

struct ProbeArguments : LiveOptions {
  replay::probe::ProbeOptions probe;
  std::string server;
  std::vector<std::string> select, ignore;
  bool list = false;
  std::string explain;
};

std::vector<const Probe*> Selected(const ProbeArguments& options) {
  const auto named = [](const std::vector<std::string>& selectors, const Probe& probe) {
    return std::ranges::any_of(selectors, [&](const std::string& s) { return replay::probe::Selects(s, probe); });
  };
  std::vector<const Probe*> selected;
  for (const Probe& probe : replay::probe::Catalogue())
    if ((options.select.empty() || named(options.select, probe)) && !named(options.ignore, probe))
      selected.push_back(&probe);
  return selected;
}

// The complaint, or empty.
std::string Settle(const ProbeArguments& options, size_t selected) {
  if (selected == 0) return "--ignore leaves no probe of those selected";
  if (options.list || !options.explain.empty())
    return options.format == Format::kJunit ? "--format junit is of probes that are run" : "";
  if (options.server.empty()) return "which server? stag probe HOST[:PORT]; --list and --explain take none";
  if (!options.probe.path.empty() && !options.probe.directory.empty())
    return "--export and --handle exclude each other";
  if (options.probe.mount_port && options.probe.path.empty()) return "--mount-port is for --export";
  if (options.probe.version && !options.probe.program) return "--program-version is for --program";
  return {};
}

int PutCatalogue(const ProbeArguments& options, std::span<const Probe* const> selected) {
  Output output(options);
  if (options.explain.empty())
    PutProbeTable(output.buffer(), selected, options.format, output.style());
  else
    PutProbeExplanation(output.buffer(), *replay::probe::Find(options.explain), options.format, output.style());
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

int RunProbe(ProbeArguments options) {
  const std::vector<const Probe*> selected = Selected(options);
  if (const std::string complaint = Settle(options, selected.size()); !complaint.empty()) {
    ComplainText(complaint);
    return kExitTrouble;
  }
  if (options.list || !options.explain.empty()) return PutCatalogue(options, selected);

  const Signals signals;
  Output output(options);
  LiveMonitor monitor(options, options.server, output);
  const auto transport = replay::OpenTransport(options.transport);
  if (!transport) return Trouble(transport.error());
  options.probe.crc = options.crc;
  options.probe.patience.stopped = [&signals] { return signals.caught(); };
  replay::probe::Runner runner(**transport, options.probe, monitor.log() ? &monitor : nullptr);
  const Result<void> begun = runner.Begin();
  if (!begun) ComplainText(begun.error().message);
  bool failed = false;
  if (begun) {
    ProbeReport report(output, options);
    report.Begin(options.server, (*transport)->name(), runner.target());
    size_t run = 0;
    while (run < selected.size() && !runner.gone() && !signals.caught() && !output.stopped()) {
      const Probe& probe = *selected[run++];
      report.Add(probe, runner.Run(probe));
    }
    report.Finish(selected.size() - run, runner.gone() ? "the server is gone" : "interrupted");
    failed = report.count(replay::probe::Verdict::kFailed) > 0;
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
      ->check([](const std::string& selector) {
        const auto all = replay::probe::Catalogue();
        return std::ranges::any_of(all, [&](const Probe& p) { return replay::probe::Selects(selector, p); })
                   ? std::string{}
                   : selector + " names no probe and no topic; stag probe --list shows them";
      })
      ->type_name("PROBE,...");
}

void AddTime(CLI::App& command, const std::string& name, std::chrono::milliseconds& time,
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
  replay::probe::ProbeOptions& probe = o.probe;
  command
      .add_option("--program", probe.program,
                  "Call NULL of this RPC program (default: NFS, or ECHO of stag serve, whichever is there)")
      ->type_name("N");
  command.add_option("--program-version", probe.version, "Its version (default: 3)")->type_name("N");
  command
      .add_option("--export", probe.path, "NFSv3: make a file in this exported directory, for the probes that need one")
      ->type_name("PATH");
  AddParsed(
      command, "--handle",
      [&probe](std::string& text) { return TakeHex(text, replay::nfs3::kHandleMax, probe.directory); }, "HEX",
      "NFSv3: the directory's file handle; MOUNT is not asked");
  command.add_option("--mount-port", probe.mount_port, "NFSv3: TCP port of MOUNT (default: the portmapper knows)")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
  command.add_option("--uid", probe.credential.uid, "AUTH_SYS user (default: 0)")->type_name("N");
  command.add_option("--gid", probe.credential.gid, "AUTH_SYS group (default: 0)")->type_name("N");
  AddTime(command, "--timeout", probe.patience.answer, "How long to wait for what must come (default: 5s)");
  AddTime(command, "--settle", probe.patience.quiet, "How long to look out for what must not come (default: 50ms)");
}

}  // namespace

void AddProbe(CLI::App& app, Run& run) {
  auto options = std::make_shared<ProbeArguments>();
  CLI::App* command = app.add_subcommand("probe", "Active conformance tests of a live server");
  command
      ->add_option_function<std::string>(
          "HOST[:PORT]", [](const std::string&) {}, "The server (default port: 20049)")
      ->check([options](const std::string& text) {
        options->server = text;
        return TakeServer(text, options->probe.to);
      })
      ->type_name("");
  command->add_flag("--list", options->list, "List the probes (those of --select), and end");
  command->add_option("--explain", options->explain, "Tell what a probe does and asks, and end")
      ->check([](const std::string& id) {
        return replay::probe::Find(id) ? std::string{} : id + " is no probe; stag probe --list shows them";
      })
      ->type_name("PROBE");
  AddSelectors(*command, "--select", options->select, "Only these probes, or topics: header.version, chunk");
  AddSelectors(*command, "--ignore", options->ignore, "Not these");
  AddServerOptions(*command, *options);
  AddLiveOptions(*command, *options, true);
  AddOutputOptions(*command, *options, Formats::kTests);
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
      "More: docs/probe.md.\n"
      "\nExit status: 0 nothing failed; 1 a probe failed; 2 usage, or no server.\n"
      "\nExamples:\n"
      "  stag probe server\n"
      "  stag probe server:20049 --export /srv --record probe.pcapng\n"
      "  stag probe server --select header,chunk.position --format junit > probe.xml\n"
      "  stag probe --list; stag probe --explain header.version");
  command->callback([options, &run] { run = [options] { return RunProbe(*options); }; });
}

}  // namespace stag::cli
