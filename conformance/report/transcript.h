// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transcript: the calls that the analysis of a file makes to its reporter, as records of bytes. A TranscriptWriter
// takes the place of the reporter and writes the records; a Playback makes the same calls in the same order, in another
// process or later. So the report is the same whichever process reads a file, in every format, and the filters between
// engine and reporter (baseline.h) work on the same findings.
//
// The records of a file: BeginFile, findings, connections, ladders, EndFile. The writer keeps the ladders of a file
// until it ends, because they grow until then.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/report/connection_history.h"
#include "conformance/report/ladder_choice.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

// Returns a sink that passes findings to `next`, or accepts them, as the filters of the reporter do.
using Filter = std::function<FindingSink&(FindingSink& next)>;

class TranscriptWriter final : public Reporter {
 public:
  // `write` gets one record a call. `wants`: the reporter's. `filter` decides which findings get a ladder; all findings
  // are written.
  TranscriptWriter(Write write, Wants wants, const Filter& filter);

  void BeginFile(std::string_view file) override;
  std::vector<session::Observer*> Observers() override;
  Wants wants() const override { return wants_; }
  void OnConnection(const session::Connection& connection) override;
  void SetLadderSource(const LadderSource& tell) override { source_ = tell; }
  void EndFile(const Summary& summary, std::string_view trouble) override;
  void Finish(const Suppressed&) override {}

 protected:
  void Show(const Finding& finding) override;

 private:
  // Gets the findings that the filter passes.
  struct Asker final : FindingSink {
    explicit Asker(TranscriptWriter& to) : writer(to) {}
    void OnFinding(const Finding& finding) override;
    TranscriptWriter& writer;
  };
  struct Closings final : session::Observer {
    explicit Closings(TranscriptWriter& to) : writer(to) {}
    void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override;
    TranscriptWriter& writer;
  };

  const Wants wants_;
  Asker asker_{*this};
  Closings closings_{*this};
  FindingSink& shown_;
  std::unique_ptr<ConnectionHistory> history_;
  LadderSource source_;  // of the file: history_, unless another one is set
  LadderChoice choice_;
  std::shared_ptr<const Ladder> ladder_;                // of the finding that is being written
  std::vector<std::shared_ptr<const Ladder>> ladders_;  // of the file
};

class Playback {
 public:
  // The reporter's wants must be those of the TranscriptWriter. Findings go to `findings`, which passes them to the
  // reporter.
  Playback(Reporter& reporter, FindingSink& findings) : reporter_(reporter), findings_(findings) {}

  // Takes the next record. False: it is none.
  [[nodiscard]] bool Take(std::string_view record);

 private:
  Reporter& reporter_;
  FindingSink& findings_;
  std::shared_ptr<Ladder> ladder_;                // of the finding that is being played
  std::deque<std::shared_ptr<Ladder>> promised_;  // empty so far: their records come later, in this order
};

}  // namespace stag::conformance
