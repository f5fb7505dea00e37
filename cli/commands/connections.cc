// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag connections: what is known of each RPC-over-RDMA connection, in the order in which they appear. As text a block
// for people; as JSON lines one object each. What was done with frames before is said at the end.
#include <memory>
#include <optional>

#include "analysis/connection_filter.h"
#include "analysis/connection_row.h"
#include "analysis/link_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/link_report.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "session/fabric/names.h"
#include "session/transport/transport_statistics.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::Side;
using session::Connection;
using session::MinMaxLast;
using session::SetupData;
using transport::Other;

struct ConnectionsArguments : CommonOptions {
  bool all = false;
};

// A connection that has closed.
struct ClosedConnection {
  Connection connection;
  bool listed = false;
  int64_t origin_ns = 0;  // time of the first frame of the capture
};

void PutConnection(std::string& out, const Connection& c, const transport::Health* health, const Style& style);

class Lister {
 public:
  // `statistics`: what is known of the packets of connections.
  Lister(Output& output, RowOutput& rows, const ConnectionsArguments& options,
         transport::TransportStatistics& statistics)
      : output_(output),
        format_(rows),
        options_(options),
        statistics_(statistics),
        rows_(rows, RowMemory(options.memory).text, rows.as_text() ? "\n" : "") {}

  // Something of a connection was seen; it ended.
  void Begin(fabric::ConnectionId id) { rows_.Begin(id); }
  void End(const ClosedConnection& closed) {
    const Connection& c = closed.connection;
    const auto health = statistics_.Take(c.info.id);
    if (closed.listed && c.proof != session::Proof::kRpcRdma) ++others_;
    if (!closed.listed || (c.proof != session::Proof::kRpcRdma && !options_.all)) return rows_.Drop(c.info.id);
    ++count_;
    uncounted_ += health ? 0 : 1;
    row_.clear();
    const analysis::ListedConnection row = analysis::ListConnection(c, health.get(), closed.origin_ns);
    if (format_.as_text()) {
      PutConnection(row_, c, health.get(), output_.style());
    } else {
      format_.Format(row_, row);
    }
    rows_.Put(c.info.id, row_, format_.KeyOf(&row));
  }

  void Finish() { rows_.Finish(); }
  uint64_t count() const { return count_; }
  uint64_t others() const { return others_; }
  // Of what memory was too little for. `file`: its name.
  void ReportWhatIsMissing(const std::string& file) const {
    output_.diagnostics().OverMemory(file, uncounted_, "connection", " are not counted", "packets of ");
    rows_.Complain(file, output_.diagnostics());
  }

 private:
  Output& output_;
  RowOutput& format_;
  const ConnectionsArguments& options_;
  transport::TransportStatistics& statistics_;
  ConnectionRows rows_;
  std::string row_;
  uint64_t count_ = 0, others_ = 0, uncounted_ = 0;
};

class ConnectionShard final : public CallingShard, private session::Observer {
 public:
  ConnectionShard(Lister& lister, const analysis::Filter& filter)
      : filter_(filter, clock().first_time_ns), lister_(lister) {}
  std::vector<session::Observer*> Observers() override { return filter_.Behind({this}); }

 private:
  bool WantsDeliveries() const override { return true; }
  bool WantsBytesLater() const override { return false; }
  void OnConnection(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id) { lister_.Begin(id); }, c.info.id);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    Tell([this](const ClosedConnection& closed) { lister_.End(closed); },
         ClosedConnection{c, filter_.Takes(c), clock().first_time_ns});
  }

  analysis::ConnectionFilter filter_;
  Lister& lister_;
};

// ---------------------------------------------------------------------------------------------------------------- text

class TextOfConnection {
 public:
  explicit TextOfConnection(const Style& style) : style_(style) {}

  void PutConnection(std::string& out, const Connection& c, const transport::Health* health) const {
    const Style& style = style_;
    const Side client = c.client, server = Other(client);
    PutConnectionHead(out, c, style);
    PutFrames(out, c);
    PutSetup(out, c, client, style);
    if (c.proof != session::Proof::kRpcRdma) {
      Label(out, "messages");
      Put(out, "{}\n", Count(c.other_messages, "Send"));
    } else if (c.opened || c.calls + c.replies + c.other_messages > 0) {
      PutTerms(out, c, client);
      PutTraffic(out, c, client, server);
      PutLosses(out, c, style);
      PutTransport(out, c, health, style);
    }
  }

 private:
  void Label(std::string& out, std::string_view label) const {
    Put(out, "    {}{:<13}{}", style_.dim, label, style_.reset);
  }

  void PutFrames(std::string& out, const Connection& c) const {
    Label(out, "frames");
    Put(out, "{} to {}", c.first_frame.number, c.last_frame.number);
    if (c.first_frame.timed) {
      Put(out, ", ");
      PutTime(out, c.first_frame.time_ns);
    }
    if (const auto span = Elapsed(c.first_frame, c.last_frame)) {
      Put(out, ", {}", DurationText(*span));
    }
    Put(out, "\n");
  }

  void PutSetup(std::string& out, const Connection& c, Side client, const Style& style) const {
    Label(out, "set-up");
    if (c.rejected) {
      Put(out, "{}rejected{}", style.red, style.reset);
      if (c.reject_reason != 0) Put(out, ", reason {}", analysis::RejectText(c));
      if (c.close_frame.number != 0) Put(out, " (frame {})", c.close_frame.number);
    } else if (c.setup_seen) {
      Put(out, "{}, closed: {}", c.opened ? "captured" : "captured, not answered", fabric::CloseName(c.close_reason));
    } else {
      const bool some = c.setup[0].seen || c.setup[1].seen;
      Put(out, "{}, closed: {}", some ? "captured in part" : "not captured (joined mid-stream)",
          fabric::CloseName(c.close_reason));
    }
    if (!c.rejected && c.close_frame.number != 0 && c.close_reason != fabric::CloseReason::kEndOfCapture) {
      Put(out, " (frame {})", c.close_frame.number);
    }
    Put(out, "\n");
    PutPrivateData(out, c.setup[client], "client says");
    PutPrivateData(out, c.setup[Other(client)], "server says");
  }

  void PutPrivateData(std::string& out, const SetupData& setup, std::string_view label) const {
    if (!setup.seen) return;
    Label(out, label);
    if (setup.has_data()) {
      const rpcrdma::PrivateData& data = setup.search.data;
      Put(out, "sends up to {}, receives up to {}, remote invalidation {}", SizeText(data.send_bytes()),
          SizeText(data.receive_bytes()), data.remote_invalidation() ? "yes" : "no");
    } else if (setup.meaningful().empty()) {
      Put(out, "no private data");
    } else if (setup.search.found == rpcrdma::PrivateDataSearch::Found::kNothing) {
      Put(out, "private data that is not RFC 8797's");
    } else {
      Put(out, "unusable private data: {}", setup.kind());
    }
    const Bytes bytes = setup.meaningful();
    if (!bytes.empty()) {
      constexpr size_t kShown = 32;
      Put(out, "  [");
      PutHex(out, bytes.first(std::min(bytes.size(), kShown)));
      Put(out, "{}]", bytes.size() > kShown ? "..." : "");
    }
    if (setup.truncated) Put(out, " cut by the capture");
    Put(out, " (frame {})\n", setup.frame.number);
  }

  void PutTerms(std::string& out, const Connection& c, Side client) const {
    const auto put = [&](std::optional<uint32_t> threshold) {
      if (threshold) {
        PutSize(out, *threshold);
      } else {
        Put(out, "unknown");
      }
    };
    const std::optional<bool> invalidation = c.remote_invalidation();
    if (c.threshold(client) || c.threshold(Other(client)) || invalidation) {
      Label(out, "thresholds");
      Put(out, "client to server ");
      put(c.threshold(client));
      Put(out, ", server to client ");
      put(c.threshold(Other(client)));
      Put(out, "; remote invalidation {}\n", !invalidation ? "unknown" : *invalidation ? "agreed" : "not agreed");
    }
    PutCredits(out, c.credits[client], "credits");
    PutCredits(out, c.credits[Other(client)], "  backward");
  }

  void PutCredits(std::string& out, const session::CreditState& credits, std::string_view label) const {
    if (!credits.requested.any && !credits.granted.any) return;
    const auto put = [&](std::string_view what, const MinMaxLast& range) {
      if (!range.any) {
        Put(out, "{} unknown, ", what);
      } else if (range.min == range.max) {
        Put(out, "{} {}, ", what, range.last);
      } else {
        Put(out, "{} {} to {} (last {}), ", what, range.min, range.max, range.last);
      }
    };
    Label(out, label);
    put("requested", credits.requested);
    put("granted", credits.granted);
    Put(out, "outstanding at most {}\n", credits.max_outstanding);
  }

  void PutTraffic(std::string& out, const Connection& c, Side client, Side server) const {
    Label(out, "messages");
    Put(out, "{}: {}, {} repl{}, {}", c.counters[0].messages + c.counters[1].messages, Count(c.calls, "call"),
        c.replies, c.replies == 1 ? "y" : "ies", Count(c.errors, "error"));
    if (c.backward_calls > 0) Put(out, ", {} backward", c.backward_calls);
    if (c.replies_without_call > 0) Put(out, ", {} answering calls that were not captured", c.replies_without_call);
    if (c.other_messages > 0) Put(out, ", {} not RPC-over-RDMA", c.other_messages);
    Put(out, "\n");
    PutCounters(out, c.counters[client], "client");
    PutCounters(out, c.counters[server], "server");
  }

  void PutCounters(std::string& out, const session::SideCounters& n, std::string_view label) const {
    Label(out, label);
    Put(out, "{} of {}", Count(n.messages, "Send"), SizeText(n.send_bytes));
    if (n.send_with_invalidate > 0) Put(out, " ({} with Invalidate)", n.send_with_invalidate);
    if (n.write_operations > 0) {
      Put(out, ", {} of {}", Count(n.write_operations, "RDMA Write"), SizeText(n.write_bytes));
    }
    if (n.read_operations > 0) {
      Put(out, ", {} of {}", Count(n.read_operations, "RDMA Read"), SizeText(n.read_bytes));
    }
    Put(out, "\n");
  }

  void PutLosses(std::string& out, const Connection& c, const Style& style) const {
    const uint64_t gaps = c.counters[0].gaps + c.counters[1].gaps, naks = c.counters[0].naks + c.counters[1].naks;
    if (gaps + naks + c.truncated_messages + c.evicted_transactions == 0) return;
    Label(out, "losses");
    Put(out, style.yellow);
    std::string_view separator;
    const auto put = [&](uint64_t n, std::string_view what) {
      if (n == 0) return;
      Put(out, "{}{}", separator, Count(n, what));
      separator = ", ";
    };
    put(gaps, "gap");
    put(naks, "NAK");
    put(c.truncated_messages, "truncated message");
    put(c.evicted_transactions, "dropped RPC");
    Put(out, "{}\n", style.reset);
  }

  void PutTransport(std::string& out, const Connection& c, const transport::Health* health, const Style& style) const {
    if (!health) return;
    const auto sum = [&](uint64_t transport::Counters::*which) {
      return health->sent[0].*which + health->sent[1].*which;
    };
    const uint64_t again = sum(&transport::Counters::retransmitted) + sum(&transport::Counters::repeated_responses);
    const uint64_t lost = sum(&transport::Counters::lost_from_capture);
    if (again + lost == 0) return;
    Label(out, "transport");
    const bool iwarp = c.info.fabric == fabric::FabricKind::kIwarp;
    Put(out, "{}{} sent again, {} not captured{}; stag transport says more\n", style.yellow,
        Count(again, iwarp ? "segment" : "packet"), Count(lost, iwarp ? "byte" : "packet"), style.reset);
  }

  const Style& style_;
};

void PutConnection(std::string& out, const Connection& c, const transport::Health* health, const Style& style) {
  TextOfConnection(style).PutConnection(out, c, health);
}

// Of the file as a whole, where there is something to say.
void PutFile(Output& output, RowOutput& rows, const FileOutcome& outcome) {
  if (!HasLinkReport(outcome.decoder)) return;
  rows.PutOther(analysis::LinkRow(outcome.frames, outcome.decoder));
  if (!rows.as_text()) return;
  output.buffer().push_back('\n');
  PutLinkReport(output.buffer(), outcome.decoder);
  output.buffer().push_back('\n');
}

int RunConnections(const ConnectionsArguments& options, scale::Team* team) {
  Output output_of_all = OutputOf(options, team);
  SetDocument(output_of_all, options, results::InfoOf<analysis::ListedConnection>());
  return ForEachFile(team, options, output_of_all, [&](const std::string& file, Output& output, ResultStream*) {
    // What is late would depend on when a line is written.
    transport::TransportStatistics statistics({.memory = RowMemory(options.memory).transport, .late = 0});
    RowOutput rows(output, options, results::InfoOf<analysis::ListedConnection>(), DisplayName(file));
    Lister lister(output, rows, options, statistics);
    std::vector<std::unique_ptr<ConnectionShard>> shards;
    while (shards.size() < options.jobs) shards.push_back(std::make_unique<ConnectionShard>(lister, options.filter));
    FileOutcome outcome = Analyze(file, options, false, output, shards, &statistics);
    lister.Finish();
    PutFile(output, rows, outcome);
    output.Flush();
    if (options.quiet || !outcome.opened || output.closed()) return outcome;
    if (lister.count() == 0 && lister.others() == 0) {
      output.diagnostics().Complain("{}: no {} in {}", DisplayName(file),
                                    options.filter.empty() ? "RDMA connection" : "such connection",
                                    Count(outcome.frames, "frame"));
    } else if (lister.others() > 0 && !options.all) {
      output.diagnostics().Complain("{}: {} without RPC-over-RDMA; --all lists {}", DisplayName(file),
                                    Count(lister.others(), "other RDMA connection"),
                                    lister.others() == 1 ? "it" : "them");
    }
    lister.ReportWhatIsMissing(DisplayName(file));
    return outcome;
  });
}

}  // namespace

void AddConnections(CLI::App& app, Run& run) {
  auto options = std::make_shared<ConnectionsArguments>();
  CLI::App* command =
      app.add_subcommand("connections", "Each connection: endpoints, set-up, thresholds, credits, traffic, losses");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "connections with RPCs", "connections");
  AddListOptions(*command, *options, results::InfoOf<analysis::ListedConnection>());
  command->add_flag("--all", options->all, "List RDMA connections that carry no RPC-over-RDMA, too");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "Connections are listed in the order in which they appear; \"client\" is the active (connecting) side, or where "
      "the set-up\n"
      "was not captured, the side whose traffic shows it. Packets are taken out of tunnels and tags (VXLAN, GRE, "
      "ERSPAN,\n"
      "VN-Tag, ...); how many frames were in which, and what could not be looked into, is said at the end.\n"
      "\nExamples:\n"
      "  stag connections mount.pcapng\n"
      "  stag connections --format table --sort calls --limit 20 mount.pcapng\n"
      "  stag connections --format jsonl mount.pcapng | jq .credits\n"
      "  zcat huge.pcap.gz | stag connections --all -");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunConnections); }; });
}

}  // namespace stag::cli
