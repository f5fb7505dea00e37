// SPDX-License-Identifier: GPL-2.0-or-later
//
// CreditChecker: a Checker of credits, with Calls and Replies that say how many.
#pragma once

#include "tests/conformance/checker.h"

namespace stag::test {

class CreditChecker : public Checker {
 public:
  explicit CreditChecker(Profile profile = Profile::kRfc8166, std::vector<std::string> select = {"CRED", "BC-002"})
      : Checker(profile, std::move(select)) {}

  void Call(uint32_t xid, uint32_t requested = 128, fabric::Side from = kClient) {
    const Buffer call = from == kClient ? GetattrCall(xid) : MakeCall(xid, 0x40000000, 1, 0);
    script.Send(from, MakeHeader(rpcrdma::kMsg, xid, requested), call);
  }
  void Calls(uint32_t first, uint32_t last) {
    for (uint32_t xid = first; xid <= last; ++xid) Call(xid);
  }
  void Reply(uint32_t xid, uint32_t granted, fabric::Side from = kServer) {
    const Buffer reply = from == kServer ? GetattrReply(xid) : MakeReply(xid);
    script.Send(from, MakeHeader(rpcrdma::kMsg, xid, granted), reply);
  }
  void Error(uint32_t xid, uint32_t granted) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid, granted);
    header.err = rpcrdma::kErrChunk;
    script.Send(kServer, header);
  }
  void Exchange(uint32_t xid, uint32_t granted) {
    Call(xid);
    Reply(xid, granted);
  }
  // Opened, and one exchange done: so many credits are granted.
  void Start(uint32_t granted) {
    script.Open();
    Exchange(0x100, granted);
  }
};

}  // namespace stag::test
