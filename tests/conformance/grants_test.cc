// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED-001, 002, 006, 010 and 011: what the credit words of Calls, Replies and errors say.
#include "tests/conformance/credit_checker.h"

namespace stag::test {
namespace {

TEST(Cred001, ACallAsksForCredit) {
  CreditChecker c;
  c.Start(8);
  c.Call(1, 0);
  EXPECT_EQ(c.Ids(true), Id{"CRED-001"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  CreditChecker one;
  one.Start(8);
  one.Call(1, 1);
  EXPECT_EQ(one.Ids(true), Id{});
}

TEST(Cred001, NotRdmaDone) {
  CreditChecker c(Profile::kRfc5666);
  c.Start(8);
  c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 0x100, 0));
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Cred002, AGrantIsNotZero) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis}) {
    CreditChecker c(profile);
    c.Start(8);
    c.Call(1);
    c.Call(2);
    c.Reply(1, 0);  // not even while another is outstanding
    EXPECT_EQ(c.Ids(), Id{"CRED-002"});
  }
}

TEST(Cred011, ZeroOnlyWhileWorkIsInProgress) {
  CreditChecker c(Profile::kRfc5666);
  c.Start(8);
  c.Calls(1, 2);
  c.Reply(1, 0);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Reply(2, 0);
  EXPECT_EQ(c.Ids(), Id{"CRED-011"});
}

TEST(Cred010, AnErrorWithoutCreditsIsOneNote) {
  CreditChecker c;
  c.Start(2);
  c.Call(1);
  c.Error(1, 0);
  ASSERT_EQ(c.Ids(true), Id{"CRED-010"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  EXPECT_EQ(c.findings.all[0].see_also, std::vector<std::string_view>{"CRED-002"});
  // The grant of two stands.
  c.Calls(2, 3);
  c.Call(4);
  c.Reply(2, 2);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
}

TEST(Cred010, AnErrorWithCreditsIsAGrant) {
  CreditChecker c;
  c.Start(2);
  c.Call(1);
  c.Error(1, 3);
  c.Calls(2, 4);
  c.Reply(2, 3);
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Cred006, EightStepsDownAreANote) {
  CreditChecker c;
  c.Start(32);
  for (uint32_t i = 1; i <= 8; ++i) c.Exchange(i, 32 - i);
  ASSERT_EQ(c.Ids(true), Id{"CRED-006"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  EXPECT_EQ(c.findings.all[0].actual, "32 to 24");
  for (uint32_t i = 9; i <= 20; ++i) c.Exchange(i, 32 - i);  // said once
  EXPECT_EQ(c.Ids(true), Id{"CRED-006"});
}

TEST(Cred006, OtherChangesAreFree) {
  CreditChecker seven;
  seven.Start(32);
  for (uint32_t i = 1; i <= 7; ++i) seven.Exchange(i, 32 - i);
  seven.Exchange(8, 25);
  EXPECT_EQ(seven.Ids(true), Id{});

  CreditChecker steps;
  steps.Start(64);
  for (uint32_t i = 1; i <= 20; ++i) steps.Exchange(i, 64 - 2 * i);
  EXPECT_EQ(steps.Ids(true), Id{});

  CreditChecker up;
  up.Start(1);
  for (uint32_t i = 1; i <= 20; ++i) up.Exchange(i, 1 + i);
  EXPECT_EQ(up.Ids(true), Id{});

  CreditChecker lossy;
  lossy.Start(32);
  for (uint32_t i = 1; i <= 8; ++i) {
    lossy.Exchange(i, 32 - i);
    if (i == 4) lossy.script.Gap(kServer);
  }
  EXPECT_EQ(lossy.Ids(true), Id{});
}

}  // namespace
}  // namespace stag::test
