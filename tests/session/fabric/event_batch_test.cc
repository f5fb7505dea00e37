// SPDX-License-Identifier: GPL-2.0-or-later
//
// EventBatch: what went in comes out, when what it was a view of is long gone.
#include "session/fabric/event_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/session/fabric/recorder.h"

namespace stag::fabric {
namespace {

using stag::test::Describe;
using stag::test::Recorder;

std::vector<std::byte> Filled(size_t size, int with) {
  return std::vector<std::byte>(size, static_cast<std::byte>(with));
}

// Everything as text, in order.
class Teller : public Recorder {
 public:
  void OnEvent(const Event& e) override {
    Recorder::OnEvent(e);
    told.push_back(Describe(events.back()));
  }
  void OnAside(const Aside& aside) override {
    told.push_back("aside " + std::to_string(aside.frame.number) + ' ' + std::to_string(aside.bytes.size()) + ' ' +
                   std::to_string(aside.bytes.empty() ? 0 : std::to_integer<int>(aside.bytes.front())));
  }
  void OnRecovery(const Recovery& recovery) override {
    told.push_back("recovery " + std::to_string(recovery.frame.number) + (recovery.mended ? " mended" : ""));
  }
  std::vector<std::string> told;
};

void AddSends(EventBatch& batch, Teller& direct, size_t count, size_t bytes) {
  for (size_t i = 0; i < count; ++i) {
    ConnectionInfo info;
    info.id = static_cast<ConnectionId>(i + 1);
    const std::vector<std::byte> sent = Filled(bytes, static_cast<int>(i)), said = Filled(7, 2);
    Event event;
    if (i % 2 == 0) {
      event.what = Send{{sent, bytes}, false, {}, {}};
    } else {
      Setup setup;
      setup.private_data = sent;
      event.what = setup;
    }
    event.connection = &info;
    event.now.number = i + 1;
    batch.Add(event, 100 + i, {}, {});
    direct.OnEvent(event);
    if (i % 3 == 0) {
      Aside aside;
      aside.frame.number = i + 1;
      aside.bytes = said;
      batch.Add(aside, 100 + i);
      direct.OnAside(aside);
    }
    if (i % 5 == 0) {
      Recovery recovery;
      recovery.frame.number = i + 1;
      recovery.mended = i > 0;
      batch.Add(recovery, 100 + i);
      direct.OnRecovery(recovery);
    }
  }
}

TEST(EventBatch, KeepsOrderBytesAndConnections) {
  EventBatch batch;
  for (const size_t bytes : {0u, 1u, 1000u, 65536u, 65537u, 300000u}) {
    Teller direct, later;
    AddSends(batch, direct, 10, bytes);
    EXPECT_EQ(batch.size(), 16u);
    EXPECT_EQ(batch.bytes(), 10 * bytes + 4 * 7);
    std::vector<uint64_t> numbers, frames;
    batch.Give(later, [&](uint64_t number, const FrameRef& now) {
      numbers.push_back(number);
      frames.push_back(now.number);
    });
    EXPECT_EQ(later.told, direct.told) << bytes;
    ASSERT_EQ(numbers.size(), 16u);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], frames[i] + 99);
    batch.Clear();
    EXPECT_EQ(batch.size(), 0u);
    EXPECT_EQ(batch.bytes(), 0u);
  }
}

// What is part of the frame is kept with the frame's memory; what is not is copied.
TEST(EventBatch, KeepsFramesWithoutCopies) {
  const auto memory_of_frame = std::make_shared<std::byte[]>(1000);
  const Bytes frame(memory_of_frame.get() + 100, 500);
  const std::vector<std::byte> elsewhere = Filled(50, 1);
  EventBatch batch;
  {
    const FrameMemory memory{memory_of_frame, 1000};
    const ConnectionInfo info;
    for (const Bytes bytes : {frame, frame.first(10), frame.last(10), frame.subspan(3, 4), Bytes(elsewhere)}) {
      Event event;
      event.connection = &info;
      event.what = Send{{bytes, bytes.size()}, false, {}, {}};
      batch.Add(event, 1, frame, memory);
    }
  }
  EXPECT_EQ(batch.bytes(), 1000u + 50u);
  EXPECT_EQ(memory_of_frame.use_count(), 2);
  class : public Sink {
   public:
    void OnEvent(const Event& event) override { given.push_back(event.send().bytes); }
    std::vector<Bytes> given;
  } later;
  batch.Give(later, [](uint64_t, const FrameRef&) {});
  ASSERT_EQ(later.given.size(), 5u);
  EXPECT_EQ(later.given[0].data(), frame.data());
  EXPECT_EQ(later.given[2].data(), frame.data() + 490);
  EXPECT_EQ(later.given[3].data(), frame.data() + 3);
  EXPECT_NE(later.given[4].data(), elsewhere.data());
  batch.Clear();
  EXPECT_EQ(memory_of_frame.use_count(), 1);
  EXPECT_EQ(batch.bytes(), 0u);
}

TEST(EventBatch, BytesThatStayAreNotCopied) {
  const std::vector<std::byte> bytes = Filled(100'000, 1);
  EventBatch batch;
  {
    const ConnectionInfo info;
    Event event;
    event.connection = &info;
    event.what = Send{{bytes, bytes.size()}, false, {}, {}};
    batch.AddStaying(event, 7);
  }
  EXPECT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.bytes(), 0u);
  class : public Sink {
   public:
    void OnEvent(const Event& event) override { given = event.send().bytes; }
    Bytes given;
  } later;
  batch.Give(later, [](uint64_t number, const FrameRef&) { EXPECT_EQ(number, 7u); });
  EXPECT_EQ(later.given.data(), bytes.data());
  EXPECT_EQ(later.given.size(), bytes.size());
}

TEST(EventBatch, AnEmptyOneGivesNothing) {
  EventBatch batch;
  Teller later;
  batch.Give(later, [](uint64_t, const FrameRef&) { FAIL(); });
  EXPECT_TRUE(later.told.empty());
}

}  // namespace
}  // namespace stag::fabric
