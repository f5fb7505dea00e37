// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag transport: per connection and direction, what the fabric did: retransmissions, NAKs, waits, loss, congestion.
#include <map>
#include <optional>

#include "cli/analysis/analysis.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/link_report.h"
#include "cli/analysis/picture.h"
#include "cli/base/options.h"
#include "cli/transport/transport_plot.h"
#include "cli/transport/transport_report.h"
#include "session/transport/transport_statistics.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;

struct TransportArguments : CommonOptions {
  bool all = false;
  fabric::ConnectionId connection = 0;  // 0: all
  size_t episodes = 8;                  // 0: all
  std::string svg;
};

// Connections as they were when they closed, in order of their numbers.
using Connections = std::map<fabric::ConnectionId, Connection>;

class EndShard final : public ShardResults<Connection>, public session::Observer {
 public:
  explicit EndShard(Connections& ended) : ended_(ended) {}
  std::vector<session::Observer*> Observers() override { return {this}; }

  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    Emit([&](Connection& result) { result = c; });
  }

 private:
  void Deliver(Connection& result) override { ended_.insert_or_assign(result.info.id, result); }

  Connections& ended_;
};

bool IsListed(const Connection& c, const TransportArguments& options) {
  return (options.connection == 0 || options.connection == c.info.id) &&
         (options.all || c.proof == session::Proof::kRpcRdma);
}

void ReportWhatIsMissing(const std::string& file, const TransportArguments& options, const FileOutcome& outcome,
                         const Connections& ended, uint64_t listed, uint64_t left_out, Diagnostics& diagnostics) {
  const std::string name = DisplayName(file);
  if (listed == 0 && options.connection != 0) {
    diagnostics.Complain("{}: no connection {} in {}", name, options.connection, Count(outcome.frames, "frame"));
  } else if (ended.empty()) {
    diagnostics.Complain("{}: no RDMA connection in {}", name, Count(outcome.frames, "frame"));
  } else if (const uint64_t others = ended.size() - listed; others > 0 && !options.all && options.connection == 0) {
    diagnostics.Complain("{}: {} without RPC-over-RDMA; --all lists {}", name, Count(others, "other RDMA connection"),
                         others == 1 ? "it" : "them");
  }
  if (left_out > 0) diagnostics.Complain("{}: {} left out: there are too many", name, Count(left_out, "connection"));
}

FileOutcome ReportFile(const std::string& file, const TransportArguments& options, Output& output, bool& drawn) {
  TransportPlotter plotter(options.connection);
  transport::TransportStatistics statistics(options.memory / 4, options.svg.empty() ? nullptr : &plotter);
  Connections ended;
  std::vector<std::unique_ptr<EndShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<EndShard>(ended));
  FileOutcome outcome = Analyze(file, options, false, output, shards, &statistics);
  const auto name = options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  uint64_t listed = 0;
  for (const auto& [id, connection] : ended) {
    const auto health = statistics.Find(id);
    if (!health || !IsListed(connection, options)) continue;
    std::string& out = output.buffer();
    if (options.format == Format::kJsonl) {
      PutTransportJson(out, connection, *health, name);
    } else {
      if (listed > 0) out.push_back('\n');
      PutTransportText(out, connection, *health, outcome.first_time_ns, options.episodes, output.style());
    }
    ++listed;
    output.Commit();
    if (!options.svg.empty()) plotter.Draw(connection, *health);
  }
  if (options.format == Format::kText && options.connection == 0 && HasLinkReport(outcome.decoder)) {
    if (listed > 0) output.buffer().push_back('\n');
    PutLinkReport(output.buffer(), outcome.decoder);
    output.buffer().push_back('\n');
  }
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed())
    ReportWhatIsMissing(file, options, outcome, ended, listed, statistics.left_out(), output.diagnostics());
  if (!options.svg.empty() && outcome.opened)
    drawn = WritePicture(options.svg, plotter, file, outcome, options.quiet, output);
  return outcome;
}

int RunTransport(const TransportArguments& options, scale::Team* team) {
  const bool several = options.files.size() > 1 || team != nullptr;
  const std::string trouble = options.svg.empty() || !several ? "" : "--svg draws one capture, without --mpi";
  if (!AllFine(team, trouble)) return kExitTrouble;
  Output output = OutputOf(options, team);
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
  AddCaptureOptions(*command, *options);
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->add_flag("--all", options->all, "List RDMA connections that carry no RPC-over-RDMA, too");
  AddConnectionNumber(*command, options->connection);
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
