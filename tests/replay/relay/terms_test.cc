// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/relay/terms.h"

#include <gtest/gtest.h>

#include "replay/rpcrdma/settings.h"
#include "tests/support/messages.h"

namespace stag::relay {
namespace {

using namespace stag::test;

TEST(RelayTerms, Parse) {
  EXPECT_EQ(ParseRelayTerms("pass")->kind, RelayTerms::Kind::kPass);
  EXPECT_EQ(ParseRelayTerms("none")->kind, RelayTerms::Kind::kNone);
  const auto own = ParseRelayTerms("1024/262144/R");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->kind, RelayTerms::Kind::kOwn);
  EXPECT_EQ(own->send_size, 1024u);
  EXPECT_EQ(own->receive_size, 262144u);
  EXPECT_TRUE(own->remote_invalidation);
  EXPECT_FALSE(ParseRelayTerms("4096/4096")->remote_invalidation);
  for (const char* bad : {"", "4096", "4096/", "/4096", "1023/4096", "4096/262145", "4096/4096/", "4096/4096/r",
                          "4096/4096/R1", "-1/4096", "99999999999/4096", "passing"})
    EXPECT_FALSE(ParseRelayTerms(bad)) << bad;
}

TEST(RelayTerms, WhatIsSaid) {
  const Buffer message = rpcrdma::EncodeSettings(2048, 8192, true);
  const Buffer theirs = Join({Words({1, 2}), message, Words({3})});
  EXPECT_EQ(RelayPrivateData({}, theirs, 100, true), theirs);
  Buffer without = theirs;
  without[8 + 5] = std::byte{0};  // the R flag (RFC 8797 section 4)
  EXPECT_EQ(RelayPrivateData({}, theirs, 100, false), without);
  EXPECT_EQ(RelayPrivateData({}, theirs, 19, true), message);
  EXPECT_EQ(RelayPrivateData({}, theirs, 19, false), rpcrdma::EncodeSettings(2048, 8192, false));
  EXPECT_EQ(RelayPrivateData({}, Words({1, 2, 3}), 12, false), Words({1, 2, 3}));
  EXPECT_EQ(RelayPrivateData({}, Words({1, 2, 3}), 11, false), Buffer{});
  EXPECT_EQ(RelayPrivateData({}, {}, 100, true), Buffer{});
  EXPECT_EQ(RelayPrivateData(*ParseRelayTerms("none"), theirs, 100, true), Buffer{});
  EXPECT_EQ(RelayPrivateData(*ParseRelayTerms("2048/8192/R"), {}, 100, true), message);
  EXPECT_EQ(RelayPrivateData(*ParseRelayTerms("2048/8192/R"), {}, 100, false),
            rpcrdma::EncodeSettings(2048, 8192, false));
  EXPECT_EQ(ToldReceiveSize(theirs), 8192u);
  EXPECT_EQ(ToldReceiveSize({}), 1024u);
}

}  // namespace
}  // namespace stag::relay
