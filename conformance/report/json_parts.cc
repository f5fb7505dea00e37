// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/json_parts.h"

namespace stag::conformance {

namespace {

void PutIds(JsonWriter& json, std::string_view key, const std::vector<RuleTally>& rules, bool exercised) {
  json.Key(key).BeginArray();
  for (const RuleTally& tally : rules)
    if ((tally.exercised() > 0) == exercised) json.Value(tally.rule->id);
  json.EndArray();
}

// How often each rule that applied at all came out how; members that are 0 are left out.
void PutOutcomes(JsonWriter& json, const std::vector<RuleTally>& rules) {
  json.Key("outcomes").BeginObject();
  for (const RuleTally& tally : rules) {
    if (tally.exercised() == 0 && tally.not_checked() == 0) continue;
    json.Key(tally.rule->id).BeginObject();
    for (size_t i = 0; i < kOutcomes; ++i)
      if (tally.counts[i] > 0) json.Member(OutcomeName(static_cast<Outcome>(i)), tally.counts[i]);
    json.EndObject();
  }
  json.EndObject();
}

}  // namespace

void PutFindingMembers(JsonWriter& json, const Finding& finding, std::string_view file) {
  json.Member("type", "finding").Member("rule", finding.rule->id).Member("severity", SeverityName(finding.severity));
  json.Member("certainty", CertaintyName(finding.certainty)).Member("file", file);
  json.Member("frame", finding.frame.number).Member("proven_frame", finding.proven.number);
  json.Key("time").Time(finding.frame.time_ns);
  json.Member("connection", finding.connection).Member("direction", finding.client_to_server ? "c2s" : "s2c");
  json.Key("xid").Xid(finding.xid).Member("message", MessageText(finding));
  PutList(json, "spec", Specifications(*finding.rule, finding.profile));
  PutList(json, "related_frames", finding.related_frames);
  PutList(json, "see_also", finding.see_also);
}

void PutSummaryMembers(JsonWriter& json, const Summary& summary, const std::array<uint64_t, 3>& counts,
                       const Suppressed& suppressed) {
  json.Member("frames", summary.frames).Member("connections", summary.connections);
  json.Member("transactions", summary.transactions).Key("findings").BeginObject();
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote})
    json.Member(SeverityName(severity), counts[static_cast<size_t>(severity)]);
  json.EndObject();
  PutIds(json, "rules_checked", summary.rules, true);
  PutIds(json, "rules_not_exercised", summary.rules, false);
  json.Key("incomplete").BeginObject().Member("gaps", summary.gaps);
  json.Member("truncated_frames", summary.truncated_frames).EndObject();
  PutOutcomes(json, summary.rules);
  json.Key("suppressed").BeginObject().Member("by_baseline", suppressed.by_baseline);
  json.Member("by_list", suppressed.by_list);
  PutList(json, "unused", suppressed.unused);
  json.EndObject();
}

}  // namespace stag::conformance
