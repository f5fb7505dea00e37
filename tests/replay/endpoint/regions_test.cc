// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "replay/endpoint/soft_iwarp_regions.h"

namespace stag::endpoint {
namespace {

using Verdict = RegionTable::Verdict;

TEST(RegionTable, ChecksHandleDirectionAndRange) {
  std::vector<std::byte> memory(100);
  RegionTable table;
  const Region region = table.Add(memory, Access::kRemoteRead, {});
  std::byte* at = nullptr;
  const auto check = [&](uint32_t handle, uint64_t offset, uint64_t length, Access access = Access::kRemoteRead) {
    return table.Check(handle, offset, length, access, at);
  };
  EXPECT_EQ(check(region.handle, region.offset + 10, 90), Verdict::kFine);
  EXPECT_EQ(at, memory.data() + 10);
  EXPECT_EQ(check(region.handle, region.offset + 100, 0), Verdict::kFine);
  EXPECT_EQ(check(region.handle, region.offset + 10, 91), Verdict::kOutOfBounds);
  EXPECT_EQ(check(region.handle, region.offset + 101, 0), Verdict::kOutOfBounds);
  EXPECT_EQ(check(region.handle, region.offset - 1, 1), Verdict::kOutOfBounds);
  EXPECT_EQ(check(region.handle, region.offset, UINT64_MAX - region.offset), Verdict::kOutOfBounds);
  EXPECT_EQ(check(region.handle, region.offset + 1, UINT64_MAX - region.offset), Verdict::kWraps);
  EXPECT_EQ(check(region.handle, region.offset, 1, Access::kRemoteWrite), Verdict::kNoAccess);
  EXPECT_EQ(check(region.handle + 1, region.offset, 1), Verdict::kInvalidHandle);
  EXPECT_EQ(check(0, region.offset, 1), Verdict::kInvalidHandle);
}

TEST(RegionTable, LocalHandlesAreNotThePeers) {
  std::vector<std::byte> memory(8);
  RegionTable table;
  const Region region = table.Add(memory, Access::kLocal, {});
  std::byte* at = nullptr;
  EXPECT_EQ(table.Check(region.handle, region.offset, 1, Access::kRemoteRead, at), Verdict::kNoAccess);
  EXPECT_EQ(table.Invalidate(region.handle), Verdict::kNoAccess);
  EXPECT_TRUE(table.IsValid(region.handle));
}

TEST(RegionTable, StaleRegionsAreNotThisTables) {
  std::vector<std::byte> memory(8);
  RegionTable table;
  Region first = table.Add(memory, Access::kRemoteRead, {});
  Region stale = first;
  EXPECT_TRUE(table.Renew(first));
  EXPECT_FALSE(table.Renew(stale));
  EXPECT_FALSE(table.Remove(stale));
  EXPECT_TRUE(table.Remove(first));
  EXPECT_FALSE(table.Remove(first));
}

TEST(RegionTable, HandlesAndOffsetsThatAreChosen) {
  std::vector<std::byte> memory(100), other(10);
  RegionTable table;
  Region region = table.Add(memory, Access::kRemoteRead, {});
  Region second = table.Add(other, Access::kRemoteRead, {});
  std::byte* at = nullptr;
  const uint32_t old = region.handle;
  for (const uint32_t handle : {0u, UINT32_MAX, 7u, 7u, 0u}) {
    ASSERT_TRUE(table.Rename(region, handle, uint64_t{1} << 63));
    EXPECT_EQ(table.Check(handle, (uint64_t{1} << 63) + 99, 1, Access::kRemoteRead, at), Verdict::kFine);
    EXPECT_EQ(at, &memory[99]);
    EXPECT_FALSE(table.IsValid(old));
    EXPECT_FALSE(table.Rename(second, handle, 0));  // somebody has it
  }
  EXPECT_FALSE(table.IsValid(7));
  EXPECT_FALSE(table.Rename(region, 1, UINT64_MAX - 50));  // wraps
  EXPECT_TRUE(table.Remove(region));
  EXPECT_FALSE(table.IsValid(0));
  EXPECT_TRUE(table.Rename(second, 0, 0));
  EXPECT_TRUE(table.Renew(second));
  EXPECT_FALSE(table.IsValid(0));
}

// Against the plainest model: a map. Many regions come, are invalidated, renewed and go.
TEST(RegionTable, AgreesWithAMap) {
  std::mt19937 random(1);
  std::vector<std::byte> memory(4096);
  RegionTable table;
  std::map<uint32_t, Region> valid;
  std::vector<Region> all;
  std::set<uint32_t> dead;
  for (int i = 0; i < 20000; ++i) {
    const size_t pick = all.empty() ? 0 : random() % all.size();
    switch (all.empty() ? 0 : random() % 5) {
      case 0:
      case 1:
        all.push_back(table.Add(std::span(memory).subspan(random() % 4096), Access::kRemoteWrite, {}));
        valid[all.back().handle] = all.back();
        break;
      case 2: {
        const uint32_t handle = all[pick].handle;
        EXPECT_EQ(table.Invalidate(handle), valid.erase(handle) ? Verdict::kFine : Verdict::kInvalidHandle);
        dead.insert(handle);
        break;
      }
      case 3:
        dead.insert(all[pick].handle);
        valid.erase(all[pick].handle);
        EXPECT_TRUE(table.Renew(all[pick]));
        valid[all[pick].handle] = all[pick];
        break;
      case 4:
        dead.insert(all[pick].handle);
        valid.erase(all[pick].handle);
        EXPECT_TRUE(table.Remove(all[pick]));
        all[pick] = all.back();
        all.pop_back();
        break;
    }
    if (i % 100 != 0) continue;
    std::byte* at = nullptr;
    for (const auto& [handle, region] : valid) {
      ASSERT_EQ(table.Check(handle, region.offset, region.bytes.size(), Access::kRemoteWrite, at), Verdict::kFine);
      ASSERT_EQ(at, region.bytes.data());
    }
    for (const uint32_t handle : dead) ASSERT_EQ(table.IsValid(handle), valid.contains(handle));
  }
}

}  // namespace
}  // namespace stag::endpoint
