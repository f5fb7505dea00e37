// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventQueue: every event arrives as it was, in order, also when the sink is slow, the queue small and the events those
// of several threads with one EventLog; bytes that stay are not copied; and what the sink throws.
#include "replay/record/event_queue.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "replay/endpoint/event_log.h"
#include "tests/replay/record/recording.h"
#include "tests/support/event_script.h"

namespace stag::record {
namespace {

using stag::test::EventScript;
using stag::test::MakeHeader;

// Traffic with all kinds of events on two connections; the bytes that events refer to are gone after each.
void Play(fabric::Sink& sink, uint32_t rounds) {
  EventScript first(sink, 1), second(sink, 2);
  first.OpenWith(stag::test::Pattern(8, 1), stag::test::Pattern(24, 2));
  second.OpenMidstream();
  for (uint32_t i = 0; i < rounds; ++i) {
    EventScript& script = i % 2 ? first : second;
    script.Send(0, MakeHeader(0, i), stag::test::Pattern(40 + i % 7, i));
    script.Write(1, 7, i * 4096, stag::test::Pattern(3000, i));
    script.ReadRequest(1, 9, i, 500);
    script.ReadResponse(0, 9, i, stag::test::Pattern(500, i + 1));
    script.Send(1, MakeHeader(0, i), {});
  }
  first.Gap(0);
  second.Nak(1, fabric::NakKind::kRemoteAccess);
  first.Close();
}

std::vector<std::string> Played(uint32_t rounds) {
  test::EventList events;
  Play(events, rounds);
  return test::Lines(events);
}

TEST(EventQueue, EveryEventAsItWas) {
  test::EventList events;
  EventQueue queue(events);
  Play(queue, 2000);
  queue.Finish();
  EXPECT_EQ(test::Lines(events), Played(2000));
  EXPECT_EQ(queue.waits() > 0, queue.waited().count() > 0);
}

// Lets the first event wait for `go`.
struct Slow : fabric::Sink {
  void OnEvent(const fabric::Event& event) override {
    for (; !go; std::this_thread::yield()) started = true;
    events.OnEvent(event);
  }
  std::atomic<bool> started = false, go = false;
  test::EventList events;
};

TEST(EventQueue, ATrafficThatIsFasterWaits) {
  for (const bool by_events : {false, true}) {
    Slow sink;
    EventQueue queue(sink, by_events ? 1 << 20 : 10'000, by_events ? 10 : 1000);
    std::atomic<bool> over = false;
    std::thread traffic([&] {
      Play(queue, 300);
      over = true;
    });
    while (!sink.started || queue.waits() == 0) std::this_thread::yield();
    EXPECT_FALSE(over);  // 1500 events and a megabyte are more than it holds
    sink.go = true;
    traffic.join();
    queue.Finish();
    EXPECT_GT(queue.waited().count(), 0);
    EXPECT_EQ(test::Lines(sink.events), Played(300));
  }
}

// A few events do not wait for more.
TEST(EventQueue, LittleTrafficArrives) {
  struct Count : fabric::Sink {
    void OnEvent(const fabric::Event&) override { ++events; }
    std::atomic<int> events = 0;
  } sink;
  EventQueue queue(sink);
  EventScript script(queue, 1);
  script.OpenMidstream();
  int sent = 1;
  for (int i = 0; i < 3; ++i) {
    while (sink.events < sent) std::this_thread::yield();  // the test's time limit ends it
    script.Send(0, MakeHeader(0, 1), {});
    ++sent;
  }
  while (sink.events < sent) std::this_thread::yield();
  EXPECT_EQ(sink.events, sent);
}

// Reports the events of one connection as an endpoint does.
class Reporter : public fabric::Sink {
 public:
  explicit Reporter(endpoint::EventLog& log) : log_(log) { log_.OpenConnection(info_); }
  uint32_t id() const { return info_.id; }
  void OnEvent(const fabric::Event& event) override {
    log_.InFrame([&](const FrameRef& frame) {
      fabric::Event own = event;
      own.connection = &info_;
      own.frame = own.first_frame = own.now = frame;
      log_.OnEvent(own);
    });
  }

 private:
  endpoint::EventLog& log_;
  fabric::ConnectionInfo info_;
};

// What goes over connection `id`: nothing of it goes over another.
void PlayOne(fabric::Sink& sink, uint32_t id, uint32_t rounds) {
  EventScript script(sink, id);
  script.OpenWith(stag::test::Pattern(8, id), {});
  for (uint32_t i = 0; i < rounds; ++i) {
    script.Send(0, MakeHeader(0, i), stag::test::Pattern(40 + i % 7, id + i));
    script.Write(1, id, i * 4096, stag::test::Pattern(3000, id * i));
    script.Send(1, MakeHeader(0, i), {});
  }
  script.Close();
}

TEST(EventQueue, ThreadsThatShareALog) {
  constexpr uint32_t kThreads = 4, kRounds = 200;
  Slow sink;
  EventQueue queue(sink, 100'000, 100);
  endpoint::EventLog log(queue);
  std::vector<std::unique_ptr<Reporter>> reporters;
  for (uint32_t i = 0; i < kThreads; ++i) reporters.push_back(std::make_unique<Reporter>(log));
  std::atomic<uint32_t> over = 0;
  std::vector<std::thread> threads;
  for (const auto& reporter : reporters)
    threads.emplace_back([&over, &reporter] {
      PlayOne(*reporter, reporter->id(), kRounds);
      ++over;
    });
  while (!sink.started || queue.waits() == 0) std::this_thread::yield();
  EXPECT_EQ(over, 0u);  // each has more events than the queue holds
  sink.go = true;
  for (std::thread& thread : threads) thread.join();
  queue.Finish();
  EXPECT_GT(queue.waited().count(), 0);

  uint64_t frame = 0;
  std::vector<test::EventList> of(kThreads + 1);
  for (const stag::test::Recorded& event : sink.events.events) {
    EXPECT_EQ(event.event.frame.number, ++frame);
    ASSERT_TRUE(event.connection.id >= 1 && event.connection.id <= kThreads);
    of[event.connection.id].events.push_back(event);
  }
  for (uint32_t id = 1; id <= kThreads; ++id) {
    test::EventList alone;
    PlayOne(alone, id, kRounds);
    EXPECT_EQ(test::Lines(of[id]), test::Lines(alone));
  }
}

// Not copied, given in their order, and passed only then.
TEST(EventQueue, BytesThatStay) {
  struct Where : Slow {
    void OnEvent(const fabric::Event& event) override {
      Slow::OnEvent(event);
      at.push_back(event.content()->bytes.data());
    }
    std::vector<const std::byte*> at;
  } sink;
  EventQueue queue(sink, 1000);  // which bytes that stay do not fill
  const std::vector<std::byte> bytes = stag::test::Pattern(5000);
  fabric::ConnectionInfo info;
  const auto write = [&](size_t from) {
    fabric::Write what;
    what.bytes = Bytes(bytes).subspan(from, 1000);
    what.length = 1000;
    return fabric::Event(info, 0, {1, 1}, {1, 1}, what);
  };
  const uint64_t first = queue.OnStayingEvent(write(0)), second = queue.OnStayingEvent(write(1000));
  queue.OnEvent(write(2000));
  const uint64_t third = queue.OnStayingEvent(write(3000));
  EXPECT_TRUE(0 < first && first < second && second < third);
  while (!sink.started) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  queue.WaitFor(first, 5000);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5));
  EXPECT_FALSE(queue.Passed(first));
  EXPECT_EQ(queue.waits(), 1u);
  sink.go = true;
  while (!queue.Passed(third)) queue.WaitFor(third, 100'000'000);
  EXPECT_TRUE(queue.Passed(first) && queue.Passed(second));
  EXPECT_FALSE(queue.Passed(third + 1));
  EXPECT_GE(queue.waited(), std::chrono::milliseconds(5));
  queue.Finish();
  ASSERT_EQ(sink.at.size(), 4u);
  for (const size_t i : {0u, 1u, 3u}) EXPECT_EQ(sink.at[i], bytes.data() + i * 1000);
  EXPECT_FALSE(Contains(bytes, {sink.at[2], 1}));
}

// Somebody waits, and the thread sleeps.
TEST(EventQueue, WhoWaitsIsServedAtOnce) {
  test::EventList events;
  EventQueue queue(events);
  const std::vector<std::byte> bytes = stag::test::Pattern(100);
  fabric::ConnectionInfo info;
  fabric::Write write;
  write.bytes = bytes;
  write.length = 100;
  for (int i = 0; i < 20; ++i) {
    const uint64_t mark = queue.OnStayingEvent(fabric::Event(info, 0, {1, 1}, {1, 1}, write));
    queue.WaitFor(mark, 100'000'000);
    EXPECT_TRUE(queue.Passed(mark));
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
}

TEST(EventQueue, AnEventThatIsLargerThanTheQueue) {
  test::EventList events;
  EventQueue queue(events, 100);
  Play(queue, 10);
  queue.Finish();
  EXPECT_EQ(test::Lines(events), Played(10));
}

TEST(EventQueue, WhatTheSinkThrows) {
  struct Broken : fabric::Sink {
    void OnEvent(const fabric::Event&) override { throw std::runtime_error("no memory"); }
  } sink;
  EventQueue queue(sink, 1000, 2);
  const uint64_t mark = queue.OnStayingEvent(fabric::Event(fabric::ConnectionInfo{}, 0, {}, {}, fabric::Write{}));
  Play(queue, 100);  // does not wait for ever
  while (!queue.Passed(mark)) queue.WaitFor(mark, 100'000'000);
  EXPECT_THROW(queue.Finish(), std::runtime_error);
}

TEST(EventQueue, Nothing) {
  test::EventList events;
  EventQueue queue(events);
  queue.Finish();
  EXPECT_TRUE(events.events.empty());
}

}  // namespace
}  // namespace stag::record
