// SPDX-License-Identifier: GPL-2.0-or-later
//
// A FileSummary as one screen of text, and as a JSON line.
#include "cli/summary/summary_text.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "cli/analysis/link_report.h"
#include "cli/summary/summary_row.h"
#include "cli/transport/transport_report.h"
#include "session/fabric/names.h"
#include "text/put.h"
#include "text/terminal.h"

namespace stag::cli {
namespace {

using conformance::Severity;
using fabric::Side;
using session::Connection;

constexpr size_t kLines = 12;  // troubles and connections, each
constexpr size_t kProcedures = 6;

class Page {
 public:
  explicit Page(const FileSummary& summary) : summary_(summary), listed_(summary.connections()) {
    // Connections with trouble come first, in its order.
    std::unordered_map<fabric::ConnectionId, size_t> places;
    for (size_t i = 0; i < summary.wrong().size(); ++i) {
      const Wrong& wrong = summary.wrong()[i];
      if (wrong.known) continue;
      places.emplace(wrong.connection, i);
      for (const fabric::ConnectionId id : wrong.worst) places.emplace(id, i);
    }
    const auto place = [&](size_t i) {
      const auto found = places.find(listed_[i].connection.info.id);
      return found == places.end() ? places.size() + summary.wrong().size() : found->second;
    };
    worst_.resize(listed_.size());
    std::iota(worst_.begin(), worst_.end(), size_t{0});
    if (listed_.size() <= kLines) return;
    std::ranges::stable_sort(worst_, {}, place);
    worst_.resize(kLines);
  }

  void PutPage(std::string& out, const Style& style) const {
    Put(out, "{}{}{}: {}, {}, {}", style.bold, Printable(summary_.name()), style.reset,
        Count(summary_.outcome().frames, "frame"), Count(summary_.connection_count(), "connection"),
        Count(summary_.outcome().session.transactions, "RPC"));
    if (const auto span = summary_.span_ns()) {
      Put(out, ", {}", DurationText(*span));
    }
    Put(out, "\n");
    if (summary_.outcome().slice) Put(out, "A slice of a capture: what is missing in it was left out.\n");
    if (const std::string text = analysis::NotJudgedText(summary_.outcome().session.judged); !text.empty())
      Put(out, "{}\n", text);
    if (HasLinkReport(summary_.outcome().decoder)) {
      PutLinkReport(out, summary_.outcome().decoder);
      Put(out, "\n");
    }
    Put(out, "\n");
    PutWrong(out, style);
    PutConnections(out, style);
    PutLatency(out, style);
    PutNfsErrors(out, style);
    PutTransport(out, style);
    PutLimits(out, style);
    PutCredits(out, style);
    PutFindings(out, style);
  }

 private:
  static void Heading(std::string& out, std::string_view text, const Style& style) {
    Put(out, "{}{}{}\n", style.bold, text, style.reset);
  }

  void PutWrong(std::string& out, const Style& style) const {
    Heading(out, "What is wrong", style);
    if (listed_.empty()) {
      Put(out, "  There is no RPC-over-RDMA in the capture: nothing was judged.\n");
    } else if (summary_.wrong().empty()) {
      Put(out, "  {}Nothing that the capture shows.{}\n", style.green, style.reset);
    } else if (summary_.wrong().front().known) {
      Put(out, "  {}Nothing that does harm.{}\n", style.green, style.reset);
    }
    for (size_t i = 0; i < std::min(summary_.wrong().size(), kLines); ++i) {
      const Wrong& wrong = summary_.wrong()[i];
      const std::string_view color = wrong.known                           ? style.dim
                                     : wrong.rank == Wrong::Rank::kError   ? style.red
                                     : wrong.rank == Wrong::Rank::kTrouble ? style.yellow
                                                                           : style.cyan;
      Put(out, "  {}{:<8}{}{}", color, BadgeOf(wrong), style.reset, wrong.text);
      if (wrong.frame != 0) Put(out, " {}Frame {}.{}", style.dim, wrong.frame, style.reset);
      Put(out, "\n");
      if (!wrong.known)
        Put(out, "          {}{}{}\n", style.dim, Printable(NextStep(wrong, summary_.name())), style.reset);
    }
    if (const uint64_t all = summary_.wrong().size() + summary_.wrong_left_out(); all > kLines)
      Put(out, "  {}... and {} more{}\n", style.dim, all - kLines, style.reset);
  }

  // A line for each of the first connections; `put` returns false where there is nothing to say.
  template <typename Fn>
  void ForEachConnection(std::string& out, std::string_view heading, const Style& style, Fn put) const {
    if (listed_.empty()) return;
    Put(out, "\n");
    Heading(out, heading, style);
    for (const size_t i : worst_) {
      Put(out, "  {:<3} ", listed_[i].connection.info.id);
      put(i);
      Put(out, "\n");
    }
    const uint64_t shown = std::min(listed_.size(), kLines);
    if (const uint64_t all = summary_.connection_count(); all > shown)
      Put(out, "  {}... and {} more{}\n", style.dim, all - shown, style.reset);
  }

  void PutConnections(std::string& out, const Style& style) const {
    ForEachConnection(out, "Connections", style, [&](size_t i) {
      const Connection& c = listed_[i].connection;
      const Side client = c.client, server = transport::Other(client);
      Put(out, "{} {} {} {}: {}, {} repl{}, {}", fabric::FabricName(c.info.fabric),
          fabric::EndpointText(c.info.endpoint[client], c.info.fabric), c.client_known ? "->" : "<->",
          fabric::EndpointText(c.info.endpoint[server], c.info.fabric), Count(c.calls, "call"), c.replies,
          c.replies == 1 ? "y" : "ies", fabric::CloseName(c.close_reason));
    });
  }

  // Of the procedures that took the most time.
  void PutLatency(std::string& out, const Style& style) const {
    if (summary_.latency().size() == 0) return;
    Put(out, "\n");
    Heading(out, "Latency", style);
    const std::vector<std::string> keys = summary_.latency().Keys();
    for (size_t i = 0; i < std::min(keys.size(), kProcedures); ++i) {
      const analysis::TimeHistogram& times = summary_.latency().Row(keys[i]).times[0];
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

  void PutNfsErrors(std::string& out, const Style& style) const {
    const std::vector<analysis::NfsErrors::Kind>& kinds = summary_.nfs_errors();
    if (kinds.empty()) return;
    Put(out, "\n");
    Heading(out, "NFS errors", style);
    for (size_t i = 0; i < std::min(kinds.size(), kProcedures); ++i)
      Put(out, "  {:<24} {:>7}  of {:<7} {:<24} {}from frame {}{}\n", kinds[i].operation, kinds[i].count, kinds[i].of,
          kinds[i].status, style.dim, kinds[i].first.number, style.reset);
    if (kinds.size() > kProcedures)
      Put(out, "  {}... and {} more{}\n", style.dim, kinds.size() - kProcedures, style.reset);
  }

  void PutTransport(std::string& out, const Style& style) const {
    ForEachConnection(out, "Transport", style, [&](size_t i) {
      const Connection& c = listed_[i].connection;
      if (!listed_[i].health) return Put(out, "not counted: there are too many connections");
      const transport::Counters &client = listed_[i].health->sent[c.client],
                                &server = listed_[i].health->sent[transport::Other(c.client)];
      const bool iwarp = c.info.fabric == fabric::FabricKind::kIwarp;
      const uint64_t all = client.packets + server.packets;
      const uint64_t again =
          client.retransmitted + server.retransmitted + client.repeated_responses + server.repeated_responses;
      Put(out, "{} of {}, {} sent again", Count(all, iwarp ? "segment" : "packet"),
          SizeText(client.bytes + server.bytes), again);
      if (all > 0 && again > 0) Put(out, " ({:.2g} %)", 100 * static_cast<double>(again) / static_cast<double>(all));
      if (const uint64_t naks = client.naks() + server.naks(); naks > 0) Put(out, ", {}", Count(naks, "NAK"));
      if (const uint64_t lost = client.lost_from_capture + server.lost_from_capture; lost > 0)
        Put(out, ", {} not captured", Count(lost, iwarp ? "byte" : "packet"));
      if (listed_[i].health->path_mtu != 0) Put(out, ", path MTU {}", listed_[i].health->path_mtu);
    });
  }

  void PutLimits(std::string& out, const Style& style) const {
    ForEachConnection(out, "Limits", style, [&](size_t i) {
      const auto& limits = listed_[i].limits;
      if (!limits || limits->calls == 0) return Put(out, "no Call was seen");
      const auto name = [](session::Limit limit) {
        std::string text(session::kLimitNames[static_cast<size_t>(limit)]);
        std::ranges::replace(text, '_', ' ');
        return text;
      };
      Put(out, "{}{}{}:", style.bold, name(limits->verdict()), style.reset);
      std::string_view separator = " ";
      for (const session::Limit limit :
           {session::Limit::kServer, session::Limit::kMovingData, session::Limit::kIdle, session::Limit::kCreditLimited,
            session::Limit::kRecovery, session::Limit::kUnknown}) {
        const double share = limits->percent(limit);
        if (share <= 0) continue;
        Put(out, "{}{} {} %", separator, name(limit), share < 1 ? "under 1" : fmt::format("{:.0f}", share));
        separator = ", ";
      }
    });
  }

  void PutCredits(std::string& out, const Style& style) const {
    ForEachConnection(out, "Credits", style, [&](size_t i) {
      const auto& credits = listed_[i].credits;
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
    Put(out, "  {}, {}, {}", Count(summary_.findings(Severity::kError), "error"),
        Count(summary_.findings(Severity::kWarning), "warning"), Count(summary_.findings(Severity::kNote), "note"));
    if (summary_.accepted() > 0) Put(out, ", without {} that are accepted", summary_.accepted());
    const auto rules = summary_.broken();
    if (!rules.empty())
      Put(out, ": stag check shows them; stag explain {} tells of the first", rules.front()->rule->id);
    Put(out, "\n");
  }

  const FileSummary& summary_;
  const std::deque<SummarizedConnection>& listed_;
  std::vector<size_t> worst_;  // of listed_: those that are shown
};

}  // namespace

void PutSummaryText(std::string& out, const FileSummary& summary, const Style& style) {
  Page(summary).PutPage(out, style);
}

FileSummaryRow::FileSummaryRow(const FileSummary& summary)
    : frames(summary.outcome().frames),
      connections(summary.connection_count()),
      transactions(summary.outcome().session.transactions),
      findings{summary.findings(Severity::kError), summary.findings(Severity::kWarning),
               summary.findings(Severity::kNote)} {
  judged = analysis::JudgedRow(summary.outcome().session.judged);
  for (const analysis::NfsErrors::Kind& kind : summary.nfs_errors())
    nfs_errors.push_back({kind.operation, kind.status, kind.count, kind.of, results::NotZero(kind.first.number),
                          results::NotZero(kind.connection), kind.harmful});
  if (HasLinkReport(summary.outcome().decoder)) link = analysis::LinkCounts(summary.outcome().decoder);
  for (const Wrong& one : summary.wrong())
    wrong.push_back({RankName(one.rank), one.rule ? fmt::format("rule:{}", one.rule->id) : one.kind, one.blames,
                     results::NotZero(one.connection), one.text, results::NotZero(one.frame), HarmOf(one),
                     one.lost_ns > 0 ? std::optional(results::Duration{one.lost_ns}) : std::nullopt,
                     one.connection_count > 0 ? one.connection_count : uint64_t{one.connection != 0}, one.worst,
                     NextStep(one, "FILE")});
  if (summary.wrong_left_out() > 0) wrong_left_out = summary.wrong_left_out();
}

}  // namespace stag::cli
