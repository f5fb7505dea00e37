// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag limits: per connection, what its time is spent on, and what to do about it.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/connection_filter.h"
#include "analysis/limit_words.h"
#include "analysis/limits_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "session/limits/connection_limits.h"
#include "session/transport/transport_statistics.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using session::Connection;
using session::ConnectionLimits;
using session::Limit;

void PutSignatures(std::string& out, const std::vector<std::string>& signatures, const Style& style) {
  for (const std::string& seen : signatures)
    Put(out, "    {}{:<16}{}{}{}{}\n", style.dim, "seen", style.reset, style.yellow, seen, style.reset);
}

// Without what several connections show together.
void PutLimits(std::string& out, const Connection& connection, const ConnectionLimits& limits,
               const transport::Health* health, const Style& style) {
  PutConnectionHead(out, connection, style);
  const auto label = [&](std::string_view text) { Put(out, "    {}{:<16}{}", style.dim, text, style.reset); };
  label("span");
  PutDuration(out, limits.span_ns);
  Put(out, ", {}, {} answered{}\n", Count(limits.calls, "Call"), limits.replies,
      limits.unanswered ? "; to the last frame, for a Call stays unanswered" : "");
  for (size_t i = 0; i < session::kLimits; ++i) {
    if (limits.ns[i] == 0) continue;
    label(analysis::LimitWord(static_cast<Limit>(i)));
    Put(out, "{:5.1f} %  ", limits.percent(static_cast<Limit>(i)));
    PutDuration(out, limits.ns[i]);
    Put(out, "\n");
  }
  label("verdict");
  const Limit verdict = limits.verdict();
  Put(out, "{}{}{}: {}\n", style.bold, analysis::LimitWord(verdict), style.reset, analysis::LimitAdvice(limits));
  PutSignatures(out, analysis::LimitSignatures(connection, limits, health), style);
}

// A connection that has closed, if it is listed.
struct ClosedLimits {
  Connection connection;
  ConnectionLimits limits;
  int64_t origin_ns = 0;  // time of the first frame of the capture
};
using Ended = std::optional<ClosedLimits>;

// Rows of connections that have ended. As text, what connections show together is known when all have ended: so many
// rows wait for that as there is room for. Else half of them are told what those that wait show.
class LimitsLister {
 public:
  LimitsLister(Output& output, RowOutput& rows, const CommonOptions& options,
               transport::TransportStatistics& statistics)
      : output_(output),
        format_(rows),
        rows_(rows, RowMemory(options.memory).text, rows.as_text() ? "\n" : ""),
        statistics_(statistics),
        late_(RowMemory(options.memory).late),
        room_(RowMemory(options.memory).text.bytes) {}

  void Begin(fabric::ConnectionId id) { rows_.Begin(id); }
  void End(fabric::ConnectionId id, const Ended& ended) {
    if (format_.as_text()) {
      LateRow row{id, nullptr};
      if (ended) row.ended = std::make_unique<Ended>(ended);
      return late_.Add(std::move(row), [this](const LateRow& finished) { Wait(finished); });
    }
    if (!ended) return rows_.Drop(id);
    ++count_;
    const analysis::LimitsRow row(ended->connection, ended->limits, ended->origin_ns);
    row_.clear();
    format_.Format(row_, row);
    rows_.Put(id, row_, format_.KeyOf(&row));
  }
  void Finish() {
    late_.Finish([this](const LateRow& row) { Wait(row); });
    FinishRows(waiting_.size());
    rows_.Finish();
  }
  uint64_t count() const { return count_; }
  // Tells the user what memory was too little for. `file`: its name.
  void Complain(const std::string& file) const {
    output_.diagnostics().OverMemory(file, uncounted_, "connection", " are not counted", "packets of ");
    output_.diagnostics().OverMemory(file, apart_, "connection", " compared with others in part");
    rows_.Complain(file, output_.diagnostics());
  }

 private:
  struct LateRow {
    fabric::ConnectionId id = 0;
    std::unique_ptr<Ended> ended;
  };
  struct WaitingRow {
    fabric::ConnectionId id = 0;
    std::string text;
    analysis::PairedConnection paired;
    results::SortKey key;
  };

  void Wait(const LateRow& late) {
    const auto health = statistics_.Take(late.id);
    if (!late.ended) return rows_.Drop(late.id);
    const ClosedLimits& closed = **late.ended;
    ++count_;
    uncounted_ += health ? 0 : 1;
    std::string text;
    PutLimits(text, closed.connection, closed.limits, health.get(), output_.style());
    const analysis::LimitsRow row(closed.connection, closed.limits, closed.origin_ns);
    waiting_.push_back(
        {late.id, text, analysis::PairedConnection(closed.connection, closed.limits), format_.KeyOf(&row)});
    used_ += CostOf(waiting_.back());
    if (used_ <= room_) return;
    apart_ = count_;
    FinishRows((waiting_.size() + 1) / 2);
  }
  static uint64_t CostOf(const WaitingRow& row) { return sizeof(row) + row.text.capacity() + kCounting; }

  // The first `count` of those that wait, in order of their numbers.
  void FinishRows(size_t count) {
    std::ranges::sort(waiting_, {}, &WaitingRow::id);
    std::vector<analysis::PairedConnection> paired;
    paired.reserve(waiting_.size());
    for (const WaitingRow& row : waiting_) paired.push_back(row.paired);
    const std::vector<analysis::PairCounts> counts = analysis::CountPairs(paired);
    for (size_t i = 0; i < count; ++i) {
      used_ -= CostOf(waiting_[i]);
      PutSignatures(waiting_[i].text, analysis::PairSignatures(paired[i], counts[i]), output_.style());
      rows_.Put(waiting_[i].id, waiting_[i].text, waiting_[i].key);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  static constexpr uint64_t kCounting = 256;  // bytes, that CountPairs needs for a connection, and the allocator
  Output& output_;
  RowOutput& format_;
  ConnectionRows rows_;
  transport::TransportStatistics& statistics_;
  LateRows<LateRow> late_;
  std::deque<WaitingRow> waiting_;
  const uint64_t room_;  // bytes
  std::string row_;
  uint64_t used_ = 0, count_ = 0;
  uint64_t uncounted_ = 0, apart_ = 0;
};

class LimitsShard final : public CallingShard, private session::Observer, private session::LimitsSink {
 public:
  LimitsShard(LimitsLister& lister, const analysis::Filter& filter)
      : filter_(filter, clock().first_time_ns), lister_(lister) {}
  std::vector<session::Observer*> Observers() override { return filter_.Behind({&limits_, this}); }

 private:
  void OnLimits(const Connection& connection, const ConnectionLimits& limits) override {
    if (filter_.Takes(connection)) ended_ = {connection, limits, clock().first_time_ns};
  }
  void OnConnection(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id) { lister_.Begin(id); }, c.info.id);
  }
  // Behind OnLimits.
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id, const Ended& ended) { lister_.End(id, ended); }, c.info.id, ended_);
    ended_.reset();
  }

  session::LimitsObserver limits_{*this};
  analysis::ConnectionFilter filter_;
  LimitsLister& lister_;
  Ended ended_;
};

FileOutcome ReportFile(const std::string& file, const CommonOptions& options, Output& output) {
  const RowMemory memory(options.memory);
  transport::TransportStatistics statistics({.memory = memory.transport, .late = memory.late});
  RowOutput rows(output, options, results::InfoOf<analysis::LimitsRow>(), DisplayName(file));
  LimitsLister lister(output, rows, options, statistics);
  std::vector<std::unique_ptr<LimitsShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<LimitsShard>(lister, options.filter));
  FileOutcome outcome = Analyze(file, options, false, output, shards, rows.as_text() ? &statistics : nullptr);
  lister.Finish();
  output.Flush();
  if (options.quiet || !outcome.opened || output.closed()) return outcome;
  if (lister.count() == 0) {
    output.diagnostics().Complain("{}: no {} in {}", DisplayName(file),
                                  options.filter.empty() ? "RPC-over-RDMA" : "such connection",
                                  Count(outcome.frames, "frame"));
  }
  lister.Complain(DisplayName(file));
  return outcome;
}

int RunLimits(const CommonOptions& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  SetDocument(output, options, results::InfoOf<analysis::LimitsRow>());
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
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "connections with RPCs", "connections");
  AddListOptions(*command, *options, results::InfoOf<analysis::LimitsRow>());
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "From the first Call of a connection to its last Reply (to its last frame, where a Call stays unanswered), at "
      "each\n"
      "moment the first of these that holds: recovery, from an RNR NAK or sequence NAK to the packet that mends it;\n"
      "unknown, where no Call is known to be outstanding and one may be whose answer was not captured; idle, without a "
      "Call\n"
      "outstanding; credits used up, with as many as min(granted, requested); moving data, during an RPC's RDMA Reads "
      "or\n"
      "its RDMA Writes; the server. The verdict is the largest part; but recovery, where that is a tenth of the time "
      "that\n"
      "is not idle, or more. Of a capture that has one direction alone, or a sample, all is unknown. Calls of the "
      "server\n"
      "are left out.\n"
      "\nExamples:\n"
      "  stag limits mount.pcapng\n"
      "  stag limits --format table --sort credit_limited_us --limit 10 mount.pcapng\n"
      "  stag limits --format jsonl mount.pcapng | jq '{connection, verdict}'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunLimits); }; });
}

}  // namespace stag::cli
