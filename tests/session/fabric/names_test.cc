// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/names.h"

#include <gtest/gtest.h>

namespace stag::fabric {
namespace {

TEST(Names, Endpoints) {
  Endpoint v4{{Address::Kind::kIpv4, {std::byte{10}, std::byte{0}, std::byte{0}, std::byte{1}}}, 20049};
  EXPECT_EQ(EndpointText(v4, FabricKind::kIwarp), "10.0.0.1:20049");
  v4.number = 0x11;
  EXPECT_EQ(EndpointText(v4, FabricKind::kRoceV2), "10.0.0.1 QP 0x000011");
  Endpoint v6{{Address::Kind::kIpv6, {std::byte{0xfd}}}, 20049};
  v6.address.bytes[15] = std::byte{1};
  EXPECT_EQ(EndpointText(v6, FabricKind::kIwarp), "[fd00::1]:20049");
  const Endpoint lid{{Address::Kind::kLid, {std::byte{0}, std::byte{12}}}, 5};
  EXPECT_EQ(EndpointText(lid, FabricKind::kInfiniBand), "LID 12 QP 0x000005");
  EXPECT_EQ(EndpointText({lid.address, 0}, FabricKind::kInfiniBand), "LID 12");
}

}  // namespace
}  // namespace stag::fabric
