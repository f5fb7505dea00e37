// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag transactions: a line per RPC, in order of the Calls.
#include <optional>

#include "cli/analysis.h"
#include "cli/options.h"
#include "cli/team_work.h"
#include "cli/text.h"
#include "cli/transaction_lister.h"

namespace stag::cli {
namespace {

Outcome ListFile(const std::string& file, const CommonOptions& options, Output& output) {
  Clock clock;
  const bool json = options.format == Format::kJsonl;
  const auto lister =
      TransactionLister::Make(options.format, TransactionLister::Order::kByCall, output, clock,
                              options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt);
  Outcome outcome = Analyze(file, options, json, clock, output, {lister.get()});
  lister->Finish();
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed()) {
    if (lister->count() + lister->cut() == 0) {
      Complain("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame"));
    }
    if (lister->cut() > 0) {
      Complain("{}: {} left out: the capture has too little of the Calls (snap length)", DisplayName(file),
               Count(lister->cut(), "RPC"));
    }
    if (lister->given_up() > 0) {
      Complain("{}: up to {} out of order: the RPCs were unanswered for very long", DisplayName(file),
               Count(lister->given_up(), "line"));
    }
  }
  return outcome;
}

int ListAlone(const CommonOptions& options) {
  Output output(options);
  return ForEachFile(options, output, [&](const std::string& file) { return ListFile(file, options, output); });
}

int ListInTeam(const CommonOptions& options, scale::Team& team) {
  Output output(options);
  return ForEachFileOfTeam(
      team, options, output,
      [&](const std::string& file, Output& to_leader, FileSays&) { return ListFile(file, options, to_leader); },
      [](std::string_view) {});
}

}  // namespace

void AddTransactions(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("transactions", "A line per RPC: frames, procedure, chunks, sizes, time, status");
  AddCaptureOptions(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the lines, the same as without");
  command->footer(
      "Every Call that was captured is listed, in order of its last packet; \"call\" and \"reply\" are frame numbers. "
      "Sizes are\n"
      "those of the rebuilt RPC messages, with the chunks put back; \"-\" where bytes were not captured.\n"
      "\nExamples:\n"
      "  stag transactions mount.pcapng\n"
      "  stag transactions --color always mount.pcapng | less -RS\n"
      "  stag transactions --format jsonl a.pcap b.pcap.gz > rpcs.jsonl\n"
      "  mpirun -n 8 stag transactions --mpi --format jsonl /captures/*.pcap.zst > rpcs.jsonl\n"
      "  tcpdump -i eth0 -w - udp port 4791 | stag transactions -");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, ListAlone, ListInTeam); }; });
}

}  // namespace stag::cli
