// SPDX-License-Identifier: GPL-2.0-or-later
//
// Commands on a team of threads; tests/cli/mpi_test.py has mpirun.
#include "cli/team_work.h"

#include <gtest/gtest.h>

#include <atomic>

#include "cli/team_load.h"
#include "tests/support/fake_team.h"

namespace stag::cli {
namespace {

struct Heard {
  std::string text, complaints, records;
  int status = -1;
  std::atomic<int> analyzed{0};
};

// A file named N says N in every way, opens unless it is 3, and is damaged when it is 5.
void Hear(size_t ranks, std::vector<std::string> files, Heard& heard) {
  CommonOptions options;
  options.files = std::move(files);
  test::OnEveryRank(ranks, [&](scale::Team& team) {
    const auto nowhere = [](std::string_view) {};
    const auto to_text = [&](std::string_view text) { heard.text.append(text); };
    Output output = team.leads() ? Output(options, to_text) : Output(options, nowhere);
    const auto to_complaints = [&](std::string_view text) { heard.complaints.append(text).append(";"); };
    std::optional<ComplaintsTo> complaints;
    if (team.leads()) complaints.emplace(to_complaints);
    const int status = ForEachFileOfTeam(
        team, options, output,
        [&](const std::string& file, Output& to_leader, FileSays& says) {
          ++heard.analyzed;
          Put(to_leader.buffer(), "text {}\n", file);
          Complain("about {}", file);
          says.Record("record " + file + ";");
          Outcome outcome;
          outcome.opened = file != "3";
          outcome.damaged = file == "5";
          return outcome;
        },
        [&](std::string_view record) { heard.records.append(record); }, Headings::kYes);
    if (team.leads()) {
      heard.status = status;
    } else {
      EXPECT_EQ(status, kExitFine);
    }
  });
}

TEST(TeamWork, IsToldInOrderOfTheFilesByRankZeroAlone) {
  for (const size_t ranks : {2u, 3u, 9u}) {
    Heard heard;
    Hear(ranks, {"1", "2", "2", "4"}, heard);
    EXPECT_EQ(heard.text, "== 1 ==\ntext 1\n\n== 2 ==\ntext 2\n\n== 2 ==\ntext 2\n\n== 4 ==\ntext 4\n");
    EXPECT_EQ(heard.complaints, "about 1;about 2;about 2;about 4;");
    EXPECT_EQ(heard.records, "record 1;record 2;record 2;record 4;");
    EXPECT_EQ(heard.status, kExitFine);
    EXPECT_EQ(heard.analyzed, 4);
  }
}

TEST(TeamWork, AFileThatCannotBeReadIsTroubleOnWhicheverRank) {
  for (const char* bad : {"3", "5"}) {
    Heard heard;
    Hear(2, {"1", bad, "2"}, heard);
    EXPECT_EQ(heard.status, kExitTrouble);
    EXPECT_EQ(heard.complaints, std::string("about 1;about ") + bad + ";about 2;");
  }
}

TEST(TeamWork, OneTroubleIsForAll) {
  std::string complaints;
  test::OnEveryRank(3, [&](scale::Team& team) {
    const auto take = [&](std::string_view text) { complaints.append(text).append(";"); };
    std::optional<ComplaintsTo> kept;
    if (team.leads()) kept.emplace(take);
    EXPECT_TRUE(AllFine(team, ""));
    EXPECT_FALSE(AllFine(team, team.rank() == 2 ? "no such file" : ""));
    EXPECT_FALSE(AllFine(team, "no such server"));
  });
  EXPECT_EQ(complaints, "rank 2: no such file;no such server;");
}

struct Sum {
  uint64_t n = 0;
  void Merge(const Sum& other) { n += other.n; }
};

}  // namespace
}  // namespace stag::cli

namespace stag {
template <typename Fn>
void Members(cli::Sum& v, Fn fn) {
  auto& [n] = v;
  fn(n);
}
}  // namespace stag

namespace stag::cli {
namespace {

TEST(TeamLoad, RankZeroHasTheSumAndTheWorstStatus) {
  test::OnEveryRank(3, [&](scale::Team& team) {
    Sum sum{team.rank() + 1};
    const int status = MergeReports(&team, team.rank() == 1 ? kExitTrouble : kExitFine, sum);
    if (!team.leads()) return;
    EXPECT_EQ(sum.n, 6u);
    EXPECT_EQ(status, kExitTrouble);
  });
}

TEST(TeamLoad, EachRankRecordsForItself) {
  test::OnEveryRank(2, [](scale::Team& team) {
    LiveOptions options;
    options.record = "/tmp/a.b/load.pcapng";
    SettleForRank(options, team);
    EXPECT_EQ(options.record, "/tmp/a.b/load." + std::to_string(team.rank()) + ".pcapng");
  });
}

}  // namespace
}  // namespace stag::cli
