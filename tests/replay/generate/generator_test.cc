// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads of NULL and ECHO: how they begin, what is due when, how they end.
#include "replay/generate/generator.h"

#include "tests/replay/generate/loads.h"

namespace stag::generate::test {
namespace {

TEST(Generator, Null) {
  const auto service = serve::MakeNullService();
  Running running(*service);
  const Ran ran(To(running.port(), LoadMode::kNull, 1000));
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine());
  EXPECT_EQ(ran.of(Operation::kNull).ok, 1000u);
  EXPECT_EQ(ran.of(Operation::kNull).latency.count(), 1000u);
  EXPECT_EQ(ran.report->max_outstanding, 16u);
  running.thread.Stop();
  EXPECT_EQ(service->counts().at({100003, 3, 0}).calls, 1000u);
}

TEST(Generator, BeginsWhenItIsLet) {
  const auto service = serve::MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 10);
  int asked = 0;
  load.ready = [&](const std::string& trouble) {
    ++asked;
    EXPECT_EQ(trouble, "");
    return std::optional(Job::Clock::now());
  };
  EXPECT_EQ(Ran(load).of(Operation::kNull).ok, 10u);
  EXPECT_EQ(asked, 1);
  running.thread.Stop();
  EXPECT_EQ(service->counts().at({100003, 3, 0}).calls, 10u);  // none before it is let
}

TEST(Generator, DoesNotBeginWhenItIsNotLet) {
  const auto service = serve::MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 10);
  std::string said;
  load.ready = [&](const std::string& trouble) -> std::optional<Job::Clock::time_point> {
    said = trouble;
    return std::nullopt;
  };
  const auto transport = endpoint::MakeSoftIwarp();
  Generator other(*transport, load, nullptr);
  const auto ran = other.Run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "");
  EXPECT_EQ(said, "");
  running.thread.Stop();
  EXPECT_EQ(service->counts().size(), 0u);
  load.to.port = 1;
  Generator nobody(*transport, load, nullptr);
  const auto failed = nobody.Run();
  ASSERT_FALSE(failed);
  EXPECT_NE(said, "");
  EXPECT_EQ(failed.error().message, said);
}

TEST(Generator, EchoOfAllSizesByAllWays) {
  const auto service = serve::MakeEchoService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kEcho, 300);
  load.jobs.sizes = {{1, 9000, 1}, {100'000, 120'000, 1}};
  load.jobs.position_zero_percent = 20;
  load.requester.segments = 3;
  const Ran ran(load);
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.of(Operation::kEcho).ok, 300u);
  EXPECT_EQ(ran.report->verified_bytes * 2, ran.of(Operation::kEcho).bytes);
  load.reply_chunk = true;
  EXPECT_TRUE(Ran(load).report->fine());
}

TEST(Generator, OpenLoopLatencyCountsFromTheIntendedTime) {
  const auto service = serve::MakeEchoService();
  // 2 ms for each Call, one at a time: 500 a second, and 1000 are wanted.
  Running running(*service, {.responder = {.credits = 1, .delay = milliseconds(2)}});
  LoadOptions load = To(running.port(), LoadMode::kEcho, 100);
  load.rate = 1000;
  const Ran ran(load, false);
  EXPECT_TRUE(ran.report->fine());
  const OperationReport& echo = ran.of(Operation::kEcho);
  EXPECT_EQ(echo.ok, 100u);
  // The last was due after 99 ms, and could not be answered before 200 ms.
  EXPECT_GE(echo.latency.max(), 100'000'000u);
  EXPECT_GE(ran.report->credit_stalls, 1u);
}

// With one Call outstanding at most, no Call is made for later while it is on its way.
TEST(Generator, WhatWasDueAndNotSentIsCounted) {
  const auto service = serve::MakeEchoService();
  Running running(*service, {.responder = {.credits = 1, .delay = milliseconds(10)}});
  LoadOptions load = To(running.port(), LoadMode::kEcho, 0);
  load.duration = milliseconds(300);
  load.rate = 1000;
  for (const uint32_t depth : {32u, 1u}) {
    load.depth = depth;
    const Ran ran(load, false);
    EXPECT_EQ(ran.of(Operation::kEcho).calls + ran.report->unsent, 300u);
    EXPECT_GE(ran.report->unsent, 250u);
  }
}

TEST(Generator, StopsWhenTold) {
  const auto service = serve::MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 0);
  const auto transport = endpoint::MakeSoftIwarp();
  Generator generator(*transport, load, nullptr);
  std::thread stop([&] {
    while (generator.counts().answers < 100) std::this_thread::yield();
    generator.Stop();
  });
  EXPECT_TRUE(generator.Run());
  stop.join();
  EXPECT_TRUE(generator.report().interrupted);
  EXPECT_TRUE(generator.report().fine());
  EXPECT_GE(generator.report().Total().ok, 100u);
}

TEST(Generator, Threads) {
  const auto service = serve::MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 1001);
  load.connections = 7;
  load.threads = 3;
  const Ran ran(load, false);
  EXPECT_TRUE(ran.report->fine());
  EXPECT_EQ(ran.of(Operation::kNull).ok, 1001u);
  EXPECT_EQ(ran.report->connections, 7u);
}

TEST(Generator, NobodyThere) {
  LoadOptions load = To(1, LoadMode::kNull, 1);
  EXPECT_NE(Ran(load).error.find("connection refused"), std::string::npos);
}

}  // namespace
}  // namespace stag::generate::test
