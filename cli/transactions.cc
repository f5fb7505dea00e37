// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag transactions: a line per RPC, in order of the Calls.
#include <optional>

#include "cli/analysis.h"
#include "cli/options.h"
#include "cli/shares.h"
#include "cli/team_work.h"
#include "cli/transaction_lister.h"
#include "text/put.h"

namespace stag::cli {
namespace {

// What a lister did with its LineSink, for another one.
struct LineResult {
  enum class Kind : uint8_t { kOpen, kClose, kDrop };
  Kind kind = Kind::kOpen;
  uint64_t now = 0;  // the frame being processed
  uint64_t frame = 0, serial = 0;
  std::string line;
};

// The lines of one share of a capture.
class ListingShare final : public ShareOf<LineResult>, public LineSink {
 public:
  // `lines` takes them in the reading thread, where `clock` is of what it takes.
  ListingShare(Format format, const Style& style, std::optional<std::string> file, LineSink& lines, Clock& clock)
      : lister_(TransactionLister::Make(format, style, this->clock(), *this, std::move(file))),
        lines_(lines),
        given_(clock) {}
  std::vector<session::Observer*> Observers() override { return {lister_.get()}; }
  const TransactionLister& lister() const { return *lister_; }

  void Open(uint64_t frame, uint64_t serial) override { Note(LineResult::Kind::kOpen, frame, serial); }
  void Close(uint64_t frame, uint64_t serial, std::string_view line) override {
    Note(LineResult::Kind::kClose, frame, serial).line.assign(line);
  }
  void Drop(uint64_t frame, uint64_t serial) override { Note(LineResult::Kind::kDrop, frame, serial); }

 private:
  LineResult& Note(LineResult::Kind kind, uint64_t frame, uint64_t serial) {
    LineResult& result = Add();
    result.kind = kind;
    result.now = clock().frame;
    result.frame = frame;
    result.serial = serial;
    return result;
  }
  void Give(LineResult& result) override {
    given_.frame = result.now;
    switch (result.kind) {
      case LineResult::Kind::kOpen: return lines_.Open(result.frame, result.serial);
      case LineResult::Kind::kClose: return lines_.Close(result.frame, result.serial, result.line);
      case LineResult::Kind::kDrop: return lines_.Drop(result.frame, result.serial);
    }
  }

  std::unique_ptr<TransactionLister> lister_;
  LineSink& lines_;
  Clock& given_;
};

Outcome ListFile(const std::string& file, const CommonOptions& options, Output& output) {
  const bool json = options.format == Format::kJsonl;
  const auto name = options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  Clock clock;
  LinesByCall lines(output, clock, TransactionLister::Heading(options.format, output.style()));
  uint64_t count = 0, cut = 0;
  const auto add = [&](const TransactionLister& lister) {
    count += lister.count();
    cut += lister.cut();
  };
  Outcome outcome;
  if (options.jobs > 1) {
    std::vector<std::unique_ptr<ListingShare>> shares;
    std::vector<Share*> all;
    while (shares.size() < options.jobs) {
      shares.push_back(std::make_unique<ListingShare>(options.format, output.style(), name, lines, clock));
      all.push_back(shares.back().get());
    }
    outcome = Analyze(file, options, json, output, std::move(all));
    for (const auto& share : shares) add(share->lister());
  } else {
    const auto lister = TransactionLister::Make(options.format, output.style(), clock, lines, name);
    outcome = Analyze(file, options, json, clock, output, {lister.get()});
    add(*lister);
  }
  lines.Finish();
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed()) {
    if (count + cut == 0) Complain("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame"));
    if (cut > 0) {
      Complain("{}: {} left out: the capture has too little of the Calls (snap length)", DisplayName(file),
               Count(cut, "RPC"));
    }
    if (lines.given_up() > 0) {
      Complain("{}: up to {} out of order: the RPCs were unanswered for very long", DisplayName(file),
               Count(lines.given_up(), "line"));
    }
  }
  return outcome;
}

int ListAlone(const CommonOptions& options) {
  Output output(options);
  return ForEachFile(options, output, [&](const std::string& file) { return ListFile(file, options, output); });
}

int ListInTeam(const CommonOptions& options, scale::Team& team) {
  Output output = OutputOf(options, &team);
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
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the lines, the same as without");
  command->footer(
      "Every Call that was captured is listed, in order of its last packet; \"call\" and \"reply\" are frame numbers. "
      "Sizes are\n"
      "those of the rebuilt RPC messages, with the chunks put back; \"-\" where bytes were not captured.\n"
      "\nExamples:\n"
      "  stag transactions mount.pcapng\n"
      "  stag transactions --color always mount.pcapng | less -RS\n"
      "  stag transactions --format jsonl a.pcap b.pcap.gz > rpcs.jsonl\n"
      "  stag transactions --format jsonl --jobs 4 cluster.pcapng.zst > rpcs.jsonl\n"
      "  mpirun -n 8 stag transactions --mpi --format jsonl /captures/*.pcap.zst > rpcs.jsonl\n"
      "  tcpdump -i eth0 -w - udp port 4791 | stag transactions -");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, ListAlone, ListInTeam); }; });
}

}  // namespace stag::cli
