// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reporter: findings in one of the formats of `stag check`. The flow: BeginFile, then findings as the engine gives them
// (a Reporter is its FindingSink), EndFile with what the file held; after the last file, Finish writes the summary.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine/engine.h"
#include "conformance/report/rule_row.h"

namespace stag::conformance {

class Ladder;

// Takes what a reporter writes, piece by piece; `text` is valid during the call.
using Write = std::function<void(std::string_view text)>;

// What the files held.
struct Summary {
  uint64_t files = 0;       // that could be opened
  uint64_t not_judged = 0;  // of these, without an RPC-over-RDMA message
  uint64_t frames = 0;
  uint64_t connections = 0;  // RPC-over-RDMA connections
  uint64_t transactions = 0;
  uint64_t gaps = 0;              // places where the capture lost packets
  uint64_t truncated_frames = 0;  // RDMA frames cut by the snap length
  session::Judged judged;
  int64_t first_time_ns = 0;     // of the first frame of one file
  std::vector<RuleTally> rules;  // Engine::Tallies
  // Adds another file's numbers.
  void Add(const Summary& other);
};

// Findings that are accepted and not reported (baseline.h, suppression_list.h).
struct Suppressed {
  uint64_t by_baseline = 0, by_list = 0;  // findings
  std::vector<std::string> unused;        // entries that no finding matched, for people
};

class Reporter : public FindingSink {
 public:
  explicit Reporter(Write write) : write_(std::move(write)) {}

  // `file`: the name to show, as the user gave it. Any bytes.
  virtual void BeginFile(std::string_view file) { file_ = file; }
  // Observers of the file's Session; they come before the engine.
  virtual std::vector<session::Observer*> Observers() { return {}; }
  // A file that is analysed by another process (transcript.h), or by several threads, has no Observers here. Wants says
  // which of their data is given instead: connections, given to OnConnection as they close, and ladders. A
  // LadderSource, set after BeginFile, returns the ladder of the finding that is being reported.
  struct Wants {
    bool connections = false, ladders = false;
  };
  using LadderSource = std::function<std::shared_ptr<const Ladder>(const Finding&)>;
  virtual Wants wants() const { return {}; }
  virtual void OnConnection(const session::Connection&) {}
  virtual void SetLadderSource(const LadderSource&) {}
  void OnFinding(const Finding& finding) final {
    ++counts_[static_cast<size_t>(finding.severity)];
    Show(finding);
  }
  // One that is counted and not shown.
  void OnLeftOut(const Finding& finding) { ++counts_[static_cast<size_t>(finding.severity)]; }
  // `trouble`: why the file could not be opened or read to its end; else empty.
  virtual void EndFile(const Summary& summary, std::string_view /*trouble*/) { total_.Add(summary); }
  virtual void Finish(const Suppressed& suppressed) = 0;

  // Files without anything that could be judged.
  uint64_t files_not_judged() const { return total_.not_judged; }
  // Findings so far, over all files.
  uint64_t count(Severity severity) const { return counts_[static_cast<size_t>(severity)]; }

 protected:
  virtual void Show(const Finding& finding) = 0;
  void Put(std::string_view text) const { write_(text); }
  const std::string& file() const { return file_; }
  const Summary& total() const { return total_; }
  const std::array<uint64_t, 3>& counts() const { return counts_; }  // by Severity

 private:
  Write write_;
  std::string file_;
  Summary total_;
  std::array<uint64_t, 3> counts_{};
};

// Compiler style: `FILE:FRAME: SEVERITY RULE: MESSAGE` and indented lines of evidence. Repeats of a rule on a
// connection are one entry with a count; entries come with EndFile, the worst first, and in order of their first frame.
// The summary is left out when `quiet`, or when no file could be opened; `statistics`: it has what rules were
// exercised.
std::unique_ptr<Reporter> MakeTextReporter(Write write, bool color, bool quiet, bool statistics = false);

// One object a line for each finding, as it comes, and a summary object unless no file could be opened.
std::unique_ptr<Reporter> MakeJsonlReporter(Write write);

// The catalogue or a part of it. `stag rules`: a table. `stag explain`: everything about one rule.
std::string RulesTable(std::span<const RuleRow> rows, bool color);
std::string Explanation(const RuleInfo& rule, bool color);

}  // namespace stag::conformance
