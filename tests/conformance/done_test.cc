// SPDX-License-Identifier: GPL-2.0-or-later
//
// DONE: RDMA_DONE, which only draft-08 speaks, and its credits.
#include "tests/conformance/legacy_checker.h"

namespace stag::test {
namespace {

TEST(Done005, ADoneTakesACredit) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 1);
  c.Call(2);
  c.Done(1);
  EXPECT_EQ(c.Ids(), Id{});  // until the server is heard again
  c.Reply(2, 1);
  ASSERT_EQ(c.Ids(), Id{"DONE-005"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_TRUE(c.findings.all[0].client_to_server);
}

TEST(Done005, ACallAfterIt) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 2);
  c.Done(1);
  c.Call(2);
  EXPECT_EQ(c.Ids(), Id{});
  c.Call(3);  // two Calls and one RDMA_DONE of two
  c.Reply(2, 2);
  EXPECT_EQ(c.Ids(), Id{"DONE-005"});
  c.Call(4);  // the answer has freed it
  c.Reply(3, 2);
  EXPECT_EQ(c.Ids(), Id{"DONE-005"});
}

TEST(Done005, OverTheGrantIsCred003) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 1);
  c.Done(1);
  c.Call(2);  // the second credit of one
  c.Call(3);
  c.Reply(2, 1);
  EXPECT_EQ(c.Ids(), (Id{"DONE-005", "CRED-003"}));
}

TEST(Done006, AGrantOfOneLeavesNoRoom) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-006"});
  c.script.Open();
  c.ReadReply(1, 2);
  c.Done(1);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Call(2);
  c.Reply(2, 1);
  EXPECT_EQ(c.Ids(true), Id{});
  c.ReadReply(3, 1);
  ASSERT_EQ(c.Ids(true), Id{"DONE-006"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
}

TEST(Done007, NoCreditForAClientThatWaitsForNothing) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-007"});
  c.script.Open();
  c.ReadReply(1, 4);
  c.Call(2);
  c.Call(3);
  c.Reply(2, 0);  // another Reply is to come
  EXPECT_EQ(c.Ids(true), Id{});
  c.Reply(3, 0);
  ASSERT_EQ(c.Ids(), Id{"DONE-007"});
  EXPECT_FALSE(c.findings.all[0].client_to_server);
}

TEST(Done007, WithoutDonesItIsCred011) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-007", "CRED-011"});
  c.script.Open();
  c.ReadReply(1, 4);
  c.Done(1);
  c.Call(2);
  c.Reply(2, 0);
  ASSERT_EQ(c.Ids(), Id{"CRED-011"});
  EXPECT_TRUE(c.findings.all[0].see_also.empty());
  c.ReadReply(3, 0);
  ASSERT_EQ(c.Ids(), (Id{"CRED-011", "CRED-011"}));
  EXPECT_EQ(c.findings.all[1].see_also, std::vector<std::string_view>{"DONE-007"});
}

TEST(Done008, AnsweredByTheDraftOf2016) {
  const auto ids = [](Profile profile, bool answered, bool lost = false) {
    LegacyChecker c(profile, {"DONE-008"});
    c.Start();
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 1));
    if (answered) c.Error(1);
    if (lost) c.script.Gap(kServer);
    c.Exchanges(10, 20);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(Profile::kRfc5666bis, false), Id{"DONE-008"});
  EXPECT_EQ(ids(Profile::kRfc5666bis, true), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666bis, false, true), Id{});
  EXPECT_EQ(ids(Profile::kRfc8166, false), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666, false), Id{});
}

}  // namespace
}  // namespace stag::test
