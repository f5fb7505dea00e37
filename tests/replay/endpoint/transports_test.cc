// SPDX-License-Identifier: GPL-2.0-or-later
//
// Devices as the kernel lists them, in a folder of our own.
#include "replay/endpoint/transports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "replay/endpoint/verbs.h"

namespace stag::endpoint {
namespace {

class Transports : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "stag-devices-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::filesystem::path root_;
};

TEST_F(Transports, WithoutDevicesSoftwareIwarpIsTaken) {
  for (const auto& path : {root_, root_ / "absent"}) {
    const TransportList list = ListTransports(path);
    ASSERT_EQ(list.all.size(), 1u);
    EXPECT_EQ(list.all[0].name, "iwarp");
    EXPECT_TRUE(list.all[0].usable);
    EXPECT_EQ(list.automatic, 0u);
    EXPECT_EQ(list.why, "there is no RDMA device");
  }
}

TEST_F(Transports, DescribesDevices) {
  Put("mlx5_0/node_type", "1: CA");
  Put("mlx5_0/ports/1/state", "1: DOWN");
  Put("mlx5_0/ports/1/link_layer", "Ethernet");
  Put("mlx5_0/ports/2/state", "4: ACTIVE");
  Put("mlx5_0/ports/2/link_layer", "Ethernet");
  Put("mlx5_0/ports/2/gid_attrs/ndevs/0", "eth1");
  Put("ib0/node_type", "1: CA");
  Put("ib0/ports/1/state", "2: INIT");
  Put("ib0/ports/1/link_layer", "InfiniBand");
  Put("siw0/node_type", "4: RNIC");
  Put("siw0/ports/1/state", "4: ACTIVE");
  Put("siw0/device/net/eth0/mtu", "1500");
  const TransportList list = ListTransports(root_);
  ASSERT_EQ(list.all.size(), 4u);
  const auto is = [](const TransportInfo& info, const char* name, const char* kind, const char* state,
                     const char* netdev) {
    EXPECT_EQ(info.name, name);
    EXPECT_EQ(info.kind, kind) << name;
    EXPECT_EQ(info.state, state) << name;
    EXPECT_EQ(info.netdev, netdev) << name;
  };
  is(list.all[1], "ib0", "InfiniBand", "init", "");
  is(list.all[2], "mlx5_0", "RoCE", "active", "eth1");
  is(list.all[3], "siw0", "iWARP", "active", "eth0");
  EXPECT_EQ(list.all[1].reason, "no port of it is active");
  EXPECT_FALSE(list.all[1].usable);
  EXPECT_EQ(list.all[2].usable, VerbsBuilt());
  EXPECT_EQ(list.all[3].usable, VerbsBuilt());
  EXPECT_EQ(list.all[list.automatic].name, VerbsBuilt() ? "mlx5_0" : "iwarp");
}

TEST_F(Transports, OpensByName) {
  const auto iwarp = OpenTransport("iwarp");
  ASSERT_TRUE(iwarp);
  EXPECT_EQ((*iwarp)->name(), "iwarp");
  const auto none = OpenTransport("nonesuch7");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("nonesuch7"), std::string::npos);
  const auto no_device = MakeVerbs("nonesuch7");
  ASSERT_FALSE(no_device);
  EXPECT_NE(no_device.error().message.find("nonesuch7"), std::string::npos);
}

}  // namespace
}  // namespace stag::endpoint
