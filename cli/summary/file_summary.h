// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileSummary: a capture as stag summary and stag report show it, from one pass in which everything of check, latency,
// transport, limits and credits is observed.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/latency_table.h"
#include "cli/analysis/acceptance.h"
#include "cli/analysis/analysis.h"
#include "cli/credits/credit_plotter.h"
#include "cli/latency/latency_course.h"
#include "cli/summary/wrong.h"
#include "cli/transport/transport_plot.h"
#include "conformance/report/reporter.h"

namespace stag::cli {

struct SummaryOptions {
  conformance::EngineOptions engine;
  // Gets the file, its connections and findings, too; null: there is none.
  conformance::Reporter* reporter = nullptr;
  // Findings that it accepts are left out, of `reporter`, too; null: none is.
  Acceptance* accept = nullptr;
  // All of the times (else round-trip times alone), and what pictures are drawn of.
  bool pictures = false;
  size_t slowest = 0;  // RPCs to keep, with `pictures`
};

class FileSummary {
 public:
  // Reads the file.
  FileSummary(const std::string& file, const CommonOptions& options, const SummaryOptions& wanted, Output& output);
  ~FileSummary();
  FileSummary(const FileSummary&) = delete;
  FileSummary& operator=(const FileSummary&) = delete;

  const std::string& name() const { return name_; }  // as the user gave it
  const FileOutcome& outcome() const { return outcome_; }
  // RPC-over-RDMA connections.
  uint64_t connection_count() const { return connection_count_; }
  // Those of which details are kept, in order of their numbers: as many as there is room for, with trouble first.
  const std::deque<SummarizedConnection>& connections() const { return connections_; }
  const analysis::LatencyTable& latency() const;  // by procedure
  const LatencyCourse& course() const;            // with SummaryOptions::pictures
  // With SummaryOptions::pictures: RPCs whose round-trip time, or some phase, is not known.
  uint64_t untimed() const;
  uint64_t phases_missing() const;
  // The worst first.
  const std::vector<Wrong>& wrong() const { return wrong_; }
  uint64_t wrong_left_out() const { return wrong_left_out_; }
  // What failed in NFS, that which does harm first.
  const std::vector<analysis::NfsErrors::Kind>& nfs_errors() const { return nfs_errors_; }
  uint64_t findings(conformance::Severity severity) const;
  uint64_t accepted() const { return accepted_; }  // findings that are left out
  // What was broken, the worst first, then the most frequent.
  std::vector<const BrokenRule*> broken() const;
  // From the first to the last frame of the connections; nullopt: there is none.
  std::optional<int64_t> span_ns() const { return span_ns_; }

  // With SummaryOptions::pictures.
  TransportPlotter& transport_plotter() { return transport_plotter_; }
  const CreditPlotter& credit_plotter() const { return *credit_plotter_; }

 private:
  class Gatherer;
  class Shard;
  struct Times;

  void FindWhatIsOfNoConnection();
  void ReportWhatIsMissing(Diagnostics& diagnostics) const;

  std::string name_;
  std::unique_ptr<Gatherer> gatherer_;
  std::unique_ptr<Times> times_;
  TransportPlotter transport_plotter_;
  std::unique_ptr<CreditPlotter> credit_plotter_;
  FileOutcome outcome_;
  std::deque<SummarizedConnection> connections_;
  uint64_t connection_count_ = 0, wrong_left_out_ = 0, accepted_ = 0;
  std::vector<Wrong> wrong_;
  std::vector<analysis::NfsErrors::Kind> nfs_errors_;
  std::optional<int64_t> span_ns_;
};

}  // namespace stag::cli
