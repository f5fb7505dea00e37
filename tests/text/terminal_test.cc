// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/terminal.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

TEST(Terminal, Wrapped) {
  EXPECT_EQ(Wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("a\nb", 1, 20), " a\n b\n");
  EXPECT_EQ(Wrapped("averylongword x", 0, 4), "averylongword\nx\n");
}

TEST(Terminal, Printable) { EXPECT_EQ(Printable("a\x1b[31m\n"), "a?[31m?"); }

}  // namespace
}  // namespace stag
