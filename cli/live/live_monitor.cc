// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_monitor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "cli/analysis/reporting.h"
#include "cli/base/version.h"
#include "conformance/engine/engine.h"
#include "text/put.h"

namespace stag::cli {

namespace {

constexpr std::chrono::milliseconds kWorthSaying{50};  // of waiting

}  // namespace

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup {};  // nohup ignores it
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_DFL) sigaddset(&set, SIGHUP);
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

LiveMonitor::LiveMonitor(const LiveOptions& options, const std::string& name, Output& output)
    : queue_(*this), log_(queue_) {
  if (options.check) check_ = std::make_unique<Check>(options, name, output);
  if (options.record.empty()) return;
  auto recorder = record::FrameRecorder::Create(options.record, kVersionText, options.command);
  if (recorder) {
    recorder_ = std::move(*recorder);
  } else {
    failed_ = true;
    ComplainText(recorder.error().message);
  }
}
LiveMonitor::~LiveMonitor() = default;

endpoint::EventLog* LiveMonitor::log() { return check_ || recorder_ ? &log_ : nullptr; }

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

void LiveMonitor::Drain() {
  if (std::exchange(drained_, true)) return;
  queue_.Finish();
  if (queue_.waited() < kWorthSaying) return;
  Complain("{} slower than the traffic, which waited {:.1f} s for it",
           check_ && recorder_ ? "checking and recording were"
           : check_            ? "checking was"
                               : "recording was",
           std::chrono::duration<double>(queue_.waited()).count());
}

bool LiveMonitor::Finish() {
  Drain();
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
