// SPDX-License-Identifier: GPL-2.0-or-later
//
// All probes against Stag's own servers, in every mode: nothing fails, nothing is merely advised but what executing a
// Call again brings, and what is skipped or cannot be concluded is what needs more than the mode has.
#include "tests/replay/probe/faults.h"
#include "tests/replay/probe/nfs4_server.h"
#include "tests/replay/probe/probing.h"

namespace stag::probe::test {
namespace {

using Expected = std::map<std::string_view, Verdict>;

// There is no duplicate request cache in them (replay/serve/README.md), which is advice.
bool ExecutesAgain(const Probe& probe) {
  return Selects("again", probe) && probe.title.ends_with("is not executed again");
}

// No idle connection gives way while probes open as many as they may: how many do depends on how quick the machine is.
serve::ServerOptions Roomy(serve::ServerOptions options = {}) {
  options.max_connections = 2000;
  return options;
}

void ExpectAllBut(rpcrdma::Service& service, ProbeOptions options, const serve::ServerOptions& server,
                  const Expected& others) {
  const auto transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*transport, service, Roomy(server));
  options.to.port = serving.port();
  Runner runner(*transport, options);
  const auto begun = runner.Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  for (const Probe& probe : Catalogue()) {
    const Outcome outcome = runner.Run(probe);
    const auto other = others.find(probe.id);
    EXPECT_EQ(outcome.verdict, other == others.end() ? Verdict::kPassed : other->second)
        << probe.id << ": " << Text(outcome);
    if (ExecutesAgain(probe) && outcome.verdict == Verdict::kPassed) {
      ASSERT_EQ(outcome.advice.size(), 2u) << probe.id << ": " << Text(outcome);
      EXPECT_NE(outcome.advice[0].find("was executed again"), std::string::npos) << outcome.advice[0];
    } else {
      EXPECT_EQ(outcome.advice, std::vector<std::string>{}) << probe.id;
    }
    ASSERT_FALSE(runner.gone());
  }
  const auto finished = runner.Finish();
  EXPECT_TRUE(finished) << finished.error().message;
}

constexpr Verdict kSkipped = Verdict::kSkipped, kInconclusive = Verdict::kInconclusive;

// `others`, and these topics, which are skipped.
Expected Without(std::initializer_list<std::string_view> topics, Expected others) {
  for (const Probe& probe : Catalogue())
    for (const std::string_view topic : topics)
      if (Selects(topic, probe)) others.emplace(probe.id, kSkipped);
  for (const std::string_view of_nfs4 :
       {"callback.none-without", "callback.form", "callback.unanswered", "callback.credits", "callback.same-xid",
        "callback.answered-twice", "callback.refused", "callback.bad-slot"})
    others.emplace(of_nfs4, kSkipped);
  return others;
}

TEST(OwnServers, Null) {
  const auto service = serve::MakeNullService();
  ExpectAllBut(*service, To(0), {},
               Without({"nfs3", "again", "session", "nfs4", "gss"}, {{"setup.foreign-before", kInconclusive},
                                                                     {"rpc.garbage-args", kInconclusive},
                                                                     {"chunk.long-reply", kSkipped},
                                                                     {"chunk.long-reply-segments", kSkipped},
                                                                     {"chunk.no-reply-chunk", kSkipped},
                                                                     {"chunk.small-reply-chunk", kSkipped},
                                                                     {"memory.stale-write", kSkipped},
                                                                     {"region.many-reply-segments", kSkipped},
                                                                     {"region.reversed", kSkipped},
                                                                     {"connection.vanish-long-reply", kSkipped},
                                                                     {"credit.window-of-long-replies", kSkipped}}));
}

TEST(OwnServers, Echo) {
  const auto service = serve::MakeEchoService();
  ExpectAllBut(*service, To(0), {}, Without({"nfs3", "again", "session", "nfs4", "gss"}, {}));
}

TEST(OwnServers, NfsMemory) {
  serve::MemoryFs fs{64 << 20};
  const auto service = serve::MakeNfsMemoryService(fs);
  ProbeOptions options = To(0);
  options.directory = RootHandle(fs);
  options.nfs4_path = "/";
  ExpectAllBut(*service, options, {}, Without({"session", "nfs4", "gss"}, {}));
  EXPECT_TRUE(fs.root().entries.empty());
}

// What no server of ours has, the server of these tests does right.
TEST(ServersOfTests, Nfs4) {
  Nfs4Server service;
  const Fault calls_back = CallsBack();
  const auto listens = MakeBadTransport(calls_back), transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, service);
  ProbeOptions options = To(serving.port());
  options.nfs4_path = "/";
  Runner runner(*transport, options);
  ASSERT_TRUE(runner.Begin());
  for (const Probe& probe : Catalogue()) {
    if (!Selects("session", probe) && !Selects("nfs4", probe) && !Selects("callback", probe)) continue;
    const Outcome outcome = runner.Run(probe);
    const bool gives_no_delegation = probe.id == "callback.bad-slot";  // CB_NULL is all that it calls
    EXPECT_EQ(outcome.verdict, gives_no_delegation ? kInconclusive : Verdict::kPassed)
        << probe.id << ": " << Text(outcome);
    EXPECT_EQ(outcome.advice, std::vector<std::string>{}) << probe.id;
  }
  EXPECT_EQ(service.clients(), 0u);
  EXPECT_TRUE(service.files.empty());
  EXPECT_TRUE(service.links.empty());
}

// A server that ends idle connections for the sake of new ones is taken for one.
TEST(ServersOfTests, EndsIdleConnections) {
  constexpr size_t kFirst = 20, kLast = 40, kKept = 5;
  std::map<size_t, Scene*> idle;
  Fault fault;
  fault.receive = [&idle](Seen&, Scene& scene) {
    const size_t ordinal = scene.ordinal;
    if (ordinal >= kFirst && ordinal < kLast) idle[ordinal] = &scene;
    if (ordinal >= kFirst + kKept && ordinal < kLast + kKept && idle.contains(ordinal - kKept))
      idle.extract(ordinal - kKept).mapped()->HangUp();
    return true;
  };
  const auto service = serve::MakeNullService();
  const auto listens = MakeBadTransport(fault), transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *service, Roomy());
  Runner runner(*transport, To(serving.port()));
  ASSERT_TRUE(runner.Begin());
  const auto probes = Catalogue();
  const auto many = std::ranges::find(probes, "connection.many", &Probe::id);
  const Outcome outcome = runner.Run(*many);
  EXPECT_EQ(outcome.verdict, Verdict::kPassed) << Text(outcome);
  ASSERT_EQ(outcome.advice.size(), 1u);
  EXPECT_NE(outcome.advice[0].find("the server ended 20 of "), std::string::npos) << outcome.advice[0];
}

// A server that calls back when a delegation is to be recalled only, and gives none at first.
TEST(ServersOfTests, Recall) {
  Nfs4Server service;
  const Fault recalls = Recalls();
  const auto listens = MakeBadTransport(recalls), transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, service);
  ProbeOptions options = To(serving.port());
  options.nfs4_path = "/";
  Runner runner(*transport, options);
  ASSERT_TRUE(runner.Begin());
  for (const Probe& probe : Catalogue()) {
    if (!Selects("callback", probe)) continue;
    const Outcome outcome = runner.Run(probe);
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << probe.id << ": " << Text(outcome);
  }
  EXPECT_EQ(service.clients(), 0u);
  EXPECT_TRUE(service.files.empty());
}

}  // namespace
}  // namespace stag::probe::test
