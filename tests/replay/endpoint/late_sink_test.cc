// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bytes that events show and a LateSink has not looked at: an endpoint does not copy them, and neither its user nor its
// peer can change them before.
#include <poll.h>

#include "tests/replay/endpoint/fabric.h"
#include "tests/replay/endpoint/pair.h"

namespace stag::endpoint::test {
namespace {

constexpr size_t kShown = 180'000;  // its last segment is long, too

// The test calls Look. With `gives_in`, WaitFor calls it, too.
struct Late : fabric::LateSink {
  void OnEvent(const fabric::Event& event) override {
    const fabric::Content* const content = event.content();
    if (content) copied += content->bytes.size();
  }
  uint64_t OnStayingEvent(const fabric::Event& event) override {
    shown.push_back(event.content()->bytes);
    return ++given;
  }
  bool Passed(uint64_t mark) const override { return mark <= passed; }
  void WaitFor(uint64_t mark, uint32_t) override {
    EXPECT_LE(mark, given);
    ++waited;
    if (gives_in) Look();
  }
  void Look() {
    for (const Bytes bytes : shown) seen.insert(seen.end(), bytes.begin(), bytes.end());
    shown.clear();
    passed = given;
  }
  bool Shows(MutableBytes memory) const {
    return !shown.empty() && std::ranges::all_of(shown, [&](Bytes bytes) { return Contains(memory, bytes); });
  }
  std::vector<Bytes> shown;
  Buffer seen;
  uint64_t given = 0, passed = 0;
  size_t copied = 0;
  int waited = 0;
  bool gives_in = false;
};

// The client reports.
struct LatePair {
  Late sink;
  EventLog log{sink};
  Pair pair;
  Peer& client = pair.client;
  Peer& server = pair.server;

  LatePair() : LatePair(Fabric().client(), Fabric().server(), Fabric().address(), {}) {}
  LatePair(Transport& from, Transport& to, const std::string& address, EndpointOptions options)
      : pair(from, to, address, Reported(std::move(options), &log), {}) {}
  static EndpointOptions Reported(EndpointOptions options, EventLog* events) {
    options.events = events;
    return options;
  }
  // The client writes all of `from`, which the sink does not look at, and the bytes arrive.
  void WriteTo(const Region& from, const Region& target) {
    ASSERT_TRUE(client->Write(from.bytes, target.handle, target.offset, 1));
    ASSERT_TRUE(pair.Drive(
        [&] { return std::ranges::equal(target.bytes, from.bytes) && (sink.gives_in || sink.Shows(from.bytes)); }));
  }
  void Settle() {
    for (int i = 0; i < 200; ++i) client.Poll({}), server.Poll({});
  }
};

struct SoftLatePair : LatePair {
  explicit SoftLatePair(const EndpointOptions& options = {})
      : LatePair(*MakeSoftIwarp(), *MakeSoftIwarp(), "127.0.0.1", options) {}
};

bool Readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

TEST(LateSinkOnAnyFabric, CompletionsWaitForIt) {
  LatePair late;
  ASSERT_TRUE(late.pair.connected());
  Region from = Registered(late.client, Pattern(kShown), Access::kLocal);
  Region target = Registered(late.server, Buffer(kShown), Access::kRemoteWrite);
  late.WriteTo(from, target);
  ASSERT_TRUE(Send(late.client, Pattern(8), 2));
  ASSERT_TRUE(late.pair.Drive([&] { return late.server.messages.size() == 1; }));
  late.Settle();
  EXPECT_TRUE(late.client.work.empty());
  EXPECT_LE(late.sink.copied, 100u);  // the Send
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(late.client.Poll(milliseconds(20)), 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(19));
  EXPECT_GT(late.sink.waited, 0);
  late.sink.Look();
  EXPECT_EQ(late.sink.seen, Pattern(kShown));
  ASSERT_TRUE(late.pair.Drive([&] { return late.client.work.size() == 2; }));
  EXPECT_EQ(late.client.work[0].id, 1u);
  EXPECT_EQ(late.client.work[1].id, 2u);
}

TEST(LateSinkOnAnyFabric, TheDescriptorShowsWhatIsKeptBack) {
  LatePair late;
  ASSERT_TRUE(late.pair.connected());
  Region from = Registered(late.client, Pattern(kShown), Access::kLocal);
  Region target = Registered(late.server, Buffer(kShown), Access::kRemoteWrite);
  const int descriptor = late.client->descriptor();
  late.WriteTo(from, target);
  late.Settle();
  ASSERT_TRUE(late.client.work.empty());
  EXPECT_TRUE(Readable(descriptor));
  late.sink.Look();
  ASSERT_TRUE(late.pair.Drive([&] { return late.client.work.size() == 1; }));
  late.Settle();
  EXPECT_FALSE(Readable(descriptor));
}

// What an RDMA Read brought.
TEST(LateSinkOnAnyFabric, ReadsWaitForIt) {
  LatePair late;
  ASSERT_TRUE(late.pair.connected());
  Region into = Registered(late.client, Buffer(kShown), Access::kLocal);
  Region source = Registered(late.server, Pattern(kShown), Access::kRemoteRead);
  ASSERT_TRUE(late.client->Read(into.bytes, source.handle, source.offset, 1));
  ASSERT_TRUE(late.pair.Drive([&] { return Content(into.bytes) == Pattern(kShown) && late.sink.given > 0; }));
  late.Settle();
  EXPECT_TRUE(late.client.work.empty());
  late.sink.Look();
  EXPECT_EQ(late.sink.seen, Pattern(kShown));
  EXPECT_TRUE(late.pair.Drive([&] { return late.client.Count(Work::kRead) == 1; }));
}

TEST(LateSinkOnAnyFabric, MemoryGoesOnceItHasLooked) {
  LatePair late;
  ASSERT_TRUE(late.pair.connected());
  Region from = Registered(late.client, Pattern(kShown), Access::kLocal);
  Region other = Registered(late.client, Pattern(kShown), Access::kLocal);
  Region target = Registered(late.server, Buffer(kShown), Access::kRemoteWrite);
  late.WriteTo(from, target);
  const int waited = late.sink.waited;
  late.client->Deregister(other);
  EXPECT_EQ(late.sink.waited, waited);
  EXPECT_TRUE(late.sink.Shows(from.bytes));
  late.sink.gives_in = true;
  late.client->Deregister(from);
  EXPECT_EQ(late.sink.waited, waited + 1);
  EXPECT_EQ(late.sink.seen, Pattern(kShown));
}

TEST(LateSinkOnAnyFabric, TheEndWaitsForIt) {
  for (const bool gone : {false, true}) {
    LatePair late;
    ASSERT_TRUE(late.pair.connected());
    Region from = Registered(late.client, Pattern(kShown), Access::kLocal);
    Region target = Registered(late.server, Buffer(kShown), Access::kRemoteWrite);
    late.WriteTo(from, target);
    late.Settle();
    ASSERT_TRUE(late.sink.Shows(from.bytes));
    late.sink.gives_in = true;
    if (gone) {
      late.client.endpoint.reset();
    } else {
      late.client->Disconnect();
      ASSERT_TRUE(late.pair.DriveToEnd());
      EXPECT_EQ(late.client.work.size(), 1u);
    }
    EXPECT_TRUE(late.sink.shown.empty());
    EXPECT_EQ(late.sink.seen, Pattern(kShown));
  }
}

// The peer writes again to memory that the sink has not looked at. (Over verbs the device does that, and no event shows
// it.)
TEST(LateSink, TheSameMemoryIsWrittenAgain) {
  SoftLatePair late;
  Late& sink = late.sink;
  Pair& pair = late.pair;
  ASSERT_TRUE(pair.connected());
  Region target = Registered(pair.client, Buffer(2 * kShown), Access::kRemoteWrite);
  Region from = Registered(pair.server, Pattern(kShown, 1), Access::kLocal);
  Region again = Registered(pair.server, Pattern(kShown, 2), Access::kLocal);
  ASSERT_TRUE(Send(pair.client, {}));
  ASSERT_TRUE(pair.server->Write(from.bytes, target.handle, target.offset, 1));
  ASSERT_TRUE(pair.server->Write(from.bytes, target.handle, target.offset + kShown, 2));
  ASSERT_TRUE(pair.Drive([&] { return Content(target.bytes.last(kShown)) == Pattern(kShown, 1); }));
  EXPECT_EQ(sink.waited, 0);
  EXPECT_TRUE(sink.Shows(target.bytes));
  sink.gives_in = true;
  ASSERT_TRUE(pair.server->Write(again.bytes, target.handle, target.offset, 3));
  ASSERT_TRUE(pair.Drive([&] { return Content(target.bytes.first(kShown)) == Pattern(kShown, 2); }));
  EXPECT_GT(sink.waited, 0);
  Buffer both = Pattern(kShown, 1);
  both.insert(both.end(), both.begin(), both.end());
  ASSERT_GE(sink.seen.size(), both.size());
  EXPECT_TRUE(std::equal(both.begin(), both.end(), sink.seen.begin()));
}

// More places than an endpoint remembers: the rest is copied.
TEST(LateSink, ManyPlaces) {
  EndpointOptions options;
  options.sends = 1000;
  SoftLatePair late(options);
  Late& sink = late.sink;
  Pair& pair = late.pair;
  ASSERT_TRUE(pair.connected());
  constexpr size_t kPiece = EventLog::kLong, kWrites = 400;
  Region from = Registered(pair.client, Pattern(3 * kPiece), Access::kLocal);
  Region target = Registered(pair.server, Buffer(kPiece), Access::kRemoteWrite);
  for (size_t i = 0; i < kWrites; ++i)  // not one behind the other
    ASSERT_TRUE(pair.client->Write(from.bytes.subspan(i % 2 * 2 * kPiece, kPiece), target.handle, target.offset, i));
  pair.client->Flush();
  ASSERT_TRUE(Send(pair.client, {}, kWrites));
  ASSERT_TRUE(pair.Drive([&] { return pair.server.messages.size() == 1; }));
  EXPECT_GT(sink.given, 0u);
  EXPECT_GT(sink.copied, 0u);
  EXPECT_EQ(sink.given * kPiece + sink.copied, kWrites * kPiece);
  sink.Look();
  ASSERT_TRUE(pair.Drive([&] { return pair.client.work.size() == kWrites + 1; }));
}

// With one work at a time all waits for the sink: soon nearly everything is copied.
TEST(LateSink, OneAtATime) {
  SoftLatePair late;
  Late& sink = late.sink;
  Pair& pair = late.pair;
  ASSERT_TRUE(pair.connected());
  constexpr size_t kWrites = 1000;
  Region from = Registered(pair.client, Pattern(EventLog::kLong), Access::kLocal);
  Region target = Registered(pair.server, Buffer(EventLog::kLong), Access::kRemoteWrite);
  sink.gives_in = true;
  for (size_t i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(pair.client->Write(from.bytes, target.handle, target.offset, i));
    ASSERT_TRUE(pair.Drive([&] { return pair.client.work.size() == i + 1; }));
  }
  EXPECT_GT(sink.given, 1u);  // tried again
  EXPECT_LT(sink.given, 20u);
  EXPECT_EQ(sink.waited, static_cast<int>(sink.given));
  EXPECT_EQ(sink.given * EventLog::kLong + sink.copied, kWrites * EventLog::kLong);
}

// Short bytes, and a sink that is not late: everything as ever.
TEST(LateSink, NothingIsKeptBackWithoutNeed) {
  SoftLatePair late;
  Late& sink = late.sink;
  Pair& pair = late.pair;
  ASSERT_TRUE(pair.connected());
  Region from = Registered(pair.client, Pattern(EventLog::kLong - 1), Access::kLocal);
  Region target = Registered(pair.server, Buffer(EventLog::kLong), Access::kRemoteWrite);
  ASSERT_TRUE(pair.client->Write(from.bytes, target.handle, target.offset, 1));
  EXPECT_TRUE(pair.Drive([&] { return pair.client.work.size() == 1; }));
  EXPECT_EQ(sink.given, 0u);
  EXPECT_EQ(sink.copied, EventLog::kLong - 1);
}

}  // namespace
}  // namespace stag::endpoint::test
