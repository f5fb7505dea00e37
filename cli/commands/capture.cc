// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag capture: packets of a network or RDMA device to pcapng files, looked at while they come: comments on
// connections, findings, a line per RPC, and triggers that decide what is worth a file.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <set>

#include "analysis/scrub/key_file.h"
#include "analysis/scrub/scrubbed_reader.h"
#include "capture/live/file_set.h"
#include "capture/live/live_reader.h"
#include "capture/live/rewind.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/reporting.h"
#include "cli/analysis/transaction_lister.h"
#include "cli/base/large_blocks.h"
#include "cli/base/options.h"
#include "cli/base/version.h"
#include "cli/commands/captured_row.h"
#include "cli/live/capture_devices.h"
#include "cli/live/capture_watch.h"
#include "cli/live/device_options.h"
#include "cli/live/device_rows.h"
#include "cli/live/live_monitor.h"
#include "cli/slice/held_frames.h"
#include "results/json.h"
#include "text/parse.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using std::chrono::nanoseconds;

struct CaptureArguments : CommonOptions {
  bool list = false;
  DeviceOptions device;
  std::vector<std::string> filter;  // words
  capture::FileSetOptions file;
  bool raw = false, check = false, transactions = false, cut_payload = false;
  std::string scrub_key;  // a file; empty: nothing is scrubbed
  std::vector<Trigger> triggers;
  int64_t before_ns = 10'000'000'000, after_ns = 5'000'000'000;
  uint64_t rewind = 256u << 20;  // bytes

  bool watches_output() const { return check || transactions; }
};

// Findings as they appear, for people: the first of each rule on a connection. The report at the end has them all.
class FindingsNow final : public conformance::FindingSink {
 public:
  FindingsNow(Output& output, conformance::FindingSink& next) : output_(output), next_(next) {}
  void OnFinding(const conformance::Finding& finding) override {
    if (seen_.size() < kMost && seen_.emplace(finding.connection, finding.rule).second) {
      const Style& style = output_.style();
      const bool error = finding.severity == conformance::Severity::kError;
      Put(output_.buffer(), "{}{} {}{}: {} (frame {}, connection {})\n", error ? style.red : style.yellow,
          conformance::SeverityName(finding.severity), finding.rule->id, style.reset, MessageText(finding),
          finding.frame.number, finding.connection);
      output_.Commit();
    }
    next_.OnFinding(finding);
  }

 private:
  static constexpr size_t kMost = 10000;
  Output& output_;
  conformance::FindingSink& next_;
  std::set<std::pair<fabric::ConnectionId, const conformance::RuleInfo*>> seen_;
};

// The files, or the memory that stands in for them until a trigger fires. What can't be written is lost, said and
// counted, and the capture goes on: there may be room again.
class Keeper {
 public:
  Keeper(const CaptureArguments& options, LinkType link) : options_(options), file_options_(options.file) {
    file_options_.link = link;
    if (!options.triggers.empty()) rewind_.emplace(nanoseconds(options.before_ns), options.rewind);
  }
  Result<void> Open() {
    if (options_.file.path.empty() || rewind_) return {};
    return OpenFiles({});
  }

  // False: nothing more is wanted.
  bool Keep(const Frame& frame, std::string_view comment, bool fired) {
    try {
      if (rewind_) return Rewound(frame, comment, fired);
      Write(frame, comment);
    } catch (const std::bad_alloc&) {
      ++lost_;
      Note(Fail("no memory for a packet"));
    }
    return true;
  }
  // While nothing comes: `now_ns` since 1970.
  bool Idle(int64_t now_ns) {
    if (files_) Note(files_->Flush());
    TryToUnwind();
    return !end_ns_ || now_ns <= *end_ns_;
  }
  void Close(const capture::InterfaceCounts& counts) {
    if (end_ns_ && !files_) Unwind();
    const auto closed = files_ ? files_->Close(counts) : Result<void>{};
    if (closed) return;
    failed_ = true;
    if (!said_) ComplainText(closed.error().message);
  }

  // Packets that are gone before they came here.
  void Lose(uint64_t packets) { lost_ += packets; }
  // Says why packets were not written, once a second at most.
  void Say(const std::string& why) {
    const auto now = std::chrono::steady_clock::now();
    if (now < say_again_) return;
    say_again_ = now + kPause;
    said_ = true;
    notices_(lost() == 0 ? why : fmt::format("{}; {} not written so far", why, Count(lost(), "packet")));
  }

  // Whether no packet will be written any more, though it should.
  bool over() const { return files_ && files_->over(); }
  bool failed() const { return failed_ || lost() > 0; }
  bool short_of_room() const { return short_of_room_; }
  uint64_t lost() const { return lost_ + (files_ ? files_->lost() : 0); }
  const capture::FileSet* files() const { return files_.get(); }

 private:
  // `first_ns`: of the first packet, if there is one already.
  Result<void> OpenFiles(std::optional<int64_t> first_ns) {
    auto opened = capture::FileSet::Open(file_options_, first_ns);
    if (!opened) return tl::unexpected(opened.error());
    files_ = std::move(*opened);
    return {};
  }
  // With a trigger: packets stay in memory until it fires and there is a file for them.
  bool Rewound(const Frame& frame, std::string_view comment, bool fired) {
    if (end_ns_ && frame.ref.time_ns > *end_ns_) return false;
    if (files_) {
      Write(frame, comment);
      return true;
    }
    rewind_->Put(frame, comment);
    if (fired && !end_ns_) end_ns_ = frame.ref.time_ns + options_.after_ns;
    TryToUnwind();
    return true;
  }
  void TryToUnwind() {
    if (end_ns_ && !files_ && std::chrono::steady_clock::now() >= open_again_) Unwind();
  }
  void Unwind() {
    const auto opened = OpenFiles(rewind_->first_ns());
    failed_ = !opened;
    if (!opened) {
      open_again_ = std::chrono::steady_clock::now() + kPause;
      return Note(opened);
    }
    short_of_room_ = rewind_->short_of_room();
    rewind_->Drain([this](const Frame& kept, std::string_view said) { Write(kept, said); });
  }
  void Write(const Frame& frame, std::string_view comment) {
    if (files_) Note(files_->Write(frame, comment));
  }
  void Note(const Result<void>& result) {
    if (!result) Say(result.error().message);
  }

  static constexpr std::chrono::seconds kPause{1};
  const CaptureArguments& options_;
  capture::FileSetOptions file_options_;
  std::optional<capture::Rewind> rewind_;
  std::unique_ptr<capture::FileSet> files_;
  std::optional<int64_t> end_ns_;  // after a trigger: until then
  std::chrono::steady_clock::time_point open_again_, say_again_;
  const std::function<void(const std::string&)> notices_ = Notices(false);
  uint64_t lost_ = 0;  // that were never given to the files
  bool failed_ = false, said_ = false, short_of_room_ = false;
};

// --check: what findings go through.
struct Checker {
  Checker(const CaptureArguments& options, Output& output, conformance::FindingSink*& sink) {
    reporter = MakeLineReporter(options, output);
    sink = reporter.get();
    if (options.format == Format::kText) sink = &now.emplace(output, *reporter);
  }
  std::unique_ptr<conformance::Reporter> reporter;
  std::optional<FindingsNow> now;
};

// The analysis of the packets. It begins with the capture, and anew after memory was short.
struct Watching {
  Watching(const CaptureArguments& options, bool judge, conformance::FindingSink* findings)
      : watch(options.triggers, judge, findings), cutter(TunnelPortsOf(options)) {}
  CaptureWatch watch;
  conformance::Engine engine{{}, watch};
  PayloadCutter cutter;
  HeldFrames held{cutter};
};

// --scrub: what turns packets into those that may be seen.
struct Scrubbing {
  Scrubbing(const scrub::Pseudonyms::Key& key, bool made) : pseudonyms(key), new_key(made) {}
  scrub::Pseudonyms pseudonyms;
  const bool new_key;
  scrub::Replaced replaced;
};
Result<void> StartScrubbing(const CaptureArguments& options, std::optional<Scrubbing>& scrubbing) {
  if (options.scrub_key.empty()) return {};
  bool made = false;
  const auto key = scrub::KeyFromFile(options.scrub_key, made);
  if (!key) return tl::unexpected(key.error());
  scrubbing.emplace(*key, made);
  return {};
}

void PutSummary(std::string& out, const CaptureArguments& options, const capture::LiveCounts& counts,
                const Keeper& keeper, const std::optional<std::string>& fired, const scrub::Replaced* replaced) {
  const capture::FileSet* const files = keeper.files();
  if (options.format == Format::kJsonl) {
    CapturedRow row{.frames = counts.frames,
                    .bytes = counts.bytes,
                    .dropped_by_device = counts.source.dropped_on_wire,
                    .dropped_by_system = counts.source.dropped,
                    .dropped_by_stag = counts.queue_dropped,
                    .not_written = keeper.lost(),
                    .queue_high_water = counts.queue_high_water,
                    .trigger = fired,
                    .files = {},
                    .replaced = std::nullopt};
    for (size_t i = 0; files && i < files->names().size(); ++i) row.files.emplace_back(files->names()[i]);
    if (replaced) row.replaced.emplace(*replaced);
    return results::PutLine(out, row);
  }
  const auto number = [](const std::optional<uint64_t>& n) { return n ? std::to_string(*n) : std::string("unknown"); };
  Put(out, "{} (", Count(counts.frames, "packet"));
  PutSize(out, counts.bytes);
  Put(out, "); lost: {} by the device, {} by the system, {} by stag, {} not written\n",
      number(counts.source.dropped_on_wire), number(counts.source.dropped), counts.queue_dropped, keeper.lost());
  if (replaced) Put(out, "scrubbed: {}\n", scrub::ReplacedText(*replaced));
  if (fired) Put(out, "trigger: {}\n", *fired);
  if (keeper.short_of_room()) Put(out, "the time before the trigger is not whole: --rewind was too small for it\n");
  if (!options.triggers.empty() && !fired) Put(out, "no trigger fired: nothing was written\n");
  if (files && options.file.is_row() && files->files() > 0)
    Put(out, "{} written, {} to {} kept\n", Count(files->files(), "file"), files->names().front(),
        files->names().back());
}

int RunCapture(const CaptureArguments& options) {
  if (options.list) return ListCaptureDevices(options);
  KeepLargeBlocksApart();
  Output output(options);
  const Signals signals;
  output.set_stop(signals.descriptor());
  std::string warning;
  auto source = OpenSource(options.device, options.filter, warning);
  if (!source) return Trouble(source.error());
  if (!warning.empty() && !options.quiet) ComplainText(warning);

  std::optional<Scrubbing> scrubbing;
  if (const auto started = StartScrubbing(options, scrubbing); !started) return Trouble(started.error());
  Keeper keeper(options, (*source)->link());
  if (const auto opened = keeper.Open(); !opened) return Trouble(opened.error());
  conformance::FindingSink* findings = nullptr;
  std::optional<Checker> checker;
  if (options.check) checker.emplace(options, output, findings);
  const bool judge = options.check || std::ranges::any_of(options.triggers, [](const Trigger& trigger) {
                       return trigger.on == Trigger::On::kFinding;
                     });
  std::optional<Watching> watching;
  std::optional<std::string> fired;  // why a trigger did

  capture::LiveOptions live = options.device.live;
  live.stop = signals.descriptor();
  live.order = OrderOf(options);
  capture::LiveReader* reader_now = nullptr;
  const auto keep = [&](const Frame& frame, std::string_view comment, bool now) {
    const bool go_on = keeper.Keep(frame, comment, now);
    if (!go_on || (keeper.over() && !options.watches_output())) reader_now->End();
  };
  uint64_t given = 0;  // packets to `after`
  const auto after = [&](const Frame& frame) {
    ++given;
    if (!watching) return keep(frame, {}, fired.has_value());
    if (!fired) fired = watching->watch.fired();
    if (options.cut_payload) {
      watching->held.Put(frame, watching->watch.TakeComment(), fired.has_value());
      watching->held.Release(frame.ref.time_ns, keep);
    } else {
      keep(frame, watching->watch.TakeComment(), fired.has_value());
    }
    if (frame.ref.number % 1024 == 0) output.Flush();
  };
  const auto idle = [&] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const int64_t now = std::chrono::duration_cast<nanoseconds>(since).count();
    if (watching) watching->held.Release(now, keep);
    if (!keeper.Idle(now)) reader_now->End();
    output.Flush();
    if (output.stopped()) reader_now->End();
  };
  if (!options.quiet) Complain("capturing on {}; Ctrl-C ends", (*source)->name());
  if (!options.quiet && scrubbing && scrubbing->new_key) ComplainText(scrub::NewKeyText(options.scrub_key));
  std::function<void(const Frame&)> after_packet = after;
  if (scrubbing) after_packet = [](const Frame&) {};
  capture::LiveReader reader(**source, live, std::move(after_packet), idle);
  reader_now = &reader;

  bool failed = false;
  // Takes so many packets without a look at them. Whether there may be more.
  const auto take = [&](uint64_t most) {
    Frame frame;
    auto next = capture::Reader::Next::kFrame;
    for (uint64_t n = 0; n < most && next == capture::Reader::Next::kFrame; ++n) next = reader.ReadFrame(frame);
    if (next == capture::Reader::Next::kDamaged) {
      failed = true;
      ComplainText(reader.error());
    }
    return next == capture::Reader::Next::kFrame;
  };
  const auto analyse = [&] {
    watching.emplace(options, judge, findings);
    Clock clock;
    std::vector<session::Observer*> observers;
    if (checker) {
      checker->reporter->BeginFile((*source)->name());
      observers = checker->reporter->Observers();
    }
    LinesAtOnce lines(output, TransactionLister::Heading(options.format, output.style(), false));
    std::optional<TransactionLister> lister;
    observers.push_back(&watching->watch);
    if (options.transactions)
      observers.push_back(&lister.emplace(options, output.style(), clock, lines, std::nullopt, false));
    if (judge) observers.push_back(&watching->engine);
    const bool hash = options.transactions && options.format == Format::kJsonl;
    PayloadCutter* const cutter = options.cut_payload ? &watching->cutter : nullptr;
    if (cutter) observers.push_back(cutter);
    std::optional<scrub::ScrubbedReader> scrubbed;
    if (scrubbing) {
      const scrub::ScrubOptions scrub{{}, options.memory, TunnelPortsOf(options)};
      scrubbed.emplace(reader, scrubbing->pseudonyms, scrubbing->replaced, scrub, after);
    }
    const FileOutcome outcome = Analyze(scrubbed ? static_cast<capture::Reader&>(*scrubbed) : reader, (*source)->name(),
                                        options, hash, clock, output, std::move(observers), cutter);
    watching->held.ReleaseAll(keep);
    if (!fired) fired = watching->watch.fired();
    failed |= outcome.damaged;
    if (checker) checker->reporter->EndFile(Summarize(outcome, watching->engine.Tallies()), outcome.trouble);
  };
  // Where there is no memory to look at packets, the next are written all the same (those that can't be scrubbed are
  // lost), and then the looking begins anew.
  constexpr uint64_t kWithoutALook = 256;
  bool anew = !options.raw;
  while (std::exchange(anew, false)) {
    try {
      analyse();
    } catch (const std::bad_alloc&) {
      failed = true;
      output.set_before_write(nullptr);
      if (watching) watching->held.ReleaseAll(keep);
      watching.reset();
      if (checker) checker->reporter->EndFile({}, "no memory");
      keeper.Say(
          fmt::format("no memory to analyse packets, at packet {}: the analysis begins anew", reader.counts().frames));
      anew = take(kWithoutALook);
      const uint64_t frames = reader.counts().frames;
      if (scrubbing) keeper.Lose(frames - std::min(frames, std::exchange(given, frames)));
    }
  }
  if (options.raw) (void)take(UINT64_MAX);
  if (checker) checker->reporter->Finish({});
  const capture::LiveCounts counts = reader.counts();
  keeper.Close({.received = counts.source.received + counts.source.dropped.value_or(0),
                .dropped_by_interface = counts.source.dropped_on_wire,
                .dropped_by_system = counts.source.dropped,
                .dropped_by_us = counts.queue_dropped,
                .comment = watching ? std::string(watching->watch.TakeComment()) : std::string{}});
  const scrub::Replaced* const replaced = scrubbing ? &scrubbing->replaced : nullptr;
  if (options.file.path == "-") {
    std::string text;
    PutSummary(text, options, counts, keeper, fired, replaced);
    if (!options.quiet) ComplainText(std::string_view(text.data(), text.size() - 1));
  } else if (!options.quiet || options.format == Format::kJsonl) {
    PutSummary(output.buffer(), options, counts, keeper, fired, replaced);
  }
  output.Flush();
  if (failed || keeper.failed() || output.failed()) return kExitTrouble;
  return checker && checker->reporter->count(conformance::Severity::kError) > 0 ? kExitFindings : kExitFine;
}

// What contradicts itself on the command line; empty: nothing.
std::string Contradiction(const CaptureArguments& o) {
  if (o.list) return {};
  if ((o.format != Format::kText && o.format != Format::kJsonl) || !o.sort.empty() || o.limit != 0 || o.wide)
    return "--format json, csv and table, --sort, --limit and --wide are for --list";
  if (o.device.network.device.empty()) return "which device? -i DEVICE, or --list for what there is";
  if (o.file.path.ends_with(".gz")) return "captures are compressed as .zst, not as .gz";
  const bool row = o.file.is_row();
  if (o.file.path.empty() && !o.watches_output())
    return "-w FILE, --check or --transactions: what is to become of the packets?";
  if (o.file.path.empty() && (row || !o.triggers.empty() || o.file.compression != capture::Compression::kNone ||
                              o.cut_payload || !o.scrub_key.empty()))
    return "--rotate-size, --rotate-time, --trigger, --compress, --snap and --scrub are for -w FILE";
  if (o.file.path == "-" && (row || o.watches_output()))
    return "-w - is for a single file, and leaves no room for what --check or --transactions print";
  if (o.file.path == "-" && o.format == Format::kJsonl) return "-w - leaves no room for --format jsonl";
  if (o.file.keep > 0 && !row) return "--keep is for --rotate-size or --rotate-time";
  if (o.raw && (o.watches_output() || !o.triggers.empty() || o.cut_payload || !o.scrub_key.empty()))
    return "--raw only writes: it excludes --check, --transactions, --trigger, --snap and --scrub";
  return {};
}

void AddFileOptions(CLI::App& command, CaptureArguments& o) {
  Writes(command.add_option("-w,--write", o.file.path, "Write the packets to this pcapng file; - is standard output"))
      ->type_name("FILE");
  AddSize(command, "--rotate-size", o.file.max_bytes, 65536, UINT64_MAX,
          "Begin a new file after so many bytes: NAME_00001_20260131120000.pcapng and so on");
  AddDuration(command, "--rotate-time", o.file.every, 1'000'000'000,
              " is not a time of at least 1s, like 30s, 10m or 1h", "Begin a new file after this time");
  AddRange(command, "--keep", o.file.keep, 1, 1'000'000, "Of the files, keep the last so many");
  command.add_flag_callback(
      "--compress", [&o] { o.file.compression = capture::Compression::kZstd; },
      "Compress with zstd, as files called .zst are anyway");
  AddChoice<bool>(command, "--snap", o.cut_payload, {{"headers", true}},
                  "Cut away what RDMA Writes and Reads carry, but for RPC headers, as stag slice does; lengths on the "
                  "wire stay");
  Reads(command.add_option(
            "--scrub", o.scrub_key,
            "Scrub with the key of this file, made when it is not there, as stag scrub does: no secret reaches "
            "the\ndisk, or what is printed"))
      ->type_name("KEY");
}

void AddWhatToCapture(CLI::App& command, CaptureArguments& o) {
  AddDeviceOptions(command, o.device);
  command.add_flag("--list", o.list, "What can be captured where, and why not");
  command.add_option("FILTER", o.filter, "What to capture, in the language of tcpdump (pcap-filter)")->type_name("");
  AddParsed(
      command, "--count",
      [&o](std::string& text) {
        const auto n = ParseSize(text);
        if (!n || *n == 0) return text + " is not a number of packets";
        o.device.live.packets = *n;
        return std::string{};
      },
      "N", "End after so many packets");
  AddDuration(command, "--duration", o.device.live.duration, 1, " is not a time, like 500ms, 30s, 10m or 1h",
              "End after this time");
}

void AddWatchOptions(CLI::App& command, CaptureArguments& o) {
  command.add_flag("--check", o.check, "Findings as they appear, and the report of stag check at the end");
  command.add_flag("--transactions", o.transactions, "A line per RPC as it ends, as stag transactions prints it");
  AddParsed(
      command, "--trigger",
      [&o](std::string& text) {
        const auto trigger = ParseTrigger(text);
        if (!trigger) return trigger.error().message;
        o.triggers.push_back(*trigger);
        return std::string{};
      },
      "WHAT",
      "Write only when this happens: finding, error (RDMA_ERROR, a NAK that refuses, Terminate), rnr (an RNR NAK),\n"
      "latency>TIME (an RPC that took longer). Can be repeated");
  constexpr char kNoTime[] = " is not a time, like 500ms, 30s or 10m";
  AddDuration(command, "--before", o.before_ns, 0, kNoTime,
              "With --trigger: keep this much from before it (default: 10s)");
  AddDuration(command, "--after", o.after_ns, 0, kNoTime,
              "With --trigger: and write this much after it, then end (default: 5s)");
  AddSize(command, "--rewind", o.rewind, 1u << 20, UINT64_MAX,
          "With --trigger: memory for what is kept (default: 256M)");
  command.add_flag("--raw", o.raw, "Only write: nothing is analysed, and no comments are made");
}

}  // namespace

void AddCapture(CLI::App& app, Run& run) {
  auto options = std::make_shared<CaptureArguments>();
  CLI::App* command = app.add_subcommand("capture", "Live capture, of network and RDMA devices, with analysis");
  AddWhatToCapture(*command, *options);
  AddFileOptions(*command, *options);
  AddWatchOptions(*command, *options);
  AddOrder(*command, *options);
  AddTunnelPorts(*command, *options);
  AddOutputOptions(*command, *options, Formats::kRows);
  AddListOptions(*command, *options, results::InfoOf<CaptureDeviceRow>());
  command->footer(
      "Files are pcapng with times in nanoseconds; connections, findings and triggers are comments on packets, losses\n"
      "stand in the statistics. Receiving never waits for the disk: what the queue cannot hold is lost, and counted.\n"
      "So is what cannot be written. A file is tried again every second; the last of a row grows until there is a "
      "next.\n"
      "Traffic that an RDMA adapter offloads does not pass the network device: capture on the RDMA device (mlx5_0).\n"
      "With --snap a packet waits up to 1 s, with --scrub up to 5 s, for what becomes known of its payload; what is\n"
      "known later stays whole with --snap, and zero with --scrub (an RPC that takes longer loses its data).\n"
      "SIGINT and SIGTERM end with a summary.\n"
      "\nExamples:\n"
      "  stag capture --list\n"
      "  stag capture -i eth0 --rdma -w mount.pcapng\n"
      "  stag capture -i mlx5_0 -w mount.pcapng.zst --rotate-size 1G --keep 8\n"
      "  stag capture -i eth0 --rdma --check --transactions\n"
      "  stag capture -i eth0 --rdma --trigger rnr --trigger 'latency>1s' --before 30s -w incident.pcapng\n"
      "  stag capture -i eth0 --rdma --snap headers --scrub site.key -w public.pcapng.zst\n"
      "  stag capture -i eth0 -w - udp port 4791 | stag check -");
  command->callback([options, &run] {
    capture::FileSetOptions& file = options->file;
    if (capture::CompressionOf(file.path) == capture::Compression::kZstd)
      file.compression = capture::Compression::kZstd;
    if (file.compression == capture::Compression::kZstd && !file.path.empty() && file.path != "-" &&
        !file.path.ends_with(".zst"))
      file.path += ".zst";
    file.notes.application = std::string(kVersionText);
    file.notes.interface_name = options->device.network.device;
    if (std::string complaint = Contradiction(*options); !complaint.empty()) throw CLI::ValidationError(complaint);
    run = [options] { return RunCapture(*options); };
  });
}

}  // namespace stag::cli
