// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag top: rates, latencies and outstanding Calls by connection, client, server, procedure or file, interval by
// interval: of a device while it is captured from, and of captures in their own time.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>

#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/live/device_options.h"
#include "cli/live/live_monitor.h"
#include "cli/top/top_writer.h"
#include "text/parse.h"

namespace stag::cli {
namespace {

struct TopArguments : CommonOptions {
  DeviceOptions device;
  int64_t interval_ns = 1'000'000'000;
  size_t rows = 0;  // 0: not given
  bool once = false;
  TopView view;

  bool live() const { return !device.network.device.empty(); }
};

TopView ViewOf(const TopArguments& options, bool refresh) {
  TopView view = options.view;
  if (options.rows > 0) view.rows = options.rows;
  const bool terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  view.refresh = refresh && terminal && options.format == Format::kText;
  return view;
}

FileOutcome ShowFile(const std::string& file, const TopArguments& options, Output& output) {
  TopView view = ViewOf(options, file == "-");
  view.only_whole = options.once;
  RowOutput rows(output, options, results::InfoOf<analysis::TopRow>(), DisplayName(file));
  TopWriter writer(output, rows, view);
  TopIntervals intervals(options.once ? 0 : options.interval_ns, options.memory / 32, writer);
  std::vector<std::unique_ptr<TopShard>> shards;
  while (shards.size() < options.jobs)
    shards.push_back(std::make_unique<TopShard>(view.by, shards.size(), options.filter, intervals));
  FileOutcome outcome = Analyze(file, options, false, output, shards);
  intervals.Finish(outcome.last_time_ns);
  rows.Finish();
  if (options.quiet || !outcome.opened || output.closed()) return outcome;
  if (!intervals.any())
    output.diagnostics().Complain("{}: no RPC in {}", DisplayName(file), Count(outcome.frames, "frame"));
  rows.Complain(DisplayName(file));
  return outcome;
}

int ShowDevice(const TopArguments& options) {
  using std::chrono::steady_clock;
  CommonOptions growing = options;
  growing.grows = true;
  Output output(growing);
  SetDocument(output, growing, results::InfoOf<analysis::TopRow>());
  const Signals signals;
  std::string warning;
  const auto source = OpenSource(options.device, {}, warning);
  if (!source) return Trouble(source.error());
  if (!warning.empty() && !options.quiet) ComplainText(warning);
  TopView view = ViewOf(options, true);
  if (options.once) view.blocks = 1;
  RowOutput rows(output, growing, results::InfoOf<analysis::TopRow>(), std::nullopt);
  TopWriter writer(output, rows, view);
  TopIntervals intervals(options.interval_ns, options.memory / 32, writer);
  TopShard shard(view.by, 0, options.filter, intervals);

  // The device's clock may not be the system's: between packets its time goes on from the last of them.
  steady_clock::time_point then = steady_clock::now();
  int64_t then_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  intervals.Tick(then_ns);
  capture::LiveReader* reader_now = nullptr;
  const auto end_when_done = [&] {
    if (output.stopped()) reader_now->End();
  };
  const auto after = [&](const Frame& frame) {
    if (!frame.ref.timed) return;
    then = steady_clock::now();
    then_ns = frame.ref.time_ns;
    intervals.Tick(then_ns);
    end_when_done();
  };
  const auto idle = [&] {
    intervals.Tick(then_ns + std::chrono::nanoseconds(steady_clock::now() - then).count());
    output.Flush();
    end_when_done();
  };
  capture::LiveOptions live = options.device.live;
  live.stop = signals.descriptor();
  live.order = OrderOf(options);
  if (!options.quiet) Complain("capturing on {}; Ctrl-C ends", (*source)->name());
  capture::LiveReader reader(**source, live, after, idle);
  reader_now = &reader;
  const FileOutcome outcome =
      Analyze(reader, (*source)->name(), options, false, shard.mutable_clock(), output, shard.Observers());
  intervals.Finish(then_ns + std::chrono::nanoseconds(steady_clock::now() - then).count());
  output.EndDocument();
  const capture::LiveCounts counts = reader.counts();
  const uint64_t lost = counts.source.dropped.value_or(0) + counts.source.dropped_on_wire.value_or(0);
  if (lost + counts.queue_dropped > 0 && !options.quiet)
    Complain("{} lost: {} by the device or the system, {} by stag", Count(lost + counts.queue_dropped, "packet"), lost,
             counts.queue_dropped);
  return outcome.damaged || output.failed() ? kExitTrouble : kExitFine;
}

int RunTop(const TopArguments& options, scale::Team* team) {
  if (options.live()) return ShowDevice(options);
  Output output = OutputOf(options, team);
  SetDocument(output, options, results::InfoOf<analysis::TopRow>());
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return ShowFile(file, options, of_file);
  });
}

}  // namespace

void AddTop(CLI::App& app, Run& run) {
  auto options = std::make_shared<TopArguments>();
  CLI::App* command =
      app.add_subcommand("top", "Rates, latencies and outstanding Calls, interval by interval: live, or of captures");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "RPCs", "RPCs");
  command->get_option("FILE")->required(false);
  AddDeviceOptions(*command, options->device);
  AddLatencyKey(*command, options->view.by, 5);
  AddDuration(*command, "--interval", options->interval_ns, 1'000'000,
              " is not a time of at least 1ms, like 500ms or 10s", "How long an interval is (default: 1s)");
  AddChoice<TopSort>(*command, "--sort", options->view.sort,
                     {{"calls", TopSort::kCalls},
                      {"bytes", TopSort::kBytes},
                      {"p50", TopSort::kP50},
                      {"p99", TopSort::kP99},
                      {"outstanding", TopSort::kOutstanding},
                      {"errors", TopSort::kErrors},
                      {"key", TopSort::kKey}},
                     "Which rows come first: those with the most of it (default: calls)");
  AddNumber(*command, "--rows", options->rows, false, " is not a number of rows",
            "Rows of a block at most (default: 20 as text, or what the terminal has room for; all in other formats)");
  AddWide(*command, *options);
  AddNumber(*command, "--count", options->view.blocks, false, " is not a number of intervals",
            "End after so many intervals");
  command->add_flag("--once", options->once, "One block: of a device the first interval, of a capture all of it");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the captures are spread over the ranks; rank 0 writes the blocks, the same as without");
  command->footer(
      "An RPC counts in the interval of its Reply; MiB/s are those of file data; errors are RDMA_ERROR, RPCs that were "
      "not\n"
      "executed, and NFS statuses other than OK. Outstanding are Calls at the end of the interval. Of a capture time "
      "is "
      "its\n"
      "own; intervals in which nothing happens are one block. The last block is all of it: top_total in jsonl and "
      "json; "
      "csv\n"
      "and table leave it out, and with --once show it alone. For --status an outstanding Call has the status none; "
      "for\n"
      "--slower-than it has no round-trip time. With a device, table is the same as text.\n"
      "On a terminal each block takes the place of the one before, of a device and of standard input.\n"
      "\nExamples:\n"
      "  stag top -i eth0 --rdma\n"
      "  stag top -i mlx5_0 --by client --sort bytes --interval 5s\n"
      "  stag top --by file mount.pcapng\n"
      "  stag top --once mount.pcapng\n"
      "  stag top --format jsonl --interval 100ms mount.pcapng | jq 'select(.p99_us>1000)'");
  command->callback([options, &run] {
    if (options->files.empty() && !options->live())
      throw CLI::ValidationError("which captures, or which device? FILE..., or -i DEVICE");
    if (!options->files.empty() && options->live()) throw CLI::ValidationError("-i DEVICE, or FILE...: not both");
    // Rows of a table would wait until it is known how wide they are.
    if (options->live() && options->format == Format::kTable) options->format = Format::kText;
    if (options->mpi && options->live()) throw CLI::ValidationError("--mpi reads captures: -i DEVICE is not one");
    run = [options] { return RunOverFiles(*options, RunTop); };
  });
}

}  // namespace stag::cli
