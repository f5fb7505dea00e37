// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/selection.h"

#include <gtest/gtest.h>

#include "conformance/engine/engine.h"

namespace stag::conformance {
namespace {

TEST(Selection, IdsAndPrefixes) {
  EXPECT_TRUE(IsSelected("WRLIST-006", {}, {}));
  EXPECT_TRUE(IsSelected("WRLIST-006", {"WRLIST"}, {}));
  EXPECT_TRUE(IsSelected("WRLIST-006", {"HDR", "WRLIST-006"}, {}));
  EXPECT_FALSE(IsSelected("WRLIST-006", {"HDR"}, {}));
  EXPECT_FALSE(IsSelected("WRLIST-006", {}, {"WRLIST-006"}));
  EXPECT_FALSE(IsSelected("WRLIST-006", {"WRLIST"}, {"WRLIST-006"}));
  EXPECT_TRUE(IsSelected("WRLIST-007", {"WRLIST"}, {"WRLIST-006"}));
  EXPECT_FALSE(IsSelected("WRLIST-007", {""}, {}));
}

TEST(Selection, KnownSelectors) {
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
