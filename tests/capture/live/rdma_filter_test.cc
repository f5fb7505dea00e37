// SPDX-License-Identifier: GPL-2.0-or-later
//
// That libpcap understands the filter; what it lets pass is tried on a live capture (tests/cli/capture_test.py).
#include "capture/live/rdma_filter.h"

#include <gtest/gtest.h>

#include <vector>

#include "capture/live/network.h"

namespace stag::capture {
namespace {

TEST(RdmaFilter, Compiles) {
  for (const LinkType link : {LinkType::kEthernet, LinkType::kLinuxSll, LinkType::kLinuxSll2}) {
    for (const std::vector<uint16_t>& ports : {std::vector<uint16_t>{}, {20049}, {20049, 2049, 65535}}) {
      const auto checked = CheckFilter(RdmaFilter(ports, link == LinkType::kEthernet), link);
      EXPECT_TRUE(checked) << checked.error().message;
    }
  }
  EXPECT_FALSE(CheckFilter("udp prot 4791", LinkType::kEthernet));
}

}  // namespace
}  // namespace stag::capture
