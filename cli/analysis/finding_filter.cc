// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/finding_filter.h"

#include <utility>

namespace stag::cli {

using conformance::Finding;

void FindingFilter::OnFinding(const Finding& finding) {
  const auto open = open_.find(finding.connection);
  if (open == open_.end()) {  // of a packet beside the connections
    if (filter_.of_connections() || filter_.of_rpcs()) return;
  } else if (!filter_.HasConnection(*open->second.connection)) {
    return;
  }
  if (filter_.ranged() && !filter_.InRanges(finding.frame, finding.frame, start_ns_)) return;
  if (!filter_.of_rpcs()) return next_.OnFinding(finding);
  if (finding.call_number == 0) {
    const bool by_xid = filter_.procedures.empty() && filter_.statuses.empty() && !filter_.slower_than_ns;
    if (by_xid && finding.xid && filter_.HasXid(*finding.xid)) next_.OnFinding(finding);
  } else if (open->second.fitting.contains(finding.call_number) ||
             open->second.fitted_before.contains(finding.call_number)) {
    next_.OnFinding(finding);
  } else {
    open->second.waiting[finding.call_number].push_back(finding);
  }
}

void FindingFilter::Openings::OnConnection(const session::Connection& connection, const fabric::Event&) {
  filter_.open_[connection.info.id].connection = &connection;
}

void FindingFilter::OnTransaction(const session::Connection& connection, const session::Transaction& t) {
  if (!filter_.of_rpcs()) return;
  Open& open = open_[connection.info.id];
  const auto waiting = open.waiting.find(t.number);
  if (filter_.HasKind(t)) {
    if (open.fitting.size() == kMostFitting) open.fitted_before = std::exchange(open.fitting, {});
    open.fitting.insert(t.number);
    if (waiting != open.waiting.end())
      for (const Finding& finding : waiting->second) next_.OnFinding(finding);
  }
  if (waiting != open.waiting.end()) open.waiting.erase(waiting);
}

void FindingFilter::OnConnectionClosed(const session::Connection& connection, const fabric::Event&) {
  open_.erase(connection.info.id);
}

}  // namespace stag::cli
