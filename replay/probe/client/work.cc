// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/client/work.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>

#include "protocol/nfs/walk.h"
#include "replay/endpoint/system.h"
#include "replay/generate/generator.h"
#include "replay/nfs_client/caller.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/rpc_calls.h"
#include "replay/probe/client/files.h"
#include "replay/probe/client/probe.h"

namespace stag::probe::client {
namespace {

constexpr size_t kText = 2000;  // bytes of what a command prints last that are kept

class CommandWork final : public ClientWork {
 public:
  CommandWork(std::string command, std::vector<std::string> variables)
      : command_(std::move(command)), variables_(std::move(variables)) {}
  ~CommandWork() override { Kill(); }

  Result<void> Start(const std::string& probe) override {
    Kill();
    printed_.clear();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Fail("no pipe: " + endpoint::ErrorText(errno));
    output_ = endpoint::Descriptor(ends[0]);
    const endpoint::Descriptor theirs(ends[1]);
    // All that the child needs is made before it begins.
    std::vector<std::string> environment = variables_;
    environment.push_back("PROBE=" + probe);
    for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
    std::vector<char*> pointers;
    pointers.reserve(environment.size() + 1);
    for (std::string& entry : environment) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    std::string shell = "sh", option = "-c";
    char* const arguments[] = {shell.data(), option.data(), command_.data(), nullptr};
    process_ = ::fork();
    if (process_ < 0) return Fail("no process: " + endpoint::ErrorText(errno));
    if (process_ > 0) return {};
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(theirs.get(), STDOUT_FILENO);
    ::dup2(theirs.get(), STDERR_FILENO);
    ::fcntl(STDOUT_FILENO, F_SETFL, 0);  // a command may expect to wait where the pipe is full
    ::execve("/bin/sh", arguments, pointers.data());
    ::_exit(127);
  }

  std::optional<Worked> Ended() override {
    if (process_ <= 0) return Worked{Worked::How::kFailed, "nothing was begun"};
    Drain();
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
    process_ = -1;
    Drain();
    output_ = endpoint::Descriptor();
    Worked worked;
    worked.text = printed_;
    while (!worked.text.empty() && worked.text.back() == '\n') worked.text.pop_back();
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128) {
      worked.how = Worked::How::kDied;
      worked.text = "signal " + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128) +
                    (worked.text.empty() ? "" : ": " + worked.text);
    } else if (WEXITSTATUS(status) != 0) {
      worked.how = WEXITSTATUS(status) == kWrongStatus ? Worked::How::kWrong : Worked::How::kFailed;
      if (worked.text.empty()) worked.text = "exit status " + std::to_string(WEXITSTATUS(status));
    }
    return worked;
  }

  void Stop() override {
    if (process_ <= 0) return;
    ::kill(-process_, SIGKILL);
    ::kill(process_, SIGKILL);
  }

 private:
  void Kill() {
    if (process_ <= 0) return;
    Stop();
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  void Drain() {
    char bytes[4096];
    for (ssize_t n; (n = ::read(output_.get(), bytes, sizeof bytes)) > 0;) {
      printed_.append(bytes, static_cast<size_t>(n));
      if (printed_.size() > kText) printed_.erase(0, printed_.size() - kText);
    }
  }

  std::string command_;
  const std::vector<std::string> variables_;
  endpoint::Descriptor output_;
  pid_t process_ = -1;
  std::string printed_;
};

// Reads the export's link. The result is what it says.
Result<std::string> ReadLink(endpoint::Transport& transport, const generate::LoadOptions& load) {
  namespace nfs3 = nfs_client::nfs3;
  struct NoAnswers final : rpcrdma::AnswerSink {
    void OnAnswer(const rpcrdma::Answer&) override {}
  } none;
  nfs_client::Caller caller(transport, {.to = load.to, .requester = load.requester, .timeout = load.timeout}, none);
  if (auto connected = caller.Connect(); !connected) return Fail(connected.error().message);
  const nfs_client::RpcCalls calls(nfs::kNfsProgram, 3, load.credential);
  std::vector<std::byte> message;
  Writer arguments(message);
  calls.Begin(nfs3::kLookup, message);
  nfs3::PutName(arguments, load.directory, kLink);
  auto results = caller.Ask({.message = message});
  if (!results) return Fail("LOOKUP of a link: " + results.error().message);
  const nfs3::HandleResult found = nfs3::DecodeLookup(*results);
  if (!found.ok || found.status != 0) return Fail("LOOKUP of a link failed");
  const std::vector<std::byte> handle(found.handle.begin(), found.handle.end());
  message.clear();
  calls.Begin(nfs3::kReadlink, message);
  nfs3::PutHandle(arguments, handle);
  results = caller.Ask({.message = message});
  if (!results) return Fail("READLINK: " + results.error().message);
  const nfs3::LinkResult link = nfs3::DecodeReadlink(*results);
  if (!link.ok || link.status != 0) return Fail("READLINK failed");
  std::string target(reinterpret_cast<const char*>(link.target.data()), link.target.size());
  caller.Disconnect();
  return target;
}

class GeneratorWork final : public ClientWork {
 public:
  GeneratorWork(endpoint::Transport& transport, generate::LoadOptions load)
      : transport_(transport), load_(std::move(load)) {}
  ~GeneratorWork() override { Join(); }

  Result<void> Start(const std::string& probe) override {
    Join();
    ended_.store(false);
    target_.reset();
    const bool reads_link = probe == kReadlinkProbe;
    generator_ = std::make_unique<generate::Generator>(transport_, load_, nullptr);
    try {
      thread_ = std::thread([this, reads_link] {
        try {
          ran_ = generator_->Run();
          if (ran_ && reads_link) target_ = ReadLink(transport_, load_);
        } catch (const std::exception& error) {
          ran_ = Fail(error.what());
        }
        ended_.store(true);
      });
    } catch (const std::system_error& error) {
      return Fail(std::string("no thread: ") + error.what());
    }
    return {};
  }

  std::optional<Worked> Ended() override {
    if (!ended_.load()) return std::nullopt;
    if (thread_.joinable()) thread_.join();
    Worked worked;
    if (!ran_) return Worked{Worked::How::kFailed, ran_.error().message};
    if (target_ && !*target_) return Worked{Worked::How::kFailed, target_->error().message};
    if (target_ && **target_ != kLinkTarget) return Worked{Worked::How::kWrong, "READLINK: another text"};
    generate::LoadReport report = generator_->report();
    if (report.fine() && report.abandoned == 0) return worked;
    worked.how = Worked::How::kFailed;
    for (const generate::OperationReport& operation : report.operations) {
      for (const auto& [what, failure] : operation.failures) {
        if (!worked.text.empty()) worked.text += "; ";
        worked.text += failure.sample + ": " + what;
        if (what == "wrong data") worked.how = Worked::How::kWrong;
      }
    }
    if (report.abandoned > 0)
      for (const auto& [trouble, times] : report.troubles) worked.text += (worked.text.empty() ? "" : "; ") + trouble;
    return worked;
  }

  void Stop() override {
    if (generator_) generator_->Stop();
  }

 private:
  void Join() {
    Stop();
    if (thread_.joinable()) thread_.join();
  }

  endpoint::Transport& transport_;
  const generate::LoadOptions load_;
  std::unique_ptr<generate::Generator> generator_;
  std::thread thread_;
  std::atomic<bool> ended_{false};
  Result<void> ran_;
  std::optional<Result<std::string>> target_;  // of the link; nullopt: it is not read
};

}  // namespace

std::unique_ptr<ClientWork> MakeCommandWork(std::string command, std::vector<std::string> variables) {
  return std::make_unique<CommandWork>(std::move(command), std::move(variables));
}

std::unique_ptr<ClientWork> MakeGeneratorWork(endpoint::Transport& transport, generate::LoadOptions load) {
  return std::make_unique<GeneratorWork>(transport, std::move(load));
}

generate::LoadOptions GeneratorLoad(const endpoint::HostPort& to, std::vector<std::byte> directory) {
  generate::LoadOptions load;
  load.mode = generate::LoadMode::kNfs3;
  load.to = to;
  load.directory = std::move(directory);
  generate::Weight(load.jobs.mix, generate::Operation::kRead) = 4;
  generate::Weight(load.jobs.mix, generate::Operation::kWrite) = 4;
  generate::Weight(load.jobs.mix, generate::Operation::kGetattr) = 2;
  generate::Weight(load.jobs.mix, generate::Operation::kLookup) = 1;
  generate::Weight(load.jobs.mix, generate::Operation::kReaddirplus) = 1;
  load.jobs.sizes = {{1, 3000, 1}, {8000, 20000, 1}};
  load.requester.credits = 16;
  load.requester.segments = 2;
  load.requester.fresh_handles = true;
  load.depth = 8;
  load.calls = 120;
  load.verify = true;
  load.file_size = 256 << 10;
  load.reconnects = 3;
  load.timeout = std::chrono::seconds{10};  // no probe leaves a Call without an answer on a connection that stays
  return load;
}

}  // namespace stag::probe::client
