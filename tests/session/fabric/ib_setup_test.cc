// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbTracker: set-up and tear-down by CM, whole or in part.
#include <gtest/gtest.h>

#include "tests/session/fabric/recorder.h"

namespace stag::fabric {
namespace {

using ib::CmKind;
using test::Buffer;
using test::IbTalk;
using test::IbWire;
using test::Message;
using test::Pattern;
using test::Play;
using test::Recorder;
using test::WireFrame;

class EveryCarrier : public testing::TestWithParam<IbWire::Kind> {};
INSTANTIATE_TEST_SUITE_P(Carriers, EveryCarrier,
                         testing::Values(IbWire::Kind::kRoceV2, IbWire::Kind::kRoceV2Ip6, IbWire::Kind::kRoceV1,
                                         IbWire::Kind::kInfiniBand, IbWire::Kind::kInfiniBandGlobal));

TEST_P(EveryCarrier, WholeConnection) {
  IbWire wire(GetParam());
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(7));
  talk.Ack(0);
  talk.Send(1, Message(7, 32));
  talk.Ack(1);
  talk.Disconnect();
  Recorder r;
  DecoderOptions options;
  options.verify_crc = true;
  DecoderStats stats = Play(wire, r, options);
  EXPECT_EQ(stats.checked_crc, wire.frames().size());
  EXPECT_EQ(stats.bad_crc, 0u);

  const EventKind kinds[] = {EventKind::kSetup,  EventKind::kSetup, EventKind::kSetup,
                             EventKind::kOpened, EventKind::kSend,  EventKind::kSend,
                             EventKind::kSetup,  EventKind::kSetup, EventKind::kClosed};
  ASSERT_EQ(r.events.size(), std::size(kinds));
  for (size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(r.events[i].event.kind(), kinds[i]) << i;
  const SetupMessage messages[] = {SetupMessage::kRequest, SetupMessage::kReply, SetupMessage::kReady,
                                   SetupMessage::kDisconnectRequest, SetupMessage::kDisconnectReply};
  const Side senders[] = {0, 1, 0, 0, 1};
  auto setups = r.Of(EventKind::kSetup);
  for (size_t i = 0; i < setups.size(); ++i) {
    EXPECT_EQ(setups[i]->event.setup().message, messages[i]);
    EXPECT_EQ(setups[i]->event.from, senders[i]);
    EXPECT_TRUE(setups[i]->event.setup().private_data_fixed);
  }
  EXPECT_EQ(setups[0]->private_data.size(), 56u);  // what the REQ has behind the IP CM header
  Buffer given = Pattern(8, 1);
  EXPECT_TRUE(std::equal(given.begin(), given.end(), setups[0]->private_data.begin()));

  const ConnectionInfo& info = r.events[4].connection;
  EXPECT_TRUE(info.roles_known);
  EXPECT_EQ(info.service_port, 20049);
  EXPECT_EQ(info.endpoint[0].address, wire.Shown(0));
  EXPECT_EQ(info.endpoint[1].address, wire.Shown(1));
  EXPECT_EQ(info.endpoint[0].number, talk.qp(0));
  EXPECT_EQ(info.endpoint[1].number, talk.qp(1));
  FabricKind fabric = GetParam() == IbWire::Kind::kRoceV1       ? FabricKind::kRoceV1
                      : GetParam() >= IbWire::Kind::kInfiniBand ? FabricKind::kInfiniBand
                                                                : FabricKind::kRoceV2;
  EXPECT_EQ(info.fabric, fabric);
  EXPECT_EQ(r.events[4].bytes, Message(7));
  EXPECT_EQ(r.events[4].event.from, 0);
  EXPECT_EQ(r.events[4].event.frame.number, 4u);
  EXPECT_EQ(r.events[5].event.from, 1);
  EXPECT_EQ(r.events.back().event.closed().reason, CloseReason::kDisconnect);
}

TEST(IbSetup, ReadDepths) {
  IbWire wire;
  IbTalk talk(wire);
  wire.Cm(0, talk.Request());
  wire.Cm(1, talk.Reply());
  wire.Cm(0, talk.Other(CmKind::kReadyToUse, 0));
  Recorder r;
  Play(wire, r);
  const auto setup = r.Of(EventKind::kSetup);
  ASSERT_EQ(setup.size(), 3u);
  // Responder Resources: what the sender serves; Initiator Depth: what it issues.
  EXPECT_EQ(setup[0]->event.setup().reads_served, 16);
  EXPECT_EQ(setup[0]->event.setup().reads_issued, 8);
  EXPECT_EQ(setup[1]->event.setup().reads_served, 8);
  EXPECT_EQ(setup[1]->event.setup().reads_issued, 16);
  EXPECT_EQ(setup[2]->event.setup().reads_served, std::nullopt);
}

TEST(IbSetup, RetransmittedMessagesAreIgnored) {
  IbWire wire;
  IbTalk talk(wire);
  for (int i = 0; i < 3; ++i) wire.Cm(0, talk.Request());
  for (int i = 0; i < 2; ++i) wire.Cm(1, talk.Other(CmKind::kMessageReceived, 1));
  for (int i = 0; i < 3; ++i) wire.Cm(1, talk.Reply());
  for (int i = 0; i < 2; ++i) wire.Cm(0, talk.Other(CmKind::kReadyToUse, 0));
  talk.Send(0, Message(1));
  wire.Cm(0, talk.Request());  // late copies
  wire.Cm(1, talk.Reply());
  for (int i = 0; i < 3; ++i) wire.Cm(0, talk.Other(CmKind::kDisconnectRequest, 0));
  for (int i = 0; i < 2; ++i) wire.Cm(1, talk.Other(CmKind::kDisconnectReply, 1));
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kSetup), 5u);
  EXPECT_EQ(r.Count(EventKind::kOpened), 1u);
  EXPECT_EQ(r.Count(EventKind::kClosed), 1u);
  EXPECT_EQ(r.Count(EventKind::kSend), 1u);
}

// The REQ tells how long an adapter waits for an acknowledgement, by what the same packet again within 5 ms is judged.
TEST(IbSetup, TheTimeOutTellsCopies) {
  for (const IbWire::Kind kind : {IbWire::Kind::kRoceV2, IbWire::Kind::kRoceV1, IbWire::Kind::kInfiniBand}) {
    for (const uint8_t timeout : {uint8_t{19}, uint8_t{9}}) {  // 2.1 s, 2.1 ms
      IbWire wire(kind);
      IbTalk talk(wire);
      ib::CmMessage request = talk.Request();
      request.ack_timeout = timeout;
      wire.Cm(0, request);
      wire.Cm(1, talk.Reply());
      wire.Cm(0, talk.Other(CmKind::kReadyToUse, 0));
      for (uint8_t n = 1; n < 20; ++n) talk.Send(0, Message(n));
      WireFrame again = wire.frames().back();
      again.time_ns += 5'000'000;
      wire.frames().push_back(again);
      Recorder r;
      const DecoderStats stats = Play(wire, r);
      EXPECT_EQ(stats.copies, timeout == 19 ? 1u : 0u);
      EXPECT_EQ(stats.duplicates, timeout == 19 ? 0u : 1u);
    }
  }
}

TEST(IbSetup, Rejected) {
  IbWire wire;
  IbTalk talk(wire);
  wire.Cm(0, talk.Request());
  wire.Cm(1, talk.Other(CmKind::kReject, 1));
  wire.Cm(1, talk.Other(CmKind::kReject, 1));
  Recorder r;
  Play(wire, r);
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_EQ(r.events[1].event.setup().message, SetupMessage::kReject);
  EXPECT_EQ(r.events[1].event.from, 1);
  EXPECT_EQ(r.events[1].event.setup().reject_reason, 28);
  EXPECT_EQ(r.events[2].event.closed().reason, CloseReason::kRejected);
}

TEST(IbSetup, ActiveSideRejectsTheReply) {
  IbWire wire;
  IbTalk talk(wire);
  wire.Cm(0, talk.Request());
  wire.Cm(1, talk.Reply());
  wire.Cm(0, talk.Other(CmKind::kReject, 0));
  Recorder r;
  Play(wire, r);
  ASSERT_EQ(r.events.size(), 4u);
  EXPECT_EQ(r.events[2].event.from, 0);
  EXPECT_EQ(r.events[3].event.closed().reason, CloseReason::kRejected);
}

TEST(IbSetup, DataBeforeReadyOpens) {
  IbWire wire;
  IbTalk talk(wire);
  wire.Cm(0, talk.Request());
  wire.Cm(1, talk.Reply());
  talk.Send(0, Message(1));
  wire.Cm(0, talk.Other(CmKind::kReadyToUse, 0));
  Recorder r;
  Play(wire, r);
  ASSERT_EQ(r.events.size(), 6u);
  EXPECT_EQ(r.events[2].event.kind(), EventKind::kOpened);
  EXPECT_EQ(r.events[3].event.kind(), EventKind::kSend);
  EXPECT_EQ(r.events[5].event.closed().reason, CloseReason::kEndOfCapture);
}

// Any one of the three set-up messages may be missing: one connection, all data, known roles.
TEST(IbSetup, PartOfTheExchange) {
  for (size_t missing = 0; missing < 3; ++missing) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    for (uint32_t xid = 1; xid < 200; ++xid) {
      talk.Send(0, Message(xid));
      talk.Ack(0);
      talk.Write(1, 5, 4096, Pattern(3000, xid));
      talk.Send(1, Message(xid, 28));
      talk.Ack(1);
    }
    talk.Disconnect();
    wire.frames().erase(wire.frames().begin() + static_cast<ptrdiff_t>(missing));
    Recorder r;
    DecoderStats stats = Play(wire, r);
    EXPECT_EQ(stats.gaps, 0u) << missing;
    EXPECT_EQ(r.Count(EventKind::kOpened), 1u);
    EXPECT_EQ(r.Count(EventKind::kSetup), 4u);
    EXPECT_EQ(r.Count(EventKind::kSend), 2u * 199);
    EXPECT_EQ(r.Count(EventKind::kWrite), 3u * 199);
    ASSERT_FALSE(r.events.empty());
    EXPECT_TRUE(r.events.back().connection.roles_known);
    EXPECT_EQ(r.events.back().connection.endpoint[0].number, talk.qp(0));
    EXPECT_EQ(r.events.back().connection.endpoint[1].number, talk.qp(1));
    // Calls come before their replies.
    auto sends = r.Of(EventKind::kSend);
    for (size_t i = 0; i < sends.size(); ++i) EXPECT_EQ(sends[i]->event.from, i % 2);
  }
}

TEST(IbSetup, QueuePairUsedAgain) {
  IbWire wire;
  IbTalk first(wire, 1, 100, 5000);
  first.Connect();
  first.Send(0, Message(1));
  // The same queue pairs, other communication ids and PSNs; the first tear-down was not captured.
  auto again = std::make_unique<IbTalk>(wire, 1, 70000, 20);
  ib::CmMessage request = again->Request(), reply = again->Reply(), ready = again->Other(CmKind::kReadyToUse, 0);
  request.local_id = reply.remote_id = ready.local_id = 0x777;
  reply.local_id = ready.remote_id = 0x888;
  wire.Cm(0, request);
  wire.Cm(1, reply);
  wire.Cm(0, ready);
  again->Send(0, Message(2));
  again->Send(1, Message(2));
  Recorder r;
  Play(wire, r);
  auto closed = r.Of(EventKind::kClosed);
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0]->connection.id, 1u);
  EXPECT_EQ(closed[0]->event.closed().reason, CloseReason::kSuperseded);
  EXPECT_EQ(closed[1]->event.closed().reason, CloseReason::kEndOfCapture);
  EXPECT_EQ(r.Of(EventKind::kSend, 1).size(), 1u);
  EXPECT_EQ(r.Of(EventKind::kSend, 2).size(), 2u);
  EXPECT_EQ(r.Count(EventKind::kGap), 0u);
}

// The REQ comes after the REP and the first data: one connection all the same.
TEST(IbSetup, RequestComesLate) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  talk.Ack(0);
  talk.Send(1, Message(1));
  std::rotate(wire.frames().begin(), wire.frames().begin() + 1, wire.frames().end());
  wire.frames().push_back(wire.frames()[0]);  // and a late copy of the REP
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kSetup), 3u);
  EXPECT_EQ(r.Count(EventKind::kOpened), 1u);
  EXPECT_EQ(r.Count(EventKind::kSend), 2u);
  EXPECT_EQ(r.Count(EventKind::kGap), 0u);
  EXPECT_EQ(r.events.back().connection.service_port, 20049);
  EXPECT_EQ(r.events.back().connection.endpoint[0].number, talk.qp(0));
}

// Copies of the set-up that arrive after the end do not set up anything.
TEST(IbSetup, CopiesAfterTheEnd) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  talk.Disconnect();
  for (size_t i = 0; i < 3; ++i) wire.frames().push_back(wire.frames()[i]);
  IbTalk other(wire, 2);
  other.Connect();
  for (uint32_t i = 0; i < 100; ++i) other.Send(0, Message(i + 1));
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kClosed), 2u);
  EXPECT_EQ(r.Count(EventKind::kSetup), 8u);
}

TEST(IbSetup, DisconnectWithoutReply) {
  IbWire wire;
  IbTalk talk(wire), other(wire, 2);
  talk.Connect();
  wire.Cm(1, talk.Other(CmKind::kDisconnectRequest, 1));
  wire.Wait(10'000'000'000);
  other.Connect();
  Recorder r;
  Play(wire, r);
  auto closed = r.Of(EventKind::kClosed);
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0]->connection.id, 1u);
  EXPECT_EQ(closed[0]->event.closed().reason, CloseReason::kDisconnect);
}

TEST(IbSetup, StragglersAfterTheEndAreNoNewConnection) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  talk.Disconnect();
  talk.Ack(0);
  talk.set_psn(0, 100);
  talk.Send(0, Message(1));
  Recorder r;
  Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kClosed), 1u);
  EXPECT_EQ(r.events.back().event.kind(), EventKind::kClosed);
}

TEST(IbSetup, UnreliableServicesAreCountedOnly) {
  IbWire wire;
  ib::Transport t;
  t.bth.opcode = ib::kUdSendOnly;
  t.bth.destination_qp = 0x55;
  wire.Packet(0, t);
  t.bth.opcode = 0x24;  // UC Send Only
  wire.Packet(0, t);
  Recorder r;
  EXPECT_EQ(Play(wire, r).unreliable, 2u);
  EXPECT_TRUE(r.events.empty());
}

class Asides : public Sink {
 public:
  void OnEvent(const Event&) override {}
  void OnAside(const Aside& aside) override { all.push_back({aside.kind, aside.to.number, aside.length}); }
  struct Seen {
    Aside::Kind kind;
    uint32_t to;
    uint64_t length;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  std::vector<Seen> all;
};

TEST(IbSetup, UnreliableSendsAreAsides) {
  IbWire wire;
  const Buffer data = Message(1, 36);
  wire.Rc(0, 0x55, 0x24, 1, data);  // UC Send Only
  wire.Rc(0, 0x56, 0x20, 2, data);  // UC Send First: not whole
  Asides asides;
  Decoder decoder({}, asides);
  for (const WireFrame& frame : wire.frames())
    decoder.OnFrame({{1, 0}, wire.link(), frame.bytes, static_cast<uint32_t>(frame.bytes.size())});
  decoder.Finish();
  EXPECT_EQ(asides.all, (std::vector<Asides::Seen>{{Aside::Kind::kUnreliable, 0x55, 36}}));
}

TEST(IbSetup, BadIcrcIsCountedAndNotFollowed) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  wire.frames().back().bytes[60] ^= std::byte{1};
  Recorder r;
  DecoderOptions options;
  options.verify_crc = true;
  DecoderStats stats = Play(wire, r, options);
  EXPECT_EQ(stats.bad_crc, 1u);
  EXPECT_EQ(stats.checked_crc, 4u);
  EXPECT_EQ(r.Count(EventKind::kSend), 0u);
}

}  // namespace
}  // namespace stag::fabric
