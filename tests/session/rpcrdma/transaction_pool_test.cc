// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionPool: transactions that have ended hold no payload, however much there was of it, and its storage is used
// again.
#include "session/rpcrdma/transaction_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stag::session {
namespace {

constexpr size_t kMany = 100, kSize = 1u << 20;  // more than is kept for reuse
constexpr uint64_t kLimit = 256u << 20;

TransactionEntry* OpenWithPayload(TransactionPool& pool) {
  TransactionEntry* const entry = pool.Open();
  entry->reply.storage = pool.TakeStream();
  entry->reply.storage.resize(kSize);
  for (int i = 0; i < 2; ++i) entry->call.segments.Add();
  entry->call.segments[1].used = true;
  entry->call.segments[1].data = pool.TakeData();
  entry->call.segments[1].data.resize(kSize);
  entry->Count(entry->data_bytes, kSize);
  entry->CountReply();
  return entry;
}

TEST(TransactionPool, WhatIsRetiredHoldsNoPayload) {
  Budget budget(kLimit);
  TransactionPool pool(budget);
  std::vector<TransactionEntry*> all;
  while (all.size() < kMany) all.push_back(OpenWithPayload(pool));
  EXPECT_GE(budget.used(), 2 * kMany * kSize);
  for (TransactionEntry* entry : all) pool.Retire(entry);
  EXPECT_LT(budget.used(), kLimit / 16 + kMany * 4096);
  pool.DropSpare();
  EXPECT_LT(budget.used(), kMany * 4096);
  EXPECT_EQ(pool.retired(), kMany);
  for (const TransactionEntry* entry : all) {
    EXPECT_EQ(entry->reply.storage.capacity(), 0u);
    ASSERT_EQ(entry->call.segments.size(), 2u);
    EXPECT_EQ(entry->call.segments[1].data.capacity(), 0u);
  }
}

TEST(TransactionPool, StorageIsUsedAgain) {
  Budget budget(kLimit);
  TransactionPool pool(budget);
  std::set<const std::byte*> streams, data;
  for (size_t i = 0; i < kMany; ++i) {
    TransactionEntry* const entry = OpenWithPayload(pool);
    streams.insert(entry->reply.storage.data());
    data.insert(entry->call.segments[1].data.data());
    pool.Retire(entry);
    if (i % 2 == 1) pool.Recycle(pool.oldest_retired());
  }
  EXPECT_LE(streams.size(), 2u);  // the Call's takes one, too
  EXPECT_EQ(data.size(), 1u);
}

TransactionEntry* OpenWithSegments(TransactionPool& pool, size_t segments) {
  TransactionEntry* const entry = pool.Open();
  for (size_t i = 0; i < segments; ++i) entry->call.segments.Add();
  entry->CountCall();
  return entry;
}

// Small transactions in turn with large ones that end: each small one may get the storage of a large one.
TEST(TransactionPool, StorageThatAnEndedTransactionLeavesIsChargedOrGivenBack) {
  Budget budget(kLimit);
  TransactionPool pool(budget);
  TransactionEntry* const large = OpenWithSegments(pool, 500);
  pool.Retire(large);
  pool.Recycle(large);
  EXPECT_GE(budget.used(), 500 * sizeof(SegmentRecord));
  EXPECT_EQ(OpenWithSegments(pool, 1), large);  // the storage of 500
  EXPECT_GE(budget.used(), 500 * sizeof(SegmentRecord));
  TransactionEntry* const huge = OpenWithSegments(pool, 60'000);
  const uint64_t before = budget.used();
  pool.Retire(huge);
  pool.Recycle(huge);
  EXPECT_LE(budget.used(), before - 60'000 * sizeof(SegmentRecord));
}

TEST(TransactionPool, AllIsGivenBack) {
  Budget budget(kLimit);
  {
    TransactionPool pool(budget);
    pool.Retire(OpenWithPayload(pool));
    (void)OpenWithPayload(pool);
    pool.Recycle(pool.oldest_retired());
    pool.Retire(OpenWithSegments(pool, 10));
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace stag::session
