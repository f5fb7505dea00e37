// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag summary: a capture on one screen: what is wrong first, in sentences with frames to look at; then connections,
// latency, transport, limits, credits and findings. From one pass, in which everything of check, latency, transport,
// limits and credits is observed.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "cli/analysis/analysis.h"
#include "cli/analysis/connection_head.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/transaction_facts.h"
#include "cli/base/options.h"
#include "cli/latency/latency_sampler.h"
#include "cli/transport/transport_report.h"
#include "conformance/engine/engine.h"
#include "session/fabric/names.h"
#include "session/limits/connection_limits.h"
#include "session/rpcrdma/credit_history.h"
#include "session/transport/transport_statistics.h"
#include "text/json.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using conformance::Finding;
using conformance::Severity;
using fabric::Side;
using session::Connection;
using session::CreditSummary;
using session::Transaction;

constexpr size_t kShown = 12;  // troubles, connections and rules, each
constexpr size_t kProcedures = 6;
constexpr size_t kMostConnections = 65536;

// All findings of a rule by one side.
struct Broken {
  const conformance::RuleInfo* rule = nullptr;
  Severity severity = Severity::kNote;
  bool by_client = false;
  uint64_t count = 0;
  uint64_t first_frame = 0;
  std::string message;  // of the first
};

// What is wrong: a sentence, how bad it is (findings: their severity; others in between), and a frame to look at.
struct Wrong {
  enum class Rank : uint8_t { kError, kTrouble, kWarning, kNote } rank = Rank::kTrouble;
  std::string text;
  uint64_t frame = 0;  // 0: none
};

// Everything that the page tells of, gathered while the capture is read.
class Gatherer final : public session::Observer,
                       public session::CreditSink,
                       public session::LimitsSink,
                       public conformance::FindingSink {
 public:
  struct Ended {
    Connection connection;
    std::optional<CreditSummary> credits;  // of the client's Calls
    std::optional<session::ConnectionLimits> limits;
    uint64_t unanswered = 0;
    uint64_t first_unanswered = 0;  // frame
    std::string first_subject;
  };

  void OnFinding(const Finding& finding) override {
    ++findings_[static_cast<size_t>(finding.severity)];
    Broken& broken = broken_[{finding.rule->id, finding.client_to_server}];
    broken.rule = finding.rule;
    broken.by_client = finding.client_to_server;
    broken.severity = std::max(broken.severity, finding.severity);
    if (broken.count++ == 0) {
      broken.first_frame = finding.frame.number;
      broken.message = MessageText(finding);
    }
  }
  void OnChange(const Connection&, const session::CreditChange&) override {}
  void OnSummary(const Connection& c, Side requester, const CreditSummary& summary) override {
    if (Ended* const ended = Find(c.info.id); ended && requester == c.client) ended->credits = summary;
  }
  void OnLimits(const Connection& c, const session::ConnectionLimits& limits) override {
    if (Ended* const ended = Find(c.info.id)) ended->limits = limits;
  }
  void OnTransaction(const Connection& c, const Transaction& t) override {
    if (t.outcome != session::Outcome::kUnanswered && t.outcome != session::Outcome::kReissued) return;
    Ended* const ended = Find(c.info.id);
    if (!ended || ended->unanswered++ > 0) return;
    ended->first_unanswered = t.call.frame.number;
    PutSubject(ended->first_subject, t);
  }
  void OnConnectionClosed(const Connection& c, const fabric::Event&) override {
    if (Ended* const ended = Find(c.info.id)) ended->connection = c;
  }

  const std::map<fabric::ConnectionId, Ended>& connections() const { return connections_; }
  uint64_t findings(Severity severity) const { return findings_[static_cast<size_t>(severity)]; }
  // The worst first, then the most frequent.
  std::vector<const Broken*> Rules() const {
    std::vector<const Broken*> all;
    for (const auto& [key, broken] : broken_) all.push_back(&broken);
    std::ranges::stable_sort(all, [](const Broken* a, const Broken* b) {
      return a->severity != b->severity ? a->severity > b->severity : a->count > b->count;
    });
    return all;
  }

 private:
  Ended* Find(fabric::ConnectionId id) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) return &found->second;
    return connections_.size() < kMostConnections ? &connections_[id] : nullptr;
  }

  std::map<fabric::ConnectionId, Ended> connections_;
  std::map<std::pair<std::string_view, bool>, Broken> broken_;
  std::array<uint64_t, 3> findings_{};
};

// Shows packets to two observers.
class BothSee final : public fabric::PacketObserver {
 public:
  BothSee(fabric::PacketObserver& a, fabric::PacketObserver& b) : observers_{&a, &b} {}
  void OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) override {
    for (auto* o : observers_) o->OnConnection(track, info, first_end);
  }
  void OnForgotten(Track track) override {
    for (auto* o : observers_) o->OnForgotten(track);
  }
  void OnFirstPsn(Track track, Side requester, uint32_t psn) override {
    for (auto* o : observers_) o->OnFirstPsn(track, requester, psn);
  }
  void OnPathMtu(Track track, uint32_t bytes) override {
    for (auto* o : observers_) o->OnPathMtu(track, bytes);
  }
  void OnPacket(Track track, const fabric::RcPacket& packet) override {
    for (auto* o : observers_) o->OnPacket(track, packet);
  }
  void OnCongestionNotification(Track track, Side from, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnCongestionNotification(track, from, frame);
  }
  void OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnSegment(track, from, packet, frame);
  }
  void OnCrcError(Track track, Side from, const FrameRef& frame) override {
    for (auto* o : observers_) o->OnCrcError(track, from, frame);
  }

 private:
  std::array<fabric::PacketObserver*, 2> observers_;
};

// The round-trip times by procedure.
class Times final : public LatencySampler {
 public:
  Times() : LatencySampler(LatencyKey::kProcedure, std::nullopt) {}
  const LatencyTable& table() const { return table_; }

 private:
  void OnSample(const LatencySample& sample) override { table_.Add(sample); }

  LatencyTable table_{0};
};

bool IsListed(const Connection& c) { return c.proof == session::Proof::kRpcRdma; }

// The page of one file.
class Page {
 public:
  Page(const std::string& name, const FileOutcome& outcome, const Gatherer& gathered, const LatencyTable& times,
       const transport::TransportStatistics& statistics)
      : name_(name), outcome_(outcome), gathered_(gathered), times_(times) {
    for (const auto& [id, ended] : gathered.connections()) {
      if (!IsListed(ended.connection)) continue;
      listed_.push_back(&ended);
      health_.push_back(statistics.Find(id));
      start_ns_ = std::min(start_ns_, ended.connection.first_frame.time_ns);
      end_ns_ = std::max(end_ns_, ended.connection.last_frame.time_ns);
    }
    for (const Broken* broken : gathered.Rules()) AddRule(*broken);
    for (size_t i = 0; i < listed_.size(); ++i) AddConnection(*listed_[i], health_[i].get());
    std::ranges::stable_sort(wrong_, {}, &Wrong::rank);
  }

  void PutText(std::string& out, const Style& style) const {
    Put(out, "{}{}{}: {}, {}, {}", style.bold, name_, style.reset, Count(outcome_.frames, "frame"),
        Count(listed_.size(), "connection"), Count(outcome_.session.transactions, "RPC"));
    if (!listed_.empty()) {
      Put(out, ", ");
      PutDuration(out, Elapsed({1, start_ns_}, {1, end_ns_}).value_or(0));
    }
    Put(out, "\n\n");
    PutWrong(out, style);
    PutConnections(out, style);
    PutLatency(out, style);
    PutTransport(out, style);
    PutLimits(out, style);
    PutCredits(out, style);
    PutFindings(out, style);
  }

  void PutJson(std::string& out, const std::optional<std::string>& file) const {
    JsonWriter json(out);
    json.BeginObject().Member("type", "summary");
    if (file) json.Member("file", *file);
    json.Member("frames", outcome_.frames).Member("connections", listed_.size());
    json.Member("transactions", outcome_.session.transactions).Key("wrong").BeginArray();
    for (const Wrong& wrong : wrong_) {
      json.BeginObject().Member("severity", RankName(wrong.rank)).Member("text", wrong.text);
      json.Member("frame", wrong.frame != 0 ? std::optional(wrong.frame) : std::nullopt).EndObject();
    }
    json.EndArray().Key("findings").BeginObject().Member("error", gathered_.findings(Severity::kError));
    json.Member("warning", gathered_.findings(Severity::kWarning));
    json.Member("note", gathered_.findings(Severity::kNote)).EndObject();
    json.EndObject().EndLine();
  }

 private:
  static std::string_view RankName(Wrong::Rank rank) {
    switch (rank) {
      case Wrong::Rank::kError: return "error";
      case Wrong::Rank::kTrouble: return "trouble";
      case Wrong::Rank::kWarning: return "warning";
      case Wrong::Rank::kNote: return "note";
    }
    return {};
  }

  void AddRule(const Broken& b) {
    Wrong wrong;
    wrong.rank = b.severity == Severity::kError     ? Wrong::Rank::kError
                 : b.severity == Severity::kWarning ? Wrong::Rank::kWarning
                                                    : Wrong::Rank::kNote;
    wrong.frame = b.first_frame;
    wrong.text = fmt::format("{} by the {}: {}", b.rule->id, b.by_client ? "client" : "server", b.message);
    if (b.count > 1) wrong.text += fmt::format(", {} times", b.count);
    wrong.text += '.';
    wrong_.push_back(std::move(wrong));
  }

  void AddConnection(const Gatherer::Ended& ended, const transport::Health* health) {
    const Connection& c = ended.connection;
    const auto add = [&](std::string text, uint64_t frame) {
      wrong_.push_back({Wrong::Rank::kTrouble, fmt::format("Connection {}: {}", c.info.id, text), frame});
    };
    if (c.rejected) add("the server rejected it.", c.close_frame.number);
    if (c.close_reason == fabric::CloseReason::kReset && !c.rejected) add("it was reset.", c.close_frame.number);
    if (ended.unanswered > 0)
      add(fmt::format("{} without an answer, the first {}.", Count(ended.unanswered, "RPC"), ended.first_subject),
          ended.first_unanswered);
    if (const auto& credits = ended.credits) {
      if (credits->overruns > 0)
        add(fmt::format("the client sent {} over the server's grant.", Count(credits->overruns, "Call")),
            credits->first_overrun.number);
      if (credits->zero_grants > 0)
        add(fmt::format("the server granted no credits, {}.", Count(credits->zero_grants, "time")),
            credits->first_zero_grant.number);
      if (credits->granted.any && credits->granted.max == 1 && credits->calls > 1)
        add("the server grants one credit: one Call at a time.", 0);
    }
    if (const auto& limits = ended.limits) {
      const auto verdict = limits->verdict();
      if (verdict == session::Limit::kCreditLimited)
        add(fmt::format("all credits are used {:.0f} % of its time; stag limits says what to do.",
                        limits->percent(session::Limit::kCreditLimited)),
            0);
      if (limits->quarter_pauses > 0)
        add(fmt::format("{} of about 250 ms with all credits used.", Count(limits->quarter_pauses, "pause")), 0);
      if (limits->put_off > 0)
        add(fmt::format("the server put off {} (NFS4ERR_DELAY, NFS4ERR_GRACE, NFS3ERR_JUKEBOX).",
                        Count(limits->put_off, "Call")),
            0);
    }
    if (!health) return;
    for (TransportTrouble& trouble : TransportTroubles(c, *health)) add(std::move(trouble.text), trouble.frame);
  }

  static void Heading(std::string& out, std::string_view text, const Style& style) {
    Put(out, "{}{}{}\n", style.bold, text, style.reset);
  }

  void PutWrong(std::string& out, const Style& style) const {
    Heading(out, "What is wrong", style);
    if (wrong_.empty()) Put(out, "  {}Nothing that the capture shows.{}\n", style.green, style.reset);
    for (size_t i = 0; i < std::min(wrong_.size(), kShown); ++i) {
      const Wrong& wrong = wrong_[i];
      const std::string_view color = wrong.rank == Wrong::Rank::kError     ? style.red
                                     : wrong.rank == Wrong::Rank::kTrouble ? style.yellow
                                                                           : style.cyan;
      Put(out, "  {}{:<8}{}{}", color, RankName(wrong.rank), style.reset, wrong.text);
      if (wrong.frame != 0) Put(out, " {}Frame {}.{}", style.dim, wrong.frame, style.reset);
      Put(out, "\n");
    }
    if (wrong_.size() > kShown) Put(out, "  {}... and {} more{}\n", style.dim, wrong_.size() - kShown, style.reset);
  }

  // A line for each of the first connections; `put` returns false where there is nothing to say.
  template <typename Fn>
  void ForEachConnection(std::string& out, std::string_view heading, const Style& style, Fn put) const {
    if (listed_.empty()) return;
    Put(out, "\n");
    Heading(out, heading, style);
    for (size_t i = 0; i < std::min(listed_.size(), kShown); ++i) {
      Put(out, "  {:<3} ", listed_[i]->connection.info.id);
      put(i);
      Put(out, "\n");
    }
    if (listed_.size() > kShown) Put(out, "  {}... and {} more{}\n", style.dim, listed_.size() - kShown, style.reset);
  }

  void PutConnections(std::string& out, const Style& style) const {
    ForEachConnection(out, "Connections", style, [&](size_t i) {
      const Connection& c = listed_[i]->connection;
      const Side client = c.client, server = transport::Other(client);
      Put(out, "{} {} {} {}: ", fabric::FabricName(c.info.fabric),
          fabric::EndpointText(c.info.endpoint[client], c.info.fabric), c.client_known ? "->" : "<->",
          fabric::EndpointText(c.info.endpoint[server], c.info.fabric));
      PutCount(out, c.calls, "call");
      Put(out, ", {} repl{}, {}", c.replies, c.replies == 1 ? "y" : "ies", fabric::CloseName(c.close_reason));
    });
  }

  // Of the procedures that took the most time.
  void PutLatency(std::string& out, const Style& style) const {
    if (times_.rows().empty()) return;
    Put(out, "\n");
    Heading(out, "Latency", style);
    const std::vector<std::string> keys = times_.Keys();
    for (size_t i = 0; i < std::min(keys.size(), kProcedures); ++i) {
      const TimeHistogram& times = times_.rows().at(keys[i]).times[0];
      Put(out, "  {:<24} {:>7}", keys[i], times.count());
      const auto put = [&](std::string_view name, uint64_t ns, size_t width) {
        std::string text;
        PutDuration(text, static_cast<int64_t>(ns));
        Put(out, "  {} {:<{}}", name, text, width);
      };
      put("p50", times.Percentile(500), 7);
      put("p99", times.Percentile(990), 7);
      put("max", times.max(), 0);
      Put(out, "\n");
    }
    if (keys.size() > kProcedures)
      Put(out, "  {}... and {} more: stag latency{}\n", style.dim, keys.size() - kProcedures, style.reset);
  }

  void PutTransport(std::string& out, const Style& style) const {
    ForEachConnection(out, "Transport", style, [&](size_t i) {
      const Connection& c = listed_[i]->connection;
      if (!health_[i]) return Put(out, "not counted: there are too many connections");
      const transport::Counters &client = health_[i]->sent[c.client],
                                &server = health_[i]->sent[transport::Other(c.client)];
      const bool iwarp = c.info.fabric == fabric::FabricKind::kIwarp;
      const uint64_t all = client.packets + server.packets;
      const uint64_t again =
          client.retransmitted + server.retransmitted + client.repeated_responses + server.repeated_responses;
      PutCount(out, all, iwarp ? "segment" : "packet");
      Put(out, " of ");
      PutSize(out, client.bytes + server.bytes);
      Put(out, ", {} sent again", again);
      if (all > 0 && again > 0) Put(out, " ({:.2g} %)", 100 * static_cast<double>(again) / static_cast<double>(all));
      if (const uint64_t naks = client.naks() + server.naks(); naks > 0) Put(out, ", {}", Count(naks, "NAK"));
      if (const uint64_t lost = client.lost_from_capture + server.lost_from_capture; lost > 0)
        Put(out, ", {} not captured", Count(lost, iwarp ? "byte" : "packet"));
      if (health_[i]->path_mtu != 0) Put(out, ", path MTU {}", health_[i]->path_mtu);
    });
  }

  void PutLimits(std::string& out, const Style& style) const {
    ForEachConnection(out, "Limits", style, [&](size_t i) {
      const auto& limits = listed_[i]->limits;
      const auto verdict = limits ? limits->verdict() : std::nullopt;
      if (!verdict) return Put(out, "no Call was seen");
      const auto name = [](session::Limit limit) {
        std::string text(session::kLimitNames[static_cast<size_t>(limit)]);
        std::ranges::replace(text, '_', ' ');
        return text;
      };
      Put(out, "{}{}{}:", style.bold, name(*verdict), style.reset);
      std::string_view separator = " ";
      for (const session::Limit limit : {session::Limit::kServer, session::Limit::kMovingData, session::Limit::kIdle,
                                         session::Limit::kCreditLimited, session::Limit::kRecovery}) {
        const double share = limits->percent(limit);
        if (share <= 0) continue;
        Put(out, "{}{} {} %", separator, name(limit), share < 1 ? "under 1" : fmt::format("{:.0f}", share));
        separator = ", ";
      }
    });
  }

  void PutCredits(std::string& out, const Style& style) const {
    ForEachConnection(out, "Credits", style, [&](size_t i) {
      const auto& credits = listed_[i]->credits;
      const auto range = [&](std::string_view what, const session::MinMaxLast& values) {
        if (!values.any) return Put(out, "{} nothing", what);
        if (values.min == values.max) return Put(out, "{} {}", what, values.last);
        Put(out, "{} {} to {}", what, values.min, values.max);
      };
      if (!credits) return Put(out, "none seen");
      range("requested", credits->requested);
      range(", granted", credits->granted);
      if (credits->any_known) Put(out, ", at most {} outstanding", credits->max_outstanding);
    });
  }

  void PutFindings(std::string& out, const Style& style) const {
    Put(out, "\n");
    Heading(out, "Findings", style);
    Put(out, "  {}, {}, {}", Count(gathered_.findings(Severity::kError), "error"),
        Count(gathered_.findings(Severity::kWarning), "warning"), Count(gathered_.findings(Severity::kNote), "note"));
    const auto rules = gathered_.Rules();
    if (!rules.empty())
      Put(out, ": stag check shows them; stag explain {} tells of the first", rules.front()->rule->id);
    Put(out, "\n");
  }

  const std::string& name_;
  const FileOutcome& outcome_;
  const Gatherer& gathered_;
  const LatencyTable& times_;
  std::vector<const Gatherer::Ended*> listed_;
  std::vector<std::unique_ptr<transport::Health>> health_;  // of listed_
  std::vector<Wrong> wrong_;
  int64_t start_ns_ = INT64_MAX, end_ns_ = INT64_MIN;
};

FileOutcome SummarizeFile(const std::string& file, const CommonOptions& options, Output& output) {
  transport::TransportStatistics statistics(options.memory / 4);
  Gatherer gathered;
  session::CreditHistory credits(gathered);
  session::LimitsObserver limits(gathered);
  BothSee packets(statistics, limits);
  conformance::Engine engine({}, gathered);
  Times times;
  Clock clock;
  const FileOutcome outcome =
      Analyze(file, options, false, clock, output, {&engine, &credits, &limits, &times, &gathered}, &packets);
  if (!outcome.opened) return outcome;
  const std::string name = DisplayName(file);
  const Page page(name, outcome, gathered, times.table(), statistics);
  if (options.format == Format::kJsonl) {
    page.PutJson(output.buffer(), options.files.size() > 1 ? std::optional(name) : std::nullopt);
  } else {
    page.PutText(output.buffer(), output.style());
  }
  output.Flush();
  return outcome;
}

int RunSummary(const CommonOptions& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return SummarizeFile(file, options, of_file);
  });
}

}  // namespace

void AddSummary(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("summary",
                         "One screen: what is wrong first, then connections, latency, transport, limits, "
                         "credits, findings");
  AddCaptureOptions(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the summaries, the same as without");
  command->footer(
      "What is wrong is sorted: errors of the specification, what went wrong on the connections, warnings, notes.\n"
      "stag FILE does the same.\n"
      "\nExamples:\n"
      "  stag summary mount.pcapng\n"
      "  stag summary --color always mount.pcapng | less -R\n"
      "  stag summary --format jsonl *.pcap | jq -r 'select(.wrong!=[]) | .file'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunSummary); }; });
}

}  // namespace stag::cli
