// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the commands with a live peer have in common: options, signals, and the monitor of their connections (--check,
// --record).
#pragma once

#include <memory>
#include <string>

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/event_log.h"
#include "replay/record/recorder.h"

namespace stag::cli {

struct LiveOptions : CommonOptions {
  std::string transport = "auto";
  bool check = false;
  bool crc = true;      // software iWARP: ask for CRC32C
  std::string record;   // a file; empty: none
  std::string command;  // "stag serve"
};

// Adds --transport, --no-crc, --record and, unless the command judges anyway, --check. The output options are the
// command's own.
void AddLiveOptions(CLI::App& command, LiveOptions& options, bool judges_anyway = false);

// For AddParsed: HOST[:PORT] or [ADDR]:PORT.
std::string TakeAddress(const std::string& text, uint16_t default_port, replay::HostPort& to);
// The same for a server to connect to: the host must be there, the port is that of NFS/RDMA by default.
std::string TakeServer(const std::string& text, replay::HostPort& to);

// SIGINT and SIGTERM, from its construction on, as a descriptor that becomes readable.
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
// Without either option, no event is made.
class LiveMonitor final : public fabric::Sink {
 public:
  // `name` stands where reports name a file. `output` must outlive this.
  LiveMonitor(const LiveOptions& options, const std::string& name, Output& output);
  ~LiveMonitor() override;
  // For EndpointOptions::events of all connections, which are used by one thread; nullptr: no event is needed.
  replay::EventLog* log();
  // After the last event: reports, and closes the recording. Whether there is no error among the findings.
  bool Finish();
  // Whether not all could be recorded: the command ends with kExitTrouble. The reason was reported.
  bool failed() const { return failed_; }

  void OnEvent(const fabric::Event& event) override;

 private:
  class Check;
  void ReportTrouble();

  std::unique_ptr<Check> check_;
  std::unique_ptr<replay::FrameRecorder> recorder_;
  replay::EventLog log_;
  bool failed_ = false;
};

}  // namespace stag::cli
