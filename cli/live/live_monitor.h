// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the commands with a live peer have in common while they run: signals, and the monitor of their connections
// (--check, --record).
#pragma once

#include <memory>
#include <string>

#include "cli/base/output.h"
#include "cli/live/live_options.h"
#include "replay/endpoint/event_log.h"
#include "replay/record/event_queue.h"
#include "replay/record/recorder.h"

namespace stag::cli {

// SIGINT, SIGTERM and SIGHUP (unless that is ignored), from its construction on, as a descriptor that becomes readable.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int descriptor() const { return descriptor_; }
  bool caught() const;  // whether one came

 private:
  int descriptor_ = -1;
};

// Gets every fabric event of the connections, as from a capture, and checks (--check) and records (--record) them.
// Without either option, no event is made. What comes by log() is checked and recorded on a thread of its own; when
// that is slower than the traffic, the traffic waits.
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

  std::unique_ptr<Check> check_;
  std::unique_ptr<record::FrameRecorder> recorder_;
  record::EventQueue queue_;  // to OnEvent
  endpoint::EventLog log_;
  bool failed_ = false, drained_ = false;
};

}  // namespace stag::cli
