// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

namespace stag::replay {
namespace {

using Next = PlanQueue::Next;

PlannedCallPtr Planned(uint32_t xid, PlannedCall::What what = PlannedCall::What::kCall) {
  auto planned = std::make_shared<PlannedCall>();
  planned->rpc.xid = xid;
  planned->what = what;
  return planned;
}

// The xid of the next one; 0: not yet; -1: the end.
int64_t TakeOne(PlanQueue& queue, uint64_t& position) {
  PlannedCallPtr planned;
  switch (queue.Take(position, planned)) {
    case Next::kPlanned: return planned->rpc.xid;
    case Next::kLater: return 0;
    case Next::kEnd: break;
  }
  return -1;
}

TEST(PlanQueue, EachReaderGetsAllOfIt) {
  PlanQueue queue(2, PlanQueue::Limits{});
  queue.OnPlanned(Planned(1));
  queue.OnPlanned(Planned(7, PlannedCall::What::kRefused));
  queue.OnPlanned(Planned(2));
  uint64_t first = 0, second = 0;
  EXPECT_EQ(TakeOne(queue, first), 1);
  EXPECT_EQ(TakeOne(queue, first), 2);
  EXPECT_EQ(TakeOne(queue, first), 0);
  EXPECT_EQ(TakeOne(queue, second), 1);
  pollfd one{queue.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&one, 1, 0), 0);
  queue.OnPlanned(Planned(3));
  EXPECT_EQ(::poll(&one, 1, 0), 1) << "a reader found nothing before";
  queue.ClearDescriptor();
  EXPECT_EQ(::poll(&one, 1, 0), 0);
  queue.End();
  EXPECT_EQ(TakeOne(queue, first), 3);
  EXPECT_EQ(TakeOne(queue, first), -1);
  for (const int64_t xid : {2, 3, -1}) EXPECT_EQ(TakeOne(queue, second), xid);
  EXPECT_EQ(queue.whole(), nullptr) << "it was not to be kept";
}

TEST(PlanQueue, WaitsForRoomUntilCallsWerePlayed) {
  constexpr uint32_t kCalls = 1000;
  PlanQueue::Limits limits;
  limits.ahead = 10 * Planned(0)->bytes();
  PlanQueue queue(1, limits);
  std::atomic<uint32_t> planned = 0;
  std::thread reading([&] {
    for (uint32_t xid = 1; xid <= kCalls; ++xid, ++planned) queue.OnPlanned(Planned(xid));
    queue.End();
  });
  EXPECT_TRUE(queue.WaitForCall());
  EXPECT_TRUE(queue.WaitForRoot()) << "what comes later cannot be known: the queue is full";
  EXPECT_LT(planned, 20u);
  uint64_t position = 0;
  uint32_t taken = 0;
  for (int64_t xid = 0; xid >= 0;) {
    xid = TakeOne(queue, position);
    taken += xid > 0;
    EXPECT_LE(planned, taken + 12) << "never more ahead than there is room for";
  }
  reading.join();
  EXPECT_EQ(taken, kCalls);
}

TEST(PlanQueue, AReaderThatLeavesHoldsNothingUp) {
  PlanQueue::Limits limits;
  limits.ahead = 1;
  PlanQueue queue(2, limits);
  std::thread reading([&] {
    for (uint32_t xid = 1; !queue.cancelled(); ++xid) queue.OnPlanned(Planned(xid));
  });
  uint64_t position = 0;
  queue.Leave(0);
  for (int64_t xid = 0; xid < 100;) xid = TakeOne(queue, position);
  queue.Leave(position);
  reading.join();
  EXPECT_TRUE(queue.over());
}

TEST(PlanQueue, KeepsAPlanThatIsSmallEnough) {
  PlanQueue::Limits limits;
  limits.ahead = 1;
  limits.keep = 3 * Planned(0)->bytes();
  limits.unless_kept = "too large";
  for (const uint32_t calls : {3u, 4u}) {
    PlanQueue queue(1, limits);
    for (uint32_t xid = 1; xid <= calls; ++xid) queue.OnPlanned(Planned(xid));
    queue.End();
    EXPECT_EQ(queue.error(), calls == 3 ? "" : "too large");
    EXPECT_EQ(queue.cancelled(), calls == 4);
    ASSERT_EQ(queue.whole() != nullptr, calls == 3);
    if (!queue.whole()) continue;
    PlanQueue again(2, queue.whole());
    for (uint64_t reader = 0; reader < 2; ++reader) {
      uint64_t position = 0;
      for (const int64_t xid : {1, 2, 3, -1}) EXPECT_EQ(TakeOne(again, position), xid);
      again.Leave(position);
    }
  }
}

TEST(PlanQueue, WithoutACallOrARoot) {
  PlanQueue queue(1, PlanQueue::Limits{});
  queue.OnPlanned(Planned(1, PlannedCall::What::kBackward));
  queue.End("no such file");
  EXPECT_FALSE(queue.WaitForCall());
  EXPECT_FALSE(queue.WaitForRoot());
  EXPECT_EQ(queue.error(), "no such file");
  uint64_t position = 0;
  EXPECT_EQ(TakeOne(queue, position), -1);
}

}  // namespace
}  // namespace stag::replay
