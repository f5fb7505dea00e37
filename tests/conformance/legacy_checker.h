// SPDX-License-Identifier: GPL-2.0-or-later
//
// LegacyChecker: a Checker of what only draft-08 speaks: RDMA_MSGP, RDMA_DONE, CONF_RDMA.
#pragma once

#include "tests/conformance/checker.h"

namespace stag::test {

class LegacyChecker : public Checker {
 public:
  LegacyChecker(Profile profile, std::vector<std::string> select) : Checker(profile, std::move(select)) {}

  void Call(uint32_t xid) { script.Send(kClient, Msg(xid), GetattrCall(xid)); }
  void Reply(uint32_t xid, uint32_t granted = 32) {
    script.Send(kServer, MakeHeader(rpcrdma::kMsg, xid, granted), GetattrReply(xid));
  }
  void Exchanges(uint32_t first, uint32_t last) {
    for (uint32_t xid = first; xid <= last; ++xid) Call(xid), Reply(xid);
  }
  // Opened, and one exchange done.
  void Start() {
    script.Open();
    Exchanges(1, 1);
  }
  void Error(uint32_t xid, uint32_t err = rpcrdma::kErrChunk) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
    header.err = err;
    header.vers_low = header.vers_high = 1;
    script.Send(kServer, header);
  }
  void Msgp(uint32_t xid, uint32_t align = 0, uint32_t thresh = 0, const Buffer& call = {}) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, xid);
    header.align = align;
    header.thresh = thresh;
    script.Send(kClient, header, call.empty() ? GetattrCall(xid) : call);
  }
  // A READ whose data stands in memory of the server.
  void ReadReply(uint32_t xid, uint32_t granted = 32) {
    script.Send(kClient, Msg(xid), ReadCall(xid, 100));
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, granted);
    AddRead(header, 52, {xid, 100, 0});
    script.Send(kServer, header, test::ReadReply(xid, 100, true));
  }
  void Done(uint32_t xid) {
    script.Read(kClient, xid, 0, Pattern(100));
    script.Send(kClient, MakeHeader(rpcrdma::kDone, xid));
  }
  void Configure(uint32_t xid, rpcrdma::CcpArguments arguments, rpcrdma::CcpResults results) {
    Buffer call, reply;
    rpcrdma::Encode(arguments, call);
    rpcrdma::Encode(results, reply);
    script.Send(kClient, Msg(xid), MakeCall(xid, rpcrdma::kCcpProgramDraft, 1, 1, call));
    script.Send(kServer, Msg(xid), MakeReply(xid, reply));
  }
};

}  // namespace stag::test
