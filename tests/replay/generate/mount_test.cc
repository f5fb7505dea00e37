// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where a load of NFSv3 gets its file handle when there is no portmapper.
#include "replay/generate/mount.h"

#include "replay/serve/memory_fs.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/rpc_service.h"
#include "tests/replay/generate/loads.h"

namespace stag::generate::test {
namespace {

constexpr uint16_t kNoPortmapper = 1;  // TCP port 1: nothing listens

Result<std::vector<std::byte>> Find(rpcrdma::Service& service, const std::string& path) {
  Running running(service);
  const auto transport = endpoint::MakeSoftIwarp();
  LoadOptions load = To(running.port(), LoadMode::kNfs3, 1);
  load.path = path;
  const std::atomic<bool> stop{false};
  return FindDirectory(*transport, load, stop, kNoPortmapper);
}

TEST(FindDirectory, MountAtThePortOfNfs) {
  serve::MemoryFs fs(1 << 20);
  const auto service = serve::MakeNfsMemoryService(fs);
  const auto handle = Find(*service, "/");
  ASSERT_TRUE(handle) << handle.error().message;
  serve::MemoryFs::Node* node = nullptr;
  EXPECT_EQ(serve::Resolve(fs, *handle, node), serve::NfsStatus::kOk);
  EXPECT_EQ(node, &fs.root());
}

TEST(FindDirectory, NoMountAtAllBlamesThePortmapper) {
  const auto service = serve::MakeEchoService();
  const auto handle = Find(*service, "/");
  ASSERT_FALSE(handle);
  EXPECT_NE(handle.error().message.find("the portmapper of 127.0.0.1 does not tell where MOUNT is"), std::string::npos)
      << handle.error().message;
}

TEST(FindDirectory, NoSuchDirectoryIsNamed) {
  serve::MemoryFs fs(1 << 20);
  const auto service = serve::MakeNfsMemoryService(fs);
  const auto handle = Find(*service, "/none");
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().message, "127.0.0.1 has no directory /none (MNT3ERR_NOENT)");
}

}  // namespace
}  // namespace stag::generate::test
