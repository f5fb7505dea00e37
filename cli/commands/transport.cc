// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag transport: per connection and direction, what the fabric did: retransmissions, NAKs, waits, loss, congestion.
#include <memory>
#include <optional>

#include "analysis/connection_filter.h"
#include "analysis/transport_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/link_report.h"
#include "cli/analysis/picture.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "cli/transport/transport_plot.h"
#include "cli/transport/transport_report.h"
#include "session/transport/transport_statistics.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;

struct TransportArguments : CommonOptions {
  bool all = false;
  size_t episodes = 8;  // 0: all
  std::string svg;
};

class TransportLister {
 public:
  TransportLister(Output& output, RowOutput& rows, const TransportArguments& options,
                  transport::TransportStatistics& statistics, TransportPlotter& plotter)
      : output_(output),
        options_(options),
        statistics_(statistics),
        plotter_(plotter),
        format_(rows),
        late_(RowMemory(options.memory).late),
        rows_(rows, RowMemory(options.memory).text, rows.as_text() ? "\n" : "") {}

  void Begin(fabric::ConnectionId id) { rows_.Begin(id); }
  // `wanted`: it is asked for. `origin_ns`: of the first frame.
  void End(const Connection& c, bool wanted, int64_t origin_ns) {
    ++ended_;
    others_ += c.proof == session::Proof::kRpcRdma ? 0 : 1;
    const bool listed = wanted && (options_.all || c.proof == session::Proof::kRpcRdma);
    Row row{c.info.id, nullptr, origin_ns};
    if (listed) row.connection = std::make_unique<Connection>(c);
    late_.Add(std::move(row), [this](const Row& finished) { Finish(finished); });
  }
  void Finish() {
    late_.Finish([this](const Row& row) { Finish(row); });
    rows_.Finish();
  }
  uint64_t listed() const { return listed_; }

  void ReportWhatIsMissing(const std::string& file, const FileOutcome& outcome) const {
    const std::string name = DisplayName(file);
    Diagnostics& diagnostics = output_.diagnostics();
    if (listed_ == 0 && !options_.filter.empty()) {
      diagnostics.Complain("{}: no such connection in {}", name, Count(outcome.frames, "frame"));
    } else if (ended_ == 0) {
      diagnostics.Complain("{}: no RDMA connection in {}", name, Count(outcome.frames, "frame"));
    } else if (others_ > 0 && !options_.all && options_.filter.empty()) {
      diagnostics.Complain("{}: {} without RPC-over-RDMA; --all lists {}", name,
                           Count(others_, "other RDMA connection"), others_ == 1 ? "it" : "them");
    }
    diagnostics.OverMemory(name, left_out_, "connection", " left out");
    rows_.Complain(name, diagnostics);
  }

 private:
  struct Row {
    fabric::ConnectionId id = 0;
    std::unique_ptr<Connection> connection;  // as it was when it closed; null: it is not listed
    int64_t origin_ns = 0;
  };

  void Finish(const Row& row) {
    const auto health = statistics_.Take(row.id);
    if (!row.connection || !health) {
      left_out_ += row.connection ? 1 : 0;
      return rows_.Drop(row.id);
    }
    ++listed_;
    PutRows(row, *health);
    if (!options_.svg.empty()) plotter_.Draw(*row.connection, *health);
  }

  void PutRows(const Row& row, const transport::Health& health) {
    const Connection& c = *row.connection;
    const analysis::TransportRow both[] = {{c, health, c.client, row.origin_ns},
                                           {c, health, transport::Other(c.client), row.origin_ns}};
    text_.clear();
    if (format_.as_text()) {
      PutTransportText(text_, c, health, row.origin_ns, options_.episodes, output_.style());
      return rows_.Put(row.id, text_, format_.KeyOf(&both[0]));
    }
    if (!format_.sorts()) {
      for (const analysis::TransportRow& one : both) format_.Format(text_, one);
      return rows_.Put(row.id, text_, format_.KeyOf(&both[0]));
    }
    for (const analysis::TransportRow& one : both) {  // each finds its own place
      text_.clear();
      format_.Format(text_, one);
      rows_.Put(row.id, text_, format_.KeyOf(&one));
    }
  }

  Output& output_;
  const TransportArguments& options_;
  transport::TransportStatistics& statistics_;
  TransportPlotter& plotter_;
  RowOutput& format_;
  LateRows<Row> late_;
  ConnectionRows rows_;
  std::string text_;
  uint64_t ended_ = 0, others_ = 0, listed_ = 0, left_out_ = 0;
};

class EndShard final : public CallingShard, private session::Observer {
 public:
  EndShard(TransportLister& lister, const analysis::Filter& filter)
      : filter_(filter, clock().first_time_ns), lister_(lister) {}
  std::vector<session::Observer*> Observers() override { return filter_.Behind({this}); }

 private:
  bool WantsDeliveries() const override { return true; }
  bool WantsBytesLater() const override { return false; }
  void OnConnection(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id) { lister_.Begin(id); }, c.info.id);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    Tell([this](const Connection& closed, bool wanted, int64_t origin_ns) { lister_.End(closed, wanted, origin_ns); },
         c, filter_.Takes(c), clock().first_time_ns);
  }

  analysis::ConnectionFilter filter_;
  TransportLister& lister_;
};

FileOutcome ReportFile(const std::string& file, const TransportArguments& options, Output& output, bool& drawn) {
  const RowMemory memory(options.memory);
  TransportPlotter plotter(options.filter.OneConnection(), memory.pictures);
  transport::TransportStatistics statistics({.memory = memory.transport, .late = memory.late},
                                            options.svg.empty() ? nullptr : &plotter);
  RowOutput rows(output, options, results::InfoOf<analysis::TransportRow>(), DisplayName(file));
  TransportLister lister(output, rows, options, statistics, plotter);
  std::vector<std::unique_ptr<EndShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<EndShard>(lister, options.filter));
  FileOutcome outcome = Analyze(file, options, false, output, shards, &statistics);
  lister.Finish();
  if (options.format == Format::kText && options.filter.empty() && HasLinkReport(outcome.decoder)) {
    if (lister.listed() > 0) output.buffer().push_back('\n');
    PutLinkReport(output.buffer(), outcome.decoder);
    output.buffer().push_back('\n');
  }
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed()) lister.ReportWhatIsMissing(file, outcome);
  if (!options.svg.empty() && outcome.opened)
    drawn = WritePicture(options.svg, plotter, file, outcome, options.quiet, output);
  return outcome;
}

int RunTransport(const TransportArguments& options, scale::Team* team) {
  const bool several = options.files.size() > 1 || team != nullptr;
  const std::string trouble = options.svg.empty() || !several ? "" : "--svg draws one capture, without --mpi";
  if (!AllFine(team, trouble)) return kExitTrouble;
  Output output = OutputOf(options, team);
  SetDocument(output, options, results::InfoOf<analysis::TransportRow>());
  bool drawn = true;
  const int status = ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return ReportFile(file, options, of_file, drawn);
  });
  return drawn ? status : kExitTrouble;
}

}  // namespace

void AddTransport(CLI::App& app, Run& run) {
  auto options = std::make_shared<TransportArguments>();
  CLI::App* command = app.add_subcommand(
      "transport", "What the fabric did: retransmissions, NAKs, RNR waits, loss, reordering, congestion");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "connections with RPCs", "connections");
  AddListOptions(*command, *options, results::InfoOf<analysis::TransportRow>());
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->add_flag("--all", options->all, "List RDMA connections that carry no RPC-over-RDMA, too");
  AddNumber(*command, "--episodes", options->episodes, true, " is not a number of episodes, nor all",
            "How many episodes the text tells of a connection, those that cost the most time (default: 8), or all");
  Writes(command->add_option("--svg", options->svg,
                             "Also draw it: an SVG file with PSNs (TCP: sequence numbers) over time for each side, "
                             "retransmissions, NAKs and marks of congestion"))
      ->type_name("FILE");
  command->footer(
      "Every packet of a connection is counted in the row of the side that sent it, also NAKs; a wait for a receive "
      "(RNR) "
      "in\n"
      "the row of the side that waits. \"Not captured\" are packets that arrived, as later ones show: the capture lost "
      "them,\n"
      "not the wire. What a side sent again was lost on the wire or at the receiver, or its acknowledgment was. Copies "
      "of a\n"
      "packet, as a mirror of both sides of a switch makes them, are left out and counted: they differ in the way that "
      "they\n"
      "took, or agree in all, also in an IPv4 identification that the sender counts up for each packet.\n"
      "\nExamples:\n"
      "  stag transport mount.pcapng\n"
      "  stag transport --connection 2 --episodes all --svg psns.svg mount.pcapng\n"
      "  stag transport --format jsonl mount.pcapng | jq 'select(.retransmitted_packets>0)'\n"
      "  mpirun -n 8 stag transport --mpi --format jsonl /captures/*.pcap.zst > transport.jsonl");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunTransport); }; });
}

}  // namespace stag::cli
