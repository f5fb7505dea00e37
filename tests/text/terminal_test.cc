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

TEST(Terminal, Printable) {
  EXPECT_EQ(Printable("a\x1b[31m\n"), "a?[31m?");
  EXPECT_EQ(Printable("\x7f\t\u0080\u009f\u00a0"), "????\u00a0");                 // DEL, C0, C1
  EXPECT_EQ(Printable("\u061c\u200e\u200f\u202a\u202e\u2066\u2069"), "???????");  // Unicode: Bidi_Control
  EXPECT_EQ(Printable("\u2028\u2029\u2027\u202f\u2065\u206a"), "??\u2027\u202f\u2065\u206a");
  EXPECT_EQ(Printable("\x9b\xff\xc3(\xe2\x82"), std::string("???") + "(??");  // no UTF-8
  EXPECT_EQ(Printable("gr\u00fc\u00df \u20ac \U0001f600"), "gr\u00fc\u00df \u20ac \U0001f600");
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable(" !a~"), " !a~");  // ASCII alone
  EXPECT_EQ(Printable("a\tb\n"), "a?b?");
  EXPECT_EQ(Printable("a\x7f"), "a?");
}

TEST(Terminal, MakePrintable) {
  const auto made = [](std::string text, bool styled) {
    MakePrintable(text, styled);
    return text;
  };
  EXPECT_EQ(made("a\tb\nc", false), "a\tb\nc");
  EXPECT_EQ(made("a\r\nb\r", false), "a\r\nb?");
  EXPECT_EQ(made("a\rb\x1b[1mc\u009b", false), "a?b?[1mc?");
  const std::string styled = Styled("a", TextStyle::kError, true);
  EXPECT_EQ(made(styled + "\x1b[H\x1b]0;t\x07", true), styled + "?[H?]0;t?");
  EXPECT_EQ(made("\x1b[1", true), "?[1");
}

}  // namespace
}  // namespace stag
