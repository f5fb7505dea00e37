// SPDX-License-Identifier: GPL-2.0-or-later
//
// Services that several threads use, each by a connection of its own.
#include <atomic>
#include <set>
#include <thread>

#include "tests/replay/serve/nfs_client.h"

namespace stag::serve {
namespace {

using namespace stag::test;

// A READ shows a WRITE whole or not at all, and attributes that belong together, while others read, write, list, make
// and remove names, and mount.
TEST(Threads, NfsMemory) {
  constexpr uint32_t kSize = 40'000, kRounds = 150;
  MemoryFs fs{64 << 20};
  const auto service = MakeNfsMemoryService(fs, 65536);
  Buffer shared;
  {
    const auto connection = service->NewConnection();
    NfsClient client(*connection);
    shared = client.Make(kCreate, client.root, "shared");
    ASSERT_EQ(client.Status(kWrite, WriteArguments(shared, 0, Buffer(kSize))), 0u);
    ASSERT_FALSE(client.Make(kMkdir, client.root, "names").empty());
  }
  std::atomic<uint32_t> reads = 0;
  const auto reader = [&] {
    const auto connection = service->NewConnection();
    NfsClient client(*connection);
    uint64_t newest = 0;
    for (uint32_t i = 0; i < kRounds; ++i) {
      const Buffer seen = client.Content(shared, 0, kSize);
      ASSERT_EQ(seen, Buffer(kSize, seen.at(0)));
      const Fattr now = client.Stat(shared);
      EXPECT_EQ(now.size, kSize);
      EXPECT_EQ(now.mtime, now.ctime);
      EXPECT_GE(now.mtime, newest);
      newest = now.mtime;
      ++reads;
    }
  };
  const auto writer = [&](unsigned char seed) {
    const auto connection = service->NewConnection();
    NfsClient client(*connection);
    for (uint32_t i = 0; i < kRounds; ++i)
      ASSERT_EQ(client.Status(kWrite, WriteArguments(shared, 0, Buffer(kSize, std::byte(seed + 2 * i)))), 0u);
  };
  const auto namer = [&](const std::string& name) {
    const auto connection = service->NewConnection();
    NfsClient client(*connection);
    const Buffer names = client.Find(client.root, "names");
    for (uint32_t i = 0; i < kRounds; ++i) {
      const Buffer made = client.Make(kCreate, names, name);
      ASSERT_FALSE(made.empty());
      ASSERT_EQ(client.Status(kWrite, WriteArguments(made, 0, Pattern(100))), 0u);
      EXPECT_EQ(client.Content(made, 0, 100), Pattern(100));
      Asked listed = client.Ask(kReaddirplus, Join({names, Word64(0), Word64(0), Words({4096, 16384})}));
      EXPECT_EQ(listed.in.U32(), 0u);
      EXPECT_EQ(client.Find(names, name), made);
      ASSERT_EQ(client.Status(kRemove, At(names, name)), 0u);
      EXPECT_EQ(client.Status(kGetattr, made), 70u);  // NFS3ERR_STALE
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(reader);
  threads.emplace_back(writer, static_cast<unsigned char>(0));
  threads.emplace_back(writer, static_cast<unsigned char>(1));
  threads.emplace_back(namer, "one");
  threads.emplace_back(namer, "other");
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(reads, 2 * kRounds);
  // Every connection added what it counted.
  const ProcedureCounts& counts = service->counts();
  EXPECT_EQ(counts.at({kNfs3, 3, kRead}).calls, 4 * kRounds);
  EXPECT_EQ(counts.at({kNfs3, 3, kWrite}).calls, 1 + 4 * kRounds);
  EXPECT_EQ(counts.at({kNfs3, 3, kCreate}).calls, 1 + 2 * kRounds);
  // What was taken was given back.
  EXPECT_EQ(fs.nodes(), 3u);
  NfsClient client(*service);
  EXPECT_EQ(client.Stat(client.Find(client.root, "names")).size, 0u);
}

// Charges by several threads stay within the capacity.
TEST(Threads, Capacity) {
  constexpr uint32_t kFiles = 4;
  MemoryFs fs{1 << 20};
  const auto service = MakeNfsMemoryService(fs, 65536);
  NfsClient client(*service);
  std::vector<Buffer> files;
  for (uint32_t i = 0; i < kFiles; ++i) files.push_back(client.Make(kCreate, client.root, std::to_string(i)));
  std::atomic<uint32_t> refused = 0;
  std::vector<std::thread> threads;
  for (const Buffer& file : files)
    threads.emplace_back([&] {
      const auto connection = service->NewConnection();
      NfsClient own(*connection);
      for (uint64_t i = 0; i < 32; ++i)
        refused += own.Status(kWrite, WriteArguments(file, i << 14, Buffer(16384))) == 28;
    });
  for (std::thread& thread : threads) thread.join();
  uint64_t used = 0;
  for (const Buffer& file : files) used += client.Stat(file).used;
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(used >> 14, 4 * 32 - refused);
  EXPECT_LE(fs.used(), fs.capacity());
  EXPECT_LT(fs.capacity() - fs.used(), 16384u);  // and nothing of it was lost
}

}  // namespace
}  // namespace stag::serve
