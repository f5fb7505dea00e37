// SPDX-License-Identifier: GPL-2.0-or-later
//
// A report of what a TranscriptWriter wrote is the report of what it saw: every format, on real captures.
#include "conformance/report/transcript.h"

#include <gtest/gtest.h>

#include "conformance/report/baseline.h"
#include "conformance/report/documents.h"
#include "tests/conformance/findings.h"
#include "tests/support/run_capture.h"

namespace stag::test {
namespace {

using conformance::Baseline;
using conformance::FindingSink;
using conformance::Playback;
using conformance::Reporter;
using conformance::Severity;
using conformance::Summary;
using conformance::TranscriptWriter;
using conformance::Write;
using MakeReporter = std::unique_ptr<Reporter> (*)(Write);

constexpr const char* kCaptures[] = {"rxe-rdma_error.pcap", "rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst",
                                     "siw-reject.pcap"};

const std::vector<OwnedFrame>& FramesOf(size_t file) {
  static const std::vector<std::vector<OwnedFrame>> all = [] {
    std::vector<std::vector<OwnedFrame>> frames;
    for (const char* name : kCaptures) frames.push_back(LoadFrames(std::string(STAG_SOURCE_DIR "/pcaps/real/") + name));
    return frames;
  }();
  return all[file];
}

void Check(size_t file, Reporter& reporter, FindingSink& sink) {
  reporter.BeginFile(kCaptures[file]);
  conformance::Engine engine({}, sink);
  std::vector<session::Observer*> observers = reporter.Observers();
  observers.push_back(&engine);
  const RunStats stats = Run(FramesOf(file), {}, {}, observers);
  Summary summary;
  summary.files = 1;
  summary.frames = FramesOf(file).size();
  summary.connections = stats.session.connections;
  summary.transactions = stats.session.transactions;
  summary.gaps = stats.decoder.gaps;
  summary.rules = engine.Tallies();
  reporter.EndFile(summary, file == 1 ? "something <wrong>" : "");
}

// Some findings are known: those of the second capture.
Baseline Known() {
  Baseline all(true);
  std::string nowhere;
  const auto reporter = conformance::MakeJsonlReporter([&](std::string_view text) { nowhere.append(text); });
  Check(1, *reporter, all.Before(*reporter));
  Baseline known(false);
  EXPECT_TRUE(known.Add(all.Recorded()));
  return known;
}

std::string Direct(MakeReporter make, Baseline baseline) {
  std::string text;
  const auto reporter = make([&](std::string_view piece) { text.append(piece); });
  FindingSink& sink = baseline.Before(*reporter);
  for (size_t file = 0; file < std::size(kCaptures); ++file) Check(file, *reporter, sink);
  reporter->Finish({baseline.suppressed(), 0, baseline.Unused({})});
  return text;
}

// Files are recorded from the last to the first, each by a TranscriptWriter of its own.
std::string Transcribed(MakeReporter make, Baseline baseline) {
  std::string text;
  const auto reporter = make([&](std::string_view piece) { text.append(piece); });
  std::vector<std::vector<std::string>> records(std::size(kCaptures));
  for (size_t file = std::size(kCaptures); file-- > 0;) {
    Baseline of_rank = baseline;
    TranscriptWriter writer([&](std::string_view record) { records[file].emplace_back(record); }, reporter->wants(),
                            [&](FindingSink& next) -> FindingSink& { return of_rank.Before(next); });
    Check(file, writer, writer);
  }
  Playback playback(*reporter, baseline.Before(*reporter));
  for (const auto& of_file : records)
    for (const std::string& record : of_file) EXPECT_TRUE(playback.Take(record));
  reporter->Finish({baseline.suppressed(), 0, baseline.Unused({})});
  return text;
}

class Transcript : public testing::TestWithParam<MakeReporter> {};

TEST_P(Transcript, MakesTheSameReport) {
  const std::string direct = Direct(GetParam(), Baseline(false));
  EXPECT_GT(direct.size(), 1000u);
  EXPECT_TRUE(Transcribed(GetParam(), Baseline(false)) == direct);
}

TEST_P(Transcript, MakesTheSameReportBehindABaseline) {
  const std::string direct = Direct(GetParam(), Known());
  EXPECT_TRUE(direct != Direct(GetParam(), Baseline(false)));
  EXPECT_TRUE(Transcribed(GetParam(), Known()) == direct);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Transcript,
    testing::Values([](Write write) { return conformance::MakeTextReporter(std::move(write), true, false); },
                    [](Write write) { return conformance::MakeJsonlReporter(std::move(write)); },
                    [](Write write) { return conformance::MakeJsonReporter(std::move(write), "1"); },
                    [](Write write) { return conformance::MakeSarifReporter(std::move(write), "1"); },
                    [](Write write) { return conformance::MakeJunitReporter(std::move(write), Severity::kNote); },
                    [](Write write) { return conformance::MakeHtmlReporter(std::move(write), "1"); }));

// What is cut short, or no record at all, is refused, not shown.
TEST(TranscriptRecords, AreWholeOrRefused) {
  std::vector<std::string> records;
  TranscriptWriter writer([&](std::string_view record) { records.emplace_back(record); },
                          {.connections = true, .ladders = true},
                          [](FindingSink& next) -> FindingSink& { return next; });
  Check(1, writer, writer);
  ASSERT_GT(records.size(), 3u);
  std::string text;
  const auto reporter = conformance::MakeHtmlReporter([&](std::string_view piece) { text.append(piece); }, "1");
  Playback playback(*reporter, *reporter);
  EXPECT_TRUE(playback.Take(records.front()));
  for (const std::string& record : records)
    for (size_t length = 0; length < record.size(); length += 1 + length / 40)
      EXPECT_FALSE(playback.Take(record.substr(0, length))) << length;
  EXPECT_FALSE(playback.Take("\x7f"));
}

}  // namespace
}  // namespace stag::test
