// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/wrong.h"

#include "cli/transport/transport_report.h"
#include "text/put.h"

namespace stag::cli {

using conformance::Severity;
using session::Connection;

std::string_view RankName(Wrong::Rank rank) {
  switch (rank) {
    case Wrong::Rank::kError: return "error";
    case Wrong::Rank::kTrouble: return "trouble";
    case Wrong::Rank::kWarning: return "warning";
    case Wrong::Rank::kNote: return "note";
  }
  return {};
}

Wrong WhatBroke(const BrokenRule& b) {
  Wrong wrong;
  wrong.rank = b.severity == Severity::kError     ? Wrong::Rank::kError
               : b.severity == Severity::kWarning ? Wrong::Rank::kWarning
                                                  : Wrong::Rank::kNote;
  wrong.frame = b.first_frame;
  wrong.rule = b.rule;
  wrong.text = fmt::format("{} by the {}: {}", b.rule->id, b.by_client ? "client" : "server", b.message);
  if (b.count > 1) wrong.text += fmt::format(", {} times", b.count);
  wrong.text += '.';
  return wrong;
}

std::vector<Wrong> WhatIsWrongWith(const SummarizedConnection& one) {
  const Connection& c = one.connection;
  std::vector<Wrong> all;
  const auto add = [&](std::string text, uint64_t frame) {
    all.push_back({Wrong::Rank::kTrouble, fmt::format("Connection {}: {}", c.info.id, text), frame, nullptr});
  };
  if (c.rejected) add("the server rejected it.", c.close_frame.number);
  if (c.close_reason == fabric::CloseReason::kReset && !c.rejected) add("it was reset.", c.close_frame.number);
  if (one.unanswered > 0)
    add(fmt::format("{} without an answer, the first {}.", Count(one.unanswered, "RPC"), one.first_subject),
        one.first_unanswered);
  if (const auto& credits = one.credits) {
    if (credits->overruns > 0)
      add(fmt::format("the client sent {} over the server's grant.", Count(credits->overruns, "Call")),
          credits->first_overrun.number);
    if (credits->zero_grants > 0)
      add(fmt::format("the server granted no credits, {}.", Count(credits->zero_grants, "time")),
          credits->first_zero_grant.number);
    if (credits->granted.any && credits->granted.max == 1 && credits->calls > 1)
      add("the server grants one credit: one Call at a time.", 0);
  }
  if (const auto& limits = one.limits) {
    if (limits->verdict() == session::Limit::kCreditLimited)
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
  if (!one.health) return all;
  for (TransportTrouble& trouble : TransportTroubles(c, *one.health)) add(std::move(trouble.text), trouble.frame);
  return all;
}

}  // namespace stag::cli
