// SPDX-License-Identifier: GPL-2.0-or-later
//
// All client probes against Stag's own client, the load of `stag generate`: nothing fails, is skipped or merely
// advised.
#include "tests/replay/probe/clients.h"

namespace stag::probe::test {
namespace {

TEST(OwnClientTest, PassesAll) {
  const auto transport = endpoint::MakeSoftIwarp();
  OwnClient client(*transport);
  const auto begun = client.runner->Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  for (const client::ClientProbe& probe : client::ClientCatalogue()) {
    const Outcome outcome = client.runner->Run(probe);
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << probe.id << ": " << Text(outcome);
    EXPECT_EQ(outcome.advice, std::vector<std::string>{}) << probe.id;
    ASSERT_FALSE(client.runner->gone()) << probe.id;
  }
}

// Where nothing is waited for, less can be told, and nothing fails for that.
TEST(OwnClientTest, TimeFailsNothing) {
  const auto transport = endpoint::MakeSoftIwarp();
  Patience patience = QuickPatience();
  patience.quiet = std::chrono::milliseconds{0};
  OwnClient client(*transport, {}, patience);
  for (const client::ClientProbe& probe : client::ClientCatalogue()) {
    const Outcome outcome = client.runner->Run(probe);
    EXPECT_NE(outcome.verdict, Verdict::kFailed) << probe.id << ": " << Text(outcome);
    EXPECT_FALSE(outcome.why.starts_with("it failed first")) << probe.id << ": " << Text(outcome);
  }
}

}  // namespace
}  // namespace stag::probe::test
