// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the commands with a live peer have in common while they run: signals, and the monitor of their connections
// (--check, --record).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/base/output.h"
#include "cli/live/live_options.h"
#include "replay/endpoint/event_log.h"
#include "replay/record/event_queue.h"
#include "replay/record/recorder.h"

namespace stag::cli {

// What a command with a live peer begins with: SIGINT, SIGTERM and SIGHUP (unless that is ignored), from its
// construction on, as a descriptor that becomes readable; and as many descriptors as the system allows.
class Signals {
 public:
  Signals();  // throws std::runtime_error: there is no descriptor
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int descriptor() const { return descriptor_; }
  bool caught() const;  // whether one came

 private:
  int descriptor_ = -1;
};

// What people should know now, on stderr: the first hundred of them, as nobody may read that. `quiet`: none.
std::function<void(const std::string&)> Notices(bool quiet);

// Gets every fabric event of the connections, as from a capture, and checks (--check) and records (--record) them.
// Without either option, no event is made. What comes by log() is checked and recorded on a thread of its own; when
// that is slower than the traffic, the traffic waits. It never waits for who reads the findings: of a rule and
// connection the first hundred are printed as they come, and none when nobody reads; the others are counted.
class LiveMonitor final : public fabric::Sink {
 public:
  // `name` stands where reports name a file. `output` must outlive this.
  LiveMonitor(const LiveOptions& options, const std::string& name, Output& output);
  ~LiveMonitor() override;
  // For EndpointOptions::events of all connections, on any threads; nullptr: no event is needed.
  endpoint::EventLog* log();
  // After the last event of log(): returns when all are checked and recorded, so that others may write to `output`.
  // Complains if the traffic had to wait.
  void Drain();
  // Drains; reports, and closes the recording. Whether there is no error among the findings.
  bool Finish();
  // Whether not all could be recorded: the command ends with kExitTrouble. The reason was reported.
  bool failed() const { return failed_; }

  void OnEvent(const fabric::Event& event) override;

 private:
  class Check;
  void ReportTrouble();
  void DrainQueue();

  std::unique_ptr<Check> check_;
  std::unique_ptr<record::FrameRecorder> recorder_;
  record::EventQueue queue_;  // to OnEvent
  endpoint::EventLog log_;
  bool failed_ = false, drained_ = false;
};

}  // namespace stag::cli
