// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/text.h"

#include <gtest/gtest.h>

namespace stag::conformance {
namespace {

TEST(Text, Pieces) {
  EXPECT_EQ(Text("a ", 5, std::string(" b "), Hex{0x1f}), "a 5 b 0x0000001f");
  EXPECT_EQ(Text(Hex{0x123456789abcdefu}), "0x0123456789abcdef");
  EXPECT_EQ(Count(1, "segment"), "1 segment");
  EXPECT_EQ(Count(0, "segment"), "0 segments");
}

}  // namespace
}  // namespace stag::conformance
