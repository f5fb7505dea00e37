// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/credit_row.h"

#include "session/fabric/names.h"

namespace stag::analysis {

using Event = session::CreditChange::Event;

CreditRow::CreditRow(const session::CreditChange& change, int64_t origin_ns)
    : connection(change.connection),
      direction(DirectionOf(change.requester == change.client)),
      frame(change.frame.number),
      time(TimeOf(change.frame)),
      time_s(SinceStart(change.frame, origin_ns)),
      event(change.event),
      requested(change.requested),
      granted(change.granted),
      outstanding(change.outstanding),
      known(change.outstanding.has_value()),
      overrun(change.overrun),
      explained_by(results::NotZero(change.explained_by)) {
  if (change.event != Event::kClosed && change.event != Event::kJoined)
    by = change.from == change.client ? "client" : "server";
  if (change.xid) xid = results::Xid{*change.xid};
  if (change.event != Event::kClosed) return;
  closed = fabric::CloseName(change.close_reason);
  lost = change.lost;
}

CreditSummaryRow::CreditSummaryRow(const session::Connection& connection, fabric::Side requester,
                                   const session::CreditSummary& s, int64_t origin_ns)
    : head(connection, origin_ns),
      direction(DirectionOf(requester == connection.client)),
      calls(s.calls),
      replies(s.replies),
      errors(s.errors),
      requested(RangeOf(s.requested)),
      granted(RangeOf(s.granted)),
      known(s.any_known && !s.any_unknown),
      max_frame(results::NotZero(s.max_frame.number)),
      max_time(TimeOf(s.max_frame)),
      overruns(s.overruns),
      first_overrun(results::NotZero(s.first_overrun.number)),
      zero_grants(s.zero_grants),
      first_zero_grant(results::NotZero(s.first_zero_grant.number)),
      rnr_naks(s.rnr_naks),
      rnr_naks_explained(s.rnr_naks_explained),
      gaps(s.gaps) {
  if (s.any_known) max_outstanding = s.max_outstanding;
  if (s.loss.lost) {
    loss = CreditLossRow{s.loss.frame.number, TimeOf(s.loss.frame), fabric::CloseName(connection.close_reason),
                         s.loss.terminated, results::NotZero(s.loss.explained_by)};
  }
}

}  // namespace stag::analysis
