// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/connection_rows.h"

#include <gtest/gtest.h>

#include <memory>

namespace stag::cli {
namespace {

class OutputRows : public testing::Test {
 protected:
  std::string written_, said_;
  Diagnostics diagnostics_{[this](std::string_view text) { said_ += text; }};
  Output output_{CommonOptions{}, [this](std::string_view text) { written_ += text; }, diagnostics_};
};

TEST_F(OutputRows, InOrderOfNumbersAndApart) {
  ConnectionRows rows(output_, {}, "-");
  for (uint32_t id = 1; id <= 5; ++id) rows.Begin(id);
  rows.Put(2, "b");
  rows.Drop(3);
  rows.Put(1, "a");
  rows.Put(5, "e");
  output_.Flush();
  EXPECT_EQ(written_, "a-b");
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "a-b-e");
  rows.Complain("file");
  EXPECT_EQ(said_, "");
}

TEST_F(OutputRows, WhatIsOutOfOrderIsSaid) {
  ConnectionRows rows(output_, {.places = 2}, "-");
  for (uint32_t id = 1; id <= 4; ++id) rows.Begin(id);
  rows.Put(4, "d");
  rows.Put(1, "a");
  for (const uint32_t id : {2u, 3u}) rows.Drop(id);
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "a-d");
  rows.Complain("file");
  EXPECT_TRUE(said_.starts_with("file: up to 2 rows out of order")) << said_;
}

TEST(LateRows, AreFinishedInTheOrderOfTheirEnds) {
  struct Row {
    uint32_t id = 0;
    std::unique_ptr<int> owned;
  };
  LateRows<Row> late(2);
  std::vector<uint32_t> finished;
  const auto finish = [&](const Row& row) { finished.push_back(row.id); };
  for (const uint32_t id : {7u, 3u, 9u, 8u, 1u}) late.Add({id, nullptr}, finish);
  EXPECT_EQ(finished, (std::vector<uint32_t>{7, 3, 9}));
  late.Finish(finish);
  EXPECT_EQ(finished, (std::vector<uint32_t>{7, 3, 9, 1, 8}));
}

}  // namespace
}  // namespace stag::cli
