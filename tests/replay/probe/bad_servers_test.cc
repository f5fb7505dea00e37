// SPDX-License-Identifier: GPL-2.0-or-later
//
// A probe that cannot fail is no probe: for each of them a server that does one thing wrong, which it finds and says,
// and which no other probe of its topic takes for a fault.
#include <algorithm>
#include <map>
#include <random>

#include "tests/replay/probe/bad_server.h"
#include "tests/replay/probe/fault_tools.h"
#include "tests/replay/probe/found.h"
#include "tests/replay/probe/nfs4_server.h"
#include "tests/replay/probe/probing.h"

namespace stag::probe::test {

namespace {

class BadServers : public testing::TestWithParam<Fault> {};

TEST_P(BadServers, FailOneProbe) {
  const Fault& fault = GetParam();
  const std::string_view topic = TopicOf(fault);
  serve::MemoryFs fs{64 << 20};
  const bool needs_files = topic == "nfs3" || topic == "again";
  const std::unique_ptr<rpcrdma::Service> service =
      topic == "session" || topic == "nfs4" || topic == "callback" ? std::make_unique<Nfs4Server>()
      : needs_files ? std::unique_ptr<rpcrdma::Service>(serve::MakeNfsMemoryService(fs))
                    : serve::MakeEchoService();
  ProbeOptions options = To(0);
  options.nfs4_path = "/";
  if (needs_files) options.directory = RootHandle(fs);
  ExpectFound(fault, *service, options);
}

INSTANTIATE_TEST_SUITE_P(Faults, BadServers, testing::ValuesIn(AllFaults()), NameOf);

// What `fault.probe` comes to on a server of NULL with the fault.
Outcome OutcomeWith(const Fault& fault) {
  const auto service = serve::MakeNullService();
  const auto listens = MakeBadTransport(fault), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *service);
  Runner runner(*connects, To(serving.port()));
  EXPECT_TRUE(runner.Begin());
  return runner.Run(*Find(fault.probe));
}

// What happens once may have had another cause than the server: the outcome has it, and the server is not blamed.
TEST(Faults, OnceIsInconclusive) {
  Fault once{.probe = "rpc.null", .words = ""};
  once.receive = [](Seen&, Scene& scene) {
    if (scene.ordinal == 2) scene.HangUp();
    return scene.ordinal != 2;
  };
  const Outcome outcome = OutcomeWith(once);
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(
      outcome.why.starts_with("it failed first, and then passed: expected an RPC Reply; came the connection ended"))
      << outcome.why;
}

// Of two Calls under way one is answered twice, and the other not.
TEST(Faults, TwoAnswersToOneCallAreNoAnswersToTwo) {
  std::map<size_t, Buffer> first;  // answer to a Long Call, of each connection
  Fault twice{.probe = "region.shared", .words = ""};
  twice.send = [&first](Seen& message, const Seen& call, std::optional<uint32_t>&, Scene& scene) {
    if (call.header.reads.empty()) return true;
    const auto [answer, is_first] = first.try_emplace(scene.ordinal, message.Encoded());
    if (!is_first) scene.Send(answer->second);
    return is_first;
  };
  const Outcome outcome = OutcomeWith(twice);
  EXPECT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_NE(Text(outcome).find("for no Call that is under way"), std::string::npos) << Text(outcome);
}

// A chunk without segments may be refused: that is advice, and says why.
TEST(Faults, RefusingAnEmptyChunkIsAdvice) {
  const Fault refuses = On(
      "chunk.empty-write-chunk", "", [](const Seen& m) { return WriteLike(m.header, {}) || ReplyLike(m.header, {}); },
      kRefuse);
  serve::MemoryFs fs{64 << 20};
  const auto service = serve::MakeNfsMemoryService(fs);
  const auto listens = MakeBadTransport(refuses), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *service);
  ProbeOptions options = To(serving.port());
  options.directory = RootHandle(fs);
  Runner runner(*connects, options);
  ASSERT_TRUE(runner.Begin());
  for (const char* id : {"chunk.empty-write-chunk", "chunk.empty-reply-chunk", "nfs3.read-empty-chunk"}) {
    const Outcome outcome = runner.Run(*Find(id));
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << id << ": " << Text(outcome);
    ASSERT_EQ(outcome.advice.size(), 1u) << id << ": " << Text(outcome);
    EXPECT_NE(outcome.advice[0].find("section 3.4.6 defines the empty Write chunk"), std::string::npos);
  }
  EXPECT_TRUE(runner.Finish());
}

// A server whose messages have wrong bits, are cut and are doubled: probes end, whatever comes.
TEST(Faults, NonsenseIsSurvived) {
  std::mt19937 random(5);
  const Fault nonsense = Nonsense(random);
  const auto service = serve::MakeEchoService();
  const auto listens = MakeBadTransport(nonsense), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *service);
  ProbeOptions options = To(serving.port());
  options.patience.answer = std::chrono::milliseconds{40};
  Runner runner(*connects, options);
  ASSERT_TRUE(runner.Begin());
  size_t failed = 0;
  for (int round = 0; round < 3; ++round)
    for (const Probe& probe : Catalogue()) failed += runner.Run(probe).verdict == Verdict::kFailed;
  EXPECT_GT(failed, 10u);
}

TEST(Faults, ThereIsOneForEachProbe) {
  std::vector<Fault> faults = AllFaults();
  for (Fault& fault : GssFaults()) faults.push_back(std::move(fault));
  for (const Probe& probe : Catalogue())
    EXPECT_TRUE(std::ranges::any_of(faults, [&](const Fault& f) { return f.probe == probe.id; })) << probe.id;
}

}  // namespace
}  // namespace stag::probe::test
