// SPDX-License-Identifier: GPL-2.0-or-later
//
// What holds of the HTML report whatever the capture: its size, and that it says what it left out.
// tests/cli/html_test.py reads real pages.
#include <gtest/gtest.h>

#include "conformance/engine/check.h"
#include "conformance/report/documents.h"
#include "tests/conformance/checker.h"
#include "tests/conformance/findings.h"
#include "text/put.h"

namespace stag::test {
namespace {

using conformance::Reporter;

size_t CountOf(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

struct Page {
  std::string text;
  std::unique_ptr<Reporter> reporter =
      conformance::MakeHtmlReporter([this](std::string_view piece) { text.append(piece); }, "1.2.3");
};

// Every checked rule is broken often on many connections.
TEST(Html, APageOfManyFindingsIsOfBoundedSize) {
  Page page;
  page.reporter->BeginFile("a.pcap");
  page.reporter->Observers();
  constexpr uint64_t kConnections = 1000, kRepeats = 100;
  uint64_t frame = 0;
  size_t rules = 0;
  for (const conformance::RuleInfo& rule : conformance::Catalogue()) {
    if (!conformance::WhyNotChecked(rule).empty() || ++rules > 40) continue;
    for (uint64_t i = 0; i < kConnections * kRepeats / 40; ++i) {
      Finding finding = MakeFinding(rule.id, ++frame);
      finding.connection = static_cast<fabric::ConnectionId>(i % kConnections + 1);
      finding.related_frames.assign(1000, 1);
      page.reporter->OnFinding(finding);
    }
  }
  conformance::Summary summary;
  summary.files = 1;
  page.reporter->EndFile(summary, "");
  page.reporter->Finish({});
  EXPECT_LT(page.text.size(), 2u << 20);
  const size_t entries = CountOf(page.text, "<article ");
  EXPECT_GE(entries, 40u);  // each rule has one
  EXPECT_LE(entries, 450u);
  // 100,000 findings, of each entry 2 or 3.
  EXPECT_EQ(CountOf(page.text, "further findings, on other connections, are left out of this page"), 1u);
  EXPECT_EQ(page.reporter->count(Severity::kError) + page.reporter->count(Severity::kWarning) +
                page.reporter->count(Severity::kNote),
            kConnections * kRepeats);
}

// Real ladders and connections.
TEST(Html, APageOfManyConnectionsIsOfBoundedSize) {
  Page page;
  page.reporter->BeginFile("a.pcap");
  conformance::Engine engine({.profile = Profile::kRfc8166, .select = {}, .ignore = {}}, *page.reporter);
  std::vector<session::Observer*> observers = page.reporter->Observers();
  observers.push_back(&engine);
  session::Session session({}, observers);
  constexpr fabric::ConnectionId kConnections = 3000;
  for (fabric::ConnectionId id = 1; id <= kConnections; ++id) {
    EventScript script(session, id);
    script.Open();
    script.Send(kClient, Msg(1), MakeCall(1, kNfs, 3, 0));
    script.Send(kServer, Msg(1), MakeReply(1));
    rpcrdma::Header call = Msg(2);
    AddWriteChunk(call, {{7, 4096, 0x1000}});
    script.Send(kClient, call, GetattrCall(2));
    for (uint64_t i = 0; i < 100; ++i) script.Write(kServer, 7, 0x1000 + i * 40, Pattern(40));
    script.Send(kServer, Msg(2), GetattrReply(2));
    script.Close();
  }
  session.Finish();
  conformance::Summary summary;
  summary.files = 1;
  summary.rules = engine.Tallies();
  page.reporter->EndFile(summary, "");
  page.reporter->Finish({});
  EXPECT_LT(page.text.size(), 2u << 20);
  EXPECT_GT(CountOf(page.text, "<svg "), 0u);
  EXPECT_GT(CountOf(page.text, "99 more RDMA Writes, 3,960 bytes"), 0u);
  EXPECT_EQ(CountOf(page.text, "further findings, on other connections, are left out of this page"), 1u);
  for (size_t at = page.text.find("href=\"#c0-"); at != std::string::npos; at = page.text.find("href=\"#c0-", at + 1)) {
    const std::string id = page.text.substr(at + 7, page.text.find('"', at + 7) - at - 7);
    EXPECT_NE(page.text.find("id=\"" + id + "\""), std::string::npos) << id;
  }
  const size_t connections = CountOf(page.text, "<details class=\"panel\" id=\"c0-");
  EXPECT_GT(connections, 0u);
  EXPECT_NE(page.text.find(stag::Grouped(kConnections - connections) + " further connections are left out"),
            std::string::npos);
}

TEST(Html, SaysWhatWasAccepted) {
  Page page;
  page.reporter->BeginFile("a.pcap");
  page.reporter->EndFile({}, "");
  conformance::Suppressed suppressed{12, 3, {}};
  for (int i = 0; i < 150; ++i) suppressed.unused.push_back("<unused>");
  page.reporter->Finish(suppressed);
  EXPECT_NE(page.text.find("12 findings by the baseline, 3 by the list of suppressions"), std::string::npos);
  EXPECT_EQ(CountOf(page.text, "<li>&lt;unused&gt;</li>"), 100u);
  EXPECT_NE(page.text.find("and 50 more"), std::string::npos);
}

}  // namespace
}  // namespace stag::test
