// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileSummaryRow: a capture as `stag summary` tells of it.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/judged_row.h"
#include "analysis/link_row.h"
#include "cli/summary/file_summary.h"
#include "conformance/report/finding_row.h"

namespace stag::cli {

struct WrongRow {
  std::string_view severity;
  std::string kind;
  std::optional<analysis::Blame> blames;
  std::optional<uint32_t> connection;
  std::string_view text;
  std::optional<uint64_t> frame;
  Harm harm = Harm::kNote;
  std::optional<results::Duration> lost;
  uint64_t connection_count = 0;
  std::vector<uint32_t> worst;
  std::string next;
};

// What failed in NFS.
struct NfsErrorRow {
  std::string operation, status;
  uint64_t count = 0, of = 0;
  std::optional<uint64_t> frame;
  std::optional<uint32_t> connection;
  bool harmful = false;
};

struct FileSummaryRow {
  // The summary must outlive the row.
  explicit FileSummaryRow(const FileSummary& summary);

  uint64_t frames = 0, connections = 0, transactions = 0;
  std::optional<analysis::LinkCounts> link;
  analysis::JudgedRow judged;
  std::vector<WrongRow> wrong;
  std::vector<NfsErrorRow> nfs_errors;
  results::Omittable<uint64_t> wrong_left_out;
  conformance::SeverityCounts findings;
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::WrongRow> : Part<cli::WrongRow> {
  static constexpr std::array kMembers = {
      Member<&Row::severity>("severity", "error, trouble, warning or note."),
      Member<&Row::kind>(
          "kind",
          "unanswered, waiting: RPCs without an answer when the connection, the capture ended. backchannel, state: "
          "what "
          "the server says of callbacks, and of what it keeps for the client. callback: what is waited for by a copy, "
          "or by a recall. nfs_error: results of NFS. retransmission: packets that were sent again. rnr: a receiver "
          "was not ready. refused: the connection, or a request; of TCP, too. reset: the "
          "connection. credits, put_off, slow: what keeps RPCs back. zero_window, congestion, damage, changed: what "
          "the fabric shows. capture_loss, capture_sample, one_direction, nothing_captured, cut: what the capture "
          "lacks. disorder: frames too far behind later ones. captured_twice: packets that were, or were sent again. "
          "foreign: others that borrow the header. rule:ID: findings of the rule."),
      Member<&Row::blames>("blames", "Whose doing it is; null: the capture does not prove that."),
      Member<&Row::connection>("connection", "The connection, or the first; null: it is about the capture."),
      Member<&Row::text>("text", "A sentence."),
      Member<&Row::frame>("frame", "A frame to look at; null: there is none."),
      Member<&Row::harm>(
          "harm",
          "What it costs, and the order: data: bytes are wrong, or state of the client is gone. connection: one was "
          "lost, or not had. time: RPCs waited. refused: RPCs were, or were put off. conformance: the specification "
          "is broken. capture: the capture lacks something. note. known: a deviation that is known to do no harm "
          "between these two."),
      Member<&Row::lost>("lost_us", "Time that was lost by it; null: not known."),
      Member<&Row::connection_count>("connection_count", "Connections with this trouble."),
      Member<&Row::worst>("worst", "The worst of them, three at most, where there are several."),
      Member<&Row::next>("next", "A command to look closer; FILE stands for the capture."),
  };
};
template <>
struct Record<cli::NfsErrorRow> : Part<cli::NfsErrorRow> {
  static constexpr std::array kMembers = {
      Member<&Row::operation>("operation", "The procedure, or the operation of a COMPOUND: \"NFSv4 OPEN\"."),
      Member<&Row::status>("status", "The status of its result: \"NFS4ERR_NOENT\"."),
      Member<&Row::count>("count", "Results with that status."),
      Member<&Row::of>("of", "All results of the operation."),
      Member<&Row::frame>("frame", "The frame of the first."),
      Member<&Row::connection>("connection", "The connection of the first."),
      Member<&Row::harmful>("harmful", "Among `wrong`, too; else it is part of normal life."),
  };
};
template <>
struct Record<cli::FileSummaryRow> : Of<cli::FileSummaryRow> {
  static constexpr std::string_view kType = "summary", kDoc = "A capture.";
  static constexpr std::array kMembers = {
      Member<&Row::frames>("frames", "Frames of the capture."),
      Member<&Row::connections>("connections", "RPC-over-RDMA connections."),
      Member<&Row::transactions>("transactions", "RPCs whose Calls were captured."),
      Inline<&Row::link>(),
      Member<&Row::judged>("judged", "How much of the capture could be judged."),
      Member<&Row::wrong>("wrong", "Things that are wrong, the worst first."),
      Member<&Row::nfs_errors>("nfs_errors", "Results of NFS that are errors, by kind; those that do harm first."),
      Member<&Row::wrong_left_out>("wrong_left_out", "Further ones, which memory had no room for."),
      Member<&Row::findings>("findings", "Findings by severity."),
  };
};

}  // namespace stag::results
