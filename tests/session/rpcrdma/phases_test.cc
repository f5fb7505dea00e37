// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/phases.h"

#include <gtest/gtest.h>

#include "session/rpcrdma/session.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using namespace test;

constexpr uint32_t kProgram = nfs::kNfsProgram;
using Nanoseconds = std::array<std::optional<int64_t>, kPhases>;
constexpr auto kNot = std::nullopt;

struct LastPhases : Observer {
  Phases phases;
  std::optional<int64_t> round_trip;
  size_t count = 0;
  void OnTransaction(const Connection&, const Transaction& t) override {
    phases = PhasesOf(t);
    round_trip = RoundTrip(t);
    ++count;
  }
};

// Every action is a frame, a microsecond after the one before.
struct PhasesTest : testing::Test {
  LastPhases ended;
  Session session{SessionOptions{}, {&ended}};
  EventScript script{session};

  PhasesTest() { script.Open(); }

  void Call(std::initializer_list<uint32_t> reads, std::initializer_list<uint32_t> writes) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
    for (const uint32_t handle : reads) AddRead(header, 88, {handle, 16, 0});
    for (const uint32_t handle : writes) AddWriteChunk(header, {{handle, 16, 0}});
    script.Send(0, header, MakeCall(1, kProgram, 3, 1, Opaque(Pattern(32))));
  }
  // `written`: what the Reply says of each Write chunk.
  void Reply(std::initializer_list<std::pair<uint32_t, uint32_t>> written = {}) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
    for (const auto& [handle, length] : written) AddWriteChunk(header, {{handle, length, 0}});
    script.Send(1, header, MakeReply(1, Words({0})));
  }
  void Request(uint32_t handle) { script.ReadRequest(1, handle, 0, 16); }
  void Response(uint32_t handle) { script.ReadResponse(0, handle, 0, Pattern(16)); }
  void Write(uint32_t handle, uint64_t offset = 0, size_t length = 16) {
    script.Write(1, handle, offset, Pattern(length));
  }
  void Expect(const Nanoseconds& ns, bool complete) {
    EXPECT_EQ(ended.count, 1u);
    EXPECT_EQ(ended.phases.ns, ns);
    EXPECT_EQ(ended.phases.complete, complete);
    if (!complete) return;
    int64_t sum = 0;
    for (const auto& phase : ns) sum += phase.value_or(0);
    EXPECT_EQ(sum, ended.round_trip);
  }
};

TEST_F(PhasesTest, WithoutRdmaAllIsService) {
  Call({}, {});
  Reply();
  Expect({kNot, kNot, 1000, kNot, kNot}, true);
}

TEST_F(PhasesTest, ReadsAndWrites) {
  Call({7, 8}, {9, 10});
  Request(7);
  Request(8);
  Response(7);
  Response(8);
  Write(9);
  Write(10);
  Reply({{9, 16}, {10, 16}});
  Expect({1000, 3000, 1000, 1000, 1000}, true);
}

TEST_F(PhasesTest, WritesThatBeginWhileReading) {
  Call({7}, {9, 10});
  Request(7);
  Write(9);
  Response(7);
  Write(10);
  Reply({{9, 16}, {10, 16}});
  Expect({1000, 2000, 0, 1000, 1000}, true);
}

TEST_F(PhasesTest, WritesThatEndWhileReading) {
  Call({7}, {9});
  Request(7);
  Write(9);
  Response(7);
  Reply({{9, 16}});
  Expect({1000, 2000, 0, 0, 1000}, true);
}

TEST_F(PhasesTest, NothingWrittenToAnOfferedChunkIsNoPhase) {
  Call({}, {9});
  Reply({{9, 0}});
  Expect({kNot, kNot, 1000, kNot, kNot}, true);
}

TEST_F(PhasesTest, AWriteThatOnlyTheReplyShows) {
  Call({}, {9, 10});
  Write(10);
  Reply({{9, 16}, {10, 16}});
  Expect({}, false);
}

TEST_F(PhasesTest, APartOfAWriteThatOnlyTheReplyShows) {
  Call({}, {9});
  Write(9, 0, 8);
  Reply({{9, 16}});
  Expect({}, false);
}

TEST_F(PhasesTest, AReadThatMustHaveBeen) {
  Call({7}, {});
  Reply();
  Expect({}, false);
}

TEST_F(PhasesTest, ALostReadAmongOthers) {
  Call({7, 8}, {});
  script.Gap(1);
  Request(8);
  Response(8);
  Reply();
  Expect({}, false);
}

TEST_F(PhasesTest, ALostLastResponse) {
  Call({7, 8}, {});
  Request(7);
  Request(8);
  Response(7);
  script.Gap(0);
  Reply();
  Expect({1000, kNot, kNot, kNot, kNot}, false);
}

TEST_F(PhasesTest, ALostResponseInTheMiddleChangesNothing) {
  Call({7, 8}, {});
  Request(7);
  Request(8);
  script.Gap(0);
  Response(8);
  Reply();
  Expect({1000, 3000, 1000, kNot, kNot}, true);
}

TEST_F(PhasesTest, ThePullEndsWithTheLastPacketOfTheResponse) {
  Call({7}, {});
  Request(7);
  script.ReadResponse(0, 7, 8, Pattern(8));
  script.ReadResponseBegins(0, 7, 0, Pattern(8));  // was lost on the way to the capture, and sent again
  Reply();
  Expect({1000, 1000, 2000, kNot, kNot}, true);
}

TEST_F(PhasesTest, ASendWhoseEndWasLost) {
  script.SendLost(0, MakeHeader(rpcrdma::kMsg, 1), MakeCall(1, kProgram, 3, 1, Opaque(Pattern(32))), 60);
  Reply();
  Expect({}, false);
}

TEST_F(PhasesTest, UnansweredHasNone) {
  Call({}, {});
  script.Close();
  Expect({}, false);
  EXPECT_EQ(ended.round_trip, std::nullopt);
}

TEST_F(PhasesTest, AnErrorBeforeAnythingWasRead) {
  Call({7}, {9});
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 1);
  error.err = rpcrdma::kErrChunk;
  script.Send(1, error);
  Expect({kNot, kNot, 1000, kNot, kNot}, true);
}

TEST(ElapsedTest, OnlyForwardAndOnOneClock) {
  EXPECT_EQ(Elapsed({1, 100}, {2, 350}), 250);
  EXPECT_EQ(Elapsed({1, 100}, {2, 100}), 0);
  EXPECT_EQ(Elapsed({1, 100}, {2, 99}), std::nullopt);
  EXPECT_EQ(Elapsed({1, 100}, {0, 350}), std::nullopt);
  EXPECT_EQ(Elapsed({1, 100, false}, {2, 350}), std::nullopt);
  EXPECT_EQ(Elapsed({1, -kFarthestTime}, {2, kFarthestTime}), INT64_MAX - 1);
}

}  // namespace
}  // namespace stag::session
