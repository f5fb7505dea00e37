// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag credits: per connection and direction what was requested, granted and outstanding over time. As text figures and
// a table of what changed; as JSON lines every change; and as a picture. All of it from session::CreditHistory.
#include <map>
#include <memory>
#include <optional>

#include "analysis/connection_row.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/connection_rows.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/picture.h"
#include "cli/base/options.h"
#include "cli/credits/credit_plotter.h"
#include "cli/credits/credit_table.h"
#include "session/fabric/names.h"
#include "session/rpcrdma/credit_history.h"
#include "text/json.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::Side;
using session::Connection;
using session::CreditChange;
using session::CreditSummary;
using session::MinMaxLast;

struct CreditsArguments : CommonOptions {
  fabric::ConnectionId connection = 0;  // 0: all
  size_t rows = 40;                     // 0: all
  std::string svg;
};

// Writes the changes of connections, and counts connections.
class Writer : public session::CreditSink {
 public:
  Writer(Output& output, const CreditsArguments& options) : output_(output), options_(options) {}
  // Something of a connection was seen; it ended, behind its summaries. `origin_ns`: of the first frame.
  virtual void Begin(fabric::ConnectionId, int64_t /*origin_ns*/) {}
  virtual void End(fabric::ConnectionId) {}
  virtual void Finish() {}
  // Tells the user what memory was too little for.
  virtual void Complain(const std::string& /*file*/) const {}
  uint64_t count() const { return count_; }

  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    count_ += requester == c.client;
    PutSummary(c, requester, summary);
  }

 protected:
  virtual void PutSummary(const Connection& c, Side requester, const CreditSummary& summary) = 0;

  Output& output_;
  const CreditsArguments& options_;

 private:
  uint64_t count_ = 0;
};

class CreditShard final : public CallingShard, private session::Observer, private session::CreditSink {
 public:
  // `sink` passes on to `writer`.
  CreditShard(fabric::ConnectionId only, session::CreditSink& sink, Writer& writer)
      : history_(*this, only), sink_(sink), writer_(writer) {}
  std::vector<session::Observer*> Observers() override { return {&history_, this}; }

 private:
  void OnChange(const CreditChange& change) override {
    Tell([this](const CreditChange& told) { sink_.OnChange(told); }, change);
  }
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    Tell([this](const Connection& of, Side by, const CreditSummary& told) { sink_.OnSummary(of, by, told); }, c,
         requester, summary);
  }
  void OnConnection(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id, int64_t origin_ns) { writer_.Begin(id, origin_ns); }, c.info.id,
         clock().first_time_ns);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    Tell([this](fabric::ConnectionId id) { writer_.End(id); }, c.info.id);
  }

  session::CreditHistory history_;
  session::CreditSink& sink_;
  Writer& writer_;
};

// ---------------------------------------------------------------------------------------------------------------- JSON

class JsonLines final : public Writer {
 public:
  JsonLines(Output& output, const CreditsArguments& options, std::optional<std::string> file)
      : Writer(output, options), file_(std::move(file)), json_(output.buffer()) {}

  void OnChange(const CreditChange& change) override {
    const bool by_nobody = change.event == CreditChange::Event::kClosed || change.event == CreditChange::Event::kJoined;
    PutHead("credits", change.connection, change.client, change.requester);
    json_.Member("frame", change.frame.number).Key("time").Time(change.frame.time_ns);
    json_.Member("event", EventName(change.event));
    json_.TextOrNull("by", by_nobody ? "" : change.from == change.client ? "client" : "server");
    json_.Key("xid").Xid(change.xid).Member("requested", change.requested).Member("granted", change.granted);
    json_.Member("outstanding", change.outstanding).Member("known", change.outstanding.has_value());
    json_.Member("overrun", change.overrun);
    PutFrame("explained_by", change.explained_by);
    if (change.event == CreditChange::Event::kClosed)
      json_.Member("closed", fabric::CloseName(change.close_reason)).Member("lost", change.lost);
    EndLine();
  }

 private:
  void PutSummary(const Connection& c, Side requester, const CreditSummary& s) override {
    PutHead("credit_summary", c.info.id, c.client, requester);
    json_.Member("calls", s.calls).Member("replies", s.replies).Member("errors", s.errors);
    PutRange("requested", s.requested);
    PutRange("granted", s.granted);
    json_.Member("known", s.any_known && !s.any_unknown);
    json_.Member("max_outstanding", s.any_known ? std::optional(s.max_outstanding) : std::nullopt);
    PutFrame("max_frame", s.max_frame.number);
    PutTimeOf("max_time", s.max_frame);
    json_.Member("overruns", s.overruns);
    PutFrame("first_overrun", s.first_overrun.number);
    json_.Member("zero_grants", s.zero_grants);
    PutFrame("first_zero_grant", s.first_zero_grant.number);
    json_.Member("rnr_naks", s.rnr_naks).Member("rnr_naks_explained", s.rnr_naks_explained).Member("gaps", s.gaps);
    json_.Key("loss");
    if (s.loss.lost) {
      json_.BeginObject().Member("frame", s.loss.frame.number);
      PutTimeOf("time", s.loss.frame);
      json_.Member("closed", fabric::CloseName(c.close_reason)).Member("terminated", s.loss.terminated);
      PutFrame("explained_by", s.loss.explained_by);
      json_.EndObject();
    } else {
      json_.Value(nullptr);
    }
    EndLine();
  }

  void PutHead(std::string_view type, fabric::ConnectionId connection, Side client, Side requester) {
    json_.BeginObject().Member("type", type);
    if (file_) json_.Member("file", *file_);
    json_.Member("connection", connection).Member("direction", DirectionName(client, requester));
  }
  void EndLine() {
    json_.EndObject().EndLine();
    output_.Commit();
  }
  void PutFrame(std::string_view key, uint64_t frame) {
    json_.Member(key, frame != 0 ? std::optional(frame) : std::nullopt);
  }
  void PutTimeOf(std::string_view key, const FrameRef& frame) {
    json_.Key(key);
    frame.number == 0 ? json_.Value(nullptr) : json_.Time(frame.time_ns);
  }
  void PutRange(std::string_view key, const MinMaxLast& range) {
    json_.Key(key);
    if (!range.any) {
      json_.Value(nullptr);
      return;
    }
    json_.BeginObject().Member("min", range.min).Member("max", range.max).Member("last", range.last).EndObject();
  }

  std::optional<std::string> file_;
  JsonWriter json_;
};

// ---------------------------------------------------------------------------------------------------------------- text

class TextWriter final : public Writer {
 public:
  TextWriter(Output& output, const CreditsArguments& options)
      : Writer(output, options),
        format_(output, options, results::InfoOf<analysis::ListedConnection>(), std::nullopt),
        rows_(format_, RowMemory(options.memory).text, "\n"),
        budget_(RowMemory(options.memory).transport + RowMemory(options.memory).rows) {}

  void Begin(fabric::ConnectionId id, int64_t origin_ns) override {
    origin_ns_ = origin_ns;
    rows_.Begin(id);
  }

  void OnChange(const CreditChange& change) override {
    const Key key{change.connection, change.requester};
    auto table = tables_.find(key);
    if (table == tables_.end()) {
      Charge charge(budget_);
      if (!charge.TrySet(sizeof(Table) + kNode)) return;
      table = tables_.try_emplace(key, std::move(charge), options_.rows, budget_).first;
    }
    table->second.table.Add(change);
  }

  void End(fabric::ConnectionId id) override {
    if (text_.size() > 0) {
      rows_.Put(id, text_, results::SortKey(results::Value::Null()));
    } else {
      rows_.Drop(id);
    }
    text_.clear();
  }

  void Finish() override { rows_.Finish(); }
  void Complain(const std::string& file) const override {
    if (without_table_ > 0) {
      output_.diagnostics().Complain("{}: the memory cap was reached: {} left out; --memory raises the cap", file,
                                     Count(without_table_, "table"));
    }
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

  // Both directions come just before End.
  void PutSummary(const Connection& c, Side requester, const CreditSummary& s) override {
    const Style& style = output_.style();
    if (requester == c.client) {
      PutConnectionHead(text_, c, style);
    }
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

  int64_t origin_ns_ = 0;
  RowOutput format_;
  ConnectionRows rows_;
  std::string text_;  // of the connection that is closing
  Budget budget_;     // of tables
  std::map<Key, Table> tables_;
  uint64_t without_table_ = 0;
};

int RunCredits(const CreditsArguments& options, scale::Team* team) {
  const bool several = options.files.size() > 1 || team != nullptr;
  if (!AllFine(team, options.svg.empty() || !several ? "" : "--svg draws one capture, without --mpi"))
    return kExitTrouble;
  Output output_of_all = OutputOf(options, team);
  bool drawn = true;
  const auto show = [&](const std::string& file, Output& output, ResultStream*) {
    std::unique_ptr<Writer> writer;
    if (options.format == Format::kJsonl) {
      writer = std::make_unique<JsonLines>(
          output, options, options.files.size() > 1 ? std::optional<std::string>(DisplayName(file)) : std::nullopt);
    } else {
      writer = std::make_unique<TextWriter>(output, options);
    }
    CreditPlotter plotter(*writer, RowMemory(options.memory).pictures);
    session::CreditSink& sink = options.svg.empty() ? static_cast<session::CreditSink&>(*writer) : plotter;
    std::vector<std::unique_ptr<CreditShard>> shards;
    while (shards.size() < options.jobs)
      shards.push_back(std::make_unique<CreditShard>(options.connection, sink, *writer));
    FileOutcome outcome = Analyze(file, options, false, output, shards);
    writer->Finish();
    output.Flush();
    if (!outcome.opened) return outcome;
    if (!options.svg.empty()) drawn = WritePicture(options.svg, plotter, file, outcome, options.quiet, output);
    if (options.quiet || output.closed()) return outcome;
    const std::string what = options.connection == 0 ? "RPC-over-RDMA connection"
                                                     : fmt::format("RPC-over-RDMA connection {}", options.connection);
    if (writer->count() == 0)
      output.diagnostics().Complain("{}: no {} in {}", DisplayName(file), what, Count(outcome.frames, "frame"));
    writer->Complain(DisplayName(file));
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
  AddCaptureOptions(*command, *options);
  AddConnectionNumber(*command, options->connection);
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
      "\nExamples:\n"
      "  stag credits mount.pcapng\n"
      "  stag credits --connection 2 --svg credits.svg mount.pcapng\n"
      "  stag credits --format jsonl mount.pcapng | jq 'select(.type==\"credit_summary\" and .overruns>0)'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunCredits); }; });
}

}  // namespace stag::cli
