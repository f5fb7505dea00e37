// SPDX-License-Identifier: GPL-2.0-or-later
//
// All probes against Stag's own servers, in every mode: nothing fails, nothing is merely advised, and what is skipped
// or cannot be concluded is what needs more than the mode has.
#include "tests/replay/probe/probing.h"

namespace stag::probe::test {
namespace {

using Expected = std::map<std::string_view, Verdict>;

void ExpectAllBut(rpcrdma::Service& service, ProbeOptions options, const serve::ServerOptions& server,
                  const Expected& others) {
  const auto transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*transport, service, server);
  options.to.port = serving.port();
  Runner runner(*transport, options);
  const auto begun = runner.Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  for (const Probe& probe : Catalogue()) {
    const Outcome outcome = runner.Run(probe);
    const auto other = others.find(probe.id);
    EXPECT_EQ(outcome.verdict, other == others.end() ? Verdict::kPassed : other->second)
        << probe.id << ": " << Text(outcome);
    EXPECT_EQ(outcome.advice, std::vector<std::string>{}) << probe.id;
    ASSERT_FALSE(runner.gone());
  }
  const auto finished = runner.Finish();
  EXPECT_TRUE(finished) << finished.error().message;
}

constexpr Verdict kSkipped = Verdict::kSkipped, kInconclusive = Verdict::kInconclusive;

// `others`, and the topic nfs3, which is skipped.
Expected WithoutFiles(Expected others) {
  for (const Probe& probe : Catalogue())
    if (Selects("nfs3", probe)) others.emplace(probe.id, kSkipped);
  return others;
}

TEST(OwnServers, Null) {
  const auto service = serve::MakeNullService();
  ExpectAllBut(*service, To(0), {},
               WithoutFiles({{"setup.foreign-before", kInconclusive},
                             {"rpc.garbage-args", kInconclusive},
                             {"chunk.long-reply", kSkipped},
                             {"chunk.long-reply-segments", kSkipped},
                             {"chunk.no-reply-chunk", kSkipped},
                             {"chunk.small-reply-chunk", kSkipped},
                             {"memory.stale-write", kSkipped}}));
}

TEST(OwnServers, Echo) {
  const auto service = serve::MakeEchoService();
  ExpectAllBut(*service, To(0), {}, WithoutFiles({}));
}

TEST(OwnServers, NfsMemory) {
  serve::MemoryFs fs{64 << 20};
  const auto service = serve::MakeNfsMemoryService(fs);
  ProbeOptions options = To(0);
  options.directory = RootHandle(fs);
  ExpectAllBut(*service, options, {}, {});
  EXPECT_TRUE(fs.root().entries.empty());
}

}  // namespace
}  // namespace stag::probe::test
