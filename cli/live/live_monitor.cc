// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_monitor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include "cli/analysis/reporting.h"
#include "cli/base/version.h"
#include "conformance/engine/engine.h"
#include "replay/endpoint/system.h"
#include "text/put.h"

namespace stag::cli {

namespace {

constexpr std::chrono::milliseconds kWorthSaying{50};  // of waiting

}  // namespace

Signals::Signals() {
  endpoint::RaiseDescriptorLimit();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup {};  // nohup ignores it
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_DFL) sigaddset(&set, SIGHUP);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw std::runtime_error("no descriptor for signals: " + endpoint::ErrorText(errno));
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

Signals::~Signals() { ::close(descriptor_); }

bool Signals::caught() const {
  pollfd one{descriptor_, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

std::function<void(const std::string&)> Notices(bool quiet) {
  constexpr int kNotices = 100;
  return [quiet, said = 0](const std::string& text) mutable {
    if (quiet || said > kNotices) return;
    ComplainText(++said > kNotices ? "what else happens is only counted" : text);
  };
}

// Findings as they come, for a reporter that prints each: of a rule and connection not more than kMost.
class CappedFindings final : public conformance::FindingSink {
 public:
  // `all`: the reporter prints them folded, at the end.
  CappedFindings(conformance::Reporter& reporter, bool all) : reporter_(reporter), all_(all) {}
  void OnFinding(const conformance::Finding& finding) override {
    if (all_ || Take(finding)) return reporter_.OnFinding(finding);
    ++left_out_;
    reporter_.OnLeftOut(finding);
  }
  uint64_t left_out() const { return left_out_; }

 private:
  static constexpr uint32_t kMost = 100;
  static constexpr size_t kConnections = 4096;  // that are remembered: the last ones

  bool Take(const conformance::Finding& finding) {
    uint32_t& taken = taken_[finding.connection][finding.rule];
    if (taken == kMost) return false;
    ++taken;
    if (taken_.size() > kConnections) taken_.erase(taken_.begin());
    return true;
  }

  conformance::Reporter& reporter_;
  const bool all_;
  std::map<fabric::ConnectionId, std::map<const conformance::RuleInfo*, uint32_t>> taken_;
  uint64_t left_out_ = 0;
};

// The conformance engine on live connections.
class LiveMonitor::Check {
 public:
  Check(const LiveOptions& options, const std::string& name, Output& output)
      : reporter_(MakeLineReporter(options, output, [this, &output](std::string_view text) { Write(output, text); })),
        findings_(*reporter_, ForPeople(options.format)),
        engine_({}, findings_),
        session_(Bounds(), Observers()) {
    reporter_->BeginFile(name);
  }
  void OnEvent(const fabric::Event& event) {
    ++events_;
    session_.OnEvent(event);
  }
  // The session's findings are the last that may be too many; what is told of all of them is awaited.
  bool Finish() {
    session_.Finish();
    waits_ = true;
    if (findings_.left_out() > 0)
      Complain("{} are counted and not printed: there were more than 100 of a rule on a connection",
               Count(findings_.left_out(), "finding"));
    if (unread_ > 0) Complain("{} could not be printed: nobody read them", Count(unread_, "finding"));
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

  void Write(Output& output, std::string_view text) {
    if (!waits_) {
      unread_ += !output.Offer(text);
      return;
    }
    Put(output.buffer(), text);
    output.Commit();
  }

  uint64_t events_ = 0, unread_ = 0;
  bool waits_ = false;
  std::unique_ptr<conformance::Reporter> reporter_;
  CappedFindings findings_;
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
  Complain("{}: until it can be written again, what happens is not recorded", recorder_->trouble());
}

// What it throws is not for the command: its traffic went on.
void LiveMonitor::DrainQueue() {
  std::string why;
  try {
    queue_.Finish();
  } catch (const std::bad_alloc&) {
    why = "no memory";
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (why.empty()) return;
  failed_ = true;
  Complain("{}: not all of the traffic was {}", why,
           check_ ? recorder_ ? "checked and recorded" : "checked" : "recorded");
}

void LiveMonitor::Drain() {
  if (std::exchange(drained_, true)) return;
  DrainQueue();
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
  }
  return !check_ || check_->Finish();
}

}  // namespace stag::cli
