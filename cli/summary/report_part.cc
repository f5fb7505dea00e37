// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/report_part.h"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/judged_row.h"
#include "analysis/limit_words.h"
#include "cli/latency/latency_report.h"
#include "cli/summary/report_page.h"
#include "cli/summary/report_tables.h"
#include "cli/transport/transport_report.h"
#include "session/fabric/names.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using fabric::FabricKind;
using fabric::Side;
using session::Connection;

std::string Time(int64_t ns) {
  std::string text;
  PutTime(text, ns);
  return text;
}

struct Part {
  double share = 0;  // of 1
  std::string_view name;
};

// A bar of shares. `kind`: s or p, the classes of its parts.
void PutBar(std::string& out, char kind, const std::vector<Part>& parts) {
  std::string words;
  for (const Part& part : parts)
    if (part.share > 0) Put(words, "{}{} {:.1f} %", words.empty() ? "" : ", ", part.name, part.share * 100);
  if (words.empty()) return Put(out, "<span class=\"muted\">not known</span>");
  Put(out,
      "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{0}\"><title>{0}</title>",
      words);
  double at = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double width = std::min(parts[i].share * 1000, 1000 - at);
    if (width > 0) Put(out, "<rect class=\"{}{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\"/>", kind, i, at, width);
    at += std::max(width, 0.0);
  }
  Put(out, "</svg>");
}

template <typename Names>
void PutLegend(std::string& out, char kind, const Names& names) {
  Put(out, "<ul class=\"legend\">");
  for (size_t i = 0; i < names.size(); ++i)
    Put(out,
        "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"{}{}\" width=\"1\" "
        "height=\"1\"/></svg>{}</li>",
        kind, i, names[i]);
  Put(out, "</ul>\n");
}

void BeginPicture(std::string& out, std::string_view name) {
  Put(out,
      "<details class=\"panel\" open><summary>{0}</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"{0}\">\n",
      name);
}
void EndPicture(std::string& out, std::string_view left_out = "") {
  Put(out, "</div>\n");
  if (!left_out.empty()) Put(out, "<p class=\"muted\">{}</p>\n", left_out);
  Put(out, "</details>\n");
}

std::string Ends(const Connection& c) {
  return Markup(fmt::format("{} {} {}", fabric::EndpointText(c.info.endpoint[c.client], c.info.fabric),
                            c.client_known ? "\u2192" : "\u2194",
                            fabric::EndpointText(c.info.endpoint[1 - c.client], c.info.fabric)));
}

// Those to draw: the ones with the most trouble, then those with the most Calls.
std::set<fabric::ConnectionId> MostInteresting(const FileSummary& summary) {
  std::vector<std::pair<std::pair<size_t, uint64_t>, fabric::ConnectionId>> all;
  for (const SummarizedConnection& one : summary.connections())
    all.push_back({{WhatIsWrongWith(one).size(), one.connection.calls}, one.connection.info.id});
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.first; });
  std::set<fabric::ConnectionId> chosen;
  for (size_t i = 0; i < std::min(all.size(), ReportPage::kDrawn); ++i) chosen.insert(all[i].second);
  return chosen;
}

std::string NotDrawn(const FileSummary& summary, uint64_t drawn, std::string_view command) {
  if (summary.connection_count() <= drawn) return {};
  return fmt::format(
      "Drawn: {} of {} connections, of those with the most trouble and Calls. <code>{}</code> draws others.", drawn,
      summary.connection_count(), command);
}

class PartMaker {
 public:
  PartMaker(FileSummary& summary, size_t file, bool several, bool pictures)
      : summary_(summary), file_(file), several_(several), pictures_(pictures) {}
  ReportPart Make(std::optional<uint64_t> size, const std::vector<std::string>& remarks);

 private:
  void AddFile(std::optional<uint64_t> size, const std::vector<std::string>& remarks);
  void AddConnections();
  void AddLatency();
  void AddTransport();
  void AddLimits();
  void AddCredits();
  void Begin(std::string& out) const;

  FileSummary& summary_;
  const size_t file_;
  const bool several_, pictures_;
  ReportPart part_;
};

ReportPart PartMaker::Make(std::optional<uint64_t> size, const std::vector<std::string>& remarks) {
  part_.name = summary_.name();
  part_.opened = summary_.outcome().opened;
  const size_t shown = std::min(summary_.wrong().size(), ReportPage::kWrong);
  part_.wrong.assign(summary_.wrong().begin(), summary_.wrong().begin() + static_cast<std::ptrdiff_t>(shown));
  part_.wrong_left_out = summary_.wrong().size() - shown + summary_.wrong_left_out();
  AddFile(size, remarks);
  if (!part_.opened || file_ >= ReportPage::kFiles) return std::move(part_);
  AddConnections();
  part_.any = !summary_.connections().empty();
  if (!part_.any) return std::move(part_);
  AddLatency();
  AddTransport();
  AddLimits();
  AddCredits();
  return std::move(part_);
}

void PartMaker::Begin(std::string& out) const {
  if (!several_) return;
  Put(out, "<h3 class=\"part\"><bdi>{}</bdi></h3>\n", Markup(summary_.name()));
}

void PartMaker::AddFile(std::optional<uint64_t> size, const std::vector<std::string>& remarks) {
  const FileOutcome& outcome = summary_.outcome();
  std::string& out = part_.row;
  Put(out, "<tr><th scope=\"row\" class=\"file\"><bdi>{}</bdi></th>", Markup(summary_.name()));
  PutNumberCell(out, size ? ByteCount(*size) : "not known");
  PutCountCell(out, outcome.frames);
  const bool any = outcome.frames > 0;
  Put(out, "<td>{}</td><td>{}</td>", any ? Time(outcome.first_time_ns) : "\u2013",
      any ? Time(outcome.last_time_ns) : "\u2013");
  const auto lasts = Elapsed({1, outcome.first_time_ns}, {1, outcome.last_time_ns});
  PutNumberCell(out, any && lasts && *lasts >= 0 ? DurationText(*lasts) : "\u2013");
  Put(out, "</tr>\n");

  std::vector<std::string> lines;
  const auto add = [&](uint64_t n, std::string_view what, std::string_view text) {
    if (n > 0) lines.push_back(Count(n, what) + std::string(text));
  };
  add(outcome.decoder.gaps, "gap", ": packets are missing from the capture; what they could change is not judged");
  add(outcome.decoder.truncated_frames, "RDMA frame", " cut by the snap length");
  if (std::string text = analysis::NotJudgedText(outcome.session.judged); !text.empty())
    lines.push_back(std::move(text));
  add(outcome.decoder.bad_crc, "packet", " with a wrong checksum: left out, unless its receiver acknowledged it");
  add(summary_.untimed(), "RPC", " without a round-trip time: the clock went back, or there are two clocks");
  add(summary_.phases_missing(), "RPC", " with phases that are not all known: packets are missing, or times go back");
  for (size_t i = 0; i < std::min(remarks.size(), ReportPage::kMostRemarks); ++i) lines.push_back(remarks[i]);
  add(remarks.size() - std::min(remarks.size(), ReportPage::kMostRemarks), "further message", " on stderr");
  for (const std::string& line : lines) {
    Put(part_.dropped, "<li>");
    if (several_) {
      Put(part_.dropped, "<bdi>{}</bdi>: ", Markup(BaseName(summary_.name())));
    }
    Put(part_.dropped, "{}</li>\n", Markup(line));
  }
}

void PartMaker::AddConnections() {
  std::string& out = part_.connections;
  Begin(out);
  if (summary_.connections().empty()) {
    Put(out, "<p class=\"panel\">No RPC-over-RDMA in {}.</p>\n", Count(summary_.outcome().frames, "frame"));
    return;
  }
  BeginTable(out, "Connections",
             "Connection|Fabric|Client and server|#Calls|#Replies|#Unanswered|#Payload|#First frame|#Last frame|End");
  const auto& all = summary_.connections();
  for (size_t i = 0; i < std::min(all.size(), ReportPage::kRows); ++i) {
    const Connection& c = all[i].connection;
    Put(out, "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>", c.info.id, fabric::FabricName(c.info.fabric),
        Ends(c));
    PutCountCell(out, c.calls);
    PutCountCell(out, c.replies);
    PutCountCell(
        out, all[i].UnansweredOf(session::Answer::kPending).count + all[i].UnansweredOf(session::Answer::kNone).count,
        true);
    uint64_t bytes = 0;
    for (const session::SideCounters& n : c.counters) bytes += n.send_bytes + n.write_bytes + n.read_bytes;
    PutNumberCell(out, SizeText(bytes));
    for (const FrameRef& frame : {c.first_frame, c.last_frame})
      Put(out, "<td class=\"number\" data-file=\"{0}\" data-frame=\"{1}\">{1}</td>", file_, frame.number);
    Put(out, "<td>{}</td></tr>\n", c.rejected ? "rejected" : fabric::CloseName(c.close_reason));
  }
  EndTable(out, summary_.connection_count() - std::min(all.size(), ReportPage::kRows), "connection",
           "stag connections");
  Put(out, "</div>\n");
}

void PartMaker::AddLatency() {
  std::string& out = part_.latency;
  Begin(out);
  const analysis::LatencyTable& table = summary_.latency();
  const std::vector<std::string> keys = table.Keys();
  if (keys.empty()) {
    Put(out, "<p class=\"panel\">No answered RPC with a round-trip time.</p>\n");
    return;
  }
  BeginTable(out, "Round-trip times by procedure",
             "Procedure|#RPCs|#Median|#90 %|#99 %|#99.9 %|#Longest|#Together|=Where the time goes");
  for (size_t i = 0; i < std::min(keys.size(), ReportPage::kRows); ++i) {
    const analysis::LatencyHistograms& row = table.Row(keys[i]);
    const analysis::TimeHistogram& times = row.times[0];
    Put(out, "<tr><th scope=\"row\">{}</th>", Markup(keys[i]));
    PutCountCell(out, times.count());
    for (const uint64_t thousandths : {500u, 900u, 990u, 999u, 1000u})
      PutNumberCell(out, DurationText(static_cast<int64_t>(times.Percentile(thousandths))));
    PutNumberCell(out, DurationText(static_cast<int64_t>(times.sum())));
    std::vector<Part> parts;
    uint64_t sum = 0;
    for (size_t phase = 1; phase < analysis::kTimes; ++phase) sum += row.times[phase].sum();
    for (size_t phase = 1; phase < analysis::kTimes; ++phase)
      parts.push_back(
          {sum > 0 ? static_cast<double>(row.times[phase].sum()) / static_cast<double>(sum) : 0, kTimeTexts[phase]});
    Put(out, "<td class=\"bar\">");
    PutBar(out, 'p', parts);
    Put(out, "</td></tr>\n");
  }
  EndTable(out, keys.size() - std::min(keys.size(), ReportPage::kRows), "procedure", "stag latency");
  constexpr std::array<std::string_view, session::kPhases> kPhaseTexts{"to the first RDMA Read",
                                                                       "RDMA Reads (pull)",
                                                                       "the server (service)",
                                                                       "RDMA Writes (push)",
                                                                       "from the last RDMA Write to the Reply (finish)",
                                                                       "recovery: a packet waited to be delivered"};
  PutLegend(out, 'p', kPhaseTexts);
  Put(out, "</div>\n");

  const std::vector<analysis::LatencySample> slowest = table.Slowest();
  Put(out,
      "<details class=\"panel\" open><summary>The slowest RPCs</summary>\n<div class=\"scroll\" tabindex=\"0\" "
      "role=\"group\" aria-label=\"The slowest RPCs\"><table class=\"rows\"><thead><tr>"
      "<th scope=\"col\" class=\"number\">Time</th><th scope=\"col\">Procedure</th><th scope=\"col\" "
      "class=\"number\">Connection</th><th scope=\"col\" class=\"number\">Call</th><th scope=\"col\" "
      "class=\"number\">Reply</th><th scope=\"col\">What took the time</th></tr></thead><tbody>\n");
  for (const analysis::LatencySample& sample : slowest) {
    Put(out, "<tr>");
    PutNumberCell(out, DurationText(sample.rtt_ns));
    Put(out, "<td>{}</td>", Markup(sample.name));
    PutNumberCell(out, fmt::format("{}", sample.connection));
    for (const uint64_t frame : {sample.call_frame, sample.reply_frame})
      Put(out, "<td class=\"number\" data-file=\"{0}\" data-frame=\"{1}\">{1}</td>", file_, frame);
    Put(out, "<td class=\"words\">{}</td></tr>\n", Markup(SlowSentence(sample)));
  }
  Put(out, "</tbody></table></div></details>\n");
  if (!pictures_) return;
  BeginPicture(part_.latency_picture, "Percentiles, and times over time");
  PutLatencySvg(part_.latency_picture, table, nullptr, summary_.course(), BaseName(summary_.name()),
                {"latency", file_});
  EndPicture(part_.latency_picture);
}

void PartMaker::AddTransport() {
  std::string& out = part_.transport;
  Begin(out);
  const auto& all = summary_.connections();
  size_t listed = 0;
  for (const bool iwarp : {false, true}) {
    std::set<const TransportColumn*> columns;  // of one array: in its order
    std::vector<const SummarizedConnection*> rows;
    for (const SummarizedConnection& one : all) {
      if (!one.health || (one.connection.info.fabric == FabricKind::kIwarp) != iwarp || listed == ReportPage::kRows)
        continue;
      ++listed;
      rows.push_back(&one);
      for (const TransportColumn* column : TransportColumns(one.connection, *one.health)) columns.insert(column);
    }
    if (rows.empty()) continue;
    std::string heads = fmt::format("Connection|Sent by|#{}|#Bytes", iwarp ? "Segments" : "Packets");
    for (const TransportColumn* column : columns) Put(heads, "|#{}", column->name);
    heads += iwarp ? "|#Most in flight" : "|#Most in flight|#Path MTU";
    BeginTable(out, "What the fabric did", heads);
    for (const SummarizedConnection* one : rows) {
      const Connection& c = one->connection;
      for (const Side side : {c.client, transport::Other(c.client)}) {
        const transport::Counters& n = one->health->sent[side];
        Put(out, "<tr><th scope=\"row\">{}</th><td>{}</td>", c.info.id, side == c.client ? "client" : "server");
        PutCountCell(out, n.packets);
        PutNumberCell(out, SizeText(n.bytes));
        for (const TransportColumn* column : columns) PutCountCell(out, column->value(n), column->bad);
        PutNumberCell(out, SizeText(n.max_in_flight));
        if (!iwarp)
          PutNumberCell(out, one->health->path_mtu > 0 ? Grouped(one->health->path_mtu) : std::string("not known"));
        Put(out, "</tr>\n");
      }
    }
    EndTable(out, 0, "", "");
    std::string told;
    size_t sentences = 0, more = 0;
    for (const SummarizedConnection* one : rows) {
      for (const TransportTrouble& trouble : TransportTroubles(one->connection, *one->health)) {
        if (sentences++ >= ReportPage::kRows) {
          ++more;
          continue;
        }
        Put(told, "<li>Connection {}: {}", one->connection.info.id, Markup(trouble.text));
        if (trouble.frame != 0) Put(told, " {}", FrameText(trouble.frame, file_, several_ ? &part_.name : nullptr));
        Put(told, "</li>\n");
      }
    }
    if (!told.empty()) Put(out, "<ul class=\"told\">\n{}</ul>\n", told);
    if (more > 0)
      Put(out, "<p class=\"muted\">{} left out here: <code>stag transport</code> has all.</p>\n",
          Count(more, "sentence"));
    Put(out, "</div>\n");
  }
  if (summary_.connection_count() > listed)
    Put(out, "<p class=\"panel\">{} left out here: <code>stag transport</code> lists all.</p>\n",
        Count(summary_.connection_count() - listed, "connection"));
  if (!pictures_) return;
  const std::set<fabric::ConnectionId> chosen = MostInteresting(summary_);
  for (const SummarizedConnection& one : all)
    if (one.health && chosen.contains(one.connection.info.id))
      summary_.transport_plotter().Draw(one.connection, *one.health);
  if (summary_.transport_plotter().empty()) return;
  BeginPicture(part_.transport_picture, "What was sent and acknowledged over time");
  summary_.transport_plotter().Put(part_.transport_picture, summary_.outcome().first_time_ns, BaseName(summary_.name()),
                                   {"transport", file_});
  EndPicture(part_.transport_picture, NotDrawn(summary_, summary_.transport_plotter().connections(),
                                               "stag transport --connection N --svg FILE"));
}

void PartMaker::AddLimits() {
  std::string& out = part_.limits;
  Begin(out);
  constexpr std::array<session::Limit, session::kLimits> kOrder{
      session::Limit::kIdle,       session::Limit::kCreditLimited, session::Limit::kRecovery,
      session::Limit::kMovingData, session::Limit::kServer,        session::Limit::kUnknown};
  std::array<std::string_view, session::kLimits> words{};
  std::string heads = "Connection|Limited by|=Its time";
  for (size_t i = 0; i < kOrder.size(); ++i) {
    words[i] = analysis::LimitWord(kOrder[i]);
    Put(heads, "|#{}", words[i]);
  }
  heads += "|#Time";
  BeginTable(out, "What the time of each connection is spent on", heads);
  std::vector<const SummarizedConnection*> all;
  std::vector<analysis::PairedConnection> paired;
  for (const SummarizedConnection& one : summary_.connections()) {
    if (!one.limits) continue;
    all.push_back(&one);
    paired.emplace_back(one.connection, *one.limits);
  }
  const std::vector<analysis::PairCounts> counts = analysis::CountPairs(paired);
  std::array<std::vector<fabric::ConnectionId>, session::kLimits> limited;
  std::string told;
  for (size_t i = 0; i < std::min(all.size(), ReportPage::kRows); ++i) {
    const session::ConnectionLimits& limits = *all[i]->limits;
    const fabric::ConnectionId id = all[i]->connection.info.id;
    const session::Limit verdict = limits.verdict();
    limited[static_cast<size_t>(verdict)].push_back(id);
    Put(out, "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"bar\">", id,
        limits.calls > 0 ? analysis::LimitWord(verdict) : "no Call was seen");
    std::vector<Part> parts;
    for (size_t k = 0; k < kOrder.size(); ++k) parts.push_back({limits.percent(kOrder[k]) / 100, words[k]});
    PutBar(out, 's', parts);
    Put(out, "</td>");
    for (const Part& part : parts)
      PutNumberCell(out, fmt::format("{:.1f} %", part.share * 100), part.share > 0 ? "" : "zero");
    PutNumberCell(out, DurationText(limits.span_ns));
    Put(out, "</tr>\n");
    std::vector<std::string> signatures = analysis::LimitSignatures(all[i]->connection, limits, all[i]->health.get());
    std::ranges::move(analysis::PairSignatures(paired[i], counts[i]), std::back_inserter(signatures));
    for (const std::string& seen : signatures) {
      Put(told, "<li>Connection {}: {}.</li>\n", id, Markup(seen));
    }
  }
  EndTable(out, summary_.connection_count() - std::min(all.size(), ReportPage::kRows), "connection", "stag limits");
  PutLegend(out, 's', words);
  Put(out, "<ul class=\"told\">\n");
  for (const session::Limit limit : kOrder) {
    const auto& ids = limited[static_cast<size_t>(limit)];
    if (ids.empty()) continue;
    Put(out, "<li><strong>{}</strong> (connection{} {}{}): {}</li>\n", analysis::LimitWord(limit),
        ids.size() == 1 ? "" : "s",
        fmt::join(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(ids.size(), 12)), ", "),
        ids.size() > 12 ? ", \u2026" : "", analysis::LimitAdvice(limit));
  }
  Put(out, told);
  Put(out, "</ul></div>\n");
}

void PartMaker::AddCredits() {
  std::string& out = part_.credits;
  Begin(out);
  BeginTable(out, "Credits of the client's Calls",
             "Connection|#Calls|#Requested|#Granted|#Most outstanding|#In frame|#Over the grant|#First in "
             "frame|#Granted none|#RNR NAKs");
  const auto& all = summary_.connections();
  for (size_t i = 0; i < std::min(all.size(), ReportPage::kRows); ++i) {
    Put(out, "<tr><th scope=\"row\">{}</th>", all[i].connection.info.id);
    const auto range = [&](const session::MinMaxLast& values) {
      PutNumberCell(out, !values.any                ? std::string("\u2013")
                         : values.min == values.max ? Grouped(values.last)
                                                    : fmt::format("{} to {}", values.min, values.max));
    };
    const auto frame = [&](uint64_t number) {
      if (number == 0) return PutNumberCell(out, "\u2013");
      Put(out, "<td class=\"number\" data-file=\"{0}\" data-frame=\"{1}\">{1}</td>", file_, number);
    };
    const session::CreditSummary credits = all[i].credits.value_or(session::CreditSummary{});
    PutCountCell(out, credits.calls);
    range(credits.requested);
    range(credits.granted);
    PutNumberCell(out, credits.any_known ? Grouped(credits.max_outstanding) : std::string("not known"));
    frame(credits.any_known && credits.max_outstanding > 0 ? credits.max_frame.number : 0);
    PutCountCell(out, credits.overruns, true);
    frame(credits.first_overrun.number);
    PutCountCell(out, credits.zero_grants, true);
    PutCountCell(out, credits.rnr_naks, true);
    Put(out, "</tr>\n");
  }
  EndTable(out, summary_.connection_count() - std::min(all.size(), ReportPage::kRows), "connection", "stag credits");
  Put(out, "</div>\n");
  if (!pictures_) return;
  std::set<fabric::ConnectionId> chosen;
  for (const fabric::ConnectionId id : MostInteresting(summary_))
    if (summary_.credit_plotter().Has(id)) chosen.insert(id);
  if (chosen.empty()) return;
  BeginPicture(part_.credits_picture, "Credits over time");
  summary_.credit_plotter().Put(part_.credits_picture, chosen, summary_.outcome().first_time_ns,
                                BaseName(summary_.name()), {"credits", file_});
  EndPicture(part_.credits_picture, NotDrawn(summary_, chosen.size(), "stag credits --connection N --svg FILE"));
}

}  // namespace

ReportPart MakeReportPart(FileSummary& summary, size_t file, bool several, bool pictures, std::optional<uint64_t> size,
                          const std::vector<std::string>& remarks) {
  return PartMaker(summary, file, several, pictures).Make(size, remarks);
}

}  // namespace stag::cli
