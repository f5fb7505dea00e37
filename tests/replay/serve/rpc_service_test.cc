// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is answered when no procedure is: RFC 5531 section 9.
#include "replay/serve/rpc_service.h"

#include <gtest/gtest.h>

#include "replay/rpcrdma/echo_program.h"
#include "tests/support/messages.h"

namespace stag::serve {
namespace {

using namespace stag::test;

Buffer Ask(rpcrdma::Service& service, const Buffer& call) {
  rpcrdma::ServiceReply reply;
  service.OnCall(call, reply);
  return reply.message;
}

TEST(RpcService, NullAnswersNullOnly) {
  const auto service = MakeNullService();
  for (const uint32_t version : {2u, 3u, 4u}) EXPECT_EQ(Ask(*service, MakeCall(1, 100003, version, 0)), MakeReply(1));
  EXPECT_EQ(Ask(*service, MakeCall(2, 100005, 3, 0)), MakeReply(2));
  EXPECT_EQ(Ask(*service, MakeCall(3, 100003, 3, 1, Words({0}))), MakeReply(3, {}, rpc::kProcUnavail));
  EXPECT_EQ(Ask(*service, MakeCall(4, 100099, 3, 0)), MakeReply(4, {}, rpc::kProgUnavail));
  EXPECT_EQ(Ask(*service, MakeCall(5, 100003, 5, 0)), MakeReply(5, Words({2, 4}), rpc::kProgMismatch));
  EXPECT_EQ(Ask(*service, MakeCall(6, rpcrdma::kEchoProgram, 1, 0)), MakeReply(6, {}, rpc::kProgUnavail));
}

TEST(RpcService, CallsAreCounted) {
  const auto service = MakeNullService();
  for (const uint32_t procedure : {0u, 0u, 7u, UINT32_MAX}) Ask(*service, MakeCall(1, 100003, 3, procedure));
  Ask(*service, MakeCall(1, 12345, 1, 0));
  const auto& counts = service->counts();
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.at({100003, 3, 0}).calls, 2u);
  EXPECT_EQ(counts.at({100003, 3, 0}).refused, 0u);
  EXPECT_EQ(counts.at({100003, 3, 7}).refused, 1u);
  EXPECT_EQ(counts.at({}).calls, 2u);
  EXPECT_EQ(counts.at({}).refused, 2u);
}

TEST(RpcService, RpcVersionAndCredentials) {
  const auto service = MakeNullService();
  Buffer call = MakeCall(1, 100003, 3, 0);
  StoreBe32(call.data() + 8, 3);
  EXPECT_EQ(Ask(*service, call), Words({1, 1, 1, 0, 2, 2}));  // denied, RPC_MISMATCH, 2 to 2
  call = MakeCall(1, 100003, 3, 0);
  StoreBe32(call.data() + 24, 99);                         // the credential's flavor
  EXPECT_EQ(Ask(*service, call), Words({1, 1, 1, 1, 1}));  // denied, AUTH_ERROR, AUTH_BADCRED
}

TEST(RpcService, HeadersThatAreCut) {
  const auto service = MakeNullService();
  const Buffer call = MakeCall(1, 100003, 3, 0);
  for (size_t size = 0; size < call.size(); ++size) {
    const Buffer reply = Ask(*service, Buffer(call.begin(), call.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_EQ(reply, size < 24 ? Buffer{} : MakeReply(1, {}, rpc::kGarbageArgs)) << size;
  }
}

}  // namespace
}  // namespace stag::serve
