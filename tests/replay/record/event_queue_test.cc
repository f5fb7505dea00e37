// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventQueue: every event arrives as it was, in order, also when the sink is slow and the queue small; and what the
// sink throws.
#include "replay/record/event_queue.h"

#include <atomic>
#include <stdexcept>

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
  Play(queue, 100);  // does not wait for ever
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
