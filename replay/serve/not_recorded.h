// SPDX-License-Identifier: GPL-2.0-or-later
//
// NotRecordedProgram: a program that --mode recorded knows, and whose Calls are not in the recording: NULL succeeds,
// NFSv3 and NFSv4 say that it is not supported (GARBAGE_ARGS, when not even the beginning of the arguments can be
// read), other programs that there is no such procedure.
#pragma once

#include "replay/serve/rpc_service.h"

namespace stag::serve {

class NotRecordedProgram final : public RpcProgram {
 public:
  using RpcProgram::RpcProgram;
  rpc::AcceptStat OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) override;
};

}  // namespace stag::serve
