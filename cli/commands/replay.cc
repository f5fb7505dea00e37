// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag replay: plays the calls of a recording against a live server, and reports the results; or, with --dry-run, what
// would be sent.
#include <algorithm>
#include <memory>

#include "cli/base/options.h"
#include "cli/live/live_output.h"
#include "cli/live/live_progress.h"
#include "cli/live/load_options.h"
#include "cli/live/plan_reader.h"
#include "cli/live/replay_report.h"
#include "cli/live/team_load.h"
#include "replay/endpoint/transports.h"
#include "replay/nfs_client/tcp_client.h"
#include "replay/replay/player.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct ReplayArguments : LiveOptions {
  bool dry_run = false, to_given = false, timed = false;
  double speed = 0;
  replay::PlanOptions plan;
  replay::PlayOptions play;
  std::string exported;                // empty: no MOUNT
  std::optional<uint16_t> mount_port;  // none: the portmapper knows
  std::optional<double> expected;      // percent
};

void Settle(ReplayArguments& options) {
  options.play.speed = options.timed ? (options.speed > 0 ? options.speed : 1) : 0;
  if (options.play.duration.count() > 0 && options.play.loops == 0) options.play.loops = UINT64_MAX;
  if (options.play.loops == 0) options.play.loops = 1;
}

std::string Contradiction(const ReplayArguments& options) {
  if (!options.dry_run && !options.to_given) return "--to HOST[:PORT] is missing (or --dry-run)";
  if (options.speed > 0 && !options.timed) return "--speed is for --timing recorded";
  if (options.dry_run && options.mpi) return "--dry-run sends nothing that ranks could share: leave --mpi out";
  if (!options.exported.empty() && !options.play.root.empty()) return "--export and --root-handle: one of them";
  if (options.mount_port && options.exported.empty()) return "--mount-port is for --export";
  return {};
}

constexpr std::string_view kNoCall = "there is no call that can be sent; --dry-run says why";

// Whether a live root stands for the recorded one.
bool RootIsWanted(const ReplayArguments& options) { return !options.play.root.empty() || !options.exported.empty(); }

std::string NoRoot(const ReplayArguments& options) {
  return options.plan.root.empty() ? "no call has an NFSv3 or NFSv2 file handle that a root could replace"
                                   : "no call that is sent has the file handle of --recorded-root";
}

// The live root for the recorded one, where one is wanted: the complaint, or empty.
std::string FindRoot(ReplayArguments& options, replay::PlanQueue& plan) {
  if (!options.plan.root.empty() && !RootIsWanted(options))
    return "--recorded-root says which file handle is replaced: give --export or --root-handle, too";
  if (!RootIsWanted(options)) return {};
  if (!plan.WaitForRoot()) return NoRoot(options);
  if (options.exported.empty()) return {};
  auto root = nfs_client::Mount(options.play.to.host, options.mount_port, options.exported, {}, options.play.timeout);
  if (!root) return root.error().message;
  options.play.root = std::move(*root);
  return {};
}

// Each rank plays for clients of its own: a value that one connection of a client gets is used on its others, so that
// the connections of a recording cannot be dealt out.
void Join(scale::Team& team, replay::PlayOptions& play) {
  play.first_client = static_cast<uint32_t>(team.rank()) * play.clients + 1;
  play.ready = [&team] { return BeginTogether(team); };
}

// What the reading of the recording complained of, once it is over, and what of it was not played. The exit status.
int Complaints(const ReplayArguments& options, PlanReader& plans, const replay::PlayReport& report, scale::Team* team) {
  const PlanOutcome& outcome = plans.Finish();
  if (!team || team->leads()) {
    for (const std::string& text : plans.complaints()) ComplainText(text);
    const replay::PlanTotals& totals = outcome.totals;
    if (!options.quiet && totals.refused + totals.cut > 0)
      Complain("{} cannot be sent; --dry-run says why", Count(totals.refused + totals.cut, "call"));
    if (totals.late > 0)
      Complain(
          "{} got the recorded answer so late that it was neither waited for nor compared; --memory raises the cap",
          Count(totals.late, "call"));
    if (report.forgotten > 0)
      Complain("{} of the live server forgotten; --memory raises the cap", Count(report.forgotten, "value"));
  }
  return outcome.file.damaged ? kExitTrouble : kExitFine;
}

int Play(ReplayArguments& options, PlanReader& plans, replay::PlanQueue& first, LiveOutput& to, scale::Team* team) {
  if (!AllFine(team, FindRoot(options, first))) return kExitTrouble;
  auto transport = endpoint::OpenTransport(options.transport);
  if (!AllFine(team, transport ? "" : transport.error().message)) return kExitTrouble;
  if (team) Join(*team, options.play);
  const Signals signals;
  to.output.set_stop(signals.descriptor());
  LiveMonitor monitor(options, options.play.to.host, to.output);
  LiveProgress progress(options.progress && !options.quiet);
  options.play.events = monitor.log();
  options.play.crc = options.crc;
  options.play.stop = signals.descriptor();
  options.play.values_memory = ReplayMemory(options.memory).values;
  options.play.progress = [&progress](const replay::PlayCounts& counts) {
    if (progress.due()) progress.Update({counts.answers, counts.bytes, counts.outstanding, counts.errors});
  };
  replay::Player player(plans, **transport, options.play);
  const Result<void> played = player.Run();
  progress.Clear();
  monitor.Drain();
  if (!AllFine(team, played ? "" : played.error().message)) return kExitTrouble;
  bool fine = !team || monitor.Finish();  // in a team before the reports are merged
  replay::PlayReport report = player.report();
  const bool rootless = RootIsWanted(options) && !report.stopped && !report.rooted;
  int status = MergeReports(team, monitor.failed() || rootless ? kExitTrouble : kExitFine, report);
  const ReplayedRow row(report, team ? team->size() : 1);
  if (to.rows.as_text()) {
    PutPlayText(to.output.buffer(), row, to.output.style());
  } else {
    PutPlayRows(to.rows, row);
  }
  if (!team) fine = monitor.Finish();
  to.End();
  if (monitor.failed()) status = kExitTrouble;
  if (rootless && (!team || team->leads())) ComplainText(NoRoot(options));
  status = std::max(status, Complaints(options, plans, report, team));
  fine = fine && row.total.lost == 0 && row.total.not_sent == 0;
  if (options.expected && (!team || team->leads()) && report.MatchPercent() < *options.expected) {
    Complain("{:.4f}% of the answers have the recorded status; expected: {}%", report.MatchPercent(),
             *options.expected);
    fine = false;
  }
  return fine ? status : std::max(status, kExitFindings);
}

int DryRun(const ReplayArguments& options) {
  LiveOutput to(options, results::InfoOf<PlannedCallRow>(), nullptr, DisplayName(options.files.front()));
  PlanReport report(to.output, to.rows, ReplayMemory(options.memory).values);
  const PlanOutcome outcome = ReadPlan(options.files.front(), options, options.plan, to.output, report);
  if (!outcome.file.opened) return kExitTrouble;
  if (const std::string nothing = outcome.Nothing(DisplayName(options.files.front())); !nothing.empty()) {
    ComplainText(nothing);
    return kExitTrouble;
  }
  report.Finish(outcome.totals);
  to.End();
  return to.output.failed() || outcome.file.damaged ? kExitTrouble : kExitFine;
}

// Why there is nothing to play: the complaints that were not made yet.
std::string NothingToPlay(const ReplayArguments& options, PlanReader& plans, scale::Team* team) {
  const PlanOutcome& outcome = plans.Finish();
  if (!outcome.file.opened) return outcome.file.trouble;
  if (!team || team->leads())
    for (const std::string& text : plans.complaints()) ComplainText(text);
  const std::string nothing = outcome.Nothing(DisplayName(options.files.front()));
  return nothing.empty() ? std::string(kNoCall) : nothing;
}

int RunReplay(ReplayArguments options, scale::Team* team) {
  if (!AllFine(team, Contradiction(options))) return kExitTrouble;
  Settle(options);
  options.plan.window = ReplayMemory(options.memory).window;
  options.plan.largest = options.memory / 4;
  if (options.dry_run) return DryRun(options);
  LiveOutput to(options, results::InfoOf<PlayedProcedureRow>(), team, DisplayName(options.files.front()));
  PlanReader plans(options.files.front(), options, options.plan, options.play.loops != 1);
  replay::PlanQueue& first = plans.Start(options.play.clients);
  if (!AllFine(team, first.WaitForCall() ? "" : NothingToPlay(options, plans, team))) return kExitTrouble;
  const int status = Play(options, plans, first, to, team);
  return to.output.failed() ? kExitTrouble : status;
}

void AddWhat(CLI::App& command, ReplayArguments& o) {
  Reads(command.add_option("FILE", o.files, "The capture: pcap or pcapng, plain, .gz or .zst; - is standard input"))
      ->required()
      ->expected(1)
      ->type_name("");
  AddParsed(
      command, "--to",
      [&o](std::string& text) {
        o.to_given = true;
        return TakeServer(text, o.play.to);
      },
      "HOST[:PORT]", "The live server (default port: 20049)");
  command.add_flag("--dry-run", o.dry_run, "Say what would be sent and what cannot be, and why; no server is needed");
  AddParsed(
      command, "--select",
      [&o](std::string& text) {
        const auto added = o.plan.selection.Add(text);
        return added ? std::string{} : added.error().message;
      },
      "TERM",
      "Only these calls: frame=1-900, connection=1,3, program=NFS, procedure=READ,WRITE. Can be repeated: all "
      "kinds must hold");
  command
      .add_option("--export", o.exported,
                  "NFSv3: the directory whose file handle (MOUNT over TCP) stands for the recorded root")
      ->type_name("PATH");
  AddRange(command, "--mount-port", o.mount_port, 1, 65535,
           "With --export: TCP port of MOUNT (default: the portmapper knows)", "PORT");
  AddParsed(
      command, "--root-handle", [&o](std::string& text) { return TakeHex(text, 64, o.play.root); }, "HEX",
      "NFSv3: or this live file handle does");
  AddParsed(
      command, "--recorded-root", [&o](std::string& text) { return TakeHex(text, 64, o.plan.root); }, "HEX",
      "NFSv3: the recorded root (default: the file handle that is used first)");
}

void AddWhen(CLI::App& command, ReplayArguments& o) {
  AddChoice<bool>(command, "--timing", o.timed, {{"asap", false}, {"recorded", true}},
                  "asap (default): once the answers came that the recorded client had; recorded: not before its time, "
                  "either");
  AddRange(command, "--speed", o.speed, 1e-6, 1e6, "With --timing recorded: so many times as fast (default: 1)", "X");
  AddRange(command, "--rate", o.play.rate, 1e-3, 1e9, "At most so many calls per second, over all clients");
  o.play.loops = 0;
  AddRange(command, "--loop", o.play.loops, uint64_t{1}, uint64_t{1} << 60,
           "Play it so many times, each on new connections (default: 1; with "
           "--duration: until it is over)");
  AddParsed(
      command, "--duration", [&o](std::string& text) { return TakeDuration(text, o.play.duration); }, "TIME",
      "Send nothing more after this time: 30s, 5m");
  AddRange(command, "--connections", o.play.clients, 1, 4096,
           "So many clients, each with all connections of the recording, and NFSv4 names of its own "
           "(default: 1)");
  AddParsed(
      command, "--timeout", [&o](std::string& text) { return TakeDuration(text, o.play.timeout); }, "TIME",
      "How long an answer is waited for (default: 10s)");
  AddRange(command, "--reconnect", o.play.reconnects, 0, 1'000'000,
           "Connect again when a connection breaks, so many times for each; calls without an answer are sent "
           "again (default: 0)");
}

void AddPutOff(CLI::App& command, ReplayArguments& o) {
  AddParsed(
      command, "--put-off",
      [&o](std::string& text) {
        o.play.put_off = {};
        return text == "0" ? std::string{} : TakeDuration(text, o.play.put_off);
      },
      "TIME",
      "How long a call is sent again, with pauses, that went well when it was recorded and now gets NFS3ERR_JUKEBOX, "
      "NFS4ERR_DELAY or NFS4ERR_GRACE (default: 2m; 0: it is not)");
}

void AddHow(CLI::App& command, ReplayArguments& o) {
  AddRange(command, "--credits", o.play.credits, 1, 1024, "To ask for in each call (default: as recorded)");
  command.add_flag("--ignore-credits", o.play.ignore_credits, "Send more than the server granted, on purpose");
  AddRange(command, "--send-size", o.play.send_size, 1024, 262144,
           "Inline threshold for Calls, bytes (default: as recorded)", "BYTES");
  AddRange(command, "--receive-size", o.play.receive_size, 1024, 262144,
           "Inline threshold for Replies, bytes (default: as recorded)", "BYTES");
  command.add_flag("--no-private-data", o.play.no_private_data,
                   "Send no RFC 8797 private data: both thresholds are 1024 bytes then");
  command.add_flag("--no-remote-invalidation", o.play.no_remote_invalidation, "Do not allow Send with Invalidate");
  AddSize(command, "--segment-size", o.play.segment_size, 1, 1u << 30, "Largest segment of a chunk (default: 1M)");
  AddRange(command, "--expect-match", o.expected, 0.0, 100.0,
           "Exit status 1 when fewer of the answers than this have the recorded status", "PERCENT");
}

}  // namespace

void AddReplay(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "Plays the calls of a recording against a live server");
  AddWhat(*command, *options);
  AddWhen(*command, *options);
  AddPutOff(*command, *options);
  AddHow(*command, *options);
  AddLiveOptions(*command, *options);
  AddLiveOutput(*command, *options);
  AddMemory(*command, *options);
  AddOrder(*command, *options);
  AddMpi(
      *command, *options,
      "every rank plays it for --connections clients of its own, all from one moment on; rank 0 reports them together");
  command->add_flag("--progress", options->progress, "Show a line of rates on stderr when it is a terminal");
  command->footer(
      "File handles, cookies, stateids, sessions and whatever else the live server gives are put in the place of the\n"
      "recorded ones; NFSv4 clients get names of their own. A call is sent once all those are answered that had their\n"
      "answer when it was recorded. RPCSEC_GSS cannot be replayed. The recording is read while it is played: whatever "
      "its\n"
      "size, it takes no more than --memory. Exit status 1: calls were lost or could not be sent, --expect-match is "
      "not\n"
      "reached, or --check found errors.\n"
      "\nExamples:\n"
      "  stag replay mount.pcapng --dry-run\n"
      "  stag replay mount.pcapng --to server --check\n"
      "  stag replay mount.pcapng --to server --timing recorded --speed 10 --connections 8 --expect-match 99.9\n"
      "  mpirun -N 1 --hostfile hosts stag replay --mpi mount.pcapng --to server --connections 8\n"
      "  stag replay v3.pcapng --to server --export /srv --select procedure=LOOKUP,GETATTR");
  command->callback([options, &run] { run = [options] { return RunLoad(*options, RunReplay); }; });
}

}  // namespace stag::cli
