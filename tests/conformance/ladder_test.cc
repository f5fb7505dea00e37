// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/ladder.h"

#include <gtest/gtest.h>

namespace stag::conformance {
namespace {

using Kind = DiagramEvent::Kind;

DiagramEvent Operation(Kind kind, uint64_t frame, uint64_t length, uint32_t xid = 1) {
  DiagramEvent entry;
  entry.kind = kind;
  entry.serial = frame;
  entry.frame.number = entry.first_frame = entry.now = frame;
  entry.length = length;
  entry.xid = xid;
  entry.client_to_server = kind == Kind::kReadResponse;
  return entry;
}

uint64_t Bytes(const Ladder& ladder) {
  uint64_t bytes = 0;
  for (const DiagramRow& row : ladder.rows()) bytes += row.folded_from ? row.folded_bytes : row.event.length;
  return bytes;
}

TEST(Ladder, FewAreShownAsTheyAre) {
  Ladder ladder;
  for (uint64_t i = 1; i <= 3; ++i) ladder.Add(Operation(Kind::kWrite, i, 4096), Mark::kNone);
  EXPECT_EQ(ladder.rows().size(), 3u);
}

TEST(Ladder, FoldsRunsOfWrites) {
  Ladder ladder;
  for (uint64_t i = 1; i <= 38; ++i) ladder.Add(Operation(Kind::kWrite, i, 4096), Mark::kNone);
  ASSERT_EQ(ladder.rows().size(), 2u);
  EXPECT_EQ(ladder.rows()[0].folded_from, 0u);
  EXPECT_EQ(ladder.rows()[1].folded, 37u);
  EXPECT_EQ(ladder.rows()[1].folded_from, 2u);
  EXPECT_EQ(ladder.rows()[1].event.frame.number, 38u);
  EXPECT_EQ(Bytes(ladder), 38 * 4096u);
}

TEST(Ladder, FoldsReadsAsPairs) {
  Ladder ladder;
  for (uint64_t i = 0; i < 20; ++i) {
    ladder.Add(Operation(Kind::kReadRequest, 2 * i + 1, 1000), Mark::kNone);
    ladder.Add(Operation(Kind::kReadResponse, 2 * i + 2, 1000), Mark::kNone);
  }
  ASSERT_EQ(ladder.rows().size(), 3u);
  EXPECT_EQ(ladder.rows()[2].folded, 19u);
  EXPECT_EQ(ladder.rows()[2].folded_bytes, 19000u);
  EXPECT_EQ(ladder.rows()[2].folded_from, 3u);
}

TEST(Ladder, NeverFoldsWhatIsMarkedOrOfAnotherTransaction) {
  Ladder ladder;
  for (uint64_t i = 1; i <= 10; ++i)
    ladder.Add(Operation(Kind::kWrite, i, 1), i == 7 ? Mark::kOffending : i == 8 ? Mark::kRelated : Mark::kNone);
  ladder.Add(Operation(Kind::kWrite, 11, 1, 2), Mark::kNone);
  std::vector<uint64_t> marked;
  for (const DiagramRow& row : ladder.rows())
    if (row.mark != Mark::kNone) marked.push_back(row.event.frame.number);
  EXPECT_EQ(marked, (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(ladder.rows()[1].folded, 5u);  // 2 to 6
  EXPECT_EQ(ladder.rows().back().event.frame.number, 11u);
  EXPECT_EQ(ladder.rows().back().folded_from, 0u);
  EXPECT_EQ(Bytes(ladder), 11u);
}

TEST(Ladder, FurtherPacketsCount) {
  Ladder ladder;
  for (uint64_t i = 1; i <= 10; ++i) {
    DiagramEvent entry = Operation(Kind::kWrite, i, 1000);
    ladder.Add(entry, Mark::kNone);
    entry.length = 4096;
    ladder.Update(entry);
  }
  EXPECT_EQ(ladder.rows().size(), 2u);
  EXPECT_EQ(Bytes(ladder), 40960u);
  ladder.Update(Operation(Kind::kWrite, 99, 7));  // none of it
  EXPECT_EQ(Bytes(ladder), 40960u);
}

TEST(Ladder, IsBoundedAndSaysWhatItLeftOut) {
  Ladder ladder;
  for (uint64_t i = 1; i <= 1000; ++i)  // nothing to fold: every other one is of another transaction
    ladder.Add(Operation(Kind::kWrite, i, 1, i % 2 ? 1 : 2), Mark::kNone);
  const size_t size = ladder.rows().size();
  EXPECT_LT(size, 100u);
  EXPECT_EQ(ladder.left_out(), 1000 - size);
  ladder.Add(Operation(Kind::kWrite, 1001, 1), Mark::kOffending);
  EXPECT_EQ(ladder.rows().back().mark, Mark::kOffending);
  for (uint64_t i = 2000; i < 3000; ++i) ladder.Add(Operation(Kind::kWrite, i, 1), Mark::kRelated);
  EXPECT_LT(ladder.rows().size(), 100u);
}

}  // namespace
}  // namespace stag::conformance
