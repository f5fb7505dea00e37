// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the processor does with the payload of READ and WRITE (watched_memory.h): `stag generate` and
// `stag serve --mode nfs-memory` as they are, with 1 MiB each.
#include "replay/generate/generator.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/replay/endpoint/fabric.h"
#include "tests/replay/endpoint/watched_memory.h"
#include "tests/replay/serve/server_thread.h"

#ifndef STAG_SANITIZED

namespace stag::generate {
namespace {

using namespace endpoint::test;

constexpr uint32_t kSize = 1 << 20, kDepth = 4, kFile = 8 * kSize;
constexpr uint64_t kCalls = 64;

// A load of one operation; what it makes of its file first is WRITEs of the same size.
void Play(Operation operation, bool verify) {
  FabricUnderTest fabric;
  WatchedTransport client(fabric.client()), server(fabric.server());
  serve::MemoryFs fs(uint64_t{64} << 20);
  const auto service = serve::MakeNfsMemoryService(fs);
  serve::ServerOptions options;
  options.crc = false;  // with it, software iWARP looks at a whole FPDU before it places a byte of it
  serve::test::ServerThread thread(server, *service, options);
  LoadOptions load;
  load.mode = LoadMode::kNfs3;
  load.to = {"127.0.0.1", thread.port()};
  load.calls = kCalls;
  load.depth = load.requester.credits = kDepth;
  load.file_size = kFile;
  load.jobs.sizes = {{kSize, kSize, 1}};
  load.jobs.sequential = true;
  load.verify = verify;
  load.crc = false;
  Weight(load.jobs.mix, operation) = 1;
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  load.directory.assign(handle.begin() + 4, handle.end());  // without its count
  Generator generator(client, load, nullptr);
  const auto ran = generator.Run();
  Watched().Stop();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(generator.report().fine());
  LoadReport report = generator.report();
  EXPECT_EQ(report.of(operation).ok, kCalls);
  thread.Stop();
  EXPECT_EQ(thread.report().stats.copied_bytes, 0u);
}

class ZeroCopy : public WatchedTest {
 protected:
  // Pages of payload that the processor touches in the last three quarters of the load.
  static uint64_t Touched(Operation operation, bool verify = false) {
    Watched().protect_after = kFile / kSize + kCalls / 4;
    Play(operation, verify);
    EXPECT_EQ(Watched().rdma, kFile / kSize + kCalls);
    return Watched().touched;
  }
};
using ZeroCopyVerbs = ZeroCopy;
using ZeroCopyIwarp = ZeroCopy;

constexpr uint64_t kMeasured = kCalls * 3 / 4, kPages = kMeasured * kSize / kPage;

TEST_F(ZeroCopyVerbs, Read) { EXPECT_EQ(Touched(Operation::kRead), 0u); }
// A Call's header lies in front of its data.
TEST_F(ZeroCopyVerbs, Write) { EXPECT_LE(Touched(Operation::kWrite), kMeasured + kDepth); }
// The method sees what is touched: data that are verified where they landed, and made. (The file holds 8 MiB, the
// memory of Calls 4: a page counts once.)
TEST_F(ZeroCopyVerbs, Verify) {
  EXPECT_GE(Touched(Operation::kWrite, true), kDepth * kSize / kPage);
  EXPECT_LT(kDepth * kSize / kPage, kPages);
}

// Every byte of payload is taken by the kernel from where the sender has it, and brought to where the receiver wants
// it, but for what comes behind the header of a segment when nothing long was expected.
void Copies(Operation operation) {
  Play(operation, false);
  constexpr uint64_t kPayload = kFile + kCalls * kSize;
  EXPECT_EQ(Watched().sent, kPayload);
  EXPECT_LE(Watched().received, kPayload);
  EXPECT_GE(Watched().received, kPayload - kPayload / 100);
}
TEST_F(ZeroCopyIwarp, Read) { Copies(Operation::kRead); }
TEST_F(ZeroCopyIwarp, Write) { Copies(Operation::kWrite); }

}  // namespace
}  // namespace stag::generate

#endif
