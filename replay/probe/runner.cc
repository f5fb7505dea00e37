// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/runner.h"

#include <fmt/format.h>

#include <random>

#include "protocol/nfs/walk.h"
#include "replay/nfs_client/caller.h"
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/tcp_client.h"
#include "replay/rpcrdma/echo_program.h"

namespace stag::probe {
namespace {

constexpr int kAttempts = 3;  // of what a server may be too busy for

struct Nobody final : rpcrdma::AnswerSink {
  void OnAnswer(const rpcrdma::Answer&) override {}
};

Result<void> Succeeded(const nfs_client::nfs3::Status& status, std::string_view procedure) {
  if (!status.ok) return Fail(fmt::format("{}: results that cannot be read", procedure));
  if (status.status != 0) return Fail(fmt::format("{}: NFS3ERR {}", procedure, status.status));
  return {};
}

}  // namespace

// The file that probes read, made and removed by an ordinary client.
class Runner::Files {
 public:
  Files(endpoint::Transport& transport, const ProbeOptions& options, endpoint::EventLog* log)
      : caller_(transport, Options(options, log), nobody_), calls_(nfs::kNfsProgram, 3, options.credential) {}

  Result<void> Make(Target& target) {
    directory_ = target.directory;
    if (auto connected = caller_.Connect(); !connected) return connected;
    constexpr uint32_t kMode = 0666;  // the principal of a key table may be another user
    auto created = Ask(nfs_client::nfs3::kCreate,
                       [this](Writer& out) { nfs_client::nfs3::PutCreate(out, directory_, name_, kMode); });
    if (!created) return tl::unexpected(created.error());
    const nfs_client::nfs3::HandleResult file = nfs_client::nfs3::DecodeCreate(*created);
    if (auto ok = Succeeded(file, "CREATE"); !ok) return ok;
    made_ = true;
    target.file.assign(file.handle.begin(), file.handle.end());
    if (target.file.empty()) return Fail("CREATE gave no file handle");
    const std::vector<std::byte> content = Pattern(kFileSize);
    for (uint32_t at = 0; at < kFileSize; at += kStep) {
      auto written = Ask(nfs_client::nfs3::kWrite, [&](Writer& out) {
        nfs_client::nfs3::PutWrite(out, target.file, at, kStep, nfs_client::nfs3::kFileSync);
        out.Put(Bytes(content).subspan(at, kStep));
      });
      if (!written) return tl::unexpected(written.error());
      const nfs_client::nfs3::WriteResult result = nfs_client::nfs3::DecodeWrite(*written);
      if (auto ok = Succeeded(result, "WRITE"); !ok) return ok;
      if (result.count != kStep) return Fail("WRITE wrote less than it was given");
    }
    caller_.Disconnect();
    return {};
  }

  // A server that probes have left busy may take more than one try. A file that is not there after the first has been
  // removed by that.
  Result<void> Remove() {
    if (!made_) return {};
    made_ = false;
    Result<void> removed;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      removed = TryToRemove(attempt > 0);
      if (removed) return {};
    }
    return Fail(fmt::format("{} is left in the export: {}", name_, removed.error().message));
  }

 private:
  static constexpr uint32_t kStep = 512;  // goes inline

  static nfs_client::CallerOptions Options(const ProbeOptions& options, endpoint::EventLog* log) {
    nfs_client::CallerOptions caller;
    caller.to = options.to;
    caller.requester.credits = 1;
    caller.requester.remote_invalidation = false;
    caller.timeout = options.patience.answer;
    caller.events = log;
    caller.crc = options.crc;
    return caller;
  }
  Result<void> TryToRemove(bool again) {
    if (auto connected = caller_.Connect(); !connected) return connected;
    auto removed =
        Ask(nfs_client::nfs3::kRemove, [this](Writer& out) { nfs_client::nfs3::PutName(out, directory_, name_); });
    if (!removed) return tl::unexpected(removed.error());
    const nfs_client::nfs3::Status result = nfs_client::nfs3::DecodeRemove(*removed);
    caller_.Disconnect();
    if (again && result.ok && result.status == nfs_client::nfs3::kNoEnt) return {};
    return Succeeded(result, "REMOVE");
  }
  template <typename Put>
  Result<Bytes> Ask(uint32_t procedure, Put put) {
    message_.clear();
    calls_.Begin(procedure, message_);
    Writer out(message_);
    put(out);
    return caller_.Ask({.message = message_});
  }

  Nobody nobody_;
  nfs_client::Caller caller_;
  const nfs_client::RpcCalls calls_;
  const std::string name_ = fmt::format("stag-probe.{:08x}", std::random_device{}());
  std::vector<std::byte> directory_, message_;
  bool made_ = false;
};

Runner::Runner(endpoint::Transport& transport, ProbeOptions options, fabric::Sink* also)
    : transport_(transport), options_(std::move(options)), judge_(also) {}
Runner::~Runner() = default;

Result<void> Runner::Begin() {
  try {
    FindProgram();
  } catch (const Ended& ended) {
    const Outcome& outcome = ended.outcome;
    if (outcome.verdict != Verdict::kFailed) return Fail(outcome.why);
    return Fail(outcome.expected == "a connection"
                    ? outcome.came
                    : fmt::format("there is no RPC-over-RDMA server: for NULL came {}", outcome.came));
  }
  if (options_.path.empty() && options_.directory.empty()) return {};
  target_.directory = options_.directory;
  if (target_.directory.empty()) {
    auto handle = nfs_client::Mount(options_.to.host, options_.mount_port, options_.path, options_.credential,
                                    options_.patience.answer, 111, options_.patience.cancel);
    if (!handle) return tl::unexpected(handle.error());
    target_.directory = std::move(*handle);
  }
  files_ = std::make_unique<Files>(transport_, options_, judge_.log());
  if (auto made = files_->Make(target_); !made)
    return Fail("no file can be made in the export: " + made.error().message);
  return {};
}

void Runner::FindProgram() {
  struct Candidate {
    uint32_t program, version;
  };
  std::vector<Candidate> candidates = {
      {nfs::kNfsProgram, 3}, {nfs::kNfsProgram, 4}, {rpcrdma::kEchoProgram, rpcrdma::kEchoVersion}};
  if (options_.program) candidates = {{*options_.program, options_.version.value_or(3)}};
  Bench bench(transport_, options_, target_, judge_.log());
  Link& link = bench.Connect();
  target_.program = candidates[0].program;
  target_.version = candidates[0].version;
  for (const Candidate& candidate : candidates) {
    const Call call = bench.Make(candidate.program, candidate.version, 0);
    if (Bench::Status(link, call, link.Ask(call)) != "SUCCESS") continue;
    target_ = {candidate.program, candidate.version, true, candidate.program == rpcrdma::kEchoProgram, {}, {}};
    break;
  }
  bench.Disconnect();
}

std::string Runner::WhyNotAlive() {
  Bench bench(transport_, options_, target_, judge_.log());
  try {
    Link& link = bench.Connect();
    bench.AskNull(link);
    bench.Disconnect();
  } catch (const Ended& ended) {
    return ended.outcome.verdict == Verdict::kFailed ? ended.outcome.came : std::string{};
  }
  return {};
}

Outcome Runner::RunOnce(const Probe& probe) {
  (void)judge_.Take();
  Outcome outcome;
  Bench bench(transport_, options_, target_, judge_.log());
  try {
    probe.run(bench);
    bench.Settle();
  } catch (Ended& ended) {
    outcome = std::move(ended.outcome);
    if (outcome.verdict == Verdict::kFailed) outcome.during = bench.current_case();
    bench.Disconnect();
  }
  Judge::Found found = judge_.Take();
  outcome.findings = std::move(found.errors);
  if (!outcome.findings.empty()) outcome.verdict = Verdict::kFailed;
  outcome.advice = std::move(bench.advice());
  outcome.advice.insert(outcome.advice.end(), found.warnings.begin(), found.warnings.end());
  return outcome;
}

Outcome Runner::Run(const Probe& probe) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = RunOnce(probe);
  // What went over the wire proves a finding. Silence, or the end of a connection, may have had another cause.
  if (outcome.verdict == Verdict::kFailed && outcome.findings.empty()) {
    Outcome again = RunOnce(probe);
    if (again.verdict == Verdict::kPassed) {
      again.verdict = Verdict::kInconclusive;
      again.why = fmt::format("it failed first, and then passed: expected {}; came {}", outcome.expected, outcome.came);
    }
    if (again.verdict != Verdict::kSkipped) outcome = std::move(again);
  }
  if (outcome.verdict != Verdict::kSkipped) CheckAlive(outcome);
  outcome.time = std::chrono::steady_clock::now() - start;
  return outcome;
}

void Runner::CheckAlive(Outcome& outcome) {
  std::string why;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    why = WhyNotAlive();
    if (why.empty()) return;
    outcome.advice.push_back(fmt::format("a NULL on another connection afterwards: {}", why));
  }
  gone_ = true;
  if (outcome.verdict != Verdict::kFailed) outcome.expected = "a server that lives on";
  outcome.came += fmt::format("{}the server is gone: {}", outcome.came.empty() ? "" : "; then ", why);
  outcome.verdict = Verdict::kFailed;
}

Result<void> Runner::Finish() {
  if (!files_) return {};
  return files_->Remove();
}

}  // namespace stag::probe
