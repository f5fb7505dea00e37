// SPDX-License-Identifier: GPL-2.0-or-later
//
// What TransportStatistics counts on conversations of which every packet is known. Side 0 connects; PSNs of its
// requests begin at 100, those of side 1 at 5000.
#include <gtest/gtest.h>

#include "session/transport/transport_statistics.h"
#include "tests/session/fabric/recorder.h"

namespace stag::transport {
namespace {

using test::Buffer;
using test::IbTalk;
using test::IbWire;
using test::Message;
using test::Pattern;

constexpr uint8_t kSequenceError = 0x60, kInvalidRequest = 0x61, kAccessError = 0x62, kOperationError = 0x63;
constexpr uint8_t kRnr096 = 0x20 | 13;  // 0.96 ms (IBA table 45)

struct Notes final : NoteSink {
  void OnNote(const fabric::ConnectionInfo&, const Note& note) override { notes.push_back(note); }
  std::vector<Note> Of(Note::Kind kind) const {
    std::vector<Note> out;
    for (const Note& note : notes)
      if (note.kind == kind) out.push_back(note);
    return out;
  }
  std::vector<Note> notes;
};

class Rc : public testing::Test {
 protected:
  Health Count(size_t snap = SIZE_MAX) {
    TransportStatistics statistics({}, &notes);
    test::Recorder recorder;
    fabric::DecoderOptions options;
    options.packets = &statistics;
    test::Play(wire, recorder, options, snap);
    const auto health = statistics.Find(1);
    EXPECT_TRUE(health);
    EXPECT_EQ(statistics.Find(2), nullptr);
    return health ? *health : Health{};
  }
  // The frame that was added last is not captured.
  void Lose() { wire.frames().pop_back(); }
  void Refuse(Side requester, uint32_t psn, uint8_t syndrome) { talk.Acknowledge(requester, psn, syndrome); }
  // Side 0 sends `count` messages of a packet each, with PSNs from `psn` on.
  void Sends(uint32_t psn, uint32_t count) {
    talk.set_psn(0, psn);
    for (uint32_t i = 0; i < count; ++i) talk.Send(0, Message(psn + i));
  }
  // The same when its timer has run out.
  void SendsAgain(uint32_t psn, uint32_t count) {
    wire.Wait(kTimeout);
    Sends(psn, count);
  }
  static constexpr int64_t kTimeout = 20'000'000;  // ns

  IbWire wire;
  IbTalk talk{wire};
  Notes notes;
};

TEST_F(Rc, AQuietConnection) {
  talk.Connect();
  talk.Send(0, Message(1, 64));
  talk.Ack(0);
  talk.Read(1, 7, 0x1000, Pattern(3000, 1));
  talk.Write(1, 8, 0x2000, Pattern(2500, 2));
  talk.Send(1, Message(1, 100));
  talk.Ack(1);
  talk.Disconnect();
  const Health health = Count();
  EXPECT_EQ(health.info.id, 1u);
  EXPECT_EQ(health.path_mtu, 1024u);
  EXPECT_TRUE(health.episodes.empty());
  const Counters &client = health.sent[0], &server = health.sent[1];
  EXPECT_EQ(client.packets, 1u + 3 + 1);
  EXPECT_EQ(client.bytes, 64u + 3000);
  EXPECT_EQ(client.largest, 1024u);
  EXPECT_EQ(client.max_in_flight, 64u);
  EXPECT_EQ(server.packets, 1u + 1 + 3 + 1);
  EXPECT_EQ(server.bytes, 2500u + 100);
  EXPECT_EQ(server.max_in_flight, 2600u);
  for (const Counters& n : health.sent) {
    EXPECT_EQ(n.retransmitted + n.repeated_responses + n.lost_from_capture + n.out_of_order + n.naks(), 0u);
    EXPECT_EQ(n.go_back_n + n.timeouts + n.ce + n.cnp + n.fecn + n.becn + n.changed, 0u);
    EXPECT_EQ(n.rnr_stall_ns, 0);
  }
}

TEST_F(Rc, GoBackNAfterASequenceNak) {
  talk.Connect();
  Sends(100, 3);
  Refuse(0, 101, kSequenceError);
  const size_t nak = wire.frames().size();
  Sends(101, 3);  // 101 and 102 again; 103 is new
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 2u);
  EXPECT_EQ(health.sent[0].go_back_n, 1u);
  EXPECT_EQ(health.sent[0].timeouts, 0u);
  EXPECT_EQ(health.sent[0].out_of_order + health.sent[0].lost_from_capture + health.sent[0].changed, 0u);
  EXPECT_EQ(health.sent[0].packets, 6u);
  EXPECT_EQ(health.sent[1].nak_sequence, 1u);
  EXPECT_EQ(health.sent[0].naks(), 0u);
  ASSERT_EQ(health.episodes.size(), 1u);
  const Episode& episode = health.episodes[0];
  EXPECT_EQ(episode.kind, Episode::Kind::kGoBackN);
  EXPECT_EQ(episode.side, 0);
  EXPECT_EQ(episode.cause.number, nak);
  EXPECT_EQ(episode.first.number, nak + 1);
  EXPECT_EQ(episode.last.number, nak + 2);
  EXPECT_EQ(episode.packets, 2u);
  EXPECT_EQ(episode.number, 101u);
  EXPECT_EQ(episode.cost_ns(), 2000);
  const auto again = notes.Of(Note::Kind::kRetransmission);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].original, nak - 2);
  EXPECT_EQ(again[0].frame.number, nak + 1);
}

// The packet that is missing never passed the capture: it is new when it is sent again, those behind it are not.
TEST_F(Rc, LossInFrontOfTheCapture) {
  talk.Connect();
  Sends(100, 2);
  Lose();
  Sends(102, 2);
  Refuse(0, 101, kSequenceError);
  Sends(101, 4);
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].out_of_order, 1u);
  EXPECT_EQ(health.sent[0].retransmitted, 2u);
  EXPECT_EQ(health.sent[0].go_back_n, 1u);
  EXPECT_EQ(health.sent[0].timeouts, 0u);
  EXPECT_EQ(health.sent[0].lost_from_capture, 0u);
}

// Packets that were on their way when the NAK came are new; the run begins behind them, and is still after the NAK.
TEST_F(Rc, PacketsOnTheirWay) {
  talk.Connect();
  Sends(100, 3);
  Refuse(0, 101, kSequenceError);
  Sends(103, 2);
  Sends(101, 4);
  talk.Ack(0);
  Sends(105, 1);
  SendsAgain(105, 1);  // much later: not because of that NAK
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 5u);
  EXPECT_EQ(health.sent[0].go_back_n, 1u);
  EXPECT_EQ(health.sent[0].timeouts, 1u);
}

TEST_F(Rc, TimeOuts) {
  talk.Connect();
  Sends(100, 2);
  const size_t last = wire.frames().size();
  SendsAgain(100, 2);
  SendsAgain(100, 2);  // the same run: nothing new in between
  talk.Ack(0);
  Sends(102, 1);
  SendsAgain(102, 1);
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 5u);
  EXPECT_EQ(health.sent[0].timeouts, 2u);
  EXPECT_EQ(health.sent[0].go_back_n, 0u);
  ASSERT_EQ(health.episodes.size(), 2u);
  EXPECT_EQ(health.episodes[0].kind, Episode::Kind::kTimeout);
  EXPECT_EQ(health.episodes[0].packets, 4u);
  EXPECT_EQ(health.episodes[0].cause.number, last);
  EXPECT_EQ(health.episodes[0].cost_ns(), 2 * kTimeout + 4000);
}

TEST_F(Rc, ReceiverNotReady) {
  talk.Connect();
  Sends(100, 2);
  Refuse(0, 101, kRnr096);
  const size_t nak = wire.frames().size();
  wire.Wait(1'500'000);
  Sends(101, 1);
  Refuse(0, 101, kRnr096);
  wire.Wait(2'000'000);
  Sends(101, 2);
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[1].nak_rnr, 2u);
  EXPECT_EQ(health.sent[0].rnr_stall_ns, 1'501'000 + 2'001'000);
  EXPECT_EQ(health.sent[1].rnr_stall_ns, 0);
  EXPECT_EQ(health.sent[0].retransmitted, 2u);
  EXPECT_EQ(health.sent[0].go_back_n + health.sent[0].timeouts, 0u);
  ASSERT_EQ(health.episodes.size(), 2u);
  EXPECT_EQ(health.episodes[0].kind, Episode::Kind::kRnr);
  EXPECT_EQ(health.episodes[0].side, 0);
  EXPECT_EQ(health.episodes[0].cause.number, nak);
  EXPECT_EQ(health.episodes[0].last.number, nak + 1);
  EXPECT_EQ(health.episodes[0].syndrome, kRnr096);
  const auto ends = notes.Of(Note::Kind::kRnrEnd);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].duration_ns(), 1'501'000);
}

TEST_F(Rc, AStallThatDoesNotEnd) {
  talk.Connect();
  Sends(100, 1);
  Refuse(0, 100, kRnr096);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].rnr_stall_ns, 0);
  ASSERT_EQ(health.episodes.size(), 1u);
  EXPECT_EQ(health.episodes[0].last.number, 0u);
  EXPECT_EQ(health.episodes[0].cost_ns(), 0);
}

TEST_F(Rc, OtherNaks) {
  talk.Connect();
  Sends(100, 1);
  talk.Send(1, Message(9));
  Refuse(0, 100, kInvalidRequest);
  Refuse(1, 5000, kAccessError);
  Refuse(1, 5000, kOperationError);
  const Health health = Count();
  EXPECT_EQ(health.sent[1].nak_invalid_request, 1u);
  EXPECT_EQ(health.sent[0].nak_remote_access, 1u);
  EXPECT_EQ(health.sent[0].nak_remote_operation, 1u);
}

// The reader asks again for the part of an answer that it missed.
TEST_F(Rc, RepeatedResponses) {
  const Buffer data = Pattern(3000, 4);
  talk.Connect();
  const uint32_t psn = talk.ReadRequest(1, 7, 0x1000, 3000);
  talk.ReadResponse(1, psn, data, 0, 3);
  wire.Rc(1, talk.qp(0), ib::kReadRequest, psn + 1, {}, {0x1000 + 1024, 7, 1976});
  talk.ReadResponse(1, psn, data, 1, 3);
  talk.Send(1, Message(5));
  talk.Ack(1);
  const Health health = Count();
  EXPECT_EQ(health.sent[1].retransmitted, 1u);
  EXPECT_EQ(health.sent[1].timeouts, 1u);
  EXPECT_EQ(health.sent[0].repeated_responses, 2u);
  EXPECT_EQ(health.sent[0].retransmitted + health.sent[0].out_of_order + health.sent[0].lost_from_capture, 0u);
  EXPECT_EQ(health.sent[1].lost_from_capture + health.sent[1].changed, 0u);
  EXPECT_EQ(notes.Of(Note::Kind::kRepeatedResponse).size(), 2u);
}

TEST_F(Rc, LossInTheCapture) {
  talk.Connect();
  Sends(100, 3);
  Sends(103, 1);
  Lose();
  Sends(104, 1);
  Sends(105, 1);
  Lose();
  talk.Ack(0);
  Sends(106, 1);
  Lose();  // nothing shows that it arrived
  EXPECT_EQ(Count().sent[0].lost_from_capture, 2u);
}

TEST_F(Rc, LostResponses) {
  const Buffer data = Pattern(5000, 4);
  talk.Connect();
  const uint32_t psn = talk.ReadRequest(1, 7, 0x1000, 5000);
  talk.ReadResponse(1, psn, data, 0, 2);
  talk.ReadResponse(1, psn, data, 3, 4);  // 2 and 4 are missing
  const Health during = Count();
  EXPECT_EQ(during.sent[0].lost_from_capture, 1u);
  talk.Send(1, Message(5));
  talk.Ack(1);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].lost_from_capture, 2u);
  EXPECT_EQ(health.sent[1].lost_from_capture, 0u);
}

// What is asked for again was not delivered.
TEST_F(Rc, LostResponsesThatAreAskedForAgain) {
  const Buffer data = Pattern(3000, 4);
  talk.Connect();
  const uint32_t psn = talk.ReadRequest(1, 7, 0x1000, 3000);
  talk.ReadResponse(1, psn, data, 0, 1);
  talk.ReadResponse(1, psn, data, 2, 3);
  wire.Rc(1, talk.qp(0), ib::kReadRequest, psn + 1, {}, {0x1000 + 1024, 7, 1976});
  EXPECT_EQ(Count().sent[0].lost_from_capture, 0u);
  talk.ReadResponse(1, psn, data, 1, 3);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].lost_from_capture, 0u);
  EXPECT_EQ(health.sent[0].repeated_responses, 1u);
  EXPECT_EQ(health.sent[0].out_of_order, 1u);
}

TEST_F(Rc, ALostReadRequestIsOnePacket) {
  const Buffer data = Pattern(3000, 4);
  talk.Connect();
  talk.Send(1, Message(4));
  const uint32_t psn = talk.ReadRequest(1, 7, 0x1000, 3000);
  Lose();
  talk.ReadResponse(1, psn, data, 0, 3);
  talk.Send(1, Message(5));
  talk.Ack(1);
  const Health health = Count();
  EXPECT_EQ(health.sent[1].lost_from_capture, 1u);
  EXPECT_EQ(health.sent[0].lost_from_capture, 0u);
  EXPECT_EQ(health.sent[0].repeated_responses + health.sent[1].out_of_order + health.sent[1].retransmitted, 0u);
}

TEST_F(Rc, Congestion) {
  talk.Connect();
  Sends(100, 2);
  wire.frames().back().bytes[14 + 1] |= std::byte{3};  // CE in the type of service
  ib::Transport marked;
  marked.bth.opcode = ib::kSendOnly;
  marked.bth.destination_qp = talk.qp(1);
  marked.bth.psn = 102;
  marked.bth.fecn = true;
  marked.data = {};
  wire.Packet(0, marked);
  talk.set_psn(0, 103);
  talk.Ack(0);
  wire.frames().back().bytes[14 + 1] |= std::byte{1};  // ECT(1): capable, not marked
  const Buffer nothing(16);
  for (int i = 0; i < 2; ++i) wire.Rc(1, talk.qp(0), ib::kCongestionNotification, 0, nothing);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].ce, 1u);
  EXPECT_EQ(health.sent[0].fecn, 1u);
  EXPECT_EQ(health.sent[0].cnp, 0u);
  EXPECT_EQ(health.sent[1].ce, 0u);
  EXPECT_EQ(health.sent[1].cnp, 2u);
  EXPECT_EQ(health.sent[1].packets, 1u);
  EXPECT_EQ(notes.Of(Note::Kind::kNotification).size(), 2u);
}

TEST_F(Rc, ChangedRetransmissions) {
  talk.Connect();
  Sends(100, 2);
  SendsAgain(100, 1);
  talk.Send(0, Message(77));  // PSN 101 with other bytes
  talk.Send(0, Message(78));
  talk.Ack(0);
  Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 2u);
  EXPECT_EQ(health.sent[0].changed, 1u);
  // Where the capture has only the headers, nothing can be told.
  health = Count(14 + 20 + 8 + 12);
  EXPECT_EQ(health.sent[0].retransmitted, 2u);
  EXPECT_EQ(health.sent[0].changed, 0u);
}

TEST_F(Rc, PsnsBeginAnew) {
  IbTalk late(wire, 1, 0xfffffe);
  late.Connect();
  for (uint32_t i = 0; i < 5; ++i) late.Send(0, Message(i));
  late.Acknowledge(0, 0, kSequenceError);
  late.set_psn(0, 0);
  for (uint32_t i = 2; i < 6; ++i) late.Send(0, Message(i));
  late.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].retransmitted, 3u);
  EXPECT_EQ(health.sent[0].go_back_n, 1u);
  EXPECT_EQ(health.sent[0].out_of_order + health.sent[0].lost_from_capture, 0u);
}

// Before both directions are known to belong together, packets wait; they are counted all the same.
TEST_F(Rc, JoinedMidStream) {
  Sends(500, 2);
  talk.Ack(0);
  talk.Write(1, 8, 0x2000, Pattern(2500, 2));
  talk.Send(1, Message(501));
  talk.Ack(1);
  SendsAgain(501, 1);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].packets, 4u);
  EXPECT_EQ(health.sent[1].packets, 5u);
  EXPECT_EQ(health.sent[0].retransmitted, 1u);
  EXPECT_EQ(health.sent[0].lost_from_capture + health.sent[1].lost_from_capture, 0u);
  EXPECT_EQ(health.path_mtu, 1024u);
}

// Without the CM exchange the path MTU, and so how many PSNs a Read takes, is not known at first.
TEST_F(Rc, ReadsOfUnknownPacketCount) {
  const Buffer data = Pattern(3000, 4);
  Sends(100, 1);
  talk.Ack(0);
  talk.Send(1, Message(100));
  talk.Ack(1);
  const uint32_t psn = talk.ReadRequest(1, 7, 0x1000, 3000);
  talk.Send(1, Message(6));
  talk.ReadResponse(1, psn, data, 0, 3);
  talk.Ack(1);
  talk.ReadRequest(1, 7, 0x1000, 3000);
  talk.Send(1, Message(7));
  const Health health = Count();
  for (const Counters& n : health.sent)
    EXPECT_EQ(n.lost_from_capture + n.out_of_order + n.retransmitted + n.repeated_responses, 0u);
}

TEST_F(Rc, WhatComesBehindTheEndIsCounted) {
  talk.Connect();
  Sends(100, 1);
  talk.Ack(0);
  talk.Disconnect();
  SendsAgain(100, 1);
  talk.Ack(0);
  const Health health = Count();
  EXPECT_EQ(health.sent[0].packets, 2u);
  EXPECT_EQ(health.sent[0].retransmitted, 1u);
  EXPECT_EQ(health.sent[1].packets, 2u);
}

TEST_F(Rc, EpisodesAreBounded) {
  talk.Connect();
  for (uint32_t i = 0; i < 400; ++i) {
    Sends(100 + i, 1);
    SendsAgain(100 + i, 1);
  }
  const Health health = Count();
  EXPECT_EQ(health.sent[0].timeouts, 400u);
  EXPECT_EQ(health.episodes.size(), Health::kMostEpisodes);
  EXPECT_EQ(health.episodes_left_out, 400 - Health::kMostEpisodes);
}

class EveryFabric : public testing::TestWithParam<IbWire::Kind> {};

TEST_P(EveryFabric, CountsTheSame) {
  IbWire wire(GetParam());
  IbTalk talk(wire);
  talk.Connect();
  for (int i = 0; i < 3; ++i) talk.Send(0, Message(static_cast<uint32_t>(i)));
  talk.Acknowledge(0, 101, kSequenceError);
  talk.set_psn(0, 101);
  for (int i = 1; i < 3; ++i) talk.Send(0, Message(static_cast<uint32_t>(i)));
  talk.Ack(0);
  TransportStatistics statistics({});
  test::Recorder with, without;
  fabric::DecoderOptions options;
  test::Play(wire, without, options);
  options.packets = &statistics;
  test::Play(wire, with, options);
  const auto health = statistics.Find(1);
  ASSERT_TRUE(health);
  EXPECT_EQ(health->sent[0].packets, 5u);
  EXPECT_EQ(health->sent[0].retransmitted, 2u);
  EXPECT_EQ(health->sent[0].go_back_n, 1u);
  EXPECT_EQ(health->sent[1].nak_sequence, 1u);
  ASSERT_EQ(with.events.size(), without.events.size());
  for (size_t i = 0; i < with.events.size(); ++i)
    EXPECT_EQ(test::Describe(with.events[i]), test::Describe(without.events[i]));
}

INSTANTIATE_TEST_SUITE_P(Rc, EveryFabric,
                         testing::Values(IbWire::Kind::kRoceV2, IbWire::Kind::kRoceV2Ip6, IbWire::Kind::kRoceV1,
                                         IbWire::Kind::kInfiniBand, IbWire::Kind::kInfiniBandGlobal));

}  // namespace
}  // namespace stag::transport
