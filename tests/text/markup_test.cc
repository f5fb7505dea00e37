// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/markup.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

// XML 1.0 section 2.2: characters are tab, line feed, carriage return, and from U+0020 on without surrogates, U+FFFE
// and U+FFFF.
TEST(Markup, EscapesWhatHasMeaning) {
  EXPECT_EQ(Markup("a < b & c > d \"e\" 'f'"), "a &lt; b &amp; c &gt; d &quot;e&quot; &#39;f&#39;");
  EXPECT_EQ(Markup("</script>]]>"), "&lt;/script&gt;]]&gt;");
  EXPECT_EQ(Markup("one\ttwo\nthree"), "one&#9;two&#10;three");
}

TEST(Markup, GivesOnlyCharacters) {
  EXPECT_EQ(Markup(std::string_view("\0\x01\x1f\x7f\r", 5)), "\ufffd\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(Markup("\xff\xc3(\xed\xa0\x80"), "\ufffd\ufffd(\ufffd\ufffd\ufffd");
  EXPECT_EQ(Markup("\uffff\ufffe\ufffd"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(Markup("\u00e4\u20ac\U0001f600"), "\u00e4\u20ac\U0001f600");
  EXPECT_EQ(Markup("\xc3"), "\ufffd");
  EXPECT_EQ(Markup("\u0085\u009b\u202e\u2069\u200f"), "\ufffd\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(Markup(""), "");
}

}  // namespace
}  // namespace stag
