// SPDX-License-Identifier: GPL-2.0-or-later
//
// A requester's events over verbs, which do not show what the responder does by RDMA: nothing is found missing.
#include "replay/endpoint/verbs_events.h"

#include <gtest/gtest.h>

#include "conformance/engine/engine.h"
#include "session/rpcrdma/session.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/nfs_messages.h"

namespace stag::endpoint {
namespace {

using namespace stag::test;

struct Count : session::Observer {
  void OnTransaction(const session::Connection&, const session::Transaction& t) override {
    ++transactions;
    replied += t.outcome == session::Outcome::kReplied;
    complete += t.reply.complete;
  }
  size_t transactions = 0, replied = 0, complete = 0;
};

// READ with a Write chunk of which the Reply says that it was filled.
std::pair<size_t, std::vector<std::string>> Judge(bool hidden) {
  FindingTexts findings;
  Count count;
  conformance::Engine engine({}, findings);
  session::Session session({}, {&engine, &count});
  EventLog log(session);
  fabric::ConnectionInfo info;
  log.OpenConnection(info);
  info.roles_known = true;
  info.service_port = 20049;
  info.rdma_hidden[1] = hidden;
  VerbsEvents events(log, info, true);
  const Buffer settings = Words({0xf6ab0e18, 0x01000303});
  events.OnSetup({settings, 16, 16}, {settings, 16, 16});

  rpcrdma::Header call;
  call.xid = 5;
  call.vers = 1;
  call.credit = 1;
  call.segments.push_back({0x77, 8192, 0x1000});
  call.write_chunks.push_back({0, 1});
  const auto send = [&](rpcrdma::Header& header, const Buffer& rpc, bool ours) {
    Buffer bytes;
    rpcrdma::Encode(header, bytes);
    bytes.insert(bytes.end(), rpc.begin(), rpc.end());
    const Bytes piece(bytes);
    ours ? events.OnSend({&piece, 1}, {}) : events.OnReceived(piece, {});
  };
  send(call, ReadCall(5, 8192), true);
  send(call, ReadReply(5, 8192, true), false);
  events.OnClosed(fabric::CloseReason::kDisconnect, false);
  session.Finish();
  EXPECT_EQ(count.transactions, 1u);
  EXPECT_EQ(count.replied, 1u);
  return {count.complete, findings.all};
}

TEST(VerbsEvents, WhatIsHiddenIsNotMissing) {
  const auto [complete, findings] = Judge(true);
  EXPECT_EQ(complete, 0u) << "nobody saw its bytes";
  EXPECT_EQ(findings, std::vector<std::string>{});
  EXPECT_FALSE(Judge(false).second.empty()) << "a capture of this would show that nothing was written";
}

}  // namespace
}  // namespace stag::endpoint
