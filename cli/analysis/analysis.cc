// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/analysis.h"

#include <algorithm>
#include <filesystem>

#include "capture/times/erspan_reader.h"
#include "cli/analysis/hidden_rdma.h"
#include "cli/analysis/link_report.h"
#include "cli/analysis/sharded_analysis.h"
#include "cli/base/large_blocks.h"
#include "text/put.h"

namespace stag::cli {
namespace {

void ReportDrops(const std::string& name, const FileOutcome& outcome, Diagnostics& diagnostics) {
  if (outcome.decoder.dropped_for_memory > 0 || outcome.session.dropped_bytes > 0 ||
      outcome.session.evicted_transactions > 0) {
    diagnostics.Complain(
        "{}: the memory cap was reached: gave up {}, {} of payload and {} of reassembly; --memory raises the cap", name,
        Count(outcome.session.evicted_transactions, "transaction"), Count(outcome.session.dropped_bytes, "byte"),
        Count(outcome.decoder.dropped_for_memory, "item"));
  }
  diagnostics.OverMemory(name, outcome.session.copies_given_up, "connection",
                         " it is not known which copies of packets were delivered", "of ");
  // Beside RPCs, what is of another protocol is of no interest; fragments and tunnels may hold more of them.
  const auto of_interest = [](const fabric::StopCounts::Entry& entry) {
    return entry.stop.reason == link::StopReason::kFragment || entry.stop.reason == link::StopReason::kTooDeep;
  };
  const fabric::StopCounts& stopped = outcome.decoder.stopped;
  if (stopped.all() > 0 && (outcome.session.transactions == 0 || std::ranges::any_of(stopped.entries(), of_interest))) {
    std::string text;
    PutStopped(text, stopped);
    diagnostics.Complain("{}: {}", name, text);
  }
}

}  // namespace

std::string DisplayName(const std::string& file) { return file == "-" ? "standard input" : file; }

// Files are read in pieces of up to half a MiB: less than a few is no window.
uint64_t WindowMemory(const CommonOptions& options) { return std::max(options.memory / 4, uint64_t{4} << 20); }

capture::Order OrderOf(const CommonOptions& options) {
  switch (options.order) {
    case Order::kFile: return capture::Order::kFile;
    case Order::kTime: return capture::Order::kTime;
    case Order::kAuto: break;
  }
  return capture::Order::kAuto;
}

std::string DisorderText(const capture::Disorder& disorder) {
  if (disorder.late == 0) return {};
  std::string text = Count(disorder.late, "frame");
  Put(text, " {} behind frames whose times are up to ", disorder.late == 1 ? "stands" : "stand");
  PutDuration(text, disorder.late_by_ns);
  Put(text, " later: further than stag looks{}. reordercap (of Wireshark) puts a capture in order",
      disorder.short_of_memory ? " with this --memory" : "");
  return text;
}

clocks::Policy ClocksOf(const CommonOptions& options) {
  switch (options.clocks) {
    case Clocks::kAlign: return clocks::Policy::kAlign;
    case Clocks::kNull: return clocks::Policy::kNull;
    case Clocks::kAuto: break;
  }
  return clocks::Policy::kAuto;
}

link::TunnelPorts TunnelPortsOf(const CommonOptions& options) { return {options.vxlan_ports, options.geneve_ports}; }

namespace {

void ReportClocks(const std::string& name, uint64_t frames, const capture::AlignedReader& reader,
                  Diagnostics& diagnostics) {
  const clocks::TwoClocks& clocks = reader.two_clocks();
  std::string apart = "how far apart nothing shows";
  if (clocks.bounded) {
    const bool behind = clocks.offset_ns >= 0;
    const uint64_t offset =
        behind ? static_cast<uint64_t>(clocks.offset_ns) : 0 - static_cast<uint64_t>(clocks.offset_ns);
    apart.clear();
    Put(apart, "{}.{:09} s {} the other, known to within ", offset / 1'000'000'000, offset % 1'000'000'000,
        behind ? "behind" : "ahead of");
    PutDuration(apart, clocks.uncertainty_ns);
  }
  diagnostics.Complain("{}: two clocks: {} of {} are stamped by a second one, {}; {}", name,
                       Grouped(reader.of_second_clock()), Count(frames, "frame"), apart,
                       clocks.aligned ? "their times are aligned"
                       : clocks.bounded
                           ? "times between the two are left out (--clocks align: aligns them all the same)"
                           : "times between the two are left out");
}

void ReportDisorder(const std::string& name, const FileOutcome& outcome, Output& output) {
  const capture::Disorder& disorder = outcome.disorder;
  if (disorder.moved == 0 && disorder.late == 0 && disorder.clocks_set == 0) return;
  output.Flush();
  if (disorder.clocks_set > 0)
    output.diagnostics().Complain("{}: the clock was set back{}: times across that are left out", name,
                                  disorder.clocks_set == 1 ? "" : " " + Count(disorder.clocks_set, "time"));
  if (disorder.moved > 0)
    output.diagnostics().Complain(
        "{}: {} of {} stand in another order than their times, and are taken in that of "
        "their times",
        name, Grouped(disorder.moved), Count(outcome.frames, "frame"));
  if (disorder.late > 0) output.diagnostics().Complain("{}: {}", name, DisorderText(disorder));
}

// What a look at the first frames shows, where the file can be opened again and that costs little.
capture::OrderedReader::Start StartOf(const std::string& file, const CommonOptions& options, capture::Reader& reader) {
  using Start = capture::OrderedReader::Start;
  if (options.order != Order::kAuto || options.erspan_time) return Start::kUnknown;
  std::error_code none;
  if (!reader.lasting() && (file == "-" || !std::filesystem::is_regular_file(file, none)))
    return Start::kUnknown;  // compressed
  const auto again = capture::Reader::Open(file);
  return again ? capture::OrderedReader::Look(**again) : Start::kUnknown;
}

// Opens the file and lets `analyze` do the rest.
template <typename Fn>
FileOutcome WithReader(const std::string& file, const CommonOptions& options, Output& output, Fn analyze) {
  auto opened = capture::Reader::Open(file);
  if (!opened) {
    FileOutcome outcome;
    output.Flush();
    outcome.trouble = opened.error().message;
    output.diagnostics().ComplainText(outcome.trouble);
    return outcome;
  }
  capture::ErspanReader stamped(**opened, TunnelPortsOf(options));
  capture::Reader& frames = options.erspan_time ? static_cast<capture::Reader&>(stamped) : **opened;
  const auto start = StartOf(file, options, frames);
  CommonOptions own = options;
  if (options.order == Order::kTime || start == capture::OrderedReader::Start::kGoesBack)
    own.memory -= options.memory / 4;
  capture::OrderedReader ordered(frames, OrderOf(options), WindowMemory(options), start, TunnelPortsOf(options));
  capture::AlignedReader reader(ordered, ClocksOf(options), TunnelPortsOf(options), options.memory / 4);
  FileOutcome outcome = analyze(reader, DisplayName(file), own);
  outcome.disorder = ordered.disorder();
  if (!options.quiet && !output.closed()) ReportDisorder(DisplayName(file), outcome, output);
  if (options.erspan_time && !options.quiet && !output.closed()) {
    output.Flush();
    output.diagnostics().Complain("{}: {} of {} have the time that ERSPAN gives them", DisplayName(file),
                                  stamped.stamped(), Count(outcome.frames, "frame"));
  }
  if (reader.two_clocks().found && !options.quiet && !output.closed()) {
    output.Flush();
    ReportClocks(DisplayName(file), outcome.frames, reader, output.diagnostics());
  }
  return outcome;
}

session::SessionOptions SessionOptionsOf(const CommonOptions& options, bool keep_bulk) {
  session::SessionOptions session_options;
  session_options.keep_bulk = keep_bulk;
  session_options.memory_limit = options.memory - options.memory / 4;
  return session_options;
}

// Gives every frame to a Decoder, whose events go to `sink`: a Session or a ShardedAnalysis. Calls `before_frame`
// before each frame, and `at_end` after the last.
template <typename Sink, typename Fn, typename End>
FileOutcome Run(capture::Reader& reader, const std::string& name, const CommonOptions& options, Output& output,
                Sink& sink, fabric::PacketObserver* packets, Fn before_frame, End at_end) {
  KeepLargeBlocksApart();
  FileOutcome outcome;
  outcome.opened = true;
  fabric::DecoderOptions decoder_options;
  decoder_options.memory_limit = options.memory / 4;
  decoder_options.lasting = reader.lasting();
  decoder_options.slice = outcome.slice = reader.is_slice();
  decoder_options.packets = packets;
  decoder_options.sightings = sink.wants_deliveries();
  decoder_options.keep_copies = options.keep_copies;
  decoder_options.tunnel_ports = TunnelPortsOf(options);
  HiddenRdma hidden(sink);
  const bool comments = reader.has_comments();
  fabric::Decoder decoder(decoder_options, comments ? static_cast<fabric::Sink&>(hidden) : sink);

  Progress progress(options.progress && !options.quiet, name);
  output.set_before_write([&progress] { progress.Clear(); });
  Frame frame;
  capture::Reader::Next next = capture::Reader::Next::kEnd;
  while (!output.stopped() && (next = reader.ReadFrame(frame)) == capture::Reader::Next::kFrame) {
    if (outcome.frames++ == 0) outcome.first_time_ns = frame.ref.time_ns;
    outcome.last_time_ns = frame.ref.time_ns;
    before_frame(frame);
    if (comments) hidden.OnComment(reader.comment());
    decoder.OnFrame(frame);
    if (progress.active() && outcome.frames % 1024 == 0) {
      progress.Update(reader.position(), reader.size(), outcome.frames);
    }
  }
  at_end();
  decoder.Finish();
  sink.Finish();
  progress.Clear();
  output.set_before_write(nullptr);
  outcome.damaged = next == capture::Reader::Next::kDamaged;
  outcome.decoder = decoder.stats();
  outcome.session = sink.stats();
  if (outcome.damaged) {
    output.Flush();
    outcome.trouble = fmt::format("{}: {}", name, reader.error());
    output.diagnostics().ComplainText(outcome.trouble);
  }
  if (!options.quiet && !output.closed()) ReportDrops(name, outcome, output.diagnostics());
  return outcome;
}

}  // namespace

FileOutcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Clock& clock, Output& output,
                    std::vector<session::Observer*> observers, fabric::PacketObserver* packets) {
  return WithReader(file, options, output,
                    [&](capture::Reader& reader, const std::string& name, const CommonOptions& own) {
                      return Analyze(reader, name, own, keep_bulk, clock, output, std::move(observers), packets);
                    });
}

FileOutcome Analyze(capture::Reader& reader, const std::string& name, const CommonOptions& options, bool keep_bulk,
                    Clock& clock, Output& output, std::vector<session::Observer*> observers,
                    fabric::PacketObserver* packets) {
  clock = Clock{};
  session::Session session(SessionOptionsOf(options, keep_bulk), std::move(observers));
  const auto before_frame = [&clock](const Frame& frame) {
    if (clock.frame == 0) clock.first_time_ns = frame.ref.time_ns;
    clock.frame = frame.ref.order();
  };
  return Run(reader, name, options, output, session, packets, before_frame, [&clock] { clock.over = true; });
}

FileOutcome Analyze(const std::string& file, const CommonOptions& options, bool keep_bulk, Output& output,
                    std::vector<Shard*> shards, fabric::PacketObserver* packets) {
  if (shards.size() == 1) {
    Shard& alone = *shards.front();
    return Analyze(file, options, keep_bulk, alone.mutable_clock(), output, alone.Observers(), packets);
  }
  return WithReader(
      file, options, output, [&](capture::Reader& reader, const std::string& name, const CommonOptions& own) {
        ShardedAnalysis sink(SessionOptionsOf(own, keep_bulk), std::move(shards));
        const auto before_frame = [&](const Frame& frame) { sink.OnFrame(frame, reader.memory()); };
        return Run(reader, name, own, output, sink, packets, before_frame, [&sink] { sink.EndOfCapture(); });
      });
}

}  // namespace stag::cli
