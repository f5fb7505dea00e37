// SPDX-License-Identifier: GPL-2.0-or-later
//
// A probe that cannot fail is no probe: for each of them a client that does one thing wrong, which it finds and says.
#include <algorithm>
#include <set>

#include "tests/replay/probe/bad_client.h"
#include "tests/replay/probe/clients.h"

namespace stag::probe::test {

std::ostream& operator<<(std::ostream& out, const ClientFault& fault) { return out << fault.probe; }

namespace {

class BadClients : public testing::TestWithParam<ClientFault> {};

TEST_P(BadClients, FailTheirProbe) {
  const ClientFault& fault = GetParam();
  const auto probe = std::ranges::find(client::ClientCatalogue(), fault.probe, &client::ClientProbe::id);
  ASSERT_NE(probe, client::ClientCatalogue().end());
  const auto connects = MakeBadClient(fault);
  OwnClient client(*connects, [&](generate::LoadOptions& load) {
    load.reconnects = 2;
    if (fault.load) fault.load(load);
  });
  const auto begun = client.runner->Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  const Outcome outcome = client.runner->Run(*probe);
  EXPECT_EQ(outcome.verdict, Verdict::kFailed) << Text(outcome);
  EXPECT_NE(Text(outcome).find(fault.words), std::string::npos) << Text(outcome);
}

std::string NameOf(const testing::TestParamInfo<ClientFault>& fault) {
  std::string name(fault.param.probe);
  for (char& c : name)
    if (c == '.' || c == '-') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Faults, BadClients, testing::ValuesIn(AllClientFaults()), NameOf);

TEST(ClientFaults, EachProbeHasOne) {
  std::set<std::string_view> found, probes;
  for (const ClientFault& fault : AllClientFaults()) found.insert(fault.probe);
  for (const client::ClientProbe& probe : client::ClientCatalogue()) probes.insert(probe.id);
  EXPECT_EQ(found, probes);
  EXPECT_EQ(probes.size(), client::ClientCatalogue().size());
}

}  // namespace
}  // namespace stag::probe::test
