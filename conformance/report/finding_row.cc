// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/finding_row.h"

#include "analysis/row_head.h"
#include "analysis/transaction_row.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/procedure.h"

namespace stag::conformance {

using results::NotEmpty;

FindingRow::FindingRow(const Finding& finding, std::string_view of_file)
    : rule(finding.rule->id),
      severity(SeverityName(finding.severity)),
      certainty(CertaintyName(finding.certainty)),
      file(of_file),
      frame(finding.frame.number),
      proven_frame(finding.proven.number),
      time{finding.frame.time_ns},
      time_s(analysis::SinceStart(finding.frame, finding.start_ns)),
      connection(finding.connection),
      direction(analysis::DirectionOf(finding.client_to_server)),
      message(MessageText(finding)),
      spec(Specifications(*finding.rule, finding.profile)),
      related_frames(finding.related_frames),
      see_also(finding.see_also),
      fingerprint(Fingerprint(finding)),
      profile(ProfileName(finding.profile)),
      expected(NotEmpty(finding.expected)),
      actual(NotEmpty(finding.actual)) {
  if (finding.xid) xid = results::Xid{*finding.xid};
  if (finding.call_number != 0) analysis::PutTransactionId(transaction.emplace(), connection, finding.call_number);
  if (finding.known) known = finding.rule->known;
  if (const auto& p = finding.procedure) rpc = ProcedureRow{p->program, p->version, p->procedure, ProcedureText(*p)};
}

SummaryRow::SummaryRow(const Summary& summary, const std::array<uint64_t, 3>& counts, const Suppressed& kept)
    : frames(summary.frames),
      connections(summary.connections),
      transactions(summary.transactions),
      incomplete{summary.gaps, summary.truncated_frames},
      judged(summary.judged),
      suppressed{kept.by_baseline, kept.by_list, kept.unused} {
  const auto of = [&counts](Severity severity) { return counts[static_cast<size_t>(severity)]; };
  findings = {of(Severity::kError), of(Severity::kWarning), of(Severity::kNote)};
  for (const RuleTally& tally : summary.rules) {
    (tally.exercised() > 0 ? rules_checked : rules_not_exercised).push_back(tally.rule->id);
    if (tally.exercised() == 0 && tally.not_checked() == 0) continue;
    auto& of_rule = outcomes.emplace_back(tally.rule->id, 0).second;
    for (size_t i = 0; i < kOutcomes; ++i)
      if (tally.counts[i] > 0) of_rule.emplace_back(OutcomeName(static_cast<Outcome>(i)), tally.counts[i]);
  }
}

}  // namespace stag::conformance
