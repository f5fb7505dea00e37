// SPDX-License-Identifier: GPL-2.0-or-later
//
// What RPCSEC_GSS puts into messages: RFC 2203 sections 5.2.2, 5.2.3.1, 5.3.1 and 5.3.2.
#include "protocol/rpc/rpcsec_gss.h"

#include <gtest/gtest.h>

#include "protocol/rpc/message.h"
#include "tests/protocol/rpcrdma/words.h"

namespace stag::rpc {
namespace {

using test::Hex;
using test::Text;
using test::Words;

using Buffer = std::vector<std::byte>;

TEST(RpcsecGss, Credential) {
  const Buffer body = Words({1, 2, 42, 3, 5, 0x61626364, 0x65000000});
  const GssCredential c = DecodeGssCredential(body);
  ASSERT_EQ(c.status, ParseStatus::kOk);
  EXPECT_EQ(c.version, 1u);
  EXPECT_EQ(c.proc, kGssContinueInit);
  EXPECT_EQ(c.sequence, 42u);
  EXPECT_EQ(c.service, kGssPrivacy);
  EXPECT_EQ(Text(c.handle), "abcde");
  Buffer again;
  EncodeGssCredential(c.proc, c.sequence, c.service, c.handle, again);
  EXPECT_EQ(again, body);
  for (size_t n = 0; n < body.size(); ++n)
    EXPECT_EQ(DecodeGssCredential(Bytes(body).first(n)).status, ParseStatus::kMalformed) << n;
}

TEST(RpcsecGss, InitResults) {
  const Buffer results = Words({2, 0x61620000, kGssContinueNeeded, 7, 128, 3, 0x78797a00});
  const GssInitResults r = DecodeGssInitResults(results);
  ASSERT_EQ(r.status, ParseStatus::kOk);
  EXPECT_EQ(Text(r.handle), "ab");
  EXPECT_EQ(r.major, 1u);
  EXPECT_EQ(r.minor, 7u);
  EXPECT_EQ(r.window, 128u);
  EXPECT_EQ(Text(r.token), "xyz");
  Buffer again;
  Encode(r, again);
  EXPECT_EQ(again, results);
  for (size_t n = 0; n < results.size(); ++n)
    EXPECT_EQ(DecodeGssInitResults(Bytes(results).first(n)).status, ParseStatus::kMalformed) << n;
  EXPECT_EQ(DecodeGssInitResults(Words({0, 0, 0, 0, 0, 9})).status, ParseStatus::kMalformed);  // more than all
  EXPECT_EQ(DecodeGssInitResults(Words({0xffffffff, 0, 0, 0, 0})).status, ParseStatus::kMalformed);
}

TEST(RpcsecGss, Token) {
  const Buffer token = Words({5, 0x61626364, 0x65000000});
  EXPECT_EQ(Text(DecodeGssToken(token).value()), "abcde");
  for (size_t n = 0; n < token.size(); ++n) EXPECT_FALSE(DecodeGssToken(Bytes(token).first(n))) << n;
  EXPECT_FALSE(DecodeGssToken(Words({0, 0})));
  EXPECT_EQ(DecodeGssToken(Words({0}))->size(), 0u);
  EXPECT_FALSE(DecodeGssToken(Words({0xfffffffd, 0, 0})));
}

TEST(RpcsecGss, Integrity) {
  const Buffer body = Words({8, 42, 0x61626364, 3, 0x78797a00});  // the data: a sequence number and "abcd"
  const GssIntegrity i = DecodeGssIntegrity(body);
  ASSERT_EQ(i.status, ParseStatus::kOk);
  EXPECT_EQ(LoadBe32(i.data.data()), 42u);
  EXPECT_EQ(Text(i.data.subspan(kGssDataHeader)), "abcd");
  EXPECT_EQ(Text(i.checksum), "xyz");
  Buffer again;
  Encode(i, again);
  EXPECT_EQ(again, body);
  for (size_t n = 0; n < body.size(); ++n)
    EXPECT_EQ(DecodeGssIntegrity(Bytes(body).first(n)).status, ParseStatus::kMalformed) << n;
  EXPECT_EQ(DecodeGssIntegrity(Words({3, 0x2a2a2a00, 0})).status, ParseStatus::kMalformed);  // no sequence number
  EXPECT_EQ(DecodeGssIntegrity(Words({4, 42, 0, 0})).status, ParseStatus::kMalformed);       // more than all
}

TEST(RpcsecGss, Word) {
  const auto word = GssWord(0x01020304);
  EXPECT_TRUE(std::ranges::equal(word, Hex("01020304")));
}

}  // namespace
}  // namespace stag::rpc
