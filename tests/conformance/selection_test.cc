// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/selection.h"

#include <gtest/gtest.h>

#include "conformance/engine/engine.h"

namespace stag::conformance {
namespace {

TEST(Selection, IdsAndPrefixes) {
  EXPECT_TRUE(IsSelected(*FindRule("WRLIST-006"), {}, {}));
  EXPECT_TRUE(IsSelected(*FindRule("WRLIST-006"), {"WRLIST"}, {}));
  EXPECT_TRUE(IsSelected(*FindRule("WRLIST-006"), {"HDR", "WRLIST-006"}, {}));
  EXPECT_FALSE(IsSelected(*FindRule("WRLIST-006"), {"HDR"}, {}));
  EXPECT_FALSE(IsSelected(*FindRule("WRLIST-006"), {}, {"WRLIST-006"}));
  EXPECT_FALSE(IsSelected(*FindRule("WRLIST-006"), {"WRLIST"}, {"WRLIST-006"}));
  EXPECT_TRUE(IsSelected(*FindRule("WRLIST-007"), {"WRLIST"}, {"WRLIST-006"}));
  EXPECT_FALSE(IsSelected(*FindRule("WRLIST-007"), {""}, {}));
}

// HDR-005: MUST, of RFC 8166 section 4.5. PVT-001 has only sources of RFC 8797.
TEST(Selection, LevelsAndDocuments) {
  const auto matches = [](std::string_view selector, std::string_view id) { return Matches(selector, *FindRule(id)); };
  EXPECT_TRUE(matches("MUST", "HDR-005"));
  EXPECT_FALSE(matches("SHOULD", "HDR-005"));
  EXPECT_TRUE(matches("STRUCTURAL", "HDR-002"));
  EXPECT_TRUE(matches("RFC8166", "HDR-005"));
  EXPECT_TRUE(matches("RFC8166:4", "HDR-005"));
  EXPECT_TRUE(matches("RFC8166:4.5", "HDR-005"));
  EXPECT_FALSE(matches("RFC8166:4.51", "HDR-005"));
  EXPECT_FALSE(matches("RFC8166:", "HDR-005"));
  EXPECT_FALSE(matches("RFC8797", "HDR-005"));
  EXPECT_TRUE(matches("RFC8797", "PVT-001"));
  EXPECT_FALSE(matches("RFC8166", "PVT-001"));
  EXPECT_TRUE(matches("RFC5666", "DONE-003"));
  EXPECT_TRUE(matches("RFC5666BIS", "RDLIST-001"));
}

TEST(Selection, KnownSelectors) {
  EXPECT_TRUE(IsSelector("RFC8166:4.3.1"));
  EXPECT_FALSE(IsSelector("RFC8166:99"));

  EXPECT_TRUE(IsSelector("PVT"));
  EXPECT_TRUE(IsSelector("PVT-006"));
  EXPECT_FALSE(IsSelector("pvt"));
  EXPECT_FALSE(IsSelector(""));
  EXPECT_FALSE(IsSelector("PVT-0066"));
}

TEST(Profile, InForceByItsDocuments) {
  const auto in_force = [](std::string_view id, Profile profile) { return IsInForce(*FindRule(id), profile); };
  EXPECT_TRUE(in_force("HDR-005", Profile::kRfc8166));
  EXPECT_FALSE(in_force("HDR-005", Profile::kRfc5666bis));  // only RFC 8166 has the 28 byte rule
  EXPECT_TRUE(in_force("PVT-006", Profile::kRfc8166));      // RFC 8797 updates RFC 8166
  EXPECT_FALSE(in_force("PVT-006", Profile::kRfc5666));
  EXPECT_TRUE(in_force("RDLIST-001", Profile::kRfc5666bis));
  EXPECT_FALSE(in_force("RDLIST-001", Profile::kRfc5666));
  EXPECT_TRUE(in_force("DONE-003", Profile::kRfc5666));
  EXPECT_FALSE(in_force("DONE-003", Profile::kRfc8166));
  EXPECT_TRUE(in_force("RDLIST-002", Profile::kRfc5666));  // by exception
}

}  // namespace
}  // namespace stag::conformance
