// SPDX-License-Identifier: GPL-2.0-or-later
//
// ChunkMemory: the limit holds over all shares, each waits its turn, and what is too large for all of them comes alone.
#include "replay/rpcrdma/chunk_memory.h"

#include <gtest/gtest.h>

#include <optional>

namespace stag::rpcrdma {
namespace {

TEST(ChunkMemory, TheLimitIsThatOfAllTogether) {
  ChunkMemory memory(400);
  ChunkShare a(memory), b(memory);
  std::optional<ChunkCharge> first(std::in_place, a), second(std::in_place, b), more(std::in_place, b);
  EXPECT_TRUE(first->Grow(250));  // the first of a share may be larger than a quarter
  EXPECT_TRUE(second->Grow(100));
  EXPECT_FALSE(ChunkCharge(a).Grow(10)) << "the share has more than a quarter";
  EXPECT_FALSE(memory.wanted()) << "it waits for its own";
  EXPECT_EQ(memory.used(), 350u);
  ChunkShare c(memory);
  ChunkCharge third(c);
  EXPECT_FALSE(third.Grow(60));
  EXPECT_TRUE(memory.wanted());
  EXPECT_FALSE(c.worth_asking()) << "nothing came back";
  first.reset();
  EXPECT_TRUE(c.worth_asking());
  EXPECT_TRUE(third.Grow(60));
  EXPECT_FALSE(memory.wanted());
  EXPECT_EQ(memory.used(), 160u);
}

TEST(ChunkMemory, InTheOrderOfTheAsking) {
  ChunkMemory memory(100);
  ChunkShare holder(memory), early(memory);
  std::optional<ChunkShare> late(std::in_place, memory);
  ChunkCharge held(holder);
  EXPECT_TRUE(held.Grow(90));
  {
    ChunkCharge first(early);
    EXPECT_FALSE(first.Grow(20));
    EXPECT_FALSE(ChunkCharge(*late).Grow(5)) << "there is room, and somebody was there before";
    held.Set(0);
    EXPECT_FALSE(ChunkCharge(*late).Grow(5));
    EXPECT_TRUE(first.Grow(20));
  }
  EXPECT_TRUE(memory.wanted());
  late.reset();  // it waits no more
  EXPECT_FALSE(memory.wanted());
  EXPECT_EQ(memory.used(), 0u);
}

TEST(ChunkMemory, ACallLargerThanTheLimitComesAlone) {
  ChunkMemory memory(100);
  ChunkShare a(memory), b(memory);
  ChunkCharge small(a), large(b);
  EXPECT_TRUE(small.Grow(1));
  EXPECT_FALSE(large.Grow(1000));
  small.Set(0);
  EXPECT_TRUE(large.Grow(1000));
  EXPECT_FALSE(small.Grow(1));
  large.Set(0);
  EXPECT_TRUE(small.Grow(1));
}

TEST(ChunkMemory, WhatIsThereAlreadyIsCounted) {
  ChunkMemory memory(1 << 20);
  ChunkShare a(memory), b(memory);
  ChunkCharge reply(a);
  reply.Set(2 << 20);
  EXPECT_EQ(memory.used(), 2u << 20);
  EXPECT_FALSE(a.open());
  EXPECT_TRUE(b.open()) << "who has nothing is served";
  EXPECT_FALSE(ChunkCharge(b).Grow(1));
  reply.Set(0);
  EXPECT_TRUE(a.open());
}

}  // namespace
}  // namespace stag::rpcrdma
