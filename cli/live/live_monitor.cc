// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "cli/analysis/reporting.h"
#include "cli/base/version.h"
#include "conformance/engine/engine.h"
#include "text/put.h"

namespace stag::cli {
namespace {

// Why a file cannot be created, or empty. It is reported now, not after an hour of traffic; nothing is created yet.
std::string CannotCreate(const std::string& path) {
  if (path == "-") return "standard output has the results: a file is needed";
  const bool there = ::access(path.c_str(), F_OK) == 0;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  if (there && std::filesystem::is_directory(path, ignored))
    errno = EISDIR;
  else if (::access(there ? path.c_str() : folder.c_str(), W_OK) == 0)
    return {};
  return fmt::format("cannot create {}: {}", path, std::strerror(errno));
}

}  // namespace

void AddLiveOptions(CLI::App& command, LiveOptions& options, bool judges_anyway) {
  options.command = "stag " + command.get_name();
  command
      .add_option("--transport", options.transport,
                  "iwarp: software iWARP, on TCP; or an RDMA device; or auto (default), the first device that can be\n"
                  "used, or iwarp: stag devices lists them")
      ->type_name("NAME");
  command.add_flag_callback(
      "--no-crc", [&options] { options.crc = false; },
      "Software iWARP: do not ask for a CRC (there is one all the same when the peer asks)");
  if (!judges_anyway)
    command.add_flag("--check", options.check,
                     "Judge both directions as stag check does; findings at the end, exit status 1 for errors");
  command
      .add_option("-w,--record", options.record,
                  "Write what is sent and received as RoCEv2 or iWARP frames to a new pcapng file")
      ->check([](const std::string& path) { return CannotCreate(path); })
      ->type_name("FILE");
}

std::string TakeAddress(const std::string& text, uint16_t default_port, replay::HostPort& to) {
  auto parsed = replay::ParseHostPort(text, default_port);
  if (!parsed) return parsed.error().message;
  to = *parsed;
  return {};
}

std::string TakeServer(const std::string& text, replay::HostPort& to) {
  std::string complaint = TakeAddress(text, 20049, to);
  if (complaint.empty() && to.host.empty()) complaint = "\"" + text + "\": the host is missing";
  return complaint;
}

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() { ::close(descriptor_); }

bool Signals::caught() const {
  pollfd one{descriptor_, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

// The conformance engine on live connections.
class LiveMonitor::Check {
 public:
  Check(const LiveOptions& options, const std::string& name, Output& output)
      : reporter_(MakeLineReporter(options, output)), engine_({}, *reporter_), session_(Bounds(), Observers()) {
    reporter_->BeginFile(name);
  }
  void OnEvent(const fabric::Event& event) {
    ++events_;
    session_.OnEvent(event);
  }
  bool Finish() {
    session_.Finish();
    conformance::Summary summary;
    summary.files = 1;
    summary.frames = events_;
    summary.connections = session_.stats().connections;
    summary.transactions = session_.stats().transactions;
    summary.rules = engine_.Tallies();
    reporter_->EndFile(summary, {});
    reporter_->Finish({});
    return reporter_->count(conformance::Severity::kError) == 0;
  }

 private:
  static session::SessionOptions Bounds() {
    session::SessionOptions bounds;
    bounds.keep_bulk = false;
    return bounds;
  }
  std::vector<session::Observer*> Observers() {
    std::vector<session::Observer*> observers = reporter_->Observers();
    observers.push_back(&engine_);
    return observers;
  }

  uint64_t events_ = 0;
  std::unique_ptr<conformance::Reporter> reporter_;
  conformance::Engine engine_;
  session::Session session_;
};

LiveMonitor::LiveMonitor(const LiveOptions& options, const std::string& name, Output& output) : log_(*this) {
  if (options.check) check_ = std::make_unique<Check>(options, name, output);
  if (options.record.empty()) return;
  auto recorder = replay::FrameRecorder::Create(options.record, kVersionText, options.command);
  if (recorder) {
    recorder_ = std::move(*recorder);
  } else {
    failed_ = true;
    ComplainText(recorder.error().message);
  }
}
LiveMonitor::~LiveMonitor() = default;

replay::EventLog* LiveMonitor::log() { return check_ || recorder_ ? &log_ : nullptr; }

void LiveMonitor::OnEvent(const fabric::Event& event) {
  if (check_) check_->OnEvent(event);
  if (!recorder_) return;
  recorder_->OnEvent(event);
  ReportTrouble();
}

void LiveMonitor::ReportTrouble() {
  if (failed_ || recorder_->trouble().empty()) return;
  failed_ = true;
  Complain("{}: no more is recorded", recorder_->trouble());
}

bool LiveMonitor::Finish() {
  if (recorder_) {
    recorder_->Finish();
    ReportTrouble();
    if (recorder_->lost() > 0)
      Complain("{} of the recording could not be written; {} are in the file", Count(recorder_->lost(), "frame"),
               recorder_->frames());
    if (recorder_->left_out() > 0)
      Complain("{} could not be recorded: the request was not seen",
               Count(recorder_->left_out(), "RDMA Read Response"));
    failed_ = failed_ || recorder_->left_out() > 0;
  }
  return !check_ || check_->Finish();
}

}  // namespace stag::cli
