// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether a probe finds a Fault, and no other probe of its topic does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/replay/probe/bad_server.h"
#include "tests/replay/probe/probing.h"

namespace stag::probe::test {

inline std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.probe; }

inline std::string_view TopicOf(const Fault& fault) { return fault.probe.substr(0, fault.probe.find('.')); }

// The name of a test.
inline std::string NameOf(const testing::TestParamInfo<Fault>& fault) {
  std::string name(fault.param.probe);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

// `service` does everything right, `fault` comes between. The probes that run are those of the fault's topic.
inline void ExpectFound(const Fault& fault, rpcrdma::Service& service, ProbeOptions options) {
  const Probe* const probe = Find(fault.probe);
  ASSERT_NE(probe, nullptr);
  const auto listens = MakeBadTransport(fault), connects = endpoint::MakeSoftIwarp();
  const serve::test::ServerThread serving(*listens, service);
  options.to.port = serving.port();
  Runner runner(*connects, options);
  const auto begun = runner.Begin();
  ASSERT_TRUE(begun) << begun.error().message;
  for (const Probe& each : Catalogue()) {
    if (&each != probe && (fault.alone || !Selects(TopicOf(fault), each))) continue;
    const Outcome outcome = runner.Run(each);
    if (&each == probe) {
      EXPECT_EQ(outcome.verdict, Verdict::kFailed) << Text(outcome);
      EXPECT_NE(Text(outcome).find(fault.words), std::string::npos) << Text(outcome);
    } else {
      EXPECT_NE(outcome.verdict, Verdict::kFailed) << each.id << ": " << Text(outcome);
    }
    if (runner.gone()) break;
  }
  if (!runner.gone()) {
    EXPECT_TRUE(runner.Finish());
  }
}

}  // namespace stag::probe::test
