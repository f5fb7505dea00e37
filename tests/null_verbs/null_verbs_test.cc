// SPDX-License-Identifier: GPL-2.0-or-later
//
// The verbs endpoint on the null device with faults on demand: what trouble each side has, and that every work ends
// once.
#include <cstdlib>

#include "tests/replay/endpoint/fabric.h"
#include "tests/replay/endpoint/pair.h"

namespace stag::endpoint::test {
namespace {

using Kind = Trouble::Kind;

struct FaultCase {
  const char* name;
  const char* fault;  // STAG_NULL_FAULT: at the third work of the client
  Kind client, server;
  size_t refused;  // of the client's works
};

class NullVerbsFaults : public testing::TestWithParam<FaultCase> {
 protected:
  void SetUp() override { ::setenv("STAG_NULL_FAULT", GetParam().fault, 1); }
  void TearDown() override { ::unsetenv("STAG_NULL_FAULT"); }
};

TEST_P(NullVerbsFaults, EndTheConnection) {
  Pair pair(Fabric().client(), Fabric().server(), Fabric().address(), {}, {});
  ASSERT_TRUE(pair.connected());
  Region from = Registered(pair.client, Pattern(5000), Access::kLocal);
  Region to = Registered(pair.server, Buffer(5000), Access::kRemoteWrite);
  ASSERT_TRUE(Send(pair.client, Pattern(10), 0));
  ASSERT_TRUE(pair.client->Write(from.bytes, to.handle, to.offset, 1));
  ASSERT_TRUE(pair.Drive([&] { return pair.client.work.size() == 2 && pair.server.messages.size() == 1; }));
  EXPECT_EQ(Content(to.bytes), Pattern(5000));
  for (uint64_t i = 2; i < 6; ++i) ASSERT_TRUE(Send(pair.client, Pattern(10), i));
  ASSERT_TRUE(pair.DriveToEnd());
  EXPECT_EQ(pair.client->trouble().kind, GetParam().client) << pair.client->trouble().text;
  EXPECT_EQ(pair.server->trouble().kind, GetParam().server) << pair.server->trouble().text;
  ASSERT_EQ(pair.client.work.size(), 6u);
  size_t refused = 0;
  for (const Completion& c : pair.client.work) refused += c.outcome == CompletionStatus::kRefused;
  EXPECT_EQ(refused, GetParam().refused);
}

// A Send that a peer leaves without an answer is flushed; only the one that it refused completes as refused.
INSTANTIATE_TEST_SUITE_P(
    Faults, NullVerbsFaults,
    testing::Values(FaultCase{"Rnr", "rnr@3", Kind::kNoReceive, Kind::kPeerClosed, 1},
                    FaultCase{"Protection", "protection@3", Kind::kRemoteAccess, Kind::kLocalAccess, 1},
                    FaultCase{"Silence", "silence@3", Kind::kPeerVanished, Kind::kPeerClosed, 0},
                    FaultCase{"Disconnect", "disconnect@3", Kind::kPeerClosed, Kind::kPeerClosed, 0},
                    FaultCase{"Removal", "removal@3", Kind::kLocal, Kind::kLocal, 0}),
    [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace stag::endpoint::test
