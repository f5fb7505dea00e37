// SPDX-License-Identifier: GPL-2.0-or-later
//
// ShardedAnalysis: who gets which connection, that results come in order of the events, that memory is bounded, and
// that an exception in any thread reaches the caller.
#include "cli/analysis/sharded_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "tests/support/event_fields.h"

namespace stag::cli {
namespace {

using fabric::ConnectionInfo;
using fabric::Event;
using fabric::EventKind;

// Notes the number of packets and the connection of each gap. With `spin` it sleeps at every 64th gap.
struct Note {
  uint64_t gap = 0;
  fabric::ConnectionId connection = 0;
  size_t shard = 0;
  std::thread::id thread;
};

class NotingShard final : public ShardResults<Note>, public session::Observer {
 public:
  NotingShard(size_t index, std::vector<Note>& all, int spin) : index_(index), all_(all), spin_(spin) {}
  std::vector<session::Observer*> Observers() override { return {this}; }
  void OnGap(const session::Connection& connection, const Event& event) override {
    if (spin_ > 0 && event.gap().size % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(spin_));
    EXPECT_EQ(clock().frame, event.now.number);
    EXPECT_EQ(clock().first_time_ns, 17);
    Emit([&](Note& note) { note = {event.gap().size, connection.info.id, index_, std::this_thread::get_id()}; });
  }
  void OnAside(const fabric::Aside& aside) override {
    Emit([&](Note& note) { note = {aside.length, 0, index_, std::this_thread::get_id()}; });
  }
  void OnRecovery(const session::Connection& connection, const fabric::Recovery& recovery) override {
    Emit([&](Note& note) { note = {recovery.frame.number, connection.info.id, index_, std::this_thread::get_id()}; });
  }
  void OnConnectionClosed(const session::Connection& connection, const Event&) override {
    closed.insert(connection.info.id);
    over += clock().over ? 1 : 0;
  }

  std::set<fabric::ConnectionId> closed;
  size_t over = 0;  // of them, after the last frame

 private:
  void Deliver(Note& note) override { all_.push_back(note); }

  size_t index_;
  std::vector<Note>& all_;
  int spin_;
};

ConnectionInfo InfoOf(fabric::ConnectionId id, int a, int b) {
  ConnectionInfo info;
  info.id = info.slot = id;
  for (const size_t side : {0u, 1u}) {
    info.endpoint[side].address.kind = Address::Kind::kIpv4;
    info.endpoint[side].address.bytes[3] = static_cast<std::byte>(side == 0 ? a : b);
    info.endpoint[side].number = static_cast<uint32_t>(id);
  }
  return info;
}

struct Rig {
  explicit Rig(size_t count) {
    std::vector<Shard*> all;
    for (size_t i = 0; i < count; ++i) {
      shards.push_back(std::make_unique<NotingShard>(i, notes, static_cast<int>(i) * 200));
      all.push_back(shards.back().get());
    }
    sink = std::make_unique<ShardedAnalysis>(session::SessionOptions{}, all, ShardedAnalysis::HandOver::kAlways);
    first.ref.time_ns = 17;
    sink->OnFrame(first, none);
  }

  // Connection `id` is between hosts `a` and `b`.
  void Tell(EventKind kind, fabric::ConnectionId id, int a, int b) {
    const ConnectionInfo info = InfoOf(id, a, b);
    stag::test::EventFields fields;
    fields.gap_size = ++frame;
    Event event = stag::test::EventOf(kind, fields);
    event.connection = &info;
    event.frame.number = event.first_frame.number = event.now.number = frame;
    sink->OnEvent(event);
  }

  const FrameMemory none;
  Frame first;
  std::vector<Note> notes;
  std::vector<std::unique_ptr<NotingShard>> shards;
  std::unique_ptr<ShardedAnalysis> sink;
  uint64_t frame = 0;
};

TEST(ShardedAnalysis, ResultsComeInOrderWhicheverShardIsSlow) {
  for (const size_t count : {1u, 2u, 5u}) {
    Rig rig(count);
    constexpr fabric::ConnectionId kConnections = 20;
    constexpr int kEvents = 2000;
    for (fabric::ConnectionId id = 1; id <= kConnections; ++id)
      rig.Tell(EventKind::kOpened, id, static_cast<int>(id), 99);
    for (int i = 0; i < kEvents; ++i)
      for (fabric::ConnectionId id = 1; id <= kConnections; ++id)
        rig.Tell(EventKind::kGap, id, static_cast<int>(id), 99);
    rig.sink->Finish();
    ASSERT_EQ(rig.notes.size(), size_t{kConnections} * kEvents);
    std::set<size_t> used;
    std::set<std::thread::id> threads;
    for (size_t i = 0; i < rig.notes.size(); ++i) {
      ASSERT_EQ(rig.notes[i].gap, kConnections + 1 + i);
      used.insert(rig.notes[i].shard);
      threads.insert(rig.notes[i].thread);
    }
    EXPECT_EQ(used.size(), count);
    EXPECT_EQ(threads.size() > 1, count > 1);
    EXPECT_LE(threads.size(), count);
    size_t closed = 0;
    for (const auto& shard : rig.shards) closed += shard->closed.size();
    EXPECT_EQ(closed, kConnections);  // by the Finish of the sessions: nothing else has closed them
  }
}

// Recoveries are numbered among the events, and go where their connection is; those of none that is known, nowhere.
TEST(ShardedAnalysis, RecoveriesAreInOrder) {
  Rig rig(3);
  for (fabric::ConnectionId id = 1; id <= 6; ++id) rig.Tell(EventKind::kOpened, id, static_cast<int>(id), 99);
  for (fabric::ConnectionId i = 0; i < 3000; ++i) {
    const fabric::ConnectionId id = 1 + i % 7;
    fabric::Recovery recovery;
    recovery.connection = recovery.slot = id;
    recovery.frame.number = ++rig.frame;
    rig.sink->OnRecovery(recovery);
    if (id <= 6) rig.Tell(EventKind::kGap, id, static_cast<int>(id), 99);
  }
  rig.sink->Finish();
  ASSERT_GT(rig.notes.size(), 5000u);
  for (size_t i = 1; i < rig.notes.size(); ++i) {
    EXPECT_LT(rig.notes[i - 1].gap, rig.notes[i].gap);
    EXPECT_LE(rig.notes[i].connection, 6u);
  }
}

// Clock::over tells what the last frame closed from what its end did.
TEST(ShardedAnalysis, TheEndOfTheCapture) {
  Rig rig(2);
  for (fabric::ConnectionId id = 1; id <= 4; ++id) rig.Tell(EventKind::kOpened, id, static_cast<int>(id), 99);
  rig.Tell(EventKind::kClosed, 1, 1, 99);
  rig.sink->EndOfCapture();
  for (fabric::ConnectionId id = 2; id <= 4; ++id) rig.Tell(EventKind::kClosed, id, static_cast<int>(id), 99);
  rig.sink->Finish();
  EXPECT_EQ(rig.shards[0]->closed.size() + rig.shards[1]->closed.size(), 4u);
  EXPECT_EQ(rig.shards[0]->over + rig.shards[1]->over, 3u);
}

TEST(ShardedAnalysis, ConnectionsOfTwoHostsStayTogether) {
  Rig rig(4);
  for (fabric::ConnectionId id = 1; id <= 60; ++id) {
    const int client = static_cast<int>(id) % 6;
    const bool turned = id % 2 == 0;
    rig.Tell(EventKind::kOpened, id, turned ? 99 : client, turned ? client : 99);
    rig.Tell(EventKind::kGap, id, turned ? 99 : client, turned ? client : 99);
  }
  rig.sink->Finish();
  std::map<int, std::set<size_t>> shards_of;
  std::set<size_t> used;
  for (const Note& note : rig.notes) {
    shards_of[static_cast<int>(note.connection) % 6].insert(note.shard);
    used.insert(note.shard);
  }
  ASSERT_EQ(shards_of.size(), 6u);
  for (const auto& [client, shards] : shards_of) EXPECT_EQ(shards.size(), 1u) << client;
  EXPECT_EQ(used.size(), 4u);
}

// The memory of the frames goes from hand to hand, filled anew only when no shard needs it any more.
TEST(ShardedAnalysis, FramesAreNotCopied) {
  class Looking final : public ShardResults<Note>, public session::Observer {
   public:
    std::vector<session::Observer*> Observers() override { return {this}; }
    void OnRdma(const session::Connection&, const session::RdmaOperation& operation) override {
      std::this_thread::sleep_for(std::chrono::microseconds(1));
      const fabric::RdmaPacket& packet = operation.event->rdma();
      at.insert(packet.bytes.data());
      for (const std::byte each : packet.bytes) right += each == static_cast<std::byte>(packet.offset) ? 1 : 0;
    }
    std::set<const std::byte*> at;
    uint64_t right = 0;

   private:
    void Deliver(Note&) override {}
  };
  constexpr size_t kFrame = 16384, kFrames = 4000;
  Looking one, two;
  std::vector<std::shared_ptr<std::byte[]>> buffers;
  {
    ShardedAnalysis sink(session::SessionOptions{}, {&one, &two}, ShardedAnalysis::HandOver::kAlways);
    FrameMemory memory{nullptr, kFrame};
    for (size_t i = 0; i < kFrames; ++i) {
      memory.owner.reset();
      auto free = std::ranges::find_if(buffers, [](const auto& b) { return b.use_count() == 1; });
      if (free == buffers.end()) {
        buffers.push_back(std::make_shared_for_overwrite<std::byte[]>(kFrame));
        free = buffers.end() - 1;
      }
      memory.owner = *free;
      std::fill_n(free->get(), kFrame, static_cast<std::byte>(i));
      Frame frame;
      frame.bytes = {free->get(), kFrame};
      sink.OnFrame(frame, memory);
      ConnectionInfo info;
      info.id = info.slot = 1 + i % 2;
      info.endpoint[0].address.kind = info.endpoint[1].address.kind = Address::Kind::kIpv4;
      info.endpoint[0].address.bytes[3] = static_cast<std::byte>(info.id);
      fabric::Write write;
      write.offset = i % 256;
      write.bytes = frame.bytes.subspan(1);
      write.length = write.bytes.size();
      sink.OnEvent({info, 0, {}, {}, write});
    }
    sink.Finish();
  }
  EXPECT_EQ(one.right + two.right, kFrames * (kFrame - 1));
  EXPECT_LT(buffers.size(), kFrames / 2);  // rounds are bounded by what they keep
  for (const Looking* shard : {&one, &two})
    for (const std::byte* at : shard->at)
      EXPECT_TRUE(std::ranges::any_of(buffers, [&](const auto& b) { return b.get() + 1 == at; }));
}

TEST(ShardedAnalysis, WhatMayConcernAllGoesToAll) {
  Rig rig(3);
  fabric::Aside aside;
  aside.length = 1;
  aside.kind = fabric::Aside::Kind::kRpcbind;
  rig.sink->OnAside(aside);
  aside.length = 2;
  aside.kind = fabric::Aside::Kind::kRefused;
  rig.sink->OnAside(aside);
  rig.sink->Finish();
  ASSERT_EQ(rig.notes.size(), 4u);
  EXPECT_EQ(rig.notes[0].gap, 1u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(rig.notes[i].gap, 2u);
    EXPECT_EQ(rig.notes[i].shard, i - 1);
  }
}

// A clock shows which way takes less time, and events go that way; the results are in order across the changes.
class WhereItPays : public testing::Test {
 protected:
  class Counting final : public ShardResults<uint64_t>, public session::Observer {
   public:
    explicit Counting(WhereItPays& test) : test_(test) {}
    std::vector<session::Observer*> Observers() override { return {this}; }
    void OnGap(const session::Connection&, const Event& event) override {
      if (alone()) test_.now_ns += test_.analysis_ns;
      other_threads += std::this_thread::get_id() != reader_ ? 1 : 0;
      Emit([&](uint64_t& result) { result = event.gap().size; });
    }
    std::atomic<uint64_t> other_threads = 0;

   private:
    void Deliver(uint64_t& result) override {
      EXPECT_EQ(std::this_thread::get_id(), reader_);
      test_.all.push_back(result);
    }
    const std::thread::id reader_ = std::this_thread::get_id();
    WhereItPays& test_;
  };

  // So many periods of events. Each event takes the reading thread so long to read, and so long to analyse when it is
  // alone; with threads it takes so long in all.
  void Run(size_t periods, int64_t reading, int64_t analysis, int64_t threads) {
    analysis_ns = analysis;
    for (size_t i = 0; i < periods * ShardedAnalysis::kPeriodEvents; ++i) {
      const ConnectionInfo info =
          InfoOf(static_cast<fabric::ConnectionId>(1 + number % 5), static_cast<int>(number % 5), 99);
      stag::test::EventFields fields;
      fields.gap_size = ++number;
      Event event = stag::test::EventOf(EventKind::kGap, fields);
      event.connection = &info;
      event.now.number = number;
      now_ns += sink.handing_over() ? threads : reading;
      sink.OnEvent(event);
    }
  }
  void ExpectAllInOrder() {
    sink.Finish();
    ASSERT_EQ(all.size(), number);
    for (uint64_t i = 0; i < number; ++i) ASSERT_EQ(all[i], i + 1);
  }

  std::vector<uint64_t> all;
  int64_t now_ns = 0, analysis_ns = 0;
  uint64_t number = 0;
  Counting one{*this}, two{*this};
  ShardedAnalysis sink{
      session::SessionOptions{}, {&one, &two}, ShardedAnalysis::HandOver::kWhereItPays, [this] { return now_ns; }};
};

TEST_F(WhereItPays, ThreadsWorkWhereTheyTakeLessTime) {
  Run(1, 1, 9, 4);
  Run(1, 1, 2, 4);
  EXPECT_FALSE(sink.handing_over());
  Run(1, 1, 2, 4);
  EXPECT_TRUE(sink.handing_over());  // to find out
  Run(1, 1, 2, 1);
  Run(1, 1, 2, 4);
  EXPECT_FALSE(sink.handing_over());
  EXPECT_GT(one.other_threads + two.other_threads, 0u);
  Run(1, 1, 9, 4);
  Run(30, 1, 2, 2);
  EXPECT_FALSE(sink.handing_over());
  Run(1, 1, 2, 2);  // it is tried again
  EXPECT_TRUE(sink.handing_over());
  Run(1, 1, 2, 9);
  Run(2, 1, 2, 2);
  EXPECT_TRUE(sink.handing_over());
  Run(1, 1, 2, 4);
  EXPECT_FALSE(sink.handing_over());
  ExpectAllInOrder();
}

TEST_F(WhereItPays, ThreadsAreNotTriedWhereAnalysisIsLessThanHalf) {
  Run(1, 1, 9, 1);  // all is new, and takes long: that shows nothing
  Run(70, 3, 2, 1);
  EXPECT_FALSE(sink.handing_over());
  EXPECT_EQ(one.other_threads + two.other_threads, 0u);
  Run(1, 2, 3, 1);  // other traffic
  EXPECT_FALSE(sink.handing_over());
  Run(1, 3, 2, 1);
  Run(1, 2, 3, 1);
  EXPECT_FALSE(sink.handing_over());
  Run(1, 2, 3, 1);
  EXPECT_TRUE(sink.handing_over());
  Run(1, 2, 3, 1);
  Run(1, 2, 3, 1);
  EXPECT_TRUE(sink.handing_over());
  ExpectAllInOrder();
}

// Throws at the first event in one of the threads, whichever shard it is; the other thread waits for that.
class ThrowingShard final : public ShardResults<Note>, public session::Observer {
 public:
  ThrowingShard(std::thread::id reader, bool in_reader, std::atomic<bool>& thrown)
      : reader_(reader), in_reader_(in_reader), thrown_(thrown) {}
  std::vector<session::Observer*> Observers() override { return {this}; }
  void OnGap(const session::Connection&, const Event&) override {
    if ((std::this_thread::get_id() == reader_) == in_reader_) {
      thrown_ = true;
      throw std::bad_alloc();
    }
    while (!thrown_) std::this_thread::yield();
  }

 private:
  void Deliver(Note&) override {}
  const std::thread::id reader_;
  const bool in_reader_;
  std::atomic<bool>& thrown_;
};

TEST(ShardedAnalysis, AnExceptionInAnyThreadReachesTheReader) {
  for (const bool in_reader : {true, false}) {
    std::atomic<bool> thrown = false;
    ThrowingShard one(std::this_thread::get_id(), in_reader, thrown);
    ThrowingShard two(std::this_thread::get_id(), in_reader, thrown);
    const auto run = [&] {
      ShardedAnalysis sink(session::SessionOptions{}, {&one, &two}, ShardedAnalysis::HandOver::kAlways);
      for (fabric::ConnectionId id = 1; id <= 100'000; ++id) {
        const ConnectionInfo info = InfoOf(id, static_cast<int>(id % 7), 99);
        Event event = stag::test::EventOf(EventKind::kGap, {});
        event.connection = &info;
        sink.OnEvent(event);
      }
      sink.Finish();
    };
    EXPECT_THROW(run(), std::bad_alloc) << in_reader;
    EXPECT_TRUE(thrown);
  }
}

// An analysis that ends early (by an exception of the Decoder, say) is given up with rounds under way.
TEST(ShardedAnalysis, CanBeLeftUnfinished) {
  Rig rig(3);
  for (fabric::ConnectionId id = 1; id <= 5000; ++id) rig.Tell(EventKind::kGap, id, static_cast<int>(id % 7), 99);
  rig.sink.reset();
  EXPECT_LE(rig.notes.size(), 5000u);
}

TEST(ShardedAnalysis, NothingIsTold) {
  Rig rig(3);
  rig.sink->Finish();
  EXPECT_TRUE(rig.notes.empty());
  EXPECT_EQ(rig.sink->stats().connections, 0u);
}

}  // namespace
}  // namespace stag::cli
