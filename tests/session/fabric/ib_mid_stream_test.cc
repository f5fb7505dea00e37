// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbTracker: connections joined mid-stream.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "tests/session/fabric/recorder.h"

namespace stag::fabric {
namespace {

using test::Buffer;
using test::IbTalk;
using test::IbWire;
using test::Message;
using test::Pattern;
using test::Play;
using test::Recorded;
using test::Recorder;

// Four connections between the same hosts, interleaved, told apart by nothing but evidence.
enum class Proof { kAcknowledgement, kXid, kHandle };
class MidStream : public testing::TestWithParam<Proof> {};
INSTANTIATE_TEST_SUITE_P(Evidence, MidStream, testing::Values(Proof::kAcknowledgement, Proof::kXid, Proof::kHandle));

TEST_P(MidStream, FourConnections) {
  IbWire wire;
  std::vector<std::unique_ptr<IbTalk>> talks;
  for (uint32_t i = 0; i < 4; ++i)
    talks.push_back(std::make_unique<IbTalk>(wire, i + 1, 1000 * i + 7, 900000 + 1000 * i));
  const uint64_t address = 0x7000000;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      Buffer call = Message(0x10000 * (i + 1) + round, 60);
      StoreBe32(call.data() + 24, 0x40 + i);  // handle, length, offset
      StoreBe32(call.data() + 28, 4096);
      StoreBe64(call.data() + 32, address);
      talks[i]->Send(0, call);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      if (GetParam() == Proof::kAcknowledgement) talks[i]->Ack(0);
      if (GetParam() == Proof::kHandle) talks[i]->Write(1, 0x40 + i, address + 512, Pattern(1500, i));
    }
    for (uint32_t i = 0; i < 4; ++i)
      talks[i]->Send(1, Message(GetParam() == Proof::kXid ? 0x10000 * (i + 1) + round : 0xff000000 + round, 40));
  }
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(r.Count(EventKind::kOpened), 4u);
  EXPECT_EQ(r.Count(EventKind::kSend), 24u);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (const Recorded* closed : r.Of(EventKind::kClosed)) {
    const auto& e = closed->connection.endpoint;
    EXPECT_EQ(e[0].address, wire.Shown(0));
    EXPECT_FALSE(closed->connection.roles_known);
    pairs.insert({e[0].number, e[1].number});
    auto sends = r.Of(EventKind::kSend, closed->connection.id);
    ASSERT_EQ(sends.size(), 6u);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(sends[i]->event.from, i % 2);
  }
  for (const auto& talk : talks) EXPECT_TRUE(pairs.contains({talk->qp(0), talk->qp(1)}));
}

TEST(IbMidStream, OneDirectionOnly) {
  IbWire wire;
  IbTalk talk(wire);
  for (uint32_t i = 0; i < 300; ++i) talk.Write(0, 9, 4096, Pattern(1000, i));
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kOpened), 1u);
  ASSERT_EQ(r.Count(EventKind::kWrite), 300u);
  const ConnectionInfo& info = r.events.back().connection;
  EXPECT_EQ(info.endpoint[0].number, 0u);
  EXPECT_EQ(info.endpoint[1].number, talk.qp(1));
}

TEST(IbMidStream, OtherDirectionTurnsUpLate) {
  IbWire wire;
  IbTalk talk(wire);
  for (uint32_t i = 0; i < 300; ++i) talk.Send(0, Message(i + 1));
  talk.Ack(0);
  talk.Send(1, Message(300, 28));
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(r.Count(EventKind::kOpened), 1u);
  EXPECT_EQ(r.Count(EventKind::kSend), 301u);
  EXPECT_EQ(r.events.back().connection.endpoint[0].number, talk.qp(0));
}

TEST(IbMidStream, ReadLengthTeachesThePathMtu) {
  for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    IbWire wire;
    IbTalk talk(wire, 1, 10, 0xfffff0, mtu);
    talk.Send(0, Message(1));
    talk.Ack(0);
    uint32_t psn = talk.ReadRequest(1, 77, 0x1000, 10000);
    talk.Send(1, Message(2));  // right behind the Read, before any of its data
    talk.ReadResponse(1, psn, Pattern(10000, 1), 0, talk.Packets(10000));
    talk.Ack(1);
    Recorder r;
    DecoderStats stats = Play(wire, r);
    EXPECT_EQ(stats.gaps, 0u) << mtu;
    Buffer all(10000);
    for (const Recorded* e : r.Of(EventKind::kReadResponse))
      std::copy(e->bytes.begin(), e->bytes.end(),
                all.begin() + static_cast<ptrdiff_t>(e->event.rdma().offset - 0x1000));
    EXPECT_EQ(all, Pattern(10000, 1)) << mtu;
    EXPECT_EQ(r.Count(EventKind::kSend), 2u);
  }
}

TEST(IbMidStream, DisconnectOfAConnectionJoinedMidStream) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Send(0, Message(1));
  talk.Ack(0);
  talk.Disconnect();
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kSetup), 2u);
  ASSERT_EQ(r.Count(EventKind::kClosed), 1u);
  EXPECT_EQ(r.events.back().event.closed().reason, CloseReason::kDisconnect);
}

}  // namespace
}  // namespace stag::fabric
