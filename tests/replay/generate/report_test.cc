// SPDX-License-Identifier: GPL-2.0-or-later
//
// A LoadReport as bytes, from one process to another.
#include "replay/generate/report.h"

#include <gtest/gtest.h>

namespace stag::generate::test {
namespace {

TEST(LoadReport, GoesToAnotherProcessWhole) {
  LoadReport report;
  report.of(Operation::kRead).calls = 5;
  report.of(Operation::kRead).latency.Record(uint64_t{1000});
  report.of(Operation::kWrite).Fail("NFS3ERR_IO", "at 0");
  report.lost = 1;
  report.credit_stalled = std::chrono::nanoseconds(77);
  report.grant = 12;
  report.backward_calls = 3;
  report.seconds = 1.25;
  report.Trouble("connection refused");
  LoadReport copy;
  const std::string bytes = Pack(report);
  ASSERT_TRUE(Unpack(bytes, copy));
  EXPECT_EQ(Pack(copy), bytes);
  copy.Merge(report);
  EXPECT_EQ(copy.of(Operation::kRead).calls, 10u);
  EXPECT_EQ(copy.of(Operation::kRead).latency.count(), 2u);
  EXPECT_EQ(copy.of(Operation::kWrite).failures.at("NFS3ERR_IO").calls, 2u);
  EXPECT_EQ(copy.of(Operation::kWrite).failures.at("NFS3ERR_IO").sample, "at 0");
  EXPECT_EQ(copy.credit_stalled.count(), 154);
  EXPECT_EQ(copy.troubles.at("connection refused"), 2u);
  EXPECT_EQ(copy.seconds, 1.25);
  EXPECT_FALSE(Unpack(std::string_view(bytes).substr(1), copy));
}

}  // namespace
}  // namespace stag::generate::test
