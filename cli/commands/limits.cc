// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag limits: per connection, what its time is spent on, and what to do about it.
#include <map>
#include <memory>
#include <vector>

#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/summary/limit_words.h"
#include "session/limits/connection_limits.h"
#include "session/transport/transport_statistics.h"
#include "text/json.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::ConnectionLimits;
using session::Limit;

// A connection that has closed. The signatures of one look at all connections of its file.
struct Ended {
  Connection connection;
  ConnectionLimits limits;
};

using AllEnded = std::map<fabric::ConnectionId, Ended>;

class LimitsShard final : public CallingShard, private session::LimitsSink {
 public:
  explicit LimitsShard(AllEnded& ended) : ended_(ended) {}
  std::vector<session::Observer*> Observers() override { return {&observer_}; }

 private:
  void OnLimits(const Connection& connection, const ConnectionLimits& limits) override {
    Tell([this](const Ended& one) { ended_.insert_or_assign(one.connection.info.id, one); }, Ended{connection, limits});
  }

  session::LimitsObserver observer_{*this};
  AllEnded& ended_;
};

int64_t Of(const ConnectionLimits& limits, Limit limit) { return limits.ns[static_cast<size_t>(limit)]; }

void PutText(std::string& out, const Ended& one, const std::vector<std::string>& signatures, const Style& style) {
  const ConnectionLimits& limits = one.limits;
  PutConnectionHead(out, one.connection, style);
  const auto label = [&](std::string_view text) { Put(out, "    {}{:<16}{}", style.dim, text, style.reset); };
  label("span");
  PutDuration(out, limits.span_ns);
  Put(out, ", {}, {} answered{}\n", Count(limits.calls, "Call"), limits.replies,
      limits.unanswered ? "; to the last frame, for a Call stays unanswered" : "");
  for (size_t i = 0; i < session::kLimits; ++i) {
    if (limits.ns[i] == 0) continue;
    label(LimitWord(static_cast<Limit>(i)));
    Put(out, "{:5.1f} %  ", limits.percent(static_cast<Limit>(i)));
    PutDuration(out, limits.ns[i]);
    Put(out, "\n");
  }
  if (const auto verdict = limits.verdict()) {
    label("verdict");
    Put(out, "{}{}{}: {}\n", style.bold, LimitWord(*verdict), style.reset, LimitAdvice(*verdict));
  }
  for (const std::string& seen : signatures) {
    label("seen");
    Put(out, "{}{}{}\n", style.yellow, seen, style.reset);
  }
}

void PutJson(std::string& out, const Ended& one, const std::optional<std::string>& file) {
  const ConnectionLimits& limits = one.limits;
  JsonWriter json(out);
  json.BeginObject().Member("type", "limits");
  if (file) json.Member("file", *file);
  json.Member("connection", one.connection.info.id).Key("span_us").Thousandths(limits.span_ns);
  json.Key("idle_us").Thousandths(Of(limits, Limit::kIdle));
  json.Key("credit_limited_us").Thousandths(Of(limits, Limit::kCreditLimited));
  json.Key("recovery_us").Thousandths(Of(limits, Limit::kRecovery));
  json.Key("moving_data_us").Thousandths(Of(limits, Limit::kMovingData));
  json.Key("server_us").Thousandths(Of(limits, Limit::kServer));
  const auto verdict = limits.verdict();
  json.Member("verdict", verdict ? session::kLimitNames[static_cast<size_t>(*verdict)] : std::string_view("no_calls"));
  json.EndObject().EndLine();
}

FileOutcome ReportFile(const std::string& file, const CommonOptions& options, Output& output) {
  AllEnded ended;
  std::vector<std::unique_ptr<LimitsShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<LimitsShard>(ended));
  transport::TransportStatistics statistics(options.memory / 8);
  FileOutcome outcome =
      Analyze(file, options, false, output, shards, options.format == Format::kText ? &statistics : nullptr);
  const auto name = options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt;
  std::vector<LimitedConnection> all;
  for (const auto& [id, one] : ended) all.push_back({&one.connection, &one.limits});
  const LimitSignatures signatures(std::move(all));
  size_t index = 0;
  for (const auto& [id, one] : ended) {
    if (options.format == Format::kJsonl) {
      PutJson(output.buffer(), one, name);
    } else {
      if (index > 0) output.buffer().push_back('\n');
      PutText(output.buffer(), one, signatures.Of(index, statistics.Find(id).get()), output.style());
    }
    ++index;
    output.Commit();
  }
  output.Flush();
  if (!options.quiet && outcome.opened && !output.closed() && ended.empty())
    output.diagnostics().Complain("{}: no RPC-over-RDMA in {}", DisplayName(file), Count(outcome.frames, "frame"));
  return outcome;
}

int RunLimits(const CommonOptions& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return ReportFile(file, options, of_file);
  });
}

}  // namespace

void AddLimits(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "limits",
      "What each connection's time is spent on: idle, credits, recovery, data, the server; what to do about it");
  AddCaptureOptions(*command, *options);
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "From the first Call of a connection to its last Reply (to its last frame, where a Call stays unanswered), at "
      "each\n"
      "moment the first of these that holds: recovery, from an RNR NAK or sequence NAK to the packet that mends it; "
      "idle,\n"
      "without a Call outstanding; credits used up, with as many as min(granted, requested); moving data, during an "
      "RPC's\n"
      "RDMA Reads or its RDMA Writes; the server. The verdict is the largest part; but recovery, where that is a tenth "
      "of\n"
      "the time that is not idle, or more. Calls of the server are left out.\n"
      "\nExamples:\n"
      "  stag limits mount.pcapng\n"
      "  stag limits --format jsonl mount.pcapng | jq '{connection, verdict}'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunLimits); }; });
}

}  // namespace stag::cli
