// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/uri.h"

#include <gtest/gtest.h>

namespace stag::conformance {
namespace {

TEST(Uri, Files) {
  EXPECT_EQ(FileUri("pcaps/a-b_c.~1.pcap"), "pcaps/a-b_c.~1.pcap");
  EXPECT_EQ(FileUri("a b%c?#[]:.pcap"), "a%20b%25c%3F%23%5B%5D%3A.pcap");
  EXPECT_EQ(FileUri("/tmp/a b"), "file:///tmp/a%20b");
  EXPECT_EQ(FileUri("\xff\xc3\xa4\n"), "%FF%C3%A4%0A");
}

TEST(Uri, Specifications) {
  EXPECT_EQ(SpecificationUri({"RFC8166", "3.4.5"}), "https://www.rfc-editor.org/rfc/rfc8166#section-3.4.5");
  EXPECT_EQ(SpecificationUri({"RFC8166", "A.1"}), "https://www.rfc-editor.org/rfc/rfc8166#appendix-A.1");
  EXPECT_EQ(SpecificationUri({"RFC8267", ""}), "https://www.rfc-editor.org/rfc/rfc8267");
  EXPECT_EQ(SpecificationUri({"RFC793", "3.3"}), "https://www.rfc-editor.org/rfc/rfc793#section-3.3");
  EXPECT_EQ(SpecificationUri({"rfc5666bis", "5.3"}), "");
  EXPECT_EQ(SpecificationUri({"IBA", "9.6"}), "");
  EXPECT_EQ(SpecificationUri({"RFC5666(draft-08)", "3.4"}), "");
}

}  // namespace
}  // namespace stag::conformance
