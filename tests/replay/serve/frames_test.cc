// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames, and files whose blocks they are: what a Reply is sent from stays as it was, what landed becomes the file's.
#include "replay/serve/frames.h"

#include <random>
#include <set>

#include "replay/serve/nfs3_xdr.h"
#include "tests/replay/serve/nfs_client.h"

namespace stag::serve {
namespace {

using namespace stag::test;
constexpr uint32_t kFrame = Frames::kFrame;

// Runs of all lengths are apart from each other, and each frame comes back once its last use is over.
TEST(Frames, AreGivenOutOnce) {
  Frames frames(2 * Frames::kSlab);
  std::mt19937 random(7);
  std::vector<MutableBytes> taken;
  std::set<std::byte*> used;
  for (int round = 0; round < 3000; ++round) {
    if (random() % 5 < 3) {
      const MutableBytes run = frames.Take(1 + random() % 130);
      if (run.empty()) continue;
      EXPECT_TRUE(Contains(frames.slab(run.data()), run));
      for (size_t at = 0; at < run.size(); at += kFrame) EXPECT_TRUE(used.insert(run.data() + at).second);
      taken.push_back(run);
    } else if (!taken.empty()) {
      const size_t which = random() % taken.size();
      const MutableBytes run = taken[which];
      taken[which] = taken.back();
      taken.pop_back();
      // One byte of the second frame has another user for a while.
      if (run.size() > kFrame) frames.Share(run.subspan(kFrame, 1));
      frames.Return(run);
      if (run.size() > kFrame) {
        EXPECT_FALSE(frames.shared(run.data() + kFrame));
        frames.Return(run.subspan(kFrame, 1));
      }
      for (size_t at = 0; at < run.size(); at += kFrame) used.erase(run.data() + at);
    }
  }
  for (const MutableBytes run : taken) frames.Return(run);
  // All of it is free again.
  std::set<std::byte*> slabs;
  for (MutableBytes slab = frames.Take(Frames::kSlab / kFrame); !slab.empty();
       slab = frames.Take(Frames::kSlab / kFrame))
    slabs.insert(slab.data());
  EXPECT_GE(slabs.size(), 2u);
}

TEST(Frames, KeepToTheirLimit) {
  Frames frames(1);
  EXPECT_EQ(frames.Take(4, 3 * kFrame).size(), 0u);
  const MutableBytes three = frames.Take(3, 3 * kFrame);
  EXPECT_EQ(three.size(), 3 * kFrame);
  EXPECT_TRUE(frames.Take(1, 3 * kFrame).empty());
  frames.Return(three.first(kFrame));
  EXPECT_FALSE(frames.Take(1, 3 * kFrame).empty());
  EXPECT_TRUE(frames.Take(Frames::kSlab / kFrame + 1).empty());
}

// A READ whose Reply is being sent shows what was there, whatever is done to the file meanwhile.
TEST(Frames, WhatIsBeingSentStays) {
  constexpr uint32_t kSize = 3 * kFrame;
  MemoryFs fs{1 << 20};
  const auto service = MakeNfsMemoryService(fs, 65536);
  NfsClient client(*service);
  const uint64_t empty = fs.used();
  for (const int change : {0, 1, 2, 3}) {
    const Buffer file = client.Make(kCreate, client.root, "file");
    const Buffer before = Pattern(kSize), after = Pattern(kSize, 9);
    ASSERT_EQ(client.Status(kWrite, WriteArguments(file, 0, before)), 0u);
    rpcrdma::ServiceReply reply;
    service->OnCall(MakeCall(1, kNfs3, 3, kRead, Join({file, Word64(100), Words({40'000})})), reply);
    ASSERT_FALSE(reply.views.empty());
    if (change == 0) {
      EXPECT_EQ(client.Status(kWrite, WriteArguments(file, 0, after)), 0u);
    }
    if (change == 1) {
      EXPECT_EQ(client.Status(kWrite, WriteArguments(file, 200, Buffer(7))), 0u);
    }
    if (change == 2) {
      EXPECT_EQ(client.Status(kSetattr, Join({file, Words({0, 0, 0, 1, 0, 5000, 0, 0, 0})})), 0u);
    }
    if (change != 3) {
      const uint32_t left = change == 2 ? 5000 : kSize;
      Buffer now = change == 0 ? after : before;
      if (change == 1) std::fill_n(now.begin() + 200, 7, std::byte{});
      now.resize(left);
      EXPECT_EQ(client.Content(file, 0, left), now);
    }
    ASSERT_EQ(client.Status(kRemove, At(client.root, "file")), 0u);
    EXPECT_EQ(fs.used(), empty);
    // Another file takes what is free now.
    const Buffer other = client.Make(kCreate, client.root, "other");
    ASSERT_EQ(client.Status(kWrite, WriteArguments(other, 0, Pattern(kSize, 5))), 0u);
    EXPECT_EQ(reply.Flatten(), 40'000u);
    const Bytes sent = Bytes(reply.message).last(40'000);
    EXPECT_TRUE(std::ranges::equal(sent, Bytes(before).subspan(100, 40'000)));
    ASSERT_EQ(client.Status(kRemove, At(client.root, "other")), 0u);
  }
}

// The data of a WRITE that landed in frames become the file's blocks where they fill them.
TEST(Frames, WhatLandedBecomesTheFile) {
  MemoryFs fs{1 << 20};
  const auto service = MakeNfsMemoryService(fs, 1 << 20);
  NfsClient client(*service);
  const Buffer file = client.Make(kCreate, client.root, "file");
  for (const uint64_t offset : {uint64_t{0}, uint64_t{2 * kFrame}, uint64_t{100}}) {
    for (const uint32_t size : {2 * kFrame, 2 * kFrame + 5000, kFrame + 1}) {
      const Buffer data = Pattern(size, static_cast<uint32_t>(offset) + size);
      const Buffer call = MakeCall(3, kNfs3, 3, kWrite, WriteArguments(file, offset, data));
      const uint64_t item = RoundUp4(size), before = call.size() - item;
      rpcrdma::Landing landing = service->Land(before, size, item - size);
      ASSERT_TRUE(landing);
      ASSERT_EQ(landing.call().size(), call.size());
      std::ranges::copy(call, landing.call().begin());
      const std::byte* const first = landing.call().data() + before;
      {
        rpcrdma::ServiceReply reply;
        service->OnCall(landing.call(), reply);
      }
      landing.Return();
      EXPECT_EQ(client.Content(file, offset, size), data);
      rpcrdma::ServiceReply reply;
      service->OnCall(MakeCall(4, kNfs3, 3, kRead, Join({file, Word64(offset), Words({size})})), reply);
      ASSERT_FALSE(reply.views.empty());
      EXPECT_EQ(reply.views[0].bytes.data() == first, offset % kFrame == 0) << offset << ' ' << size;
    }
  }
  EXPECT_FALSE(service->Land(100, kFrame - 1, 1));         // is copied
  EXPECT_FALSE(service->Land(kFrame + 4, 2 * kFrame, 0));  // no WRITE
  EXPECT_FALSE(service->Land(100, Frames::kSlab, 0));
}

}  // namespace
}  // namespace stag::serve
