// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag credits: per connection and direction what was requested, granted and outstanding over time. As text figures and
// a table of what changed; as JSON lines every change; and as a picture. All of it from session::CreditHistory.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>

#include "analysis/connection_filter.h"
#include "analysis/credit_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/picture.h"
#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "cli/credits/credit_plotter.h"
#include "cli/credits/credit_table.h"
#include "session/fabric/names.h"
#include "session/rpcrdma/credit_history.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::Side;
using session::Connection;
using session::CreditChange;
using session::CreditSummary;
using session::MinMaxLast;

struct CreditsArguments : CommonOptions {
  size_t rows = 40;  // 0: all
  std::string svg;
};

// The list is of connections and directions, as text and table, or of changes.
bool OfConnections(const CommonOptions& options) { return ForPeople(options.format); }
const results::RecordInfo& kOfConnections = results::InfoOf<analysis::CreditSummaryRow>();
const results::RecordInfo& kOfChanges = results::InfoOf<analysis::CreditRow>();

// Writes the credits of connections: as jsonl, json and csv each change as it comes; as text and table a connection
// when it has closed.
class CreditLister final : public session::CreditSink {
 public:
  CreditLister(Output& output, RowOutput& rows, const CreditsArguments& options)
      : output_(output),
        options_(options),
        format_(rows),
        rows_(rows, RowMemory(options.memory).text, rows.as_text() ? "\n" : ""),
        budget_(RowMemory(options.memory).rows + (Waits(options.filter) ? 0 : RowMemory(options.memory).transport)) {}

  // Whether changes wait to be chosen (CreditShard), in the memory of tables.
  static bool Waits(const analysis::Filter& filter) {
    return OfKinds(filter) || !filter.clients.empty() || !filter.servers.empty();
  }
  static bool OfKinds(const analysis::Filter& filter) {
    return !filter.procedures.empty() || !filter.statuses.empty() || filter.slower_than_ns;
  }

  // Something of a connection was seen; it ended, behind its summaries. `origin_ns`: of the first frame.
  void Begin(fabric::ConnectionId id, int64_t origin_ns) {
    origin_ns_ = origin_ns;
    if (!of_changes_) rows_.Begin(id);
  }
  void End(fabric::ConnectionId id) {
    if (of_changes_) return;
    if (text_.empty()) {
      rows_.Drop(id);
    } else {
      rows_.Put(id, text_, key_);
    }
    text_.clear();
  }
  void LeaveOut(uint64_t changes) { left_out_ += changes; }

  void OnChange(const CreditChange& change) override {
    if (of_changes_) return format_.Put(analysis::CreditRow(change, origin_ns_));
    if (!format_.as_text()) return;
    const Key key{change.connection, change.requester};
    auto table = tables_.find(key);
    if (table == tables_.end()) {
      Charge charge(budget_);
      if (!charge.TrySet(sizeof(Table) + kNode)) return;
      table = tables_.try_emplace(key, std::move(charge), options_.rows, budget_).first;
    }
    table->second.table.Add(change);
  }

  // Both directions come just before End.
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    const analysis::CreditSummaryRow row(c, requester, summary, origin_ns_);
    count_ += c.info.id != last_;
    last_ = c.info.id;
    if (of_changes_) return format_.PutOther(row);
    if (text_.empty()) {
      key_ = format_.KeyOf(&row);
      if (format_.as_text()) PutConnectionHead(text_, c, output_.style());
    }
    if (format_.as_text()) return PutSummary(c, requester, summary);
    format_.Format(text_, row);
    if (!format_.sorts()) return;
    rows_.Put(c.info.id, text_, format_.KeyOf(&row));  // each finds its own place
    text_.clear();
  }

  void Finish() { rows_.Finish(); }
  uint64_t count() const { return count_; }
  // Tells the user what memory was too little for.
  void Complain(const std::string& file) const {
    output_.diagnostics().OverMemory(file, without_table_, "table", " left out");
    output_.diagnostics().OverMemory(file, left_out_, "change", " left out");
    rows_.Complain(file, output_.diagnostics());
  }

 private:
  using Key = std::pair<fabric::ConnectionId, Side>;
  struct Table {
    Table(Charge&& held, size_t rows, Budget& budget) : charge(std::move(held)), table(rows, budget) {}
    Charge charge;
    CreditTable table;
  };
  static constexpr uint64_t kNode = 64;  // of the map

  void PutSummary(const Connection& c, Side requester, const CreditSummary& s) {
    const Style& style = output_.style();
    Label(DirectionName(c.client, requester));
    PutCount(text_, s.calls, "call");
    Put(text_, ", {} repl{}", s.replies, s.replies == 1 ? "y" : "ies");
    if (s.errors > 0) Put(text_, ", {} RDMA_ERROR", s.errors);
    Put(text_, "\n");
    if (s.calls + s.replies + s.errors > 0) PutFigures(s, style);
    PutTrouble(c, s, style);
    const auto table = tables_.find({c.info.id, requester});
    if (table == tables_.end()) {
      without_table_ += s.calls + s.replies + s.errors > 0 ? 1 : 0;
      return;
    }
    table->second.table.Put(text_, origin_ns_, style, !style.reset.empty());
    tables_.erase(table);
  }

  void PutFigures(const CreditSummary& s, const Style& style) {
    PutRange("requested", s.requested);
    PutRange("granted", s.granted);
    Label("outstanding");
    if (s.any_known) {
      Put(text_, "at most {}{}", s.max_outstanding, s.any_unknown ? " while known" : "");
      if (s.max_outstanding > 0) {
        Put(text_, " (frame {}, ", s.max_frame.number);
        PutDuration(text_, s.max_frame.time_ns - origin_ns_);
        Put(text_, ")");
      }
    } else {
      Put(text_, "{}not known{}", style.yellow, style.reset);
    }
    Put(text_, "\n");
  }

  void PutTrouble(const Connection& c, const CreditSummary& s, const Style& style) {
    if (s.overruns > 0) {
      Label("over grant");
      Put(text_, "{}{}, first in frame {}{}\n", style.red, Count(s.overruns, "time"), s.first_overrun.number,
          style.reset);
    }
    if (s.zero_grants > 0) {
      Label("zero grants");
      Put(text_, "{}{}, first in frame {}{}\n", style.yellow, s.zero_grants, s.first_zero_grant.number, style.reset);
    }
    if (s.rnr_naks > 0) {
      Label("RNR NAKs");
      Put(text_, "{}{}{}", style.red, s.rnr_naks, style.reset);
      if (s.rnr_naks_explained > 0) Put(text_, ", {} explained by an overrun", s.rnr_naks_explained);
      Put(text_, "\n");
    }
    if (s.loss.lost) {
      Label("lost");
      Put(text_, "{}{}{} in frame {}{}", style.red, s.loss.terminated ? "Terminate, " : "",
          fabric::CloseName(c.close_reason), s.loss.frame.number, style.reset);
      if (s.loss.explained_by != 0) Put(text_, ", explained by the overrun in frame {}", s.loss.explained_by);
      Put(text_, "\n");
    }
  }

  void PutRange(std::string_view label, const MinMaxLast& range) {
    Label(label);
    if (!range.any) {
      Put(text_, "nothing\n");
    } else if (range.min == range.max) {
      Put(text_, "{}\n", range.last);
    } else {
      Put(text_, "{} to {}, last {}\n", range.min, range.max, range.last);
    }
  }

  void Label(std::string_view label) {
    const Style& style = output_.style();
    Put(text_, "    {}{:<13}{}", style.dim, label, style.reset);
  }

  Output& output_;
  const CreditsArguments& options_;
  RowOutput& format_;
  ConnectionRows rows_;
  const bool of_changes_ = !OfConnections(options_);
  int64_t origin_ns_ = 0;
  std::string text_;  // of the connection that is closing
  results::SortKey key_{results::Value::Null()};
  Budget budget_;  // of tables
  std::map<Key, Table> tables_;
  fabric::ConnectionId last_ = 0;  // of OnSummary
  uint64_t count_ = 0, without_table_ = 0, left_out_ = 0;
};

// Chooses the changes that are asked for. Those that are not decided when they come, by the RPCs of their connection or
// by a client that is not known yet, wait until they are, at the end of the connection at the latest.
class CreditShard final : public CallingShard, private session::Observer, private session::CreditSink {
 public:
  // `sink` passes on to `lister`.
  CreditShard(const CreditsArguments& options, session::CreditSink& sink, CreditLister& lister)
      : filter_(options.filter),
        history_(*this, filter_.OneConnection()),
        rpcs_(filter_, clock().first_time_ns),
        budget_(RowMemory(options.memory).transport / options.jobs),
        sink_(sink),
        lister_(lister) {}
  std::vector<session::Observer*> Observers() override { return rpcs_.Behind({&history_, this}); }

 private:
  // A connection whose changes are chosen.
  struct Choice {
    Choice(const Connection& of, Budget& budget) : connection(of), charge(budget) {}
    const Connection& connection;
    std::array<bool, 2> any{};  // changes are shown, by requester
    Charge charge;              // of those that wait
    std::vector<CreditChange> waiting = {};
    uint64_t left_out = 0;
  };

  void OnConnection(const Connection& c, const fabric::Event&) override {
    if (!filter_.empty()) choices_.try_emplace(c.info.id, c, budget_);
    Tell([this](fabric::ConnectionId id, int64_t origin_ns) { lister_.Begin(id, origin_ns); }, c.info.id,
         clock().first_time_ns);
  }
  void OnChange(const CreditChange& change) override {
    if (filter_.empty()) return Pass(change);
    const auto found = choices_.find(change.connection);
    if (found == choices_.end() || !filter_.InRanges(change.frame, change.frame, clock().first_time_ns)) return;
    if (!filter_.xids.empty() && (!change.xid || !filter_.HasXid(*change.xid))) return;
    Choice& choice = found->second;
    const Connection& c = choice.connection;
    if (CreditLister::OfKinds(filter_) || (CreditLister::Waits(filter_) && !c.client_known))
      return Wait(choice, change);
    Decide(choice, filter_.HasConnection(c));
    if (!filter_.HasConnection(c)) return;
    choice.any[change.requester] = true;
    Pass(change);
  }
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    if (!filter_.empty()) {
      const auto found = choices_.find(c.info.id);
      if (found == choices_.end()) return;
      Decide(found->second, CreditLister::OfKinds(filter_) ? rpcs_.Takes(c) : filter_.HasConnection(c));
      if (!found->second.any[requester]) return;
    }
    Tell([this](const Connection& of, Side by, const CreditSummary& told) { sink_.OnSummary(of, by, told); }, c,
         requester, summary);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    choices_.erase(c.info.id);
    Tell([this](fabric::ConnectionId id) { lister_.End(id); }, c.info.id);
  }

  void Pass(const CreditChange& change) {
    Tell([this](const CreditChange& told) { sink_.OnChange(told); }, change);
  }
  void Wait(Choice& choice, const CreditChange& change) {
    std::vector<CreditChange>& waiting = choice.waiting;
    if (waiting.size() == waiting.capacity()) {
      const size_t more = std::max<size_t>(4, waiting.size());
      if (choice.left_out > 0 || !choice.charge.TryAdd(more * sizeof change)) {
        ++choice.left_out;
        return;
      }
      waiting.reserve(waiting.size() + more);
    }
    waiting.push_back(change);
    choice.any[change.requester] = true;
  }
  // Those that wait.
  void Decide(Choice& choice, bool wanted) {
    if (wanted) {
      for (const CreditChange& change : choice.waiting) Pass(change);
      if (choice.left_out > 0) Tell([this](uint64_t changes) { lister_.LeaveOut(changes); }, choice.left_out);
    } else {
      choice.any = {};
    }
    std::vector<CreditChange>().swap(choice.waiting);
    choice.charge.Set(0);
    choice.left_out = 0;
  }

  const analysis::Filter& filter_;
  session::CreditHistory history_;
  analysis::ConnectionFilter rpcs_;
  Budget budget_;
  std::unordered_map<fabric::ConnectionId, Choice> choices_;
  session::CreditSink& sink_;
  CreditLister& lister_;
};

int RunCredits(const CreditsArguments& options, scale::Team* team) {
  const bool several = options.files.size() > 1 || team != nullptr;
  if (!AllFine(team, options.svg.empty() || !several ? "" : "--svg draws one capture, without --mpi"))
    return kExitTrouble;
  const results::RecordInfo& info = OfConnections(options) ? kOfConnections : kOfChanges;
  Output output_of_all = OutputOf(options, team);
  SetDocument(output_of_all, options, info);
  bool drawn = true;
  const auto show = [&](const std::string& file, Output& output, ResultStream*) {
    RowOutput rows(output, options, info, DisplayName(file));
    CreditLister lister(output, rows, options);
    CreditPlotter plotter(lister, RowMemory(options.memory).pictures);
    session::CreditSink& sink = options.svg.empty() ? static_cast<session::CreditSink&>(lister) : plotter;
    std::vector<std::unique_ptr<CreditShard>> shards;
    while (shards.size() < options.jobs) shards.push_back(std::make_unique<CreditShard>(options, sink, lister));
    FileOutcome outcome = Analyze(file, options, false, output, shards);
    lister.Finish();
    output.Flush();
    if (!outcome.opened) return outcome;
    if (!options.svg.empty()) drawn = WritePicture(options.svg, plotter, file, outcome, options.quiet, output);
    if (options.quiet || output.closed()) return outcome;
    if (lister.count() == 0) {
      output.diagnostics().Complain("{}: no {} in {}", DisplayName(file),
                                    options.filter.empty() ? "RPC-over-RDMA connection" : "such connection",
                                    Count(outcome.frames, "frame"));
    }
    lister.Complain(DisplayName(file));
    return outcome;
  };
  const int status = ForEachFile(team, options, output_of_all, show);
  return drawn ? status : kExitTrouble;
}

}  // namespace

void AddCredits(CLI::App& app, Run& run) {
  auto options = std::make_shared<CreditsArguments>();
  CLI::App* command = app.add_subcommand(
      "credits", "Credits over time: requested, granted, outstanding; overruns and what they explain");
  AddCaptureOptions(*command, *options, Formats::kRows);
  AddFilters(*command, *options, "credits of connections with RPCs", "changes");
  command->get_option("--xid")->description("Only changes by messages with these xids");
  AddListOptions(*command, *options, [o = options.get()]() -> const results::RecordInfo& {
    return ForPeople(o->format) ? kOfConnections : kOfChanges;
  });
  AddNumber(*command, "--rows", options->rows, true, " is not a number of rows, nor all",
            "Rows of the table for each direction (default: 40), or all");
  Writes(command->add_option("--svg", options->svg,
                             "Also draw it: an SVG file with a panel for each connection and direction"))
      ->type_name("FILE");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the results, the same as without");
  command->footer(
      "The table has a row where a request or grant changes, more Calls than before are outstanding, a Call is over "
      "the\n"
      "grant, and for RNR NAKs, gaps and the end. ? is not known: the capture joined later or lost packets.\n"
      "--frames, --time and --xid choose changes; the figures are of the whole connection.\n"
      "\nExamples:\n"
      "  stag credits mount.pcapng\n"
      "  stag credits --connection 2 --svg credits.svg mount.pcapng\n"
      "  stag credits --format table --sort overruns --limit 10 mount.pcapng\n"
      "  stag credits --format jsonl mount.pcapng | jq 'select(.type==\"credit_summary\" and .overruns>0)'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunCredits); }; });
}

}  // namespace stag::cli
