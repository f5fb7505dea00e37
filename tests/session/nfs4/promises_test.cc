// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/nfs4/promises.h"

#include <gtest/gtest.h>

#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::session {
namespace {

using namespace test;

PromiseStep Step(PromiseKind kind, bool settled, uint8_t key, uint64_t frame = 1) {
  PromiseStep step{.kind = kind, .settled = settled, .connection = 1, .frame = {frame, 0}};
  step.key[0] = std::byte{key};
  return step;
}
constexpr PromiseKind kReturn = PromiseKind::kReturn, kOffload = PromiseKind::kOffload;

TEST(Promises, OpenUntilSettled) {
  Promises promises;
  promises.Take(Step(kReturn, false, 1, 7));
  promises.Take(Step(kOffload, false, 1, 5));
  ASSERT_EQ(promises.StillOpen().size(), 2u);
  EXPECT_EQ(promises.StillOpen()[0].frame.number, 5u);
  promises.Take(Step(kReturn, true, 2));
  EXPECT_EQ(promises.StillOpen().size(), 2u);
  promises.Take(Step(kReturn, true, 1));
  promises.Take(Step(kOffload, true, 1));
  EXPECT_TRUE(promises.StillOpen().empty());
}

TEST(Promises, ADelegationMayBeRecalledAgain) {
  Promises promises;
  promises.Take(Step(kReturn, true, 1));
  promises.Take(Step(kReturn, false, 1));
  EXPECT_EQ(promises.StillOpen().size(), 1u);
}

TEST(Promises, ACopyEndsOnce) {
  Promises promises;
  promises.Take(Step(kOffload, true, 1));
  promises.Take(Step(kOffload, false, 1));
  promises.Take(Step(kOffload, false, 1));
  EXPECT_TRUE(promises.StillOpen().empty());
}

TEST(Promises, BoundedAndSilentThen) {
  Promises promises;
  for (uint32_t i = 0; i <= Promises::kMost; ++i) {
    PromiseStep step = Step(kReturn, false, 0);
    step.key[1] = static_cast<std::byte>(i);
    step.key[2] = static_cast<std::byte>(i >> 8);
    promises.Take(step);
  }
  EXPECT_EQ(promises.left_out(), 1u);
  EXPECT_TRUE(promises.StillOpen().empty());
}

// A COMPOUND may name more stateids than are kept: some may be among the rest.
TEST(Promises, OfACompoundWithManyStatesNothingIsSaid) {
  struct Sink final : PromiseSink {
    void OnPromise(const PromiseStep& step) override { promises.Take(step); }
    Promises promises;
  } sink;
  PromiseObserver observer(sink);
  Session session(SessionOptions{}, {&observer});
  EventScript script(session);
  script.Open();
  sink.promises.Take(Step(kReturn, false, 9));
  const Buffer one = Words({8, 0, 1, 2, 3}), done = Words({8, 0});
  script.Send(kClient, Msg(1), CompoundCall(1, {one, one}));
  script.Send(kServer, Msg(1), CompoundReply(1, {done, done}));
  EXPECT_EQ(sink.promises.StillOpen().size(), 1u);
  script.Send(kClient, Msg(2), CompoundCall(2, {one, one, one}));
  script.Send(kServer, Msg(2), CompoundReply(2, {done, done, done}));
  EXPECT_TRUE(sink.promises.StillOpen().empty());
}

}  // namespace
}  // namespace stag::session
