// SPDX-License-Identifier: GPL-2.0-or-later
//
// Anomalies of InfiniBand and RoCE connections, on every carrier.
#include <gtest/gtest.h>

#include "tests/session/fabric/recorder.h"

namespace stag::test {
namespace {

using fabric::AnomalyKind;
using fabric::EventKind;

constexpr IbWire::Kind kKinds[] = {IbWire::Kind::kRoceV2, IbWire::Kind::kRoceV2Ip6, IbWire::Kind::kRoceV1,
                                   IbWire::Kind::kInfiniBand, IbWire::Kind::kInfiniBandGlobal};

std::vector<AnomalyKind> AnomaliesOf(IbWire& wire, size_t snap = SIZE_MAX) {
  Recorder recorder;
  Play(wire, recorder, {}, snap);
  std::vector<AnomalyKind> out;
  for (const Recorded* r : recorder.Of(EventKind::kAnomaly)) out.push_back(r->event.anomaly().kind);
  return out;
}
using Kinds = std::vector<AnomalyKind>;

// Two copies of a Write of one packet, of which the second has byte `at` changed.
IbWire TwoWrites(IbWire::Kind kind, size_t at) {
  IbWire wire(kind);
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  talk.Ack(0);
  Buffer data = Pattern(700);
  talk.Write(0, 7, 0x1000, data);
  talk.set_psn(0, talk.psn(0) - 1);
  if (at < data.size()) data[at] ^= std::byte{4};
  talk.Write(0, 7, 0x1000, data);
  talk.Ack(0);
  return wire;
}

TEST(IbAnomaly, AnyByteThatChangesIsFound) {
  for (const IbWire::Kind kind : kKinds) {
    IbWire same = TwoWrites(kind, SIZE_MAX);
    EXPECT_EQ(AnomaliesOf(same), Kinds{});
    for (const size_t at : {0u, 15u, 16u, 350u, 699u}) {
      IbWire wire = TwoWrites(kind, at);
      EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kChangedRequest}) << at;
    }
  }
}

TEST(IbAnomaly, WhatWasCutIsNotCompared) {
  IbWire wire = TwoWrites(IbWire::Kind::kRoceV2, 20);
  const size_t whole = wire.frames()[wire.frames().size() - 2].bytes.size();
  for (size_t snap = 60; snap < whole; snap += 7) EXPECT_EQ(AnomaliesOf(wire, snap), Kinds{}) << snap;
  EXPECT_EQ(AnomaliesOf(wire, whole), Kinds{AnomalyKind::kChangedRequest});
}

// What a retransmission may have otherwise: AckReq, the IPv4 identification, the source port.
TEST(IbAnomaly, RightfulDifferencesAreNone) {
  IbWire wire = TwoWrites(IbWire::Kind::kRoceV2, SIZE_MAX);
  Buffer& copy = wire.frames()[wire.frames().size() - 2].bytes;
  copy[18] = std::byte{0x12};  // identification
  copy[19] = std::byte{0x34};
  copy[35] ^= std::byte{1};         // source port
  copy[42 + 8] ^= std::byte{0x80};  // AckReq
  copy.resize(copy.size() - ib::kIcrcLength);
  ib::AppendIcrc(copy, link::Carrier::kRoceV2, 14, 42);
  EXPECT_EQ(AnomaliesOf(wire), Kinds{});
  copy[100] ^= std::byte{1};  // now a byte of the data, too
  copy.resize(copy.size() - ib::kIcrcLength);
  ib::AppendIcrc(copy, link::Carrier::kRoceV2, 14, 42);
  EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kChangedRequest});
}

// A copy whose ICRC is wrong says nothing of its sender. Where no packet has an ICRC, bytes are compared, and nothing
// tells a change from damage.
TEST(IbAnomaly, DamagedCopiesAndMissingIcrcs) {
  IbWire wire = TwoWrites(IbWire::Kind::kRoceV2, 30);
  Buffer& copy = wire.frames()[wire.frames().size() - 2].bytes;
  copy.back() ^= std::byte{1};
  EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kBadChecksum});
  for (const size_t at : {size_t{30}, size_t{650}, SIZE_MAX}) {
    IbWire unset = TwoWrites(IbWire::Kind::kRoceV2, at);
    for (WireFrame& frame : unset.frames()) std::fill_n(frame.bytes.rbegin(), ib::kIcrcLength, std::byte{0});
    Recorder recorder;
    Play(unset, recorder);
    const auto found = recorder.Of(EventKind::kAnomaly);
    ASSERT_EQ(found.size(), at == SIZE_MAX ? 0u : 1u) << at;
    for (const Recorded* r : found) {
      EXPECT_EQ(r->event.anomaly().kind, AnomalyKind::kChangedRequest);
      EXPECT_TRUE(r->event.anomaly().unverified);
    }
  }
}

// Each bit of a packet is damaged on the way, also behind the first packets, whose ICRCs are looked at. Then it is sent
// again as it was.
TEST(IbAnomaly, DamageIsNoChange) {
  for (const IbWire::Kind kind : kKinds)
    for (const unsigned before : {1u, 30u}) {
      IbWire wire(kind);
      IbTalk talk(wire);
      talk.Connect();
      for (unsigned i = 0; i < before; ++i) {
        talk.Send(0, Message(i, 50));
        talk.Send(1, Message(i, 50));
        talk.Ack(0);
      }
      const size_t place = wire.frames().size();
      talk.Send(0, Message(99, 40));
      const WireFrame sent = wire.frames()[place];
      talk.Send(0, Message(100, 40));
      wire.frames().push_back(sent);
      talk.set_psn(0, talk.psn(0) - 1);
      talk.Send(0, Message(100, 40));
      talk.Ack(0);
      ASSERT_EQ(AnomaliesOf(wire), Kinds{});
      for (size_t bit = 0; bit < 8 * sent.bytes.size(); ++bit) {
        wire.frames()[place] = sent;
        wire.frames()[place].bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        Recorder recorder;
        Play(wire, recorder);
        for (const Recorded* r : recorder.Of(EventKind::kAnomaly)) {
          const fabric::Anomaly& anomaly = r->event.anomaly();
          EXPECT_TRUE(anomaly.kind == AnomalyKind::kBadChecksum || anomaly.unverified)
              << static_cast<int>(kind) << " " << before << " " << bit << " " << static_cast<int>(anomaly.kind);
        }
      }
    }
}

// Each side sends a message; then `talk` sends another, which is damaged. Returns it as it was.
WireFrame SendDamaged(IbWire& wire, IbTalk& talk) {
  talk.Connect();
  talk.Send(0, Message(1, 50));
  talk.Send(1, Message(1, 50));
  talk.Ack(0);
  talk.Send(0, Message(2, 50));
  const WireFrame sent = wire.frames().back();
  Buffer& bytes = wire.frames().back().bytes;
  bytes[bytes.size() - 10] ^= std::byte{1};
  return sent;
}

// A Send whose ICRC is wrong, and that its receiver acknowledges although it is not sent again, was changed in the
// capture alone. One that nobody acknowledges is dropped.
TEST(IbAnomaly, WhatTheReceiverAcknowledgesIsFollowed) {
  for (const IbWire::Kind kind : kKinds)
    for (const bool acknowledged : {false, true})
      for (const unsigned behind : {0u, 1u, 30u}) {
        if (!acknowledged && behind > 0) continue;
        IbWire wire(kind);
        IbTalk talk(wire);
        SendDamaged(wire, talk);
        if (acknowledged) talk.Ack(0);
        for (unsigned i = 0; i < behind; ++i) {
          talk.Send(0, Message(3 + i, 50));
          talk.Ack(0);
        }
        Recorder recorder;
        Play(wire, recorder);
        EXPECT_EQ(recorder.Count(EventKind::kSend), 2 + acknowledged + behind);
        EXPECT_EQ(recorder.Count(EventKind::kGap), 0u);
        EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kBadChecksum});
      }
}

constexpr int64_t kTimeout = 20'000'000;  // ns

// A Send is damaged on the way and sent again: what its receiver acknowledges is the second one.
TEST(IbAnomaly, WhatIsSentAgainIsNotInDoubt) {
  for (const IbWire::Kind kind : kKinds) {
    IbWire wire(kind);
    IbTalk talk(wire);
    WireFrame again = SendDamaged(wire, talk);
    again.time_ns += kTimeout;
    wire.frames().push_back(again);
    wire.Wait(kTimeout);
    talk.Ack(0);
    Recorder recorder;
    Play(wire, recorder);
    ASSERT_EQ(recorder.Count(EventKind::kSend), 3u);
    EXPECT_EQ(recorder.Of(EventKind::kSend).back()->bytes, Message(2, 50));
    EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kBadChecksum});
  }
}

// The last packets are remembered.
TEST(IbAnomaly, LongRetransmissions) {
  for (const uint32_t packets : {60u, 500u, 4000u}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.Send(0, Message(1));
    talk.Ack(0);
    Buffer data = Pattern(packets * 1024);
    const uint32_t psn = talk.psn(0);
    talk.Write(0, 7, 0x1000, data);
    talk.set_psn(0, psn);
    data[5] ^= std::byte{1};
    talk.Write(0, 7, 0x1000, data);
    EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kChangedRequest}) << packets;
  }
}

// The first request of a side that has only acknowledged so far is remembered, too.
TEST(IbAnomaly, FirstRequestOfASideThatOnlyAcknowledged) {
  for (const bool changed : {false, true}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    for (uint32_t i = 0; i < 20; ++i) {
      talk.Send(0, Message(i));
      talk.Ack(0);
    }
    Buffer reply = Message(99);
    const uint32_t psn = talk.psn(1);
    talk.Send(1, reply);
    talk.Rewind(1, psn);
    if (changed) reply[40] ^= std::byte{1};
    talk.Send(1, reply);
    EXPECT_EQ(AnomaliesOf(wire), changed ? Kinds{AnomalyKind::kChangedRequest} : Kinds{});
  }
}

TEST(IbAnomaly, ReadResponses) {
  for (const bool changed : {false, true}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.Send(0, Message(1));
    talk.Ack(0);
    Buffer data = Pattern(3000);
    const uint32_t psn = talk.ReadRequest(0, 7, 0x1000, 3000);
    talk.ReadResponse(0, psn, data, 0, 3);
    if (changed) data[1500] ^= std::byte{1};
    talk.ReadResponse(0, psn, data, 0, 3);
    EXPECT_EQ(AnomaliesOf(wire), changed ? Kinds{AnomalyKind::kChangedResponse} : Kinds{});
  }
}

// A Response of 1000 bytes to a Read of 3000; an RDMA Write that has no Last packet before the next Send.
TEST(IbAnomaly, OperationsThatStopEarly) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  const uint32_t psn = talk.ReadRequest(0, 7, 0x1000, 3000);
  wire.Rc(1, talk.qp(0), ib::OpcodeOf(ib::MessageKind::kReadResponse, true, true), psn, Pattern(1000), {}, 0x1f, 1);
  EXPECT_EQ(AnomaliesOf(wire), Kinds{AnomalyKind::kWrongLength});

  for (const bool whole : {false, true}) {
    IbWire write;
    IbTalk other(write);
    other.Connect();
    other.Write(0, 7, 0x1000, Pattern(3000));
    if (!whole) {
      write.frames().pop_back();
      other.set_psn(0, other.psn(0) - 1);
    }
    other.Send(0, Message(1));
    EXPECT_EQ(AnomaliesOf(write), whole ? Kinds{} : Kinds{AnomalyKind::kWrongLength});
  }
}

// A packet is missing from the capture, or from the frames' order: nothing is said.
TEST(IbAnomaly, LossAndOrderProveNothing) {
  IbWire whole;
  IbTalk talk(whole);
  talk.Connect();
  for (uint32_t i = 0; i < 6; ++i) {
    talk.Send(i % 2 == 0 ? 0 : 1, Message(i, 2000));
    talk.Write(1, 7, 0x1000, Pattern(3000, i));
    talk.Read(1, 8, 0x2000, Pattern(2500, i));
    talk.Ack(0);
    talk.Ack(1);
  }
  ASSERT_EQ(AnomaliesOf(whole), Kinds{});
  for (size_t i = 0; i < whole.frames().size(); ++i)
    for (const size_t n : {1u, 2u, 7u}) {
      IbWire lost = whole, late = whole, twice = whole;
      const auto at = [&](IbWire& wire, size_t k) {
        return wire.frames().begin() + static_cast<ptrdiff_t>(std::min(k, wire.frames().size()));
      };
      lost.frames().erase(at(lost, i), at(lost, i + n));
      EXPECT_EQ(AnomaliesOf(lost), Kinds{}) << i << " " << n << " lost";
      std::rotate(at(late, i), at(late, i + 1), at(late, i + 1 + n));
      EXPECT_EQ(AnomaliesOf(late), Kinds{}) << i << " " << n << " late";
      const std::vector<WireFrame> again(at(whole, i), at(whole, i + n));
      twice.frames().insert(at(twice, i + n), again.begin(), again.end());
      EXPECT_EQ(AnomaliesOf(twice), Kinds{}) << i << " " << n << " twice";
    }
}

}  // namespace
}  // namespace stag::test
