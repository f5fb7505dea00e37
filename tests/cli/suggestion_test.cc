// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/suggestion.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

const std::vector<std::string> kCommands = {"connections", "transactions", "credits", "check",
                                            "capture",     "replay",       "relay"};

TEST(ClosestWord, OneLetterIsWrong) {
  EXPECT_EQ(ClosestWord("chekc", kCommands), "check");  // swapped
  EXPECT_EQ(ClosestWord("chck", kCommands), "check");
  EXPECT_EQ(ClosestWord("checks", kCommands), "check");
  EXPECT_EQ(ClosestWord("conections", kCommands), "connections");
  EXPECT_EQ(ClosestWord("--fromat", {"--format", "--from"}), "--format");
}

TEST(ClosestWord, TheNearestOfTwo) {
  EXPECT_EQ(ClosestWord("repaly", kCommands), "replay");
  EXPECT_EQ(ClosestWord("relya", kCommands), "relay");
}

TEST(ClosestWord, OneThatAloneBeginsSo) {
  EXPECT_EQ(ClosestWord("trans", kCommands), "transactions");
  EXPECT_EQ(ClosestWord("con", kCommands), "connections");
  EXPECT_EQ(ClosestWord("cre", kCommands), "credits");
}

TEST(ClosestWord, NothingIsLikeIt) {
  EXPECT_EQ(ClosestWord("wireshark", kCommands), "");
  EXPECT_EQ(ClosestWord("c", kCommands), "");
  EXPECT_EQ(ClosestWord("", kCommands), "");
  EXPECT_EQ(ClosestWord("--", {"--format"}), "");
  EXPECT_EQ(ClosestWord(std::string(1000, 'c'), kCommands), "");
}

}  // namespace
}  // namespace stag::cli
