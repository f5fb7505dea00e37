// SPDX-License-Identifier: GPL-2.0-or-later
//
// Commands on a team of threads; tests/cli/mpi_test.py has mpirun.
#include "cli/analysis/file_runner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "cli/live/team_load.h"
#include "tests/support/fake_team.h"

namespace stag::cli {
namespace {

struct Received {
  std::string text, complaints, records;
  int status = -1;
  std::atomic<int> analyzed{0};
};

// A file named N says N in every way, opens unless it is 3, and is damaged when it is 5.
void RunRanks(size_t ranks, std::vector<std::string> files, Received& received) {
  CommonOptions options;
  options.files = std::move(files);
  test::OnEveryRank(ranks, [&](scale::Team& team) {
    const auto nowhere = [](std::string_view) {};
    const auto to_text = [&](std::string_view text) { received.text.append(text); };
    Diagnostics diagnostics([&](std::string_view text) { received.complaints.append(text).append(";"); });
    Output output = team.leads() ? Output(options, to_text, diagnostics) : Output(options, nowhere);
    const int status = ForEachFile(
        &team, options, output,
        [&](const std::string& file, Output& of_file, ResultStream* stream) {
          ++received.analyzed;
          Put(of_file.buffer(), "text {}\n", file);
          of_file.diagnostics().Complain("about {}", file);
          stream->Record("record " + file + ";");
          FileOutcome outcome;
          outcome.opened = file != "3";
          outcome.damaged = file == "5";
          return outcome;
        },
        [&](std::string_view record) { received.records.append(record); }, Headings::kYes);
    if (team.leads()) {
      received.status = status;
    } else {
      EXPECT_EQ(status, kExitFine);
    }
  });
}

TEST(FileRunner, RankZeroAloneWritesInOrderOfTheFiles) {
  for (const size_t ranks : {2u, 3u, 9u}) {
    Received received;
    RunRanks(ranks, {"1", "2", "2", "4"}, received);
    EXPECT_EQ(received.text, "== 1 ==\ntext 1\n\n== 2 ==\ntext 2\n\n== 2 ==\ntext 2\n\n== 4 ==\ntext 4\n");
    EXPECT_EQ(received.complaints, "about 1;about 2;about 2;about 4;");
    EXPECT_EQ(received.records, "record 1;record 2;record 2;record 4;");
    EXPECT_EQ(received.status, kExitFine);
    EXPECT_EQ(received.analyzed, 4);
  }
}

TEST(FileRunner, AFileThatCannotBeReadIsTroubleOnWhicheverRank) {
  for (const char* bad : {"3", "5"}) {
    Received received;
    RunRanks(2, {"1", bad, "2"}, received);
    EXPECT_EQ(received.status, kExitTrouble);
    EXPECT_EQ(received.complaints, std::string("about 1;about ") + bad + ";about 2;");
  }
}

TEST(FileRunner, WhatIsStoppedOnOneRankEndsWithThatFile) {
  CommonOptions options;
  options.files = {"1", "2", "3"};
  std::string text;
  test::OnEveryRank(3, [&](scale::Team& team) {
    Output output(options, [&](std::string_view bytes) {
      if (team.leads()) text.append(bytes);
    });
    const auto analyze = [&](const std::string& file, Output& of_file, ResultStream*) {
      Put(of_file.buffer(), "text {}\n", file);
      if (file == "2") of_file.Stop();
      FileOutcome outcome;
      outcome.opened = true;
      return outcome;
    };
    EXPECT_EQ(ForEachFile(&team, options, output, analyze, nullptr, Headings::kNo), kExitFine);
  });
  EXPECT_EQ(text, "text 1\ntext 2\n");
}

TEST(FileRunner, WithoutATeamTheCommandWrites) {
  CommonOptions options;
  options.files = {"1", "2"};
  std::string text, complaints;
  Diagnostics diagnostics([&](std::string_view message) { complaints.append(message).append(";"); });
  {
    Output output(
        options, [&](std::string_view bytes) { text.append(bytes); }, diagnostics);
    const auto analyze = [&](const std::string& file, Output& of_file, ResultStream* stream) {
      EXPECT_EQ(&of_file, &output);
      EXPECT_EQ(stream, nullptr);
      Put(of_file.buffer(), "text {}\n", file);
      FileOutcome outcome;
      outcome.opened = file != "2";
      return outcome;
    };
    EXPECT_EQ(ForEachFile(nullptr, options, output, analyze), kExitTrouble);
    EXPECT_FALSE(AllFine(nullptr, "no such file", diagnostics));
  }
  EXPECT_EQ(text, "== 1 ==\ntext 1\n\n== 2 ==\ntext 2\n");
  EXPECT_EQ(complaints, "no such file;");
}

TEST(FileRunner, OneTroubleIsForAll) {
  std::string complaints;
  test::OnEveryRank(3, [&](scale::Team& team) {
    Diagnostics diagnostics([&](std::string_view text) { complaints.append(text).append(";"); });
    EXPECT_TRUE(AllFine(&team, "", diagnostics));
    EXPECT_FALSE(AllFine(&team, team.rank() == 2 ? "no such file" : "", diagnostics));
    EXPECT_FALSE(AllFine(&team, "no such server", diagnostics));
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
STAG_MEMBERS(cli::Sum, n)
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
