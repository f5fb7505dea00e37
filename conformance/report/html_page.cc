// SPDX-License-Identifier: GPL-2.0-or-later
//
// The summary, the connections and the rules of the HTML report.
#include <algorithm>

#include "analysis/connection_row.h"
#include "conformance/engine/text.h"
#include "conformance/report/html_parts.h"
#include "session/fabric/names.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

using session::Connection;
using session::Side;

void AppendTile(std::string& out, std::string_view name, uint64_t value, std::string_view style = "") {
  out.append(Text("<div class=\"", style, value > 0 ? " some" : "", "\"><dt>", name, "</dt><dd>", Grouped(value),
                  "</dd></div>\n"));
}

void AppendTiles(std::string& out, const HtmlPage& page) {
  const auto count = [&](Severity severity) { return page.counts[static_cast<size_t>(severity)]; };
  uint64_t broken = 0, kept = 0, unknown = 0;
  for (const RuleTally& tally : page.total.rules)
    ++(tally.verdict() == Outcome::kFail ? broken : tally.verdict() == Outcome::kPass ? kept : unknown);
  out.append("<dl class=\"tiles\">\n");
  AppendTile(out, "errors", count(Severity::kError), "error");
  AppendTile(out, "warnings", count(Severity::kWarning), "warning");
  AppendTile(out, "notes", count(Severity::kNote), "note");
  AppendTile(out, "rules broken", broken);
  AppendTile(out, "rules kept", kept);
  AppendTile(out, "rules not exercised", unknown);
  AppendTile(out, "connections", page.total.connections);
  AppendTile(out, "RPCs", page.total.transactions);
  AppendTile(out, "frames", page.total.frames);
  out.append("</dl>\n");
}

void AppendFiles(std::string& out, const HtmlPage& page) {
  out.append(Text("<details class=\"panel\"", page.files.size() <= 10 ? " open" : "",
                  "><summary>Captures</summary>\n"
                  "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">File</th>"));
  for (const char* column : {"Errors", "Warnings", "Notes", "Connections", "RPCs", "Frames", "Gaps", "Cut frames"})
    out.append(Text("<th scope=\"col\" class=\"number\">", column, "</th>"));
  out.append("</tr></thead><tbody>\n");
  for (const HtmlFile& file : page.files) {
    const Summary& s = file.summary;
    out.append(Text("<tr><th scope=\"row\"><bdi>", Markup(file.name), "</bdi></th>"));
    for (const uint64_t value : {file.findings[2], file.findings[1], file.findings[0], s.connections, s.transactions,
                                 s.frames, s.gaps, s.truncated_frames})
      out.append(Text("<td class=\"number\">", Grouped(value), "</td>"));
    out.append("</tr>\n");
  }
  out.append("</tbody></table></div></details>\n");
}

void AppendRemarks(std::string& out, const HtmlPage& page) {
  for (const HtmlFile& file : page.files)
    if (!file.trouble.empty())
      out.append(Text("<p class=\"panel trouble\" role=\"alert\">",
                      file.summary.files > 0 ? "Read in part: " : "Not read: ", "<bdi>", Markup(file.trouble),
                      "</bdi></p>\n"));
  if (page.total.gaps + page.total.truncated_frames > 0)
    out.append(
        "<p class=\"panel\">The captures are not complete. Rules that need what is missing were not applied.</p>\n");
  const Suppressed& suppressed = page.suppressed;
  if (suppressed.by_baseline + suppressed.by_list > 0)
    out.append(Text("<p class=\"panel\">Accepted, and not shown here: ", Grouped(suppressed.by_baseline),
                    " findings by the baseline, ", Grouped(suppressed.by_list), " by the list of suppressions.</p>\n"));
  if (!suppressed.unused.empty()) {
    out.append("<details class=\"panel\"><summary>Accepted findings that did not come</summary><ul>\n");
    for (size_t i = 0; i < std::min<size_t>(suppressed.unused.size(), 100); ++i)
      out.append(Text("<li>", Markup(suppressed.unused[i]), "</li>\n"));
    if (suppressed.unused.size() > 100) out.append(Text("<li>and ", suppressed.unused.size() - 100, " more</li>\n"));
    out.append("</ul></details>\n");
  }
}

// --- Connections

std::string Threshold(std::optional<uint32_t> bytes) { return bytes ? ByteCount(*bytes) : "not known"; }

std::string SetupMarkup(const session::SetupData& setup) {
  if (!setup.seen) return "<span class=\"muted\">not captured</span>";
  std::string out;
  if (setup.has_data()) {
    const rpcrdma::PrivateData& data = setup.search.data;
    out = Text("sends up to ", ByteCount(data.send_bytes()), ", receives up to ", ByteCount(data.receive_bytes()),
               ", remote invalidation ", data.remote_invalidation() ? "yes" : "no");
  } else {
    out = setup.meaningful().empty() ? "none" : Markup(setup.kind());
  }
  const Bytes bytes = setup.meaningful();
  if (!bytes.empty()) {
    out.append(" <code>");
    PutHex(out, bytes.first(std::min<size_t>(bytes.size(), 32)));
    out.append(bytes.size() > 32 ? "...</code>" : "</code>");
  }
  if (setup.truncated) out.append(", cut by the capture");
  return Text(out, " (frame ", setup.frame.number, ")");
}

std::string Range(const session::MinMaxLast& range) {
  if (!range.any) return "not known";
  return range.min == range.max ? Grouped(range.last)
                                : Text(Grouped(range.min), " to ", Grouped(range.max), ", last ", Grouped(range.last));
}

// Credits of the Calls of `side`: what it asks for, what it is granted.
std::string CreditsMarkup(const session::CreditState& credits) {
  if (!credits.requested.any && !credits.granted.any) return "<span class=\"muted\">no Calls</span>";
  return Text("requested ", Range(credits.requested), "; granted ", Range(credits.granted), "; outstanding ",
              Text("at most ", Grouped(credits.max_outstanding)));
}

std::string Operations(uint64_t operations, uint64_t bytes) {
  return operations == 0 ? "none" : Text(Grouped(operations), " (", ByteCount(bytes), ")");
}

std::string LossesText(const Connection& c) {
  std::string out;
  const auto add = [&](uint64_t n, std::string_view what) {
    if (n > 0) out.append(Text(out.empty() ? "" : ", ", Count(n, what)));
  };
  add(c.counters[0].gaps + c.counters[1].gaps, "gap");
  add(c.truncated_messages, "truncated message");
  add(c.counters[0].naks + c.counters[1].naks, "NAK");
  add(c.evicted_transactions, "dropped RPC");
  return out.empty() ? "none" : out;
}

std::string SetupText(const Connection& c) {
  if (c.rejected) return c.reject_reason ? Text("rejected, reason ", analysis::RejectText(c)) : "rejected";
  if (c.setup_seen) return c.opened ? "captured" : "captured, not answered";
  return c.setup[0].seen || c.setup[1].seen ? "captured in part" : "not captured (joined mid-stream)";
}

void AppendConnection(std::string& out, const HtmlPage& page, const HtmlConnection& entry, bool open) {
  const Connection& c = entry.connection;
  const Side client = c.client, server = static_cast<Side>(1 - client);
  const auto name = [&](Side side) { return Markup(fabric::EndpointText(c.info.endpoint[side], c.info.fabric)); };
  out.append(Text("<details class=\"panel\" id=\"", ConnectionKey(entry.file, c.info.id), "\"", open ? " open" : "",
                  "><summary>Connection ", c.info.id,
                  page.several_files() ? Text(" of <bdi>", Markup(page.files[entry.file].name), "</bdi>") : "", ": ",
                  fabric::FabricName(c.info.fabric), ", ", name(client), c.client_known ? " \u2192 " : " \u2194 ",
                  name(server)));
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote})
    if (const uint64_t n = entry.findings[static_cast<size_t>(severity)]; n > 0)
      out.append(
          Text(" <span class=\"badge ", SeverityName(severity), "\">", Count(n, SeverityName(severity)), "</span>"));
  out.append(Text("</summary>\n<div class=\"scroll\"><table><thead><tr><td></td><th scope=\"col\">Client ",
                  name(client), "</th><th scope=\"col\">Server ", name(server), "</th></tr></thead><tbody>\n"));
  const auto sides = [&](std::string_view label, std::string_view of_client, std::string_view of_server) {
    out.append(Text("<tr><th scope=\"row\">", label, "</th><td>", of_client, "</td><td>", of_server, "</td></tr>\n"));
  };
  const auto both = [&](std::string_view label, std::string_view markup) {
    out.append(Text("<tr><th scope=\"row\">", label, "</th><td colspan=\"2\">", markup, "</td></tr>\n"));
  };
  std::string frames = Text(c.first_frame.number, " to ", c.last_frame.number, ", from ");
  PutTime(frames, c.first_frame.time_ns);
  both("Frames", frames);
  both("Set-up", SetupText(c));
  const std::optional<bool> invalidation = c.remote_invalidation();
  both("Remote invalidation", !invalidation ? "not known" : *invalidation ? "agreed" : "not agreed");
  both("RPCs",
       Text(Grouped(c.calls), " Calls, ", Grouped(c.replies), " Replies, ", Grouped(c.errors), " RDMA_ERROR",
            c.backward_calls ? Text(", ", Grouped(c.backward_calls), " of the Calls backward") : "",
            c.replies_without_call ? Text(", ", Grouped(c.replies_without_call), " Replies without Call") : ""));
  both("Losses and refusals", LossesText(c));
  both("End",
       Text(fabric::CloseName(c.close_reason), c.close_frame.number ? Text(", frame ", c.close_frame.number) : ""));
  sides("Private data", SetupMarkup(c.setup[client]), SetupMarkup(c.setup[server]));
  sides("Inline threshold", Threshold(c.threshold(client)), Threshold(c.threshold(server)));
  sides("Credits for its Calls", CreditsMarkup(c.credits[client]), CreditsMarkup(c.credits[server]));
  const auto counters = [&](std::string_view label, auto fn) {
    sides(label, fn(c.counters[client]), fn(c.counters[server]));
  };
  using session::SideCounters;
  counters("Sends", [](const SideCounters& n) { return Operations(n.messages, n.send_bytes); });
  counters("RDMA Writes", [](const SideCounters& n) { return Operations(n.write_operations, n.write_bytes); });
  counters("RDMA Reads", [](const SideCounters& n) { return Operations(n.read_operations, n.read_bytes); });
  out.append("</tbody></table></div></details>\n");
}

std::string_view VerdictMarkup(const RuleTally& tally) {
  switch (tally.verdict()) {
    case Outcome::kFail: return "<span class=\"broken\">\u2718 broken</span>";
    case Outcome::kPass: return "<span class=\"fine\">\u2714 kept</span>";
    case Outcome::kNotApplicable: return "<span class=\"muted\">\u2013 not applicable</span>";
    default: return "? not checked";
  }
}

}  // namespace

std::string ConnectionKey(size_t file, fabric::ConnectionId connection) { return Text("c", file, "-", connection); }

const HtmlConnection* FindConnection(const HtmlPage& page, size_t file, fabric::ConnectionId connection) {
  for (const HtmlConnection& entry : page.connections)
    if (entry.file == file && entry.connection.info.id == connection) return &entry;
  return nullptr;
}

std::string EndpointName(const HtmlPage& page, size_t file, fabric::ConnectionId connection, bool client) {
  const std::string_view role = client ? "client" : "server";
  const HtmlConnection* entry = FindConnection(page, file, connection);
  if (!entry) return std::string(role);
  const Connection& c = entry->connection;
  const Side side = client ? c.client : static_cast<Side>(1 - c.client);
  return Text(role, " ", fabric::EndpointText(c.info.endpoint[side], c.info.fabric));
}

void AppendSummary(std::string& out, const HtmlPage& page) {
  out.append(Text("<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n<header class=\"top\">\n<h1><bdi>",
                  Markup(page.title()), "</bdi></h1>\n<p class=\"muted\">",
                  page.files.size() == 1 ? Text("<bdi>", Markup(page.files[0].name), "</bdi>")
                                         : Count(page.files.size(), "capture"),
                  "</p>\n<nav aria-label=\"Parts of this page\"><ul>"));
  const auto link = [&](std::string_view id, std::string_view name) {
    out.append(Text("<li><a href=\"#", id, "\">", name, "</a></li>"));
  };
  if (page.besides) {
    link("connections", "Connections");
    for (const auto& [id, name] : page.besides->links) link(id, name);
    link("findings", "Findings");
  } else {
    link("findings", "Findings");
    link("connections", "Connections");
  }
  link("rules", "Rules");
  out.append("</ul></nav>\n</header>\n<main>\n");
  if (page.besides) out.append(page.besides->first);
  AppendTiles(out, page);
  AppendRemarks(out, page);
  if (!page.besides || page.several_files()) AppendFiles(out, page);
}

void AppendConnections(std::string& out, const HtmlPage& page) {
  out.append("<h2 id=\"connections\">Connections</h2>\n");
  if (page.besides) out.append(page.besides->connections);
  if (page.connections.empty()) out.append("<p class=\"panel\">No RPC-over-RDMA connection.</p>\n");
  for (size_t i = 0; i < page.connections.size(); ++i)
    AppendConnection(out, page, page.connections[i], !page.besides && i < 3);
  if (page.connections_left_out > 0)
    out.append(Text("<p class=\"panel\">", Grouped(page.connections_left_out),
                    " further connections are left out: <code>stag connections</code> lists all.</p>\n"));
}

void AppendRules(std::string& out, const HtmlPage& page) {
  out.append(
      "<h2 id=\"rules\">Rules</h2>\n<details class=\"panel\" open><summary>What was checked, and how it came "
      "out</summary>\n"
      "<div class=\"scroll\"><table><caption>How many events kept each rule, broke it, or could not be judged for want "
      "of what the capture does not show</caption><thead><tr><th scope=\"col\">Rule</th><th scope=\"col\">Title</th>"
      "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"number\">Kept</th><th scope=\"col\" "
      "class=\"number\">Broken</th><th scope=\"col\" class=\"number\">Not judged</th></tr></thead><tbody>\n");
  for (const RuleTally& tally : page.total.rules) {
    const bool shown =
        std::ranges::any_of(page.entries, [&](const HtmlEntry& e) { return e.finding.rule == tally.rule; });
    const std::string_view id = tally.rule->id;
    out.append(Text("<tr id=\"rule-", id, "\"><th scope=\"row\">",
                    shown ? Text("<a href=\"#findings\" data-filter-rule=\"", id, "\">", id, "</a>") : std::string(id),
                    "</th><td>", Markup(tally.rule->title), "</td><td>", VerdictMarkup(tally)));
    for (const uint64_t value : {tally[Outcome::kPass], tally[Outcome::kFail], tally.not_checked()})
      out.append(Text("</td><td class=\"number\">", Grouped(value)));
    out.append("</td></tr>\n");
  }
  out.append("</tbody></table></div></details>\n");
}

}  // namespace stag::conformance
