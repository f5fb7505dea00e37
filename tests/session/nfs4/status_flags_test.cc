// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/nfs4/status_flags.h"

#include <gtest/gtest.h>

#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::session {
namespace {

using namespace test;

Buffer SequenceCall(uint32_t xid) { return CompoundCall(xid, {Words({53, 1, 2, 3, 4, 1, 0, 0, 0})}); }
Buffer SequenceReply(uint32_t xid, uint32_t flags) {
  return CompoundReply(xid, {Words({53, 0, 1, 2, 3, 4, 1, 0, 7, 7, flags})});
}

struct StatusFlagsTest : testing::Test, StatusFlagsSink {
  std::vector<FlagSpan> spans;
  int closed = 0;
  StatusFlagsObserver observer{*this};
  Session session{SessionOptions{}, {&observer}};
  EventScript script{session};
  uint32_t xid = 0;

  StatusFlagsTest() { script.Open(); }
  void OnStatusFlags(const Connection&, const std::vector<FlagSpan>& of) override {
    spans = of;
    ++closed;
  }
  uint64_t Say(uint32_t flags) {
    ++xid;
    script.Send(kClient, Msg(xid), SequenceCall(xid));
    script.Send(kServer, Msg(xid), SequenceReply(xid, flags));
    return script.frame();
  }
};

TEST_F(StatusFlagsTest, NoneAreNotTold) {
  Say(0);
  script.Close();
  EXPECT_EQ(closed, 0);
}

TEST_F(StatusFlagsTest, EachHasItsSpan) {
  Say(0);
  const uint64_t first = Say(0x400), second = Say(0x401), third = Say(0x400);
  script.Close();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].flag, 0x400u);
  EXPECT_EQ(spans[0].replies, 3u);
  EXPECT_EQ(spans[0].first.number, first);
  EXPECT_EQ(spans[0].last.number, third);
  EXPECT_EQ(spans[0].ended.number, 0u);
  EXPECT_EQ(spans[1].flag, 1u);
  EXPECT_EQ(spans[1].replies, 1u);
  EXPECT_EQ(spans[1].first.number, second);
  EXPECT_EQ(spans[1].ended.number, third);
}

TEST_F(StatusFlagsTest, OneThatComesAgainHasNotEnded) {
  Say(1);
  Say(0);
  const uint64_t last = Say(1);
  script.Close();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].replies, 2u);
  EXPECT_EQ(spans[0].last.number, last);
  EXPECT_EQ(spans[0].ended.number, 0u);
}

TEST_F(StatusFlagsTest, OfEachConnectionItsOwn) {
  EventScript other(session, 2);
  other.Open();
  Say(1);
  other.Send(kClient, Msg(9), SequenceCall(9));
  other.Send(kServer, Msg(9), SequenceReply(9, 0));
  other.Close();
  EXPECT_EQ(closed, 0);
  script.Close();
  ASSERT_EQ(closed, 1);
  EXPECT_EQ(spans[0].ended.number, 0u);
}

}  // namespace
}  // namespace stag::session
