// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag slice: the packets that matter, in a capture of their own. Which those are is found in several passes over each
// file (cli/slice/slicer.h), another copies them (cli/slice/slice_writer.h).
#include <unistd.h>

#include <memory>

#include "cli/base/large_blocks.h"
#include "cli/base/options.h"
#include "cli/slice/slice_row.h"
#include "results/json.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

struct SliceArguments : CommonOptions {
  Selection selection;
  SliceTarget target;
  bool cut_payload = false;
};

// What contradicts itself on the command line; empty: nothing.
std::string Contradiction(const SliceArguments& o) {
  const Selection& s = o.selection;
  if (s.empty() && !o.target.merge && !o.cut_payload)
    return "nothing is selected: --connection, --xid, --procedure, --status, --slower-than, --slowest, --finding, "
           "--frames, --time or --around say what the slice is to have; --merge and --snap take all there is";
  if (!s.findings.empty() &&
      (s.slowest != 0 || s.around != 0 || !s.procedures.empty() || !s.statuses.empty() || s.slower_than_ns))
    return "--finding goes with --connection, --xid, --frames and --time, which say where the finding is, not with "
           "--procedure, --status, --slower-than, --slowest or --around";
  if (o.target.path.ends_with(".gz"))
    return "slices are not compressed with gzip: name the file .pcapng or .pcapng.zst";
  if (o.target.path == "-" && o.format == Format::kJsonl) return "-w - leaves no place for --format jsonl";
  return {};
}

void PutConnections(std::string& out, const std::vector<uint32_t>& connections, std::string_view what) {
  if (connections.empty()) return;
  Put(out, "    {} {} {}: less does not show all that was asked for\n", what,
      connections.size() == 1 ? "connection" : "connections", fmt::join(connections, ", "));
}

void PutText(std::string& out, const SliceSource& source) {
  const Sliced& sliced = source.sliced;
  Put(out, "{}: {} of {}", Printable(source.input.name()), source.written, Count(sliced.read, "frame"));
  if (sliced.rpcs > 0) Put(out, ", {}", Count(sliced.rpcs, "RPC"));
  if (sliced.findings > 0) Put(out, ", {}", Count(sliced.findings, "finding"));
  out.push_back('\n');
  PutConnections(out, sliced.stretched, "without gaps:");
  PutConnections(out, sliced.whole, "whole:");
}

int RunSlice(const SliceArguments& options) {
  KeepLargeBlocksApart();
  if (options.target.path == "-" && isatty(STDOUT_FILENO)) {
    Complain("a capture does not go to a terminal: -w FILE, or a pipe behind -w -");
    return kExitTrouble;
  }
  Output output(options);
  Diagnostics& diagnostics = output.diagnostics();
  bool trouble = false, fits = false;
  std::vector<SliceSource> sources;
  sources.reserve(options.files.size());
  for (const std::string& file : options.files) {
    auto input = SliceInput::Open(file);
    if (!input) {
      diagnostics.ComplainText(input.error().message);
      trouble = true;
      continue;
    }
    Sliced sliced = SliceCapture(*input, options.selection, options.cut_payload, options, output);
    trouble |= !sliced.opened;
    fits |= sliced.opened && sliced.nothing.empty();
    if (!sliced.nothing.empty() && !options.quiet) diagnostics.ComplainText(sliced.nothing);
    sources.push_back({std::move(*input), std::move(sliced), 0});
  }
  if (!fits) return trouble ? kExitTrouble : kExitFindings;
  if (const auto written = WriteSlice(sources, options.target, diagnostics); !written) {
    diagnostics.ComplainText(written.error().message);
    return kExitTrouble;
  }
  uint64_t frames = 0;
  for (const SliceSource& source : sources) {
    frames += source.written;
    if (source.left_out > 0 && !options.quiet)
      diagnostics.Complain("{}: {} left out: not to be copied, or too long", source.input.name(),
                           Count(source.left_out, "custom block"));
    trouble |= !source.sliced.opened || source.sliced.damaged;
    if (!source.sliced.opened || !source.sliced.nothing.empty()) continue;
    options.format == Format::kJsonl ? results::PutLine(output.buffer(), SliceRow(source), source.input.name())
                                     : PutText(output.buffer(), source);
  }
  if (frames == 0) {
    if (!trouble) diagnostics.ComplainText("there are no frames to write");
    return trouble ? kExitTrouble : kExitFindings;
  }
  if (options.target.path != "-") {
    if (options.format == Format::kText && sources.size() > 1)
      Put(output.buffer(), "{}: {}\n", Printable(options.target.path), Count(frames, "frame"));
    output.Flush();
  } else {
    output.buffer().clear();
  }
  return trouble || output.failed() ? kExitTrouble : kExitFine;
}

void AddSelectors(CLI::App& command, Selection& selection) {
  AddConnectionFilter(
      command, selection,
      "RPCs and findings of these connections, by their numbers in stag connections; alone: all of their packets");
  AddRpcFilters(command, selection, "RPCs");
  AddNumber(command, "--slowest", selection.slowest, false, " is not a number of RPCs",
            "So many RPCs with the longest round-trip times, of those that fit the rest");
  AddList(command, "--finding", selection.findings, ParseWantedRule,
          " is not a rule, such as RDLIST-003, or its Nth finding, RDLIST-003#2 (stag rules lists the rules)",
          "RULE[#N]", "What shows the findings of a rule in stag check, or the Nth of them");
  AddFrameFilter(command, selection, "These frames, both ends included");
  AddTimeFilter(command, selection,
                "The frames from A to B: seconds since the first frame, or UTC; A or B may be left out");
  AddNumber(command, "--around", selection.around, false, " is not the number of a frame",
            "Frame N, and the RPCs that were under way on its connection then");
}

}  // namespace

void AddSlice(CLI::App& app, Run& run) {
  auto options = std::make_shared<SliceArguments>();
  CLI::App* command =
      app.add_subcommand("slice", "A capture of the packets that matter: of connections, RPCs, findings, times");
  AddCaptureInput(*command, *options);  // --time selects frames
  Writes(command->add_option("-w,--write", options->target.path,
                             "The slice, as pcapng; .zst: compressed; -: standard output"))
      ->required()
      ->type_name("OUT");
  AddSelectors(*command, options->selection);
  command->add_flag("--merge", options->target.merge,
                    "The frames of several captures by time, not capture after capture");
  AddChoice<bool>(*command, "--snap", options->cut_payload, {{"headers", true}},
                  "Cut away what RDMA Writes and Reads carry, but for RPC headers; lengths on the wire stay");
  command->footer(
      "What is given of one kind is united (--xid 0x1,0x2), different kinds intersect (--connection 2 --procedure "
      "READ).\n"
      "--frames, --time and --connection alone select packets; with any of the others, or one another, they say which "
      "of\n"
      "those: RPCs with a packet there, findings in those frames. With several captures, each is searched.\n"
      "\nAn RPC comes with all of its packets: Sends, RDMA Reads and Writes, acknowledgments, retransmissions. So does "
      "an\n"
      "RPC that has a packet in --frames or --time. With them comes what is needed to understand them: the set-up of "
      "their\n"
      "connections, the Calls that were outstanding, and the Replies that granted the credits. Then the slice is "
      "checked:\n"
      "where stag check or stag transactions would not show in it what was asked for, it gets more of the connection, "
      "and\n"
      "says so. A finding that is proven in the whole may be presumed in the slice.\n"
      "\nEach frame keeps its time and comments, and has one more with its number in the capture that it comes from.\n"
      "Standard input is copied to a temporary file (TMPDIR). Exit status 1: nothing fits, and no file is written.\n"
      "\nExamples:\n"
      "  stag slice mount.pcapng --finding RDLIST-003#1 -w finding.pcapng\n"
      "  stag slice mount.pcapng --procedure READ --slowest 3 -w slow.pcapng\n"
      "  stag slice mount.pcapng --connection 2 --xid 0x1a2b3c4d -w rpc.pcapng\n"
      "  stag slice mount.pcapng --frames 1000-2000 -w part.pcapng\n"
      "  stag slice mount.pcapng --time 2024-01-31T12:00:00..2024-01-31T12:00:05 -w part.pcapng\n"
      "  stag slice mount.pcapng --around 4711 -w around.pcapng\n"
      "  stag slice client.pcap server.pcap --merge -w both.pcapng\n"
      "  stag slice huge.pcapng.zst --snap headers -w small.pcapng.zst\n"
      "  stag slice mount.pcapng --finding CRED-001 -w - | stag check -");
  command->callback([options, &run] {
    options->target.progress = options->progress && !options->quiet;
    if (std::string complaint = Contradiction(*options); !complaint.empty()) throw CLI::ValidationError(complaint);
    run = [options] { return RunSlice(*options); };
  });
}

}  // namespace stag::cli
