// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ledger: transactions that have ended hold no payload, however much there was of it, and its storage is used again.
#include "session/rpcrdma/live.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stag::session {
namespace {

constexpr size_t kMany = 100, kSize = 1u << 20;  // more than is kept for reuse

Live* OpenWithPayload(Ledger& ledger) {
  Live* const live = ledger.Open();
  live->reply.stream.resize(kSize);
  ledger.Resize(live->segments, 2);
  live->segments[1].data = ledger.TakeData();
  live->segments[1].data.resize(kSize);
  ledger.Charge(live, 2 * kSize);
  return live;
}

TEST(Ledger, WhatIsRetiredHoldsNoPayload) {
  Ledger ledger;
  std::vector<Live*> all;
  while (all.size() < kMany) all.push_back(OpenWithPayload(ledger));
  EXPECT_EQ(ledger.used(), 2 * kMany * kSize);
  for (Live* live : all) ledger.Retire(live);
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.retired(), kMany);
  for (const Live* live : all) {
    EXPECT_EQ(live->reply.stream.capacity(), 0u);
    ASSERT_EQ(live->segments.size(), 2u);
    EXPECT_EQ(live->segments[1].data.capacity(), 0u);
  }
}

TEST(Ledger, StorageIsUsedAgain) {
  Ledger ledger;
  std::set<const std::byte*> streams, data;
  for (size_t i = 0; i < kMany; ++i) {
    Live* const live = OpenWithPayload(ledger);
    streams.insert(live->reply.stream.data());
    data.insert(live->segments[1].data.data());
    ledger.Retire(live);
    if (i % 2 == 1) ledger.Recycle(ledger.oldest_retired());
  }
  EXPECT_LE(streams.size(), 2u);  // the Call's takes one, too
  EXPECT_EQ(data.size(), 1u);
}

}  // namespace
}  // namespace stag::session
