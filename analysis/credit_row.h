// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditRow, CreditSummaryRow: credits of one direction of a connection (session/rpcrdma/credit_history.h), each change
// and all of them together.
#pragma once

#include <string_view>

#include "analysis/connection_row.h"
#include "session/rpcrdma/credit_history.h"

namespace stag::analysis {

struct CreditRow {
  CreditRow() = default;
  CreditRow(const session::CreditChange& change, int64_t origin_ns);

  uint32_t connection = 0;
  std::string_view direction;
  uint64_t frame = 0;
  std::optional<results::Time> time;
  std::optional<results::Elapsed> time_s;
  session::CreditChange::Event event = session::CreditChange::Event::kCall;
  std::optional<std::string_view> by;
  std::optional<results::Xid> xid;
  std::optional<uint32_t> requested, granted, outstanding;
  bool known = false, overrun = false;
  std::optional<uint64_t> explained_by;
  results::Omittable<std::string_view> closed;
  results::Omittable<bool> lost;
};

struct CreditLossRow {
  uint64_t frame = 0;
  std::optional<results::Time> time;
  std::string_view closed;
  bool terminated = false;
  std::optional<uint64_t> explained_by;
};

struct CreditSummaryRow {
  CreditSummaryRow() = default;
  CreditSummaryRow(const session::Connection& connection, fabric::Side requester, const session::CreditSummary& summary,
                   int64_t origin_ns);

  RowHead head;
  std::string_view direction;
  uint64_t calls = 0, replies = 0, errors = 0;
  std::optional<RangeRow> requested, granted;
  bool known = false;
  std::optional<uint32_t> max_outstanding;
  std::optional<uint64_t> max_frame;
  std::optional<results::Time> max_time;
  uint64_t overruns = 0;
  std::optional<uint64_t> first_overrun;
  uint64_t zero_grants = 0;
  std::optional<uint64_t> first_zero_grant;
  uint64_t rnr_naks = 0, rnr_naks_explained = 0, gaps = 0;
  std::optional<CreditLossRow> loss;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::CreditRow> : Of<analysis::CreditRow> {
  static constexpr std::string_view kType = "credits";
  static constexpr std::string_view kDoc =
      "A change of the credits of a connection, or of its outstanding Calls: the numbers are those after it.";
  static constexpr std::array kMembers = {
      Member<&Row::connection>("connection", "Number of the connection in its capture, from 1."),
      Member<&Row::direction>("direction", "c2s: the client requests these RPCs; s2c: the server does (RFC 8167)."),
      Member<&Row::frame>("frame", "The frame of the change."),
      Member<&Row::time>("time", "Time of the change, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture."),
      Member<&Row::event>("event",
                          "joined: the first message of a connection whose set-up was not captured; error: "
                          "RDMA_ERROR; done: RDMA_DONE; unclear: a Send, Call or Reply; gap: packets are missing; "
                          "the others are as their names say."),
      Member<&Row::by>("by", "client or server: the sender; null: the change has none."),
      Member<&Row::xid>("xid", "The message's xid; null: the change has none."),
      Member<&Row::requested>("requested", "The last request; null: none was seen since the start or the last gap."),
      Member<&Row::granted>("granted", "The last grant; null: none was seen since the start or the last gap."),
      Member<&Row::outstanding>("outstanding", "Calls that are not answered; null: not known."),
      Member<&Row::known>("known", "The number of outstanding Calls is known."),
      Member<&Row::overrun>("overrun", "The Call is over the grant, or a second one before the first grant."),
      Member<&Row::explained_by>("explained_by", "The frame of the overrun that this follows; null: none."),
      Member<&Row::closed>("closed", "How the connection ended, where it did."),
      Member<&Row::lost>("lost", "It was terminated, or closed with Calls outstanding, by one of its ends."),
  };
};

template <>
struct Record<analysis::CreditLossRow> : Part<analysis::CreditLossRow> {
  static constexpr std::array kMembers = {
      Member<&Row::frame>("frame", "The last frame of the connection."),
      Member<&Row::time>("time", "Its time, UTC."),
      Member<&Row::closed>("closed", "How the connection ended."),
      Member<&Row::terminated>("terminated", "A Terminate came before."),
      Member<&Row::explained_by>("explained_by", "The frame of the overrun that this follows; null: none."),
  };
};

template <>
struct Record<analysis::CreditSummaryRow> : Of<analysis::CreditSummaryRow> {
  static constexpr std::string_view kType = "credit_summary";
  static constexpr std::string_view kDoc =
      "The credits of one direction of a connection over its whole time, when it has closed.";
  static constexpr std::array kMembers = {
      Inline<&Row::head>(),
      Member<&Row::direction>("direction", "c2s: the client requests these RPCs; s2c: the server does (RFC 8167).")
          .Column("direction"),
      Member<&Row::calls>("calls", "Calls.").Column("calls"),
      Member<&Row::replies>("replies", "Replies.").Column("replies"),
      Member<&Row::errors>("errors", "RDMA_ERROR messages.").Column("errors"),
      Member<&Row::requested>("requested", "Credits that Calls request; null: there were none.").Column("requested"),
      Member<&Row::granted>("granted", "Credits that answers grant; null: there were none.").Column("granted"),
      Member<&Row::known>("known", "The number of outstanding Calls was known all the time."),
      Member<&Row::max_outstanding>("max_outstanding",
                                    "The most Calls that were outstanding while their number was known; null: it "
                                    "never was.")
          .Column("most outstanding"),
      Member<&Row::max_frame>("max_frame", "The frame that reached that first."),
      Member<&Row::max_time>("max_time", "Its time, UTC."),
      Member<&Row::overruns>("overruns", "Calls over the grant.").Column("overruns"),
      Member<&Row::first_overrun>("first_overrun", "The frame of the first; null: none."),
      Member<&Row::zero_grants>("zero_grants", "Answers that grant nothing.").Column("zero grants"),
      Member<&Row::first_zero_grant>("first_zero_grant", "The frame of the first; null: none."),
      Member<&Row::rnr_naks>("rnr_naks", "RNR NAKs of Sends.").Column("RNR NAKs"),
      Member<&Row::rnr_naks_explained>("rnr_naks_explained", "RNR NAKs that follow an overrun."),
      Member<&Row::gaps>("gaps", "Places where packets are missing.").Column("gaps"),
      Member<&Row::loss>("loss",
                         "The connection was terminated, or closed with Calls outstanding, by one of its ends; null: "
                         "it was not."),
  };
};

}  // namespace stag::results
