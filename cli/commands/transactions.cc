// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag transactions: a line per RPC, in order of the Calls.
#include <optional>

#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/sharded_analysis.h"
#include "cli/analysis/transaction_lister.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "text/put.h"

namespace stag::cli {
namespace {

struct TransactionsArguments : CommonOptions {
  bool phases = false;
};

// What a lister did with its LineSink, for another one.
struct LineResult {
  enum class Kind : uint8_t { kOpen, kClose, kDrop };
  Kind kind = Kind::kOpen;
  uint64_t now = 0;  // the frame being processed
  uint64_t frame = 0, serial = 0;
  std::string line;
  results::SortKey key{results::Value::Null()};
};

class ListShard final : public ShardResults<LineResult>, public LineSink {
 public:
  // `lines` takes the lines in the reading thread, where `clock` is that of the line that it takes.
  ListShard(const TransactionsArguments& options, const Style& style, std::optional<std::string> file, LineSink& lines,
            Clock& clock)
      : lister_(options, style, this->clock(), *this, std::move(file), options.phases),
        lines_(lines),
        delivery_clock_(clock) {}
  std::vector<session::Observer*> Observers() override { return {&lister_}; }
  const TransactionLister& lister() const { return lister_; }

  void Open(uint64_t frame, uint64_t serial) override { Add(LineResult::Kind::kOpen, frame, serial, {}, nullptr); }
  void Close(uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey& key) override {
    Add(LineResult::Kind::kClose, frame, serial, line, &key);
  }
  void Drop(uint64_t frame, uint64_t serial) override { Add(LineResult::Kind::kDrop, frame, serial, {}, nullptr); }

 private:
  void Add(LineResult::Kind kind, uint64_t frame, uint64_t serial, std::string_view line, const results::SortKey* key) {
    Emit([&](LineResult& result) {
      result.kind = kind;
      result.now = clock().frame;
      result.frame = frame;
      result.serial = serial;
      result.line.assign(line);
      if (key) result.key = *key;
    });
  }
  void Deliver(LineResult& result) override {
    delivery_clock_.frame = result.now;
    switch (result.kind) {
      case LineResult::Kind::kOpen: return lines_.Open(result.frame, result.serial);
      case LineResult::Kind::kClose: return lines_.Close(result.frame, result.serial, result.line, result.key);
      case LineResult::Kind::kDrop: return lines_.Drop(result.frame, result.serial);
    }
  }

  TransactionLister lister_;
  LineSink& lines_;
  Clock& delivery_clock_;
};

FileOutcome ListFile(const std::string& file, const TransactionsArguments& options, Output& output) {
  const bool digests = !ForPeople(options.format);
  Clock clock;
  RowOutput rows(output, options, results::InfoOf<analysis::TransactionRow>(), DisplayName(file));
  LinesByCall lines(output, rows, clock, TransactionLister::Heading(options.format, output.style(), options.phases),
                    options.memory);
  std::vector<std::unique_ptr<ListShard>> shards;
  while (shards.size() < options.jobs)
    shards.push_back(std::make_unique<ListShard>(options, output.style(), DisplayName(file), lines, clock));
  FileOutcome outcome = Analyze(file, options, digests, output, shards);
  uint64_t count = 0, cut = 0, phases_missing = 0;
  for (const auto& shard : shards) {
    count += shard->lister().count();
    cut += shard->lister().cut();
    phases_missing += shard->lister().phases_missing();
  }
  lines.Finish();
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed()) {
    if (count + cut == 0)
      output.diagnostics().Complain("{}: no {} in {}", DisplayName(file),
                                    options.filter.empty() ? "RPC-over-RDMA" : "such RPC",
                                    Count(outcome.frames, "frame"));
    if (cut > 0) {
      output.diagnostics().Complain("{}: {} left out: the capture has too little of the Calls (snap length)",
                                    DisplayName(file), Count(cut, "RPC"));
    }
    if (phases_missing > 0 && (digests || options.phases)) {
      output.diagnostics().Complain("{}: phases of {} are not all known: packets are missing, or times go back",
                                    DisplayName(file), Count(phases_missing, "RPC"));
    }
    if (lines.given_up() > 0) {
      output.diagnostics().Complain("{}: up to {} out of order: the RPCs were unanswered for very long",
                                    DisplayName(file), Count(lines.given_up(), "line"));
    }
    rows.Complain(DisplayName(file));
  }
  return outcome;
}

int RunTransactions(const TransactionsArguments& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  SetDocument(output, options, results::InfoOf<analysis::TransactionRow>());
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return ListFile(file, options, of_file);
  });
}

}  // namespace

void AddTransactions(CLI::App& app, Run& run) {
  auto options = std::make_shared<TransactionsArguments>();
  CLI::App* command =
      app.add_subcommand("transactions", "A line per RPC: frames, procedure, chunks, sizes, time, status");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "RPCs", "RPCs");
  AddListOptions(*command, *options, results::InfoOf<analysis::TransactionRow>());
  command->add_flag("--phases", options->phases, "As text: where the time between Call and Reply went, in columns");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the lines, the same as without");
  command->footer(
      "Every Call that was captured is listed, in order of its last packet; \"call\" and \"reply\" are frame numbers. "
      "Sizes are\n"
      "those of the rebuilt RPC messages, with the chunks put back; \"-\" where bytes were not captured.\n"
      "Phases are the time from the Call to the first RDMA Read, that of the Reads, the server's own, that of the "
      "RDMA\n"
      "Writes, and the time from the last of them to the Reply; \"?\" where a packet is missing that begins or ends "
      "it.\n"
      "\nExamples:\n"
      "  stag transactions mount.pcapng\n"
      "  stag transactions --phases mount.pcapng\n"
      "  stag transactions --procedure WRITE --slower-than 20ms --sort rtt_us --limit 10 mount.pcapng\n"
      "  stag transactions --connection 2 --time 5..6 --format csv mount.pcapng > rpcs.csv\n"
      "  stag transactions --color always mount.pcapng | less -RS\n"
      "  stag transactions --format jsonl a.pcap b.pcap.gz > rpcs.jsonl\n"
      "  stag transactions --format jsonl --jobs 4 cluster.pcapng.zst > rpcs.jsonl\n"
      "  mpirun -n 8 stag transactions --mpi --format jsonl /captures/*.pcap.zst > rpcs.jsonl\n"
      "  tcpdump -i eth0 -w - udp port 4791 | stag transactions -");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunTransactions); }; });
}

}  // namespace stag::cli
