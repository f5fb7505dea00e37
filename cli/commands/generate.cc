// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag generate: a synthetic load on a live server.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <random>
#include <thread>

#include "cli/base/options.h"
#include "cli/live/generate_report.h"
#include "cli/live/live_output.h"
#include "cli/live/live_progress.h"
#include "cli/live/load_options.h"
#include "cli/live/team_load.h"
#include "replay/endpoint/transports.h"
#include "replay/generate/generator.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using generate::LoadMode;
using generate::Operation;

struct GenerateArguments : LiveOptions {
  generate::LoadOptions load;
  std::optional<generate::Mix> mix;
  std::optional<uint32_t> threads, depth, credits, files;
  std::optional<uint64_t> seed;
};

// ------------------------------------------------------------------------------------------------ what belongs
// together

std::vector<Operation> OperationsOf(LoadMode mode) {
  switch (mode) {
    case LoadMode::kNull: return {Operation::kNull};
    case LoadMode::kEcho: return {Operation::kEcho};
    case LoadMode::kNfs3:
      return {Operation::kNull, Operation::kGetattr, Operation::kLookup,
              Operation::kRead, Operation::kWrite,   Operation::kReaddirplus};
    case LoadMode::kNfs4: return {Operation::kGetattr, Operation::kRead, Operation::kWrite};
  }
  return {};
}

// The complaint, or empty.
std::string SettleMix(GenerateArguments& options) {
  generate::LoadOptions& load = options.load;
  const std::vector<Operation> known = OperationsOf(load.mode);
  generate::Mix& mix = load.jobs.mix;
  if (options.mix) {
    mix = *options.mix;
  } else if (known.size() == 1) {
    generate::Weight(mix, known[0]) = 1;
  } else {
    generate::Weight(mix, Operation::kRead) = 70;
    generate::Weight(mix, Operation::kWrite) = 20;
    generate::Weight(mix, Operation::kGetattr) = 10;
  }
  for (size_t i = 0; i < generate::kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (mix[i] > 0 && std::ranges::find(known, operation) == known.end())
      return fmt::format("this --mode has no {}", generate::OperationName(operation));
  }
  return {};
}

// Memory that --verify may need to know what is where: for each WRITE whose bytes are still there, two entries at most.
uint64_t VerifyCost(const generate::LoadOptions& load) {
  uint64_t step = 4096;
  for (const generate::SizeRange& range : load.jobs.sizes)
    if (load.jobs.sequential) step = std::min<uint64_t>(step, range.low);
  return load.files * (load.file_size / step + 1) * 128;
}

std::string SettleFiles(GenerateArguments& options) {
  generate::LoadOptions& load = options.load;
  const generate::Mix& mix = load.jobs.mix;
  const auto has = [&mix](Operation operation) { return generate::Weight(mix, operation) > 0; };
  const bool needed =
      has(Operation::kGetattr) || has(Operation::kLookup) || has(Operation::kRead) || has(Operation::kWrite);
  load.files = needed ? options.files.value_or(load.connections) : 0;
  if (has(Operation::kRead) || has(Operation::kWrite)) {
    const uint64_t largest = generate::LargestSize(load.jobs);
    const uint64_t part = generate::ShareOf(0, load.connections, load.files, load.file_size)[0].length;
    if (largest > part)
      return fmt::format(
          "a --size of {} does not fit into what each connection has of a file, {} bytes: give more "
          "--files or a larger --file-size",
          largest, part);
  }
  constexpr uint64_t kMost = uint64_t{2} << 30;
  if (load.verify && has(Operation::kWrite) && VerifyCost(load) > kMost)
    return "--verify of so many WRITEs in such large files takes too much memory: give smaller or fewer files";
  return {};
}

std::string Settle(GenerateArguments& options) {
  generate::LoadOptions& load = options.load;
  if (auto complaint = SettleMix(options); !complaint.empty()) return complaint;
  if (auto complaint = SettleFiles(options); !complaint.empty()) return complaint;
  if (load.rate > 0 && load.bandwidth > 0) return "--rate and --bandwidth exclude each other";
  if (load.bandwidth > 0) {
    const generate::Mix& mix = load.jobs.mix;
    if (generate::Weight(mix, Operation::kRead) + generate::Weight(mix, Operation::kWrite) +
            generate::Weight(mix, Operation::kEcho) ==
        0)
      return "--bandwidth is of data, and the mix has none: give --rate";
  }
  if (!load.directory.empty() && load.mode != LoadMode::kNfs3) return "--handle is for --mode nfs3";
  if (load.mount_port && load.mode != LoadMode::kNfs3) return "--mount-port is for --mode nfs3";
  if (load.verify && load.mode == LoadMode::kNull) return "NULL has nothing to --verify";
  if (options.threads && *options.threads > load.connections)
    return fmt::format("--threads {}, but only {}: a connection belongs to one thread", *options.threads,
                       Count(load.connections, "connection"));
  load.depth = options.depth.value_or(options.credits.value_or(32));
  load.requester.credits = options.credits.value_or(load.depth);
  if (load.depth > load.requester.credits)
    return fmt::format("--depth {} is more than --credits {}", load.depth, load.requester.credits);
  load.crc = options.crc;
  if (load.calls == 0 && load.duration.count() == 0) load.duration = std::chrono::seconds{10};
  load.jobs.seed = options.seed ? *options.seed : std::random_device{}();
  return {};
}

// ------------------------------------------------------------------------------------------------------------- running

// Runs the generator in a thread of its own, and meanwhile looks for signals and shows how it goes.
Result<void> RunGenerator(generate::Generator& generator, const Signals& signals, bool progress_wanted) {
  const int finished = ::eventfd(0, EFD_CLOEXEC);
  Result<void> ran;
  std::exception_ptr thrown;
  std::thread runner([&] {
    try {
      ran = generator.Run();
    } catch (...) {
      thrown = std::current_exception();
    }
    (void)::eventfd_write(finished, 1);
  });
  LiveProgress progress(progress_wanted);
  pollfd waiting[] = {{finished, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
  while (waiting[0].revents == 0) {
    (void)::poll(waiting, 2, 100);
    if (waiting[1].revents != 0) {
      generator.Stop();
      waiting[1].fd = -1;  // once is enough
    }
    if (!progress.due()) continue;
    const generate::Generator::Counts counts = generator.counts();
    progress.Update({counts.answers, counts.bytes, counts.outstanding, counts.failures});
  }
  runner.join();
  ::close(finished);
  if (thrown) std::rethrow_exception(thrown);
  return ran;
}

// Each rank sends the whole load, with a seed of its own: so calls, files and NFSv4 clients differ.
void Join(scale::Team& team, generate::LoadOptions& load) {
  load.jobs.seed = std::stoull(scale::Broadcast(team, std::to_string(load.jobs.seed))) + team.rank();
  load.ready = [&team](const std::string& trouble) -> std::optional<std::chrono::steady_clock::time_point> {
    if (!AllFine(&team, trouble)) return std::nullopt;
    return BeginTogether(team);
  };
}

int RunGenerate(GenerateArguments options, scale::Team* team) {
  if (!AllFine(team, Settle(options))) return kExitTrouble;
  if (team) Join(*team, options.load);
  const Signals signals;
  options.load.cancel = signals.descriptor();
  LiveOutput to(options, results::InfoOf<OperationRow>(), team);
  to.output.set_stop(signals.descriptor());
  LiveMonitor monitor(options, options.load.to.host, to.output);
  const uint32_t processors = std::max(std::thread::hardware_concurrency(), 1u);
  options.load.threads = options.threads.value_or(std::min(options.load.connections, processors));
  const auto transport = endpoint::OpenTransport(options.transport);
  if (!AllFine(team, transport ? "" : transport.error().message)) return kExitTrouble;
  generate::Generator generator(**transport, options.load, monitor.log());
  const Result<void> ran = RunGenerator(generator, signals, !options.quiet);
  monitor.Drain();
  if (!ran) {
    if (!team) ComplainText(ran.error().message);  // in a team `ready` has
    monitor.Finish();
    to.End();
    return kExitTrouble;
  }
  bool fine = !team || monitor.Finish();  // in a team before the reports are merged
  generate::LoadReport report = generator.report();
  int status = MergeReports(team, monitor.failed() ? kExitTrouble : kExitFine, report);
  const std::string name = (*transport)->name();
  GeneratedRow row(report);
  row.transport = name;
  row.ranks = team ? team->size() : 1;
  row.seed = options.load.jobs.seed;
  if (to.rows.as_text()) {
    PutLoadText(to.output.buffer(), row, options.load.verify, to.output.style());
  } else {
    PutLoadRows(to.rows, row);
  }
  if (!team) fine = monitor.Finish();
  to.End();
  if (to.output.failed() || monitor.failed()) status = kExitTrouble;
  return fine && report.fine() ? status : std::max(status, kExitFindings);
}

// ------------------------------------------------------------------------------------------------------------- options

void AddWhat(CLI::App& command, GenerateArguments& o) {
  generate::LoadOptions& load = o.load;
  AddParsed(
      command, "--to", [&](std::string& text) { return TakeServer(text, load.to); }, "HOST[:PORT]",
      "The server (default port: 20049)")
      ->required();
  AddChoice<LoadMode>(
      command, "--mode", load.mode,
      {{"null", LoadMode::kNull}, {"echo", LoadMode::kEcho}, {"nfs3", LoadMode::kNfs3}, {"nfs4", LoadMode::kNfs4}},
      "What is called: see below (default: null)");
  AddParsed(
      command, "--mix", [&](std::string& text) { return TakeMix(text, o.mix.emplace()); }, "OP=N,...",
      "Operations and how often they come (default for NFS: read=70,write=20,getattr=10)");
  AddParsed(
      command, "--size", [&](std::string& text) { return TakeSizes(text, load.jobs.sizes); }, "SIZES",
      "Of the data of READ, WRITE and ECHO: 4K (default), 4K-1M (uniform), 4K:50,64K:50 (with weights)");
  command.add_flag("--sequential", load.jobs.sequential,
                   "READ and WRITE from begin to end; otherwise at random multiples of 4096 bytes");
  command.add_flag("--verify", load.verify, "Check every byte that comes back");
  AddRange(command, "--seed", o.seed, uint64_t{0}, uint64_t{UINT64_MAX},
           "The same seed and options make the same calls (default: a random one)");
  command.add_option("--program", load.program, "null: RPC program (default: 100003, NFS)")->type_name("N");
  command.add_option("--program-version", load.version, "null: its version (default: 3)")->type_name("N");
}

void AddWhen(CLI::App& command, GenerateArguments& o) {
  generate::LoadOptions& load = o.load;
  AddRange(command, "--connections", load.connections, 1, 4096, "Each with its own client (default: 1)");
  AddRange(command, "--threads", o.threads, 1, 1024,
           "That share the connections (default: as many as there are processors); --check and\n"
           "--record have one of their own, and the others wait when that is slower (stderr says\n"
           "how long)");
  AddRange(command, "--depth", o.depth, 1, 4096,
           "Calls outstanding on each connection (default: 32); with --rate or --bandwidth, at most so many");
  AddRange(command, "--rate", load.rate, 1e-3, 1e12,
           "Calls per second in all, sent at their times whatever the server does");
  AddSize(command, "--bandwidth", load.bandwidth, 1, UINT64_MAX, "Likewise, bytes of data per second in all");
  AddParsed(
      command, "--duration", [&load](std::string& text) { return TakeDuration(text, load.duration); }, "TIME",
      "Send calls for so long: 10s, 2m (default: 10s, unless --calls is given)");
  AddRange(command, "--calls", load.calls, uint64_t{1}, uint64_t{1} << 60, "Send so many calls in all");
  AddParsed(
      command, "--timeout", [&load](std::string& text) { return TakeDuration(text, load.timeout); }, "TIME",
      "How long to wait for an answer before the connection is given up (default: 30s)");
  AddRange(command, "--reconnect", load.reconnects, 0, 1'000'000,
           "Connect again when a connection breaks, at most so many times without any answer; calls that "
           "had none are sent again (default: 0)");
}

void AddHow(CLI::App& command, GenerateArguments& o) {
  generate::LoadOptions& load = o.load;
  rpcrdma::RequesterOptions& requester = load.requester;
  AddRange(command, "--credits", o.credits, 1, 4096, "To ask for in each call (default: --depth)");
  command.add_flag("--ignore-credits", requester.ignore_credits, "Send more than the server granted, on purpose");
  AddRange(command, "--send-size", requester.send_size, 1024, 262144,
           "Inline threshold for Calls, bytes (default: 4096)", "BYTES");
  AddRange(command, "--receive-size", requester.receive_size, 1024, 262144,
           "Inline threshold for Replies, bytes (default: 4096)", "BYTES");
  AddSize(command, "--segment-size", requester.segment_size, 1, 1u << 30, "Largest segment of a chunk (default: 1M)");
  AddRange(command, "--segments", requester.segments, 1, 1024,
           "Split each chunk into so many segments at least (default: 1)");
  command.add_flag("--pad-read-chunks", requester.pad_read_chunks, "XDR padding is a part of Read chunks");
  command.add_flag("--always-chunks", load.always_chunks, "Data of READ and WRITE never go inline, even if they fit");
  command.add_flag("--reply-chunk", load.reply_chunk, "Offer a Reply chunk in each call, even if none is needed");
  AddRange(command, "--position-zero", load.jobs.position_zero_percent, 0, 100,
           "So many of 100 calls go as Long Calls (a Position Zero Read chunk) though they would fit inline",
           "PERCENT");
  AddChoice<bool>(
      command, "--register", requester.fresh_handles, {{"once", false}, {"per-call", true}},
      "Memory for chunks: registered once and used again (default), or anew for every segment of every call");
  command.add_flag_callback(
      "--no-private-data", [&requester] { requester.send_private_data = false; },
      "Send no RFC 8797 private data: both thresholds are 1024 bytes then");
  command.add_flag_callback(
      "--no-remote-invalidation", [&requester] { requester.remote_invalidation = false; },
      "Do not allow Send with Invalidate");
}

void AddNfs(CLI::App& command, GenerateArguments& o) {
  generate::LoadOptions& load = o.load;
  command.add_option("--export", load.path, "Directory on the server to make files in (default: /)")->type_name("PATH");
  AddParsed(
      command, "--handle",
      [&load](std::string& text) { return TakeHex(text, nfs_client::nfs3::kHandleMax, load.directory); }, "HEX",
      "nfs3: its file handle; MOUNT is not asked");
  AddRange(command, "--mount-port", load.mount_port, 1, 65535,
           "nfs3: TCP port of MOUNT (default: the portmapper of HOST names it; without a\nportmapper, MOUNT at "
           "HOST:PORT)",
           "PORT");
  AddRange(command, "--files", o.files, 1, 1'000'000, "How many files to make (default: --connections)");
  AddSize(command, "--file-size", load.file_size, 1, uint64_t{1} << 50, "Bytes of each (default: 16M)");
  command.add_flag("--keep", load.keep, "Leave the files there");
  AddChoice<nfs_client::nfs3::Stable>(command, "--stable", load.stable,
                                      {{"unstable", nfs_client::nfs3::kUnstable},
                                       {"data-sync", nfs_client::nfs3::kDataSync},
                                       {"file-sync", nfs_client::nfs3::kFileSync}},
                                      "How WRITEs are to be kept (default: unstable)");
  command.add_option("--uid", load.credential.uid, "AUTH_SYS user (default: 0)")->type_name("N");
  command.add_option("--gid", load.credential.gid, "AUTH_SYS group (default: 0)")->type_name("N");
}

}  // namespace

void AddGenerate(CLI::App& app, Run& run) {
  auto options = std::make_shared<GenerateArguments>();
  CLI::App* command = app.add_subcommand("generate", "Synthetic load on a live server: NULL, ECHO, NFSv3, NFSv4.1");
  AddWhat(*command, *options);
  AddWhen(*command, *options);
  AddHow(*command, *options);
  AddNfs(*command, *options);
  AddLiveOptions(*command, *options);
  AddLiveOutput(*command, *options);
  AddMpi(*command, *options, "every rank sends this load, all from one moment on; rank 0 reports them together");
  command->footer(
      "null works with any RPC program. echo is for stag serve --mode echo; its data count twice, there and back. "
      "nfs3\n"
      "has null, getattr, lookup, read, write and readdirplus; nfs4 (version 4.1, a session for each connection) has\n"
      "getattr, read and write. The files, stag-generate.SEED.N, are made before and removed afterwards; each\n"
      "connection has files, or parts of files, of its own. With --rate or --bandwidth latencies count from when a "
      "call\n"
      "was due, so that a server that stalls shows. SIGINT ends with the summary. More: docs/generate.md.\n"
      "\nExit status: 0 fine; 1 a call failed or was lost, wrong data, findings; 2 usage, or no server.\n"
      "\nExamples:\n"
      "  stag generate --to server\n"
      "  stag generate --to server --mode nfs3 --export /srv --mix read=70,write=20,lookup=10 --size 4K:90,1M:10 "
      "--verify\n"
      "  stag generate --to server:20049 --mode nfs4 --export /srv --rate 20000 --connections 8 --duration 1m\n"
      "  mpirun -N 1 --hostfile hosts stag generate --mpi --to server --mode nfs4 --export /srv --connections 8\n"
      "  stag generate --to 127.0.0.1 --mode echo --size 1-100K --calls 100000 --check --format jsonl");
  command->callback([options, &run] { run = [options] { return RunLoad(*options, RunGenerate); }; });
}

}  // namespace stag::cli
