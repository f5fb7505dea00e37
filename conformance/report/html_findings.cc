// SPDX-License-Identifier: GPL-2.0-or-later
//
// The findings of the HTML report: the filter, and an article for each entry.
#include <algorithm>
#include <set>

#include "conformance/engine/text.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/html_parts.h"
#include "conformance/report/ladder_svg.h"
#include "conformance/report/procedure.h"
#include "conformance/report/uri.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

constexpr size_t kMaxFrames = 24;  // related frames listed

void AppendFact(std::string& out, std::string_view name, std::string_view markup) {
  if (!markup.empty()) out.append(Text("<dt>", name, "</dt><dd>", markup, "</dd>\n"));
}

// The sections, with links to those that stand on the web.
std::string SpecificationMarkup(const Finding& finding) {
  const std::vector<std::string> in_force = Specifications(*finding.rule, finding.profile);
  std::string out;
  for (const Source& source : finding.rule->sources) {
    const std::string text = SourceText(source);
    if (std::ranges::find(in_force, text) == in_force.end()) continue;
    const std::string uri = SpecificationUri(source);
    out.append(out.empty() ? "" : ", ");
    out.append(uri.empty() ? Markup(text)
                           : Text("<a href=\"", Markup(uri), "\" rel=\"noreferrer\">", Markup(text), "</a>"));
  }
  return out;
}

std::string FramesMarkup(const std::vector<uint64_t>& frames) {
  std::string out;
  for (size_t i = 0; i < std::min(frames.size(), kMaxFrames); ++i) out.append(Text(i > 0 ? ", " : "", frames[i]));
  if (frames.size() > kMaxFrames) out.append(Text(", and ", frames.size() - kMaxFrames, " more"));
  return out;
}

std::string SeeAlsoMarkup(const Finding& finding) {
  std::string out;
  for (const std::string_view id : finding.see_also)
    if (const RuleInfo* rule = FindRule(id))
      out.append(Text(out.empty() ? "" : "<br>", "<a href=\"#rule-", id, "\">", id, "</a> ", Markup(rule->title)));
  return out;
}

std::string RepeatsMarkup(const HtmlEntry& entry) {
  if (entry.repeats == 0) return {};
  return Text(Grouped(entry.repeats), " more by the same side of this connection, the last in frame ",
              entry.last_frame);
}

std::string WhereMarkup(const HtmlPage& page, const HtmlEntry& entry) {
  const Finding& finding = entry.finding;
  std::string out = Text("Frame ", finding.frame.number);
  if (page.several_files()) out.append(Text(" of <bdi>", Markup(page.files[entry.file].name), "</bdi>"));
  if (finding.certainty == Certainty::kPresumed) {
    out.append(" \u00b7 presumed");
  } else if (finding.proven.number != finding.frame.number) {
    out.append(Text(" \u00b7 proven by frame ", finding.proven.number));
  }
  const std::string connection = Text("connection ", finding.connection);
  if (finding.connection == 0) {
    out.append(" \u00b7 outside of any connection");
  } else if (FindConnection(page, entry.file, finding.connection)) {
    out.append(Text(" \u00b7 <a href=\"#", ConnectionKey(entry.file, finding.connection), "\">", connection, "</a>"));
  } else {
    out.append(" \u00b7 " + connection);
  }
  if (finding.connection != 0) out.append(Text(" \u00b7 ", DirectionName(finding.client_to_server)));
  if (finding.procedure) out.append(Text(" \u00b7 ", Markup(ProcedureText(*finding.procedure))));
  if (finding.xid) out.append(Text(" \u00b7 xid <span class=\"mono\">", Hex{*finding.xid}, "</span>"));
  out.append(" \u00b7 <time>");
  PutTime(out, finding.frame.time_ns);
  return out.append("</time>");
}

void AppendLadder(std::string& out, const HtmlPage& page, const HtmlEntry& entry, size_t number) {
  if (!entry.ladder || entry.ladder->rows().empty()) return;
  const Finding& finding = entry.finding;
  out.append("<details open><summary>What happened</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" ");
  out.append(Text("aria-label=\"Ladder diagram of finding ", number, "\">\n"));
  AppendLadderSvg(out, *entry.ladder, Text("l", number),
                  Text("What led to ", finding.rule->id, " in frame ", finding.frame.number),
                  EndpointName(page, entry.file, finding.connection, true),
                  EndpointName(page, entry.file, finding.connection, false));
  out.append("</div>\n<details class=\"steps\"><summary>The same as a table</summary><div class=\"scroll\">\n");
  AppendLadderTable(out, *entry.ladder);
  out.append("</div></details></details>\n");
}

}  // namespace

std::string_view DirectionName(bool client_to_server) {
  return client_to_server ? "client to server" : "server to client";
}

void AppendFilter(std::string& out, const HtmlPage& page) {
  std::set<const RuleInfo*> rules;
  std::set<std::pair<size_t, fabric::ConnectionId>> connections;
  std::array<size_t, 3> entries{};
  for (const HtmlEntry& entry : page.entries) {
    rules.insert(entry.finding.rule);
    connections.insert({entry.file, entry.finding.connection});
    ++entries[static_cast<size_t>(entry.finding.severity)];
  }
  uint64_t findings = 0;
  for (const HtmlEntry& entry : page.entries) findings += 1 + entry.repeats;
  out.append(Text("<p class=\"muted\">", Count(findings, "finding"), " in ", page.entries.size(),
                  page.entries.size() == 1 ? " entry" : " entries",
                  ": what one side of a connection does again is counted.</p>\n"));
  out.append(
      "<form class=\"panel\" id=\"filter\" hidden role=\"search\" aria-label=\"Filter the "
      "findings\">\n<fieldset><legend>"
      "Severity</legend>\n");
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    const std::string_view name = SeverityName(severity);
    out.append(Text("<label><input type=\"checkbox\" name=\"severity\" value=\"", name, "\" checked> ", name, " (",
                    entries[static_cast<size_t>(severity)], ")</label>\n"));
  }
  out.append(
      "</fieldset>\n<label class=\"field\"><span>Rule</span><select name=\"rule\"><option value=\"\">all</option>\n");
  for (const RuleInfo* rule : rules)
    out.append(Text("<option value=\"", rule->id, "\">", rule->id, " ", Markup(rule->title), "</option>\n"));
  out.append(
      "</select></label>\n<label class=\"field\"><span>Connection</span><select name=\"connection\"><option "
      "value=\"\">all</option>\n");
  for (const auto& [file, connection] : connections) {
    const std::string name = connection == 0 ? "outside of any connection" : Text("connection ", connection);
    out.append(Text("<option value=\"", ConnectionKey(file, connection), "\">", name,
                    page.several_files() ? Text(" of ", Markup(page.files[file].name)) : "", "</option>\n"));
  }
  out.append(
      "</select></label>\n<label class=\"field\"><span>Words</span><input type=\"search\" name=\"text\" "
      "autocomplete=\"off\"></label>\n<button type=\"reset\">Show all</button>\n<p id=\"shown\" role=\"status\"></p>\n"
      "</form>\n");
}

void AppendEntry(std::string& out, const HtmlPage& page, const HtmlEntry& entry, size_t number) {
  const Finding& finding = entry.finding;
  const RuleInfo& rule = *finding.rule;
  const std::string_view severity = SeverityName(finding.severity);
  out.append(Text("<article class=\"finding ", severity, "\" id=\"f", number, "\" aria-labelledby=\"f", number,
                  "-h\" data-severity=\"", severity, "\" data-rule=\"", rule.id, "\" data-connection=\"",
                  ConnectionKey(entry.file, finding.connection), "\">\n<h3 id=\"f", number, "-h\"><span class=\"badge ",
                  severity, "\">", severity, "</span><a href=\"#rule-", rule.id, "\">", rule.id, "</a> ",
                  Markup(MessageText(finding)), "</h3>\n<p class=\"where\">", WhereMarkup(page, entry),
                  "</p>\n<dl class=\"facts\">\n"));
  AppendFact(out, "Repeats", RepeatsMarkup(entry));
  AppendFact(out, "Expected", Markup(finding.expected));
  AppendFact(out, "Actual", Markup(finding.actual));
  AppendFact(out, "Rule", Text(Markup(rule.requirement), " <span class=\"muted\">(", Markup(rule.level), ")</span>"));
  AppendFact(out, "Specification", SpecificationMarkup(finding));
  AppendFact(out, "Why it matters", Markup(rule.matters));
  AppendFact(out, "What to do", Markup(rule.remedy));
  AppendFact(out, "Related frames", FramesMarkup(finding.related_frames));
  AppendFact(out, "Broken as well", SeeAlsoMarkup(finding));
  AppendFact(out, "Fingerprint", Text("<code>", Fingerprint(finding), "</code>"));
  out.append("</dl>\n");
  AppendLadder(out, page, entry, number);
  out.append("</article>\n");
}

}  // namespace stag::conformance
