// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/connection_rows.h"

#include <gtest/gtest.h>

#include <memory>

#include "analysis/limits_row.h"

namespace stag::cli {
namespace {

const results::SortKey kNoKey(results::Value::Null());

class OutputRows : public testing::Test {
 protected:
  std::string written_, said_;
  Diagnostics diagnostics_{[this](std::string_view text) { said_ += text; }};
  CommonOptions options_;
  Output output_{options_, [this](std::string_view text) { written_ += text; }, diagnostics_};
  RowOutput format_{output_, options_, results::InfoOf<analysis::LimitsRow>(), "file"};
};

TEST_F(OutputRows, InOrderOfNumbersAndApart) {
  ConnectionRows rows(format_, {}, "-");
  for (uint32_t id = 1; id <= 5; ++id) rows.Begin(id);
  rows.Put(2, "b", kNoKey);
  rows.Drop(3);
  rows.Put(1, "a", kNoKey);
  rows.Put(5, "e", kNoKey);
  output_.Flush();
  EXPECT_EQ(written_, "a-b");
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "a-b-e");
  rows.Complain("file", diagnostics_);
  EXPECT_EQ(said_, "");
}

TEST_F(OutputRows, WhatIsOutOfOrderIsSaid) {
  ConnectionRows rows(format_, {.places = 2}, "-");
  for (uint32_t id = 1; id <= 4; ++id) rows.Begin(id);
  rows.Put(4, "d", kNoKey);
  rows.Put(1, "a", kNoKey);
  for (const uint32_t id : {2u, 3u}) rows.Drop(id);
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "a-d");
  rows.Complain("file", diagnostics_);
  EXPECT_TRUE(said_.starts_with("file: up to 2 rows out of order")) << said_;
}

TEST_F(OutputRows, WithALimitTheFirstOfThem) {
  options_.limit = 2;
  ConnectionRows rows(format_, {}, "-");
  for (uint32_t id = 1; id <= 4; ++id) rows.Begin(id);
  for (const uint32_t id : {4u, 2u, 1u, 3u}) rows.Put(id, std::string(1, static_cast<char>('a' + id)), kNoKey);
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "b-c");
}

TEST_F(OutputRows, SortedByAMember) {
  options_.sort = "idle_us";
  RowOutput sorted(output_, options_, results::InfoOf<analysis::LimitsRow>(), "file");
  ConnectionRows rows(sorted, {}, "-");
  for (uint32_t id = 1; id <= 3; ++id) rows.Begin(id);
  for (const auto& [id, idle_ns] : {std::pair(3u, 5), {1u, 7}, {2u, 7}}) {
    analysis::LimitsRow row;
    row.idle.ns = idle_ns;
    rows.Put(id, std::to_string(id), sorted.KeyOf(&row));
  }
  rows.Finish();
  output_.Flush();
  EXPECT_EQ(written_, "1-2-3");
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
