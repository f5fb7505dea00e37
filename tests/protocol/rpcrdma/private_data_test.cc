// SPDX-License-Identifier: GPL-2.0-or-later
//
// RFC 8797 private data as Linux sends it, and the CCP of draft-08.
#include <gtest/gtest.h>

#include "protocol/rpcrdma/header.h"
#include "tests/protocol/rpcrdma/words.h"

namespace stag::rpcrdma {
namespace {

using Found = PrivateDataSearch::Found;
using test::Hex;
using test::Words;

TEST(PrivateData, ConnectRequestOfLinux) {
  // RDMA IP CM header (36 bytes), then the private data, then zeros up to the 92 bytes of the REQ.
  auto bytes =
      Hex("0040d9e6 00000000 00000000 00000000 0a000002 00000000 00000000 00000000 0a000001 f6ab0e18 01010303");
  bytes.resize(92);
  const PrivateDataSearch search = FindPrivateData(bytes);
  EXPECT_EQ(search.found, Found::kData);
  EXPECT_EQ(search.offset, 36u);
  EXPECT_EQ(search.data, (PrivateData{1, 1, 3, 3}));
  EXPECT_TRUE(search.data.remote_invalidation());
  EXPECT_EQ(search.data.send_bytes(), 4096u);
  EXPECT_EQ(search.data.receive_bytes(), 4096u);
}

TEST(PrivateData, MpaReplyOfLinux) {
  const auto bytes = Hex("00000080 f6ab0e18 01000303");  // IRD and ORD of RFC 6581 come first
  const PrivateDataSearch search = FindPrivateData(bytes);
  EXPECT_EQ(search.found, Found::kData);
  EXPECT_EQ(search.offset, 4u);
  EXPECT_FALSE(search.data.remote_invalidation());
}

TEST(PrivateData, EveryOffset) {
  for (size_t offset = 0; offset < 40; ++offset) {
    std::vector<std::byte> bytes(offset, std::byte{0xf6});
    Encode(PrivateData{1, 0, 0, 255}, bytes);
    const PrivateDataSearch search = FindPrivateData(bytes);
    EXPECT_EQ(search.found, Found::kData);
    EXPECT_EQ(search.offset, offset);
    EXPECT_EQ(search.data.send_bytes(), 1024u);
    EXPECT_EQ(search.data.receive_bytes(), 262144u);
  }
}

TEST(PrivateData, Precedence) {
  EXPECT_EQ(FindPrivateData({}).found, Found::kNothing);
  EXPECT_EQ(FindPrivateData(Hex("f6ab0e")).found, Found::kNothing);
  EXPECT_EQ(FindPrivateData(Hex("00f6ab0e1801 0203")).found, Found::kTruncated);
  EXPECT_EQ(FindPrivateData(Hex("180eabf6 01010303")).found, Found::kByteSwapped);
  EXPECT_EQ(FindPrivateData(Hex("180eabf6 02010303")).found, Found::kNothing);
  EXPECT_EQ(FindPrivateData(Hex("180eabf6 010103")).found, Found::kNothing);
  const PrivateDataSearch other = FindPrivateData(Hex("f6ab0e18 02ff0405"));
  EXPECT_EQ(other.found, Found::kOtherVersion);
  EXPECT_EQ(other.data, (PrivateData{2, 0xff, 4, 5}));
  EXPECT_EQ(FindPrivateData(Hex("180eabf6 f6ab0e18 02000000")).found, Found::kOtherVersion);
  EXPECT_EQ(FindPrivateData(Hex("180eabf6 01010303 f6ab0e18")).found, Found::kTruncated);
  const PrivateDataSearch late = FindPrivateData(Hex("f6ab0e18 02ff0405 f6ab0e18 01010000"));
  EXPECT_EQ(late.found, Found::kData);
  EXPECT_EQ(late.offset, 8u);
}

TEST(Ccp, RoundTripAndTruncation) {
  const auto bytes = Words({1024, 4096, 8});
  CcpArguments arguments;
  ASSERT_EQ(Decode(bytes, bytes.size(), arguments), ParseStatus::kOk);
  EXPECT_EQ(arguments, (CcpArguments{1024, 4096, 8}));
  CcpResults results;
  ASSERT_EQ(Decode(bytes, bytes.size(), results), ParseStatus::kOk);
  EXPECT_EQ(results, (CcpResults{1024, 4096, 8}));
  std::vector<std::byte> out;
  Encode(arguments, out);
  EXPECT_EQ(out, bytes);
  out.clear();
  Encode(results, out);
  EXPECT_EQ(out, bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(Decode(Bytes(bytes).first(n), bytes.size(), arguments), ParseStatus::kTruncatedByCapture);
    EXPECT_EQ(Decode(Bytes(bytes).first(n), n, results), ParseStatus::kMalformed);
  }
}

}  // namespace
}  // namespace stag::rpcrdma
