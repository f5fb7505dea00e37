// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "conformance/engine/engine.h"
#include "conformance/report/reporter.h"

namespace stag::cli {

void AddLiveOptions(CLI::App& command, LiveOptions& options) {
  AddChoice<std::string>(command, "--transport", options.transport, {{"auto", "auto"}, {"iwarp", "iwarp"}},
                         "auto (default): see stag devices; iwarp: software iWARP, on TCP");
  command.add_flag("--check", options.check,
                   "Judge both directions as stag check does; findings at the end, exit status 1 for errors");
}

CLI::Option* AddParsed(CLI::App& command, const std::string& name, std::function<std::string(std::string&)> take,
                       const std::string& type, const std::string& description) {
  return command
      .add_option_function<std::vector<std::string>>(
          name, [](const std::vector<std::string>&) {}, description)
      ->allow_extra_args(false)
      ->check(CLI::Validator(std::move(take), ""))
      ->type_name(type);
}

std::string TakeAddress(const std::string& text, uint16_t default_port, replay::HostPort& to) {
  auto parsed = replay::ParseHostPort(text, default_port);
  if (!parsed) return parsed.error().message;
  to = *parsed;
  return {};
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
class Witness::Check final : public fabric::Sink {
 public:
  Check(const LiveOptions& options, const std::string& name, Output& output)
      : reporter_(MakeReporter(options, output)),
        engine_({}, *reporter_),
        session_(Bounds(), Observers()),
        log_(*this) {
    reporter_->BeginFile(name);
  }
  replay::EventLog* log() { return &log_; }
  void OnEvent(const fabric::Event& event) override {
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
  static std::unique_ptr<conformance::Reporter> MakeReporter(const LiveOptions& options, Output& output) {
    conformance::Write write = [&output](std::string_view text) { Put(output.buffer(), text), output.Commit(); };
    if (options.format == Format::kJsonl) return conformance::MakeJsonlReporter(std::move(write));
    return conformance::MakeTextReporter(std::move(write), !output.style().reset.empty(), options.quiet);
  }
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
  replay::EventLog log_;
};

Witness::Witness(const LiveOptions& options, const std::string& name, Output& output) {
  if (options.check) check_ = std::make_unique<Check>(options, name, output);
}
Witness::~Witness() = default;

replay::EventLog* Witness::log() { return check_ ? check_->log() : nullptr; }

bool Witness::Finish() { return !check_ || check_->Finish(); }

}  // namespace stag::cli
