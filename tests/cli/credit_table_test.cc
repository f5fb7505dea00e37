// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/credits/credit_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace stag::cli {
namespace {

using session::CreditChange;
using Cause = CreditChange::Event;

struct Script {
  explicit Script(size_t rows, size_t most = 1u << 20) : budget(most), table(rows, budget) {}
  void Add(Cause event, std::optional<uint32_t> requested, std::optional<uint32_t> granted,
           std::optional<uint32_t> outstanding, bool overrun = false) {
    CreditChange change;
    change.event = event;
    change.frame = {++frame, static_cast<int64_t>(frame) * 1'000'000};
    change.requested = requested;
    change.granted = granted;
    change.outstanding = outstanding;
    change.overrun = overrun;
    change.xid = static_cast<uint32_t>(frame);
    table.Add(change);
  }
  // The words of each row, without the head line.
  std::vector<std::string> Rows() const {
    std::string out;
    table.Put(out, 0, Style{}, false);
    std::istringstream text(std::string(out.data(), out.size()));
    std::vector<std::string> rows;
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      std::string row, word;
      while (words >> word) row += (row.empty() ? "" : " ") + word;
      rows.push_back(row);
    }
    rows.erase(rows.begin());
    return rows;
  }
  uint64_t frame = 0;
  Budget budget;  // bytes
  CreditTable table;
};

using Rows = std::vector<std::string>;

TEST(CreditTable, OnlyWhatChanges) {
  Script s(40);
  s.Add(Cause::kCall, 128, std::nullopt, 1);
  s.Add(Cause::kReply, 128, 8, 0);
  s.Add(Cause::kCall, 128, 8, 1);
  s.Add(Cause::kReply, 128, 8, 0);
  s.Add(Cause::kCall, 16, 8, 1);
  s.Add(Cause::kCall, 16, 8, 2);
  s.Add(Cause::kCall, 16, 8, 3);  // takes the place of the one before
  s.Add(Cause::kReply, 16, 8, 2);
  s.Add(Cause::kReply, 16, 4, 1);
  EXPECT_EQ(s.Rows(), (Rows{"0.001000 1 call 0x00000001 128 - 1", "0.002000 2 reply 0x00000002 128 8 0",
                            "0.005000 5 call 0x00000005 16 8 1", "0.007000 7 call 0x00000007 16 8 3",
                            "0.009000 9 reply 0x00000009 16 4 1"}));
}

TEST(CreditTable, OverrunsAndUnknownHistory) {
  Script s(40);
  s.Add(Cause::kJoined, std::nullopt, std::nullopt, std::nullopt);
  s.Add(Cause::kReply, std::nullopt, 2, std::nullopt);
  s.Add(Cause::kCall, 8, 2, 1);
  s.Add(Cause::kCall, 8, 2, 3, true);
  EXPECT_EQ(s.Rows(), (Rows{"0.001000 1 set-up not captured, history not known 0x00000001 ? ? ?",
                            "0.002000 2 reply 0x00000002 ? 2 ?", "0.003000 3 call, known from here on 0x00000003 8 2 1",
                            "0.004000 4 call over the grant 0x00000004 8 2 3"}));
}

TEST(CreditTable, TheFirstAndTheLastRowsStay) {
  Script s(4);
  for (uint32_t i = 0; i < 10; ++i) s.Add(Cause::kReply, 8, 10 + i, 1);
  const Rows rows = s.Rows();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1], "0.002000 2 reply 0x00000002 8 11 1");
  EXPECT_EQ(rows[2], "... 6 rows left out; --rows all shows them");
  EXPECT_EQ(rows[3], "0.009000 9 reply 0x00000009 8 18 1");

  Script all(0);
  for (uint32_t i = 0; i < 500; ++i) all.Add(Cause::kReply, 8, 10 + i, 1);
  EXPECT_EQ(all.Rows().size(), 500u);
}

TEST(CreditTable, AllTablesTogetherAreBounded) {
  Script s(0, 20'000);
  for (uint32_t i = 0; i < 500; ++i) s.Add(Cause::kReply, 8, 10 + i, 1);
  const Rows rows = s.Rows();
  EXPECT_GT(rows.size(), 50u);
  EXPECT_LT(rows.size(), 300u);
  EXPECT_EQ(rows.back(), fmt::format("... {} rows left out", 501 - rows.size()));
  EXPECT_LE(s.budget.used(), 20'000u);
  {
    CreditTable other(0, s.budget);
    for (uint64_t i = 0; i < 500; ++i) {
      CreditChange change;
      change.granted = i;
      other.Add(change);
      EXPECT_LE(s.budget.used(), 20'000u);
    }
  }
  Budget budget(1000);
  {
    CreditTable one(0, budget);
    one.Add(CreditChange{});
    EXPECT_GT(budget.used(), 0u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace stag::cli
