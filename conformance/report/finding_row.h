// SPDX-License-Identifier: GPL-2.0-or-later
//
// FindingRow and SummaryRow: the records of `stag check`, in JSON lines and in the JSON document. Members are a
// contract with programs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/judged_row.h"
#include "conformance/report/reporter.h"
#include "results/record.h"

namespace stag::conformance {

struct ProcedureRow {
  uint32_t program = 0, version = 0, procedure = 0;
  std::string name;
};

struct FindingRow {
  FindingRow() = default;
  // The finding must outlive the row.
  FindingRow(const Finding& finding, std::string_view file);

  std::string_view rule, severity, certainty, file;
  uint64_t frame = 0, proven_frame = 0;
  results::Time time;
  std::optional<results::Elapsed> time_s;
  uint32_t connection = 0;
  std::string_view direction;
  std::optional<results::Xid> xid;
  std::optional<std::string> transaction;
  std::string message;
  std::vector<std::string> spec;
  std::vector<uint64_t> related_frames;
  std::vector<std::string_view> see_also;
  std::string fingerprint;
  std::string_view profile;
  std::optional<std::string_view> expected, actual;
  std::optional<ProcedureRow> rpc;
  results::Omittable<std::string_view> known;
};

struct SeverityCounts {
  uint64_t error = 0, warning = 0, note = 0;
};
struct IncompleteRow {
  uint64_t gaps = 0, truncated_frames = 0;
};
struct SuppressedRow {
  uint64_t by_baseline = 0, by_list = 0;
  std::vector<std::string> unused;
};

// A file, in the JSON document.
struct CheckedFile {
  CheckedFile(std::string_view name, std::string_view trouble, const Summary& summary)
      : file(name),
        error(trouble),
        opened(summary.files > 0),
        frames(summary.frames),
        connections(summary.connections),
        transactions(summary.transactions),
        incomplete{summary.gaps, summary.truncated_frames},
        judged(summary.judged) {}

  std::string_view file, error;
  bool opened;
  uint64_t frames, connections, transactions;
  IncompleteRow incomplete;
  analysis::JudgedRow judged;
};

struct SummaryRow {
  SummaryRow() = default;
  // `counts`: findings, by Severity.
  SummaryRow(const Summary& summary, const std::array<uint64_t, 3>& counts, const Suppressed& suppressed);

  uint64_t frames = 0, connections = 0, transactions = 0;
  SeverityCounts findings;
  std::vector<std::string_view> rules_checked, rules_not_exercised;
  IncompleteRow incomplete;
  analysis::JudgedRow judged;
  std::vector<std::pair<std::string_view, std::vector<std::pair<std::string_view, uint64_t>>>> outcomes;
  SuppressedRow suppressed;
};

}  // namespace stag::conformance

namespace stag::results {

template <>
struct Record<conformance::ProcedureRow> : Part<conformance::ProcedureRow> {
  static constexpr std::array kMembers = {
      Member<&Row::program>("program", "RPC program."),
      Member<&Row::version>("version", "Version of the program."),
      Member<&Row::procedure>("procedure", "Number of the procedure."),
      Member<&Row::name>("name", "Name of program and procedure."),
  };
};

template <>
struct Record<conformance::FindingRow> : Of<conformance::FindingRow> {
  static constexpr std::string_view kType = "finding";
  static constexpr std::string_view kDoc = "A violation of a rule, in the order of proof.";
  static constexpr std::array kMembers = {
      Member<&Row::rule>("rule", "Id of the rule; stag explain tells more.").Column("rule"),
      Member<&Row::severity>("severity", "error, warning or note.").Column("severity"),
      Member<&Row::certainty>(
          "certainty",
          "proven; or presumed: nothing came that could prove or refute it. Then it is a warning at "
          "most.")
          .Column("certainty"),
      Member<&Row::file>("file", "Name of the capture."),
      Member<&Row::frame>("frame",
                          "The frame of the message or packet that breaks the rule; of several packets, the last.")
          .Column("frame"),
      Member<&Row::proven_frame>("proven_frame", "The frame where that became provable, or was given up."),
      Member<&Row::time>("time", "Time of `frame`, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture.").Column("time"),
      Member<&Row::connection>("connection", "Number of the connection; 0: a packet outside of any.").Column("conn"),
      Member<&Row::direction>("direction", "c2s: the client sent what breaks the rule; s2c: the server.").Column("dir"),
      Member<&Row::xid>("xid", "The RPC's xid.").Column("xid"),
      Member<&Row::transaction>("transaction", "The RPC, by its id in stag transactions; null: none, or not known."),
      Member<&Row::message>("message", "One sentence.").Column("message"),
      Member<&Row::spec>("spec", "Sections of the documents that the finding rests on."),
      Member<&Row::related_frames>("related_frames", "Other frames of the story."),
      Member<&Row::see_also>("see_also", "Other rules that the same event breaks."),
      Member<&Row::fingerprint>("fingerprint", "The same for the same finding in another capture; for --baseline."),
      Member<&Row::profile>("profile", "The document that the connection was judged by."),
      Member<&Row::expected>("expected", "The value that the rule asks for, in words."),
      Member<&Row::actual>("actual", "The value that was seen, in words."),
      Member<&Row::rpc>("rpc", "Procedure of the RPC; null: not known."),
      Member<&Row::known>("known", "Why the deviation does no harm between these two; there where that is known."),
  };
};

template <>
struct Record<conformance::SeverityCounts> : Part<conformance::SeverityCounts> {
  static constexpr std::array kMembers = {
      Member<&Row::error>("error", "Errors."),
      Member<&Row::warning>("warning", "Warnings."),
      Member<&Row::note>("note", "Notes."),
  };
};
template <>
struct Record<conformance::IncompleteRow> : Part<conformance::IncompleteRow> {
  static constexpr std::array kMembers = {
      Member<&Row::gaps>("gaps", "Places where the capture lost packets."),
      Member<&Row::truncated_frames>("truncated_frames", "RDMA frames cut by the snap length."),
  };
};
template <>
struct Record<conformance::CheckedFile> : Part<conformance::CheckedFile> {
  static constexpr std::array kMembers = {
      Member<&Row::file>("file", "Name of the capture."),
      TextOrNull<&Row::error>("error", "The reason that it could not be opened, or not be read to its end."),
      Member<&Row::opened>("opened", "It could be opened."),
      Member<&Row::frames>("frames", "Frames."),
      Member<&Row::connections>("connections", "RPC-over-RDMA connections."),
      Member<&Row::transactions>("transactions", "RPCs whose Calls were captured."),
      Member<&Row::incomplete>("incomplete", "Things that the capture lacks."),
      Member<&Row::judged>("judged", "How much of it could be judged."),
  };
};
template <>
struct Record<conformance::SuppressedRow> : Part<conformance::SuppressedRow> {
  static constexpr std::array kMembers = {
      Member<&Row::by_baseline>("by_baseline", "Findings that --baseline accepts."),
      Member<&Row::by_list>("by_list", "Findings that --suppress accepts."),
      Member<&Row::unused>("unused", "Entries of these files that no finding matched."),
  };
};

template <>
struct Record<conformance::SummaryRow> : Of<conformance::SummaryRow> {
  static constexpr std::string_view kType = "summary", kDoc = "The last line: all captures together.";
  static constexpr std::array kMembers = {
      Member<&Row::frames>("frames", "Frames."),
      Member<&Row::connections>("connections", "RPC-over-RDMA connections."),
      Member<&Row::transactions>("transactions", "RPCs whose Calls were captured."),
      Member<&Row::findings>("findings", "Findings by severity."),
      Member<&Row::rules_checked>("rules_checked", "Rules that something in the captures was judged by."),
      Member<&Row::rules_not_exercised>("rules_not_exercised", "Rules that nothing was judged by."),
      Member<&Row::incomplete>("incomplete", "Things that the captures lack."),
      Member<&Row::judged>("judged", "How much of them could be judged."),
      Member<&Row::outcomes>("outcomes",
                             "How often each rule that applied at all came out how: pass, fail, not applicable; or why "
                             "the capture did not show enough."),
      Member<&Row::suppressed>("suppressed", "Findings that were accepted and are not listed."),
  };
};

}  // namespace stag::results
