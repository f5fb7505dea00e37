// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/sighting_journal.h"

#include <gtest/gtest.h>

#include <string>

namespace stag::fabric {
namespace {

using Kind = Sighting::Kind;
using Part = Sighting::Part;

// Side 0 sends requests from PSN 0xfffffc on, which soon goes round. Each packet is a frame, from 1 on.
class SightingJournalTest : public testing::Test {
 protected:
  void See(Side from, Kind kind, uint32_t psn, uint32_t count = 1) {
    SightingJournal::Seen s;
    s.from = from;
    s.kind = kind;
    s.number = (0xfffffc + psn) & 0xffffff;
    s.count = count;
    Take(s);
  }
  void Request(uint32_t psn) { See(0, Kind::kRequest, psn); }
  void Ack(uint32_t psn) { See(1, Kind::kAck, psn); }
  // TCP.
  void Segment(Side from, uint32_t begin, uint32_t size, uint32_t acknowledged, size_t blocks = 0) {
    SightingJournal::Seen s;
    s.from = from;
    s.kind = Kind::kSegment;
    s.number = 0xfffffff0 + begin;
    s.count = size;
    s.acknowledges = true;
    s.acknowledged = 0xfffffff0 + acknowledged;
    Take(s, blocks);
  }
  void Take(SightingJournal::Seen s, size_t blocks = 0) {
    s.frame.number = ++frames_;
    const std::array<Sighting::Block, 2> sack{};
    journal_.Take(s, std::span(sack).first(blocks), may_tell_, [this](const Sighting& told) {
      constexpr const char* kParts[] = {"begins", "resumes", "", "last"};
      if (!told_.empty()) told_ += ' ';
      told_ += kParts[static_cast<size_t>(told.part)];
      if (told.part != Part::kNext) told_ += ':';
      told_ += std::to_string(told.frame.number);
    });
  }
  std::string Told() { return std::exchange(told_, {}); }
  // Frames that are told, each as the next one.
  static std::string Frames(uint64_t first, uint64_t last) {
    std::string text;
    for (uint64_t n = first; n <= last; ++n) text += ' ' + std::to_string(n);
    return text;
  }

  Budget budget_{1 << 20};
  SightingJournal journal_{budget_};
  bool may_tell_ = true;

 private:
  uint64_t frames_ = 0;
  std::string told_;
};

TEST_F(SightingJournalTest, WhatComesOnceIsNotTold) {
  for (uint32_t psn = 0; psn < 10'000; ++psn) {
    Request(psn);
    Ack(psn);
  }
  EXPECT_EQ(Told(), "");
  EXPECT_LE(budget_.used(), 128u * 48);  // what is acknowledged gives way
}

// A hole alone is none of its business: it may be the capture's.
TEST_F(SightingJournalTest, HolesAreNotTold) {
  Request(0);
  Request(7);
  Request(8);
  Ack(8);
  EXPECT_EQ(Told(), "");
  Request(3);
  EXPECT_EQ(Told(), "begins:1 2 3 4 5");
}

TEST_F(SightingJournalTest, EverythingIsToldWhenAPacketComesAgain) {
  for (uint32_t psn = 0; psn < 6; ++psn) Request(psn);
  Request(4);
  EXPECT_EQ(Told(), "begins:1 2 3 4 5 6 7");
  Request(6);
  Ack(5);
  EXPECT_EQ(Told(), "8 9");
}

TEST_F(SightingJournalTest, TheTroubleEndsWhenWhatWasSentIsAcknowledged) {
  Request(0);
  Request(1);
  Request(0);
  EXPECT_EQ(Told(), "begins:1 2 3");
  for (uint32_t psn = 2; psn < 302; ++psn) Request(psn);
  EXPECT_EQ(Told(), Frames(4, 303).substr(1));
  Ack(0);
  EXPECT_EQ(Told(), "304");
  Ack(1);
  EXPECT_EQ(Told(), "last:305");
  Request(302);
  EXPECT_EQ(Told(), "");
  // What was told since the copy is told again; the copy is not.
  Request(302);
  EXPECT_EQ(Told(), "resumes:4" + Frames(5, 307));
}

TEST_F(SightingJournalTest, TheTroubleGoesOnForAWhile) {
  Request(0);
  Request(0);
  Ack(0);
  EXPECT_EQ(Told(), "begins:1 2 3");
  for (uint32_t psn = 1; psn <= 256; ++psn) Request(psn);
  EXPECT_EQ(Told(), Frames(4, 257).substr(1) + " last:258");  // 256 behind the copy
}

TEST_F(SightingJournalTest, ReadsAskForNumbersOfTheirOwn) {
  See(0, Kind::kReadRequest, 0, 10);
  for (uint32_t psn = 0; psn < 10; ++psn) See(1, Kind::kReadResponse, psn);
  See(0, Kind::kReadRequest, 10, 4);
  for (uint32_t psn = 10; psn < 14; ++psn) See(1, Kind::kReadResponse, psn);
  Request(14);
  EXPECT_EQ(Told(), "");
  See(0, Kind::kReadRequest, 12, 2);  // the second Read's rest once more
  EXPECT_EQ(Told(), "begins:1" + Frames(2, 18));
}

TEST_F(SightingJournalTest, RefusalsAreRemembered) {
  Request(0);
  See(1, Kind::kRnrNak, 0);
  EXPECT_EQ(Told(), "");
  Request(0);
  EXPECT_EQ(Told(), "begins:1 2 3");
}

TEST_F(SightingJournalTest, WhatIsNotAcknowledgedIsRemembered) {
  for (uint32_t psn = 0; psn < 5000; ++psn) Request(psn);
  Request(0);
  EXPECT_EQ(Told(), "begins:1" + Frames(2, 5001));
}

TEST_F(SightingJournalTest, MemoryIsCapped) {
  Budget none(0), little(5000);
  SightingJournal forgetful(none), small(little);
  std::string told;
  const auto see = [&](SightingJournal& journal, uint64_t frame, uint32_t psn) {
    SightingJournal::Seen s;
    s.number = psn;
    s.frame.number = frame;
    journal.Take(s, {}, true, [&](const Sighting& t) {
      told += (t.part == Part::kResumes ? " r" : " ") + std::to_string(t.frame.number);
    });
  };
  for (uint32_t psn = 1; psn <= 100; ++psn) see(forgetful, psn, psn);
  see(forgetful, 101, 100);
  EXPECT_EQ(told, " r101");
  EXPECT_EQ(none.used(), 0u);
  told.clear();
  for (uint32_t psn = 1; psn <= 100; ++psn) see(small, psn, psn);
  see(small, 101, 100);
  EXPECT_TRUE(told.starts_with(" r")) << told;
  EXPECT_TRUE(told.ends_with(" 99 100 101")) << told;
  EXPECT_LE(little.used(), 5000u);
}

TEST_F(SightingJournalTest, Tcp) {
  Segment(0, 0, 100, 0);
  Segment(1, 0, 50, 100);
  Segment(0, 100, 100, 50);
  Segment(0, 300, 100, 50);  // a hole
  Segment(1, 50, 0, 200);
  EXPECT_EQ(Told(), "");
  Segment(1, 50, 0, 200, 1);  // SACK
  EXPECT_EQ(Told(), "begins:1 2 3 4 5 6");
  Segment(0, 200, 100, 50);
  EXPECT_EQ(Told(), "7");
}

// Before it is known what the connection carries, and who is who.
TEST_F(SightingJournalTest, WaitsUntilItMayTell) {
  may_tell_ = false;
  for (uint32_t psn = 0; psn < 3; ++psn) Request(psn);
  Request(1);
  Ack(2);
  EXPECT_EQ(Told(), "");
  may_tell_ = true;
  Request(3);
  EXPECT_EQ(Told(), "begins:1 2 3 4 5 6");
}

}  // namespace
}  // namespace stag::fabric
