// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of RPCSEC_GSS, with the tickets of a KDC (tests/support/with_realm.py): Stag's own server passes them, and
// each has a server that does one thing wrong.
#include <cstdlib>

#include "replay/serve/gss_service.h"
#include "tests/replay/probe/fault_tools.h"
#include "tests/replay/probe/found.h"

namespace stag::probe::test {
namespace {

// NFSv3 in memory for clients with tickets, and a client that has some.
struct Realm {
  Realm() {
    const char* const keytab = std::getenv("STAG_KEYTAB");
    EXPECT_NE(keytab, nullptr) << "runs in a realm: with_realm.py";
    auto accepts = gss::OpenAcceptor(keytab);
    EXPECT_TRUE(accepts) << accepts.error().message;
    auto initiates = gss::OpenInitiator({keytab, "", "nfs@localhost"});
    EXPECT_TRUE(initiates) << initiates.error().message;
    acceptor.emplace(*accepts);
    service.emplace(*nfs, *acceptor);
    options.directory = RootHandle(fs);
    options.gss = *initiates;
  }
  serve::MemoryFs fs{64 << 20};
  std::unique_ptr<serve::RpcService> nfs = serve::MakeNfsMemoryService(fs);
  std::optional<gss::Acceptor> acceptor;
  std::optional<serve::GssService> service;
  ProbeOptions options = To(0);
};

class BadGssServers : public testing::TestWithParam<Fault> {};

TEST_P(BadGssServers, FailOneProbe) {
  Realm realm;
  ExpectFound(GetParam(), *realm.service, realm.options);
}

INSTANTIATE_TEST_SUITE_P(Faults, BadGssServers, testing::ValuesIn(GssFaults()), NameOf);

// All probes: what is not about RPCSEC_GSS is as without it.
TEST(OwnServers, NfsMemoryWithKeyTable) {
  Realm realm;
  const auto transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*transport, *realm.service);
  realm.options.to.port = serving.port();
  Runner runner(*transport, realm.options);
  const auto begun = runner.Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  size_t of_gss = 0;
  for (const Probe& probe : Catalogue()) {
    const Outcome outcome = runner.Run(probe);
    EXPECT_NE(outcome.verdict, Verdict::kFailed) << probe.id << ": " << Text(outcome);
    if (!Selects("gss", probe)) continue;
    ++of_gss;
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << probe.id << ": " << Text(outcome);
    EXPECT_EQ(outcome.advice, std::vector<std::string>{}) << probe.id;
  }
  EXPECT_GT(of_gss, 10u);
  EXPECT_TRUE(runner.Finish());
}

// A server without RPCSEC_GSS is not blamed; nor is one whose client has no key table.
TEST(OwnServers, WithoutRpcsecGss) {
  Realm realm;
  const auto transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*transport, *realm.nfs);
  for (const bool key_table : {true, false}) {
    ProbeOptions options = realm.options;
    options.to.port = serving.port();
    if (!key_table) options.gss = nullptr;
    Runner runner(*transport, options);
    ASSERT_TRUE(runner.Begin());
    for (const Probe& probe : GssProbes()) {
      const Outcome outcome = runner.Run(probe);
      EXPECT_EQ(outcome.verdict, Verdict::kSkipped) << probe.id << ": " << Text(outcome);
      EXPECT_EQ(outcome.why, key_table ? "the server takes no RPCSEC_GSS: AUTH_ERROR 1 for RPCSEC_GSS_INIT"
                                       : "a key table is needed: give --keytab");
    }
    EXPECT_TRUE(runner.Finish());
  }
}

// Nor is one that has no key for the service.
TEST(OwnServers, WithoutTheKey) {
  Realm realm;
  auto accepts = gss::OpenAcceptor(std::getenv("STAG_STRANGER"));
  ASSERT_TRUE(accepts) << accepts.error().message;
  gss::Acceptor stranger(*accepts);
  serve::GssService service(*realm.nfs, stranger);
  const auto transport = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*transport, service);
  realm.options.to.port = serving.port();
  Runner runner(*transport, realm.options);
  ASSERT_TRUE(runner.Begin());
  const Outcome outcome = runner.Run(*Find("gss.establish"));
  EXPECT_EQ(outcome.verdict, Verdict::kSkipped) << Text(outcome);
  EXPECT_EQ(outcome.why, "the server makes no context: GSS-API status 0x000d0000, minor status 0");
  EXPECT_TRUE(runner.Finish());
}

// That the server ends the connection, where it is to discard a Call silently, is advice.
TEST(BadGssServers, EndOfTheConnectionIsAdvice) {
  Realm realm;
  const Fault fault = GssHangsUp();
  const auto listens = MakeBadTransport(fault), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *realm.service);
  realm.options.to.port = serving.port();
  Runner runner(*connects, realm.options);
  ASSERT_TRUE(runner.Begin());
  const Outcome outcome = runner.Run(*Find("gss.sequence-again"));
  EXPECT_EQ(outcome.verdict, Verdict::kPassed) << Text(outcome);
  ASSERT_EQ(outcome.advice.size(), 1u) << Text(outcome);
  EXPECT_NE(outcome.advice[0].find("the connection ends with a Call whose sequence number was used before"),
            std::string::npos);
  EXPECT_TRUE(runner.Finish());
}

// Probes end, whatever comes.
TEST(BadGssServers, NonsenseIsSurvived) {
  std::mt19937 random(7);
  Realm realm;
  const Fault nonsense = Nonsense(random);
  const auto listens = MakeBadTransport(nonsense), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, *realm.service);
  realm.options.to.port = serving.port();
  realm.options.patience.answer = std::chrono::milliseconds{40};
  realm.options.directory.clear();
  Runner runner(*connects, realm.options);
  ASSERT_TRUE(runner.Begin());
  size_t failed = 0;
  for (int round = 0; round < 10; ++round)
    for (const Probe& probe : GssProbes()) failed += runner.Run(probe).verdict == Verdict::kFailed;
  EXPECT_GT(failed, 10u);
}

}  // namespace
}  // namespace stag::probe::test
