// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transcript: all that the analysis of a file tells its reporter, as records of bytes. A Recorder stands where the
// reporter would; a Playback tells the reporter the same in the same order, elsewhere or later. So a report is the same
// however its files were read, whatever its format; and so are the filters between engine and reporter (baseline.h).
//
// A file is BeginFile, findings, connections, ladders, EndFile. Memory: the ladders of a file, which grow until it
// ends.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/report/ladder_choice.h"
#include "conformance/report/reporter.h"
#include "conformance/report/story.h"

namespace stag::conformance {

// What passes findings on to a sink, or accepts them: as they will pass before the reporter.
using Filter = std::function<FindingSink&(FindingSink& next)>;

class Recorder final : public Reporter {
 public:
  // `write` gets one record a call. `wants`: the reporter's. `filter`: which findings the reporter will see; asked only
  // for ladders, all findings are recorded.
  Recorder(Write write, Wants wants, const Filter& filter);

  void BeginFile(std::string_view file) override;
  std::vector<session::Observer*> Observers() override;
  Wants wants() const override { return wants_; }
  void OnConnection(const session::Connection& connection) override;
  void EndFile(const Summary& summary, std::string_view trouble) override;
  void Finish(const Suppressed&) override {}

 protected:
  void Show(const Finding& finding) override;

 private:
  // Sees the findings that will be shown.
  struct Asker final : FindingSink {
    explicit Asker(Recorder& to) : recorder(to) {}
    void OnFinding(const Finding& finding) override;
    Recorder& recorder;
  };
  struct Closings final : session::Observer {
    explicit Closings(Recorder& to) : recorder(to) {}
    void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override;
    Recorder& recorder;
  };

  const Wants wants_;
  Asker asker_{*this};
  Closings closings_{*this};
  FindingSink& shown_;
  std::unique_ptr<Story> story_;
  LadderChoice choice_;
  std::shared_ptr<const Ladder> told_;                  // for the finding that is being recorded
  std::vector<std::shared_ptr<const Ladder>> ladders_;  // of the file
};

class Playback {
 public:
  // What the reporter asks for must be what the Recorder was told that it wants. Findings go to `findings`, from where
  // they come to the reporter.
  Playback(Reporter& reporter, FindingSink& findings) : reporter_(reporter), findings_(findings) {}

  // Takes the next record. False: it is none.
  [[nodiscard]] bool Take(std::string_view record);

 private:
  Reporter& reporter_;
  FindingSink& findings_;
  std::shared_ptr<Ladder> ladder_;                // for the finding that is being told
  std::deque<std::shared_ptr<Ladder>> promised_;  // told, but not here yet, in their order
};

}  // namespace stag::conformance
