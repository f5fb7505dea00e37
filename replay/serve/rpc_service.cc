// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/rpc_service.h"

#include <algorithm>

namespace stag::serve {
namespace {

constexpr uint32_t kRpcMismatch = 0, kAuthError = 1, kAuthBadCredential = 1;  // RFC 5531 section 9

}  // namespace

bool RpcService::Has(uint32_t program) const {
  return std::ranges::any_of(programs_, [program](const auto& p) { return p->id().number == program; });
}

class RpcService::Connection final : public rpcrdma::Service {
 public:
  explicit Connection(RpcService& service) : service_(service) {}
  ~Connection() override {
    const std::scoped_lock lock(service_.mutex_);
    for (const auto& [procedure, counts] : counts_) {
      Counts& sum = service_.counts_[procedure];
      sum.calls += counts.calls;
      sum.refused += counts.refused;
    }
  }
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override { service_.Answer(call, reply, counts_); }
  rpcrdma::Landing Land(uint64_t before, uint64_t item, uint64_t after) override {
    return service_.Land(before, item, after);
  }

 private:
  RpcService& service_;
  ProcedureCounts counts_;
};

rpcrdma::Landing RpcService::Land(uint64_t before, uint64_t item, uint64_t after) {
  for (const std::unique_ptr<RpcProgram>& program : programs_)
    if (rpcrdma::Landing landing = program->Land(before, item, after)) return landing;
  return {};
}

std::unique_ptr<rpcrdma::Service> RpcService::NewConnection() { return std::make_unique<Connection>(*this); }

void RpcService::Answer(Bytes call, rpcrdma::ServiceReply& reply, ProcedureCounts& all) {
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  rpc::ReplyHeader answer;
  answer.xid = header.xid;
  answer.msg_type = rpc::kReply;
  answer.reply_stat = rpc::kAccepted;
  if (header.words < 3) return;  // not answered
  if (header.rpc_version != 2) {
    answer.reply_stat = rpc::kDenied;
    answer.reject_stat = kRpcMismatch;
    answer.mismatch_low = answer.mismatch_high = 2;
    ++all[{}].calls, ++all[{}].refused;
    return rpc::Encode(answer, reply.message);
  }
  if (header.words < 6) return;

  const auto program = std::ranges::find_if(programs_, [&](const auto& p) { return p->id().number == header.program; });
  const bool known = program != programs_.end() && header.version >= (*program)->id().low &&
                     header.version <= (*program)->id().high && header.procedure <= kLastProcedure;
  Counts& counts = all[known ? Procedure{header.program, header.version, header.procedure} : Procedure{}];
  ++counts.calls;

  if (header.status == ParseStatus::kOk && header.credential.flavor != rpc::kAuthNone &&
      header.credential.flavor != rpc::kAuthSys) {
    answer.reply_stat = rpc::kDenied;
    answer.reject_stat = kAuthError;
    answer.auth_stat = kAuthBadCredential;
  } else if (header.status != ParseStatus::kOk) {
    answer.accept_stat = rpc::kGarbageArgs;
  } else if (program == programs_.end()) {
    answer.accept_stat = rpc::kProgUnavail;
  } else if (header.version < (*program)->id().low || header.version > (*program)->id().high) {
    answer.accept_stat = rpc::kProgMismatch;
    answer.mismatch_low = (*program)->id().low;
    answer.mismatch_high = (*program)->id().high;
  } else {
    // The results go behind the header of a success, which has always the same length.
    rpc::Encode(answer, reply.message);
    if (header.procedure == 0) return;
    Cursor arguments(call.subspan(header.length));
    answer.accept_stat = (*program)->OnProcedure(header, arguments, reply);
    if (answer.accept_stat == rpc::kSuccess) return;
    reply.Clear();
  }
  ++counts.refused;
  rpc::Encode(answer, reply.message);
}

}  // namespace stag::serve
