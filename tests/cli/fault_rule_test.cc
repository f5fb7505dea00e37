// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/fault_rule.h"

#include <gtest/gtest.h>

#include <string>

namespace stag::cli {
namespace {

using relay::FaultKind;

TEST(FaultRule, KindsAndValues) {
  const auto kind = [](std::string_view text) {
    const auto rule = ParseFaultRule(text);
    EXPECT_TRUE(rule) << text;
    return rule ? rule->kind : FaultKind::kDrop;
  };
  EXPECT_EQ(kind("drop@any"), FaultKind::kDrop);
  EXPECT_EQ(kind("drop-reply@any"), FaultKind::kDropReply);
  EXPECT_EQ(kind("corrupt-xid@any"), FaultKind::kCorruptXid);
  EXPECT_EQ(kind("disconnect@any"), FaultKind::kDisconnect);
  EXPECT_EQ(kind("bad-handle@any"), FaultKind::kBadHandle);
  EXPECT_EQ(kind("short-chunk@any"), FaultKind::kShortChunk);
  EXPECT_EQ(ParseFaultRule("error:ERR_VERS@any")->value, 1u);  // RFC 8166 section 4.1: rpc_rdma_errcode
  EXPECT_EQ(ParseFaultRule("error:ERR_CHUNK@any")->value, 2u);
  EXPECT_EQ(ParseFaultRule("credit:0@any")->value, 0u);
  EXPECT_EQ(ParseFaultRule("credit:4294967295@any")->value, 4294967295u);
  EXPECT_EQ(ParseFaultRule("delay:1.5ms@any")->delay, std::chrono::microseconds(1500));
  EXPECT_EQ(ParseFaultRule("delay:60s@any")->delay, std::chrono::seconds(60));
}

TEST(FaultRule, Whom) {
  const auto any = ParseFaultRule("drop@any");
  EXPECT_EQ(any->percent, 100);
  EXPECT_TRUE(any->name.empty());
  EXPECT_FALSE(any->program);
  const auto named = ParseFaultRule("drop@read/2.5");
  EXPECT_EQ(named->percent, 2.5);
  EXPECT_EQ(named->name, "READ");
  for (const char* known : {"COMPOUND", "SEQUENCE", "CB_RECALL", "CB_COMPOUND", "MNT", "READDIRPLUS", "NULL"})
    EXPECT_TRUE(ParseFaultRule(std::string("drop@") + known)) << known;
  const auto numbered = ParseFaultRule("drop@0x20000001:1/100");
  EXPECT_EQ(numbered->program, 0x20000001u);
  EXPECT_EQ(numbered->procedure, 1u);
}

TEST(FaultRule, Wrong) {
  for (const char* text : {"",
                           "drop",
                           "@any",
                           "fall@any",
                           "drop:1@any",
                           "drop@",
                           "drop@REED",
                           "drop@100003:",
                           "drop@:6",
                           "drop@100003:x",
                           "drop@4294967296:1",
                           "drop@any/",
                           "drop@any/0",
                           "drop@any/101",
                           "drop@any/-1",
                           "drop@any/nan",
                           "drop@any/5%",
                           "drop@any/1e1",
                           "delay@any",
                           "delay:@any",
                           "delay:61s@any",
                           "delay:-1s@any",
                           "credit@any",
                           "credit:x@any",
                           "credit:-1@any",
                           "credit:4294967296@any",
                           "error@any",
                           "error:ERR_NONE@any",
                           "error:err_vers@any"}) {
    const auto rule = ParseFaultRule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_TRUE(rule.error().message.starts_with(std::string(text) + ": ")) << rule.error().message;
  }
}

}  // namespace
}  // namespace stag::cli
