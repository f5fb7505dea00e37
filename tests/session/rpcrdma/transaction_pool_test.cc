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

TransactionEntry* OpenWithPayload(TransactionPool& pool) {
  TransactionEntry* const entry = pool.Open();
  entry->reply.storage = pool.TakeStream();
  entry->reply.storage.resize(kSize);
  for (int i = 0; i < 2; ++i) entry->call.segments.Add();
  entry->call.segments[1].used = true;
  entry->call.segments[1].data = pool.TakeData();
  entry->call.segments[1].data.resize(kSize);
  pool.Charge(entry, 2 * kSize);
  return entry;
}

TEST(TransactionPool, WhatIsRetiredHoldsNoPayload) {
  TransactionPool pool;
  std::vector<TransactionEntry*> all;
  while (all.size() < kMany) all.push_back(OpenWithPayload(pool));
  EXPECT_EQ(pool.used(), 2 * kMany * kSize);
  for (TransactionEntry* entry : all) pool.Retire(entry);
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_EQ(pool.retired(), kMany);
  for (const TransactionEntry* entry : all) {
    EXPECT_EQ(entry->reply.storage.capacity(), 0u);
    ASSERT_EQ(entry->call.segments.size(), 2u);
    EXPECT_EQ(entry->call.segments[1].data.capacity(), 0u);
  }
}

TEST(TransactionPool, StorageIsUsedAgain) {
  TransactionPool pool;
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

}  // namespace
}  // namespace stag::session
