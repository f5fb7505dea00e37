// SPDX-License-Identifier: GPL-2.0-or-later
//
// NULL of any program, and ECHO of `stag serve --mode echo`.
#include "replay/generate/workload.h"
#include "replay/rpcrdma/echo_program.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::generate {
namespace {

class PlainWorkload final : public Workload {
 public:
  explicit PlainWorkload(const LoadOptions& options)
      : calls_(options.mode == LoadMode::kEcho ? rpcrdma::kEchoProgram : options.program,
               options.mode == LoadMode::kEcho ? rpcrdma::kEchoVersion : options.version, options.credential),
        planner_(options) {}

  Result<void> Begin(nfs_client::Caller& caller, bool) override {
    planner_.Begin(caller.requester());
    return {};
  }
  Result<void> End(nfs_client::Caller&) override { return {}; }

  void Encode(Job& job, rpcrdma::CallSpec& call) override {
    head_.clear();
    const bool echo = job.operation == Operation::kEcho;
    calls_.Begin(echo ? rpcrdma::kEchoProcedure : 0, head_);
    if (echo) Writer(head_).U32(job.size);
    call.message = head_;
    planner_.PlanReply(call, echo ? 4 + RoundUp4(job.size) : 0);
    if (echo) planner_.PutData(call, job, 0, 0, false);
  }

  Verdict Judge(const Job& job, Bytes results, std::span<const Bytes>) override {
    Verdict verdict;
    if (job.operation != Operation::kEcho) return verdict;
    Cursor in(results);
    verdict.data = rpcrdma::GetOpaque(in);
    if (!in.ok() || verdict.data.size() != job.size) {
      verdict.failure = "an echo of another length";
      verdict.wrong = true;
    }
    return verdict;
  }

 private:
  const nfs_client::RpcCalls calls_;
  Planner planner_;
  std::vector<std::byte> head_;
};

}  // namespace

std::unique_ptr<Workload> MakePlainWorkload(const LoadOptions& options) {
  return std::make_unique<PlainWorkload>(options);
}

}  // namespace stag::generate
