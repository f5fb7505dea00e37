// SPDX-License-Identifier: GPL-2.0-or-later
//
// The programs of `--mode null`: NFS and its companions, of which only NULL exists.
#include "protocol/nfs/walk.h"
#include "replay/serve/rpc_service.h"

namespace stag::serve {
namespace {

class NullProgram final : public RpcProgram {
 public:
  using RpcProgram::RpcProgram;
  rpc::AcceptStat OnProcedure(const rpc::CallHeader&, Cursor&, rpcrdma::ServiceReply&) override {
    return rpc::kProcUnavail;
  }
};

}  // namespace

std::unique_ptr<RpcService> MakeNullService() {
  std::vector<std::unique_ptr<RpcProgram>> programs;
  for (const ProgramId id :
       {ProgramId{nfs::kNfsProgram, 2, 4}, ProgramId{nfs::kMountProgram, 1, 3}, ProgramId{nfs::kNlmProgram, 1, 4},
        ProgramId{nfs::kNsmProgram, 1, 1}, ProgramId{nfs::kNfsAclProgram, 2, 3}})
    programs.push_back(std::make_unique<NullProgram>(id));
  return std::make_unique<RpcService>(std::move(programs));
}

}  // namespace stag::serve
