// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/echo_program.h"
#include "replay/serve/rpc_service.h"

namespace stag::serve {
namespace {

constexpr uint32_t kWorthLending = 1024;

class EchoProgram final : public RpcProgram {
 public:
  EchoProgram() : RpcProgram({rpcrdma::kEchoProgram, rpcrdma::kEchoVersion, rpcrdma::kEchoVersion}) {}
  rpc::AcceptStat OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) override {
    if (call.procedure != rpcrdma::kEchoProcedure) return rpc::kProcUnavail;
    const uint32_t size = arguments.U32();
    const Bytes bytes = arguments.Take(size);
    arguments.Skip(RoundUp4(size) - size);
    if (!arguments.ok()) return rpc::kGarbageArgs;
    // Large ones go out from where they came.
    Writer out(reply.message);
    if (size < kWorthLending) {
      out.Opaque(bytes);
    } else {
      out.U32(size);
      reply.views.push_back({out.size(), bytes, {}});
      out.Zeros(static_cast<size_t>(RoundUp4(size) - size));
    }
    return rpc::kSuccess;
  }
};

}  // namespace

std::unique_ptr<RpcService> MakeEchoService() {
  std::vector<std::unique_ptr<RpcProgram>> programs;
  programs.push_back(std::make_unique<EchoProgram>());
  return std::make_unique<RpcService>(std::move(programs));
}

}  // namespace stag::serve
