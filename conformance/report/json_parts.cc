// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/json_parts.h"

#include "conformance/engine/text.h"

namespace stag::conformance {

namespace {

void AppendIds(std::string& out, const std::vector<RuleTally>& rules, bool exercised) {
  char separator = '[';
  for (const RuleTally& tally : rules) {
    if ((tally.exercised() > 0) != exercised) continue;
    out.push_back(std::exchange(separator, ','));
    AppendJson(out, tally.rule->id);
  }
  out.append(separator == '[' ? "[]" : "]");
}

// How often each rule that applied at all came out how; members that are 0 are left out.
void AppendOutcomes(std::string& out, const std::vector<RuleTally>& rules) {
  out.push_back('{');
  bool first = true;
  for (const RuleTally& tally : rules) {
    if (tally.exercised() == 0 && tally.not_checked() == 0) continue;
    if (!std::exchange(first, false)) out.push_back(',');
    AppendJson(out, tally.rule->id);
    out.push_back(':');
    char separator = '{';
    for (size_t i = 0; i < kOutcomes; ++i) {
      if (tally.counts[i] == 0) continue;
      out.push_back(std::exchange(separator, ','));
      AppendJson(out, OutcomeName(static_cast<Outcome>(i)));
      AppendText(out, Text(":", tally.counts[i]));
    }
    out.push_back('}');
  }
  out.push_back('}');
}

}  // namespace

void AppendXid(std::string& out, std::optional<uint32_t> xid) {
  out.append(xid ? Text("\"", Hex{*xid}, "\"") : "null");
}

void AppendFindingMembers(std::string& out, const Finding& finding, std::string_view file) {
  out.append("\"type\":\"finding\",\"rule\":");
  AppendJson(out, finding.rule->id);
  out.append(",\"severity\":");
  AppendJson(out, SeverityName(finding.severity));
  out.append(",\"file\":");
  AppendJson(out, file);
  AppendText(out, Text(",\"frame\":", finding.frame.number, ",\"time\":\""));
  AppendTime(out, finding.frame.time_ns);
  AppendText(out, Text("\",\"connection\":", finding.connection, ",\"direction\":\"",
                       finding.client_to_server ? "c2s" : "s2c", "\",\"xid\":"));
  AppendXid(out, finding.xid);
  out.append(",\"message\":");
  AppendJson(out, finding.message);
  out.append(",\"spec\":");
  AppendList(out, Specifications(*finding.rule, finding.profile), [&](const std::string& s) { AppendJson(out, s); });
  out.append(",\"related_frames\":");
  AppendList(out, finding.related_frames, [&](uint64_t frame) { AppendText(out, frame); });
  out.append(",\"see_also\":");
  AppendList(out, finding.see_also, [&](std::string_view id) { AppendJson(out, id); });
}

void AppendSummaryMembers(std::string& out, const Summary& summary, const std::array<uint64_t, 3>& counts,
                          const Suppressed& suppressed) {
  const auto count = [&](Severity severity) { return counts[static_cast<size_t>(severity)]; };
  out.append(Text("\"frames\":", summary.frames, ",\"connections\":", summary.connections,
                  ",\"transactions\":", summary.transactions, ",\"findings\":{\"error\":", count(Severity::kError),
                  ",\"warning\":", count(Severity::kWarning), ",\"note\":", count(Severity::kNote),
                  "},\"rules_checked\":"));
  AppendIds(out, summary.rules, true);
  out.append(",\"rules_not_exercised\":");
  AppendIds(out, summary.rules, false);
  out.append(Text(",\"incomplete\":{\"gaps\":", summary.gaps, ",\"truncated_frames\":", summary.truncated_frames,
                  "},\"outcomes\":"));
  AppendOutcomes(out, summary.rules);
  out.append(Text(",\"suppressed\":{\"by_baseline\":", suppressed.by_baseline, ",\"by_list\":", suppressed.by_list,
                  ",\"unused\":"));
  AppendList(out, suppressed.unused, [&](const std::string& entry) { AppendJson(out, entry); });
  out.push_back('}');
}

}  // namespace stag::conformance
