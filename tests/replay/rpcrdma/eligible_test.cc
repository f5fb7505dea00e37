// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/eligible.h"

#include <gtest/gtest.h>

#include "tests/support/nfs_messages.h"

namespace stag::rpcrdma {
namespace {

using namespace stag::test;

rpcrdma::Header ReadsAt(std::initializer_list<uint32_t> positions) {
  rpcrdma::Header header = Msg(1);
  for (const uint32_t position : positions) AddRead(header, position, {7, 4, 0});
  return header;
}

// The unreduced WRITE of 8 bytes, which stand just behind the count, at its end.
const Buffer kWriteCall = MakeCall(1, kNfs, 3, kWrite, Join({FileHandle(), Words({0, 0, 8, 2}), Opaque(Pattern(8))}));
const auto kData = static_cast<uint32_t>(kWriteCall.size() - 8);

TEST(Eligible, DataOfAWrite) {
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({}), kWriteCall));
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({kData}), kWriteCall));
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({0, kData, kData}), kWriteCall));
  EXPECT_FALSE(ReducesOnlyEligible(ReadsAt({44}), kWriteCall));  // the file handle
  EXPECT_FALSE(ReducesOnlyEligible(ReadsAt({44, kData}), kWriteCall));
}

TEST(Eligible, ProceduresWithoutEligibleArguments) {
  EXPECT_FALSE(ReducesOnlyEligible(ReadsAt({44}), GetattrCall(1)));
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({0, 0}), GetattrCall(1)));
}

TEST(Eligible, WhatIsNotKnownIsNotRefused) {
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({44}), MakeCall(1, 0x20020049, 1, 1, Opaque(Pattern(32)))));
  EXPECT_TRUE(ReducesOnlyEligible(ReadsAt({44}), Buffer(kWriteCall.begin(), kWriteCall.begin() + 60)));
}

}  // namespace
}  // namespace stag::rpcrdma
