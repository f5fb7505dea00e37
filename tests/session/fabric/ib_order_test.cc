// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbTracker: packets out of order, twice, lost, sent again, refused, cut short; PSNs that wrap.
#include <gtest/gtest.h>

#include "tests/session/fabric/recorder.h"

namespace stag::fabric {
namespace {

using test::Buffer;
using test::Describe;
using test::IbTalk;
using test::IbWire;
using test::Message;
using test::Pattern;
using test::Play;
using test::Recorded;
using test::Recorder;
using test::WireFrame;

constexpr uint8_t kNakSequence = 0x60, kNakAccess = 0x62, kRnr = 0x20 | 14;

// The bytes that events of a kind put at `base`.
Buffer Collect(const Recorder& r, EventKind kind, uint32_t handle, uint64_t base, size_t size) {
  Buffer out(size);
  for (const Recorded* e : r.Of(kind)) {
    if (e->event.rdma().handle != handle) continue;
    EXPECT_GE(e->event.rdma().offset, base);
    EXPECT_LE(e->event.rdma().offset - base + e->bytes.size(), size);
    std::copy(e->bytes.begin(), e->bytes.end(), out.begin() + static_cast<ptrdiff_t>(e->event.rdma().offset - base));
  }
  return out;
}

// Everything an NFS connection does, with both PSNs about to wrap.
void Conversation(IbWire& wire) {
  IbTalk talk(wire, 1, 0xfffff8, 0xffffe0);
  talk.Connect();
  for (uint32_t i = 1; i <= 4; ++i) {
    talk.Send(0, Message(2 * i, 2500));
    talk.Ack(0);
    talk.Write(1, 3, 0x5000, Pattern(4999, i));
    talk.SendInvalidate(1, Message(2 * i), 3);
    talk.Ack(1);
    talk.Send(0, Message(2 * i + 1));
    talk.Ack(0);
    talk.Read(1, 4, 0x9000, Pattern(3333, i));
    uint32_t a = talk.ReadRequest(1, 5, 0xa000, 2048), b = talk.ReadRequest(1, 5, 0xb000, 1);
    talk.ReadResponse(1, a, Pattern(2048, i), 0, 2);
    talk.ReadResponse(1, b, Pattern(1, i), 0, 1);
    talk.Send(1, Message(2 * i + 1));
    talk.Ack(1);
  }
  talk.Disconnect();
}

std::vector<std::string> Sorted(const Recorder& r) {
  std::vector<std::string> out;
  for (const Recorded& e : r.events) out.push_back(Describe(e));
  std::sort(out.begin(), out.end());
  return out;
}

// Sends, Writes and Read Requests of each direction, in order.
std::vector<std::string> InOrder(const Recorder& r, Side from) {
  std::vector<std::string> out;
  for (const Recorded& e : r.events)
    if (e.event.from == from && (e.event.kind() == EventKind::kSend || e.event.kind() == EventKind::kWrite ||
                                 e.event.kind() == EventKind::kReadRequest))
      out.push_back(Describe(e));
  return out;
}

std::vector<std::string> Minus(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

TEST(IbOrder, WrappingPsns) {
  IbWire wire;
  Conversation(wire);
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(stats.duplicates, 0u);
  EXPECT_EQ(r.Count(EventKind::kSend), 16u);
  EXPECT_EQ(r.Count(EventKind::kWrite), 20u);
  EXPECT_EQ(r.Count(EventKind::kReadRequest), 12u);
  EXPECT_EQ(r.Count(EventKind::kReadResponse), 4u * 7);
  auto sends = r.Of(EventKind::kSend);
  EXPECT_EQ(sends[0]->bytes, Message(2, 2500));
  EXPECT_EQ(sends[0]->event.content()->length, 2500u);
  EXPECT_EQ(sends[0]->event.first_frame.number + 2, sends[0]->event.frame.number);
  EXPECT_EQ(sends[1]->event.send().invalidated, 3u);
  EXPECT_EQ(Collect(r, EventKind::kWrite, 3, 0x5000, 4999), Pattern(4999, 4));
  EXPECT_EQ(Collect(r, EventKind::kReadResponse, 4, 0x9000, 3333), Pattern(3333, 4));
  auto writes = r.Of(EventKind::kWrite);
  EXPECT_TRUE(writes[0]->event.rdma().first && !writes[0]->event.rdma().last);
  EXPECT_TRUE(!writes[4]->event.rdma().first && writes[4]->event.rdma().last);
}

TEST(IbOrder, AnyFrameTwice) {
  IbWire wire;
  Conversation(wire);
  Recorder reference;
  Play(wire, reference);
  for (size_t i = 0; i < wire.frames().size(); ++i) {
    for (size_t later : {size_t{1}, size_t{2}, size_t{5}}) {
      std::vector<WireFrame> frames = wire.frames();
      frames.insert(frames.begin() + static_cast<ptrdiff_t>(std::min(i + later, frames.size())), frames[i]);
      Recorder r;
      Play(frames, wire.link(), r);
      EXPECT_EQ(Sorted(r), Sorted(reference)) << i << " " << later;
    }
  }
}

TEST(IbOrder, AnyTwoNeighboursSwapped) {
  IbWire wire;
  Conversation(wire);
  Recorder reference;
  Play(wire, reference);
  for (size_t i = 0; i + 1 < wire.frames().size(); ++i) {
    std::vector<WireFrame> frames = wire.frames();
    std::swap(frames[i].bytes, frames[i + 1].bytes);
    Recorder r;
    Play(frames, wire.link(), r);
    EXPECT_EQ(Sorted(r), Sorted(reference)) << i;
    for (Side side : {Side{0}, Side{1}}) EXPECT_EQ(InOrder(r, side), InOrder(reference, side)) << i;
  }
}

TEST(IbOrder, AnyFrameMissing) {
  IbWire wire;
  Conversation(wire);
  Recorder reference;
  Play(wire, reference);
  for (size_t i = 0; i < wire.frames().size(); ++i) {
    std::vector<WireFrame> frames = wire.frames();
    frames.erase(frames.begin() + static_cast<ptrdiff_t>(i));
    Recorder r;
    DecoderStats stats = Play(frames, wire.link(), r);
    size_t gaps = 0, cut_sends = 0;
    for (const Recorded& e : r.events) {
      gaps += e.event.kind() == EventKind::kGap;
      cut_sends += stag::test::FieldsOf(e.event).missing == Missing::kLost;
    }
    // What is new is one gap and perhaps the rest of a Send; all else was there before.
    EXPECT_EQ(stats.gaps, gaps);
    EXPECT_LE(gaps, 1u) << i;
    EXPECT_EQ(Minus(Sorted(r), Sorted(reference)).size(), gaps + cut_sends) << i;
    size_t lost = 0;
    for (const Recorded& e : reference.events)
      lost += e.event.kind() != EventKind::kSetup && e.event.kind() != EventKind::kOpened;
    size_t left = 0;
    for (const Recorded& e : r.events)
      left += e.event.kind() != EventKind::kSetup && e.event.kind() != EventKind::kOpened &&
              e.event.kind() != EventKind::kGap && stag::test::FieldsOf(e.event).missing == Missing::kNothing;
    EXPECT_TRUE(gaps != 0 || left == lost) << i;
    EXPECT_LE(lost - left, 5u) << i;  // the packets of one operation
    EXPECT_EQ(r.Count(EventKind::kClosed), 1u);
  }
}

// A packet of the requester or of its peer whose PSN is nowhere near.
void PutStray(IbWire& wire, const IbTalk& talk, Side requester, unsigned kind, uint32_t psn) {
  const auto responder = static_cast<Side>(1 - requester);
  const Buffer data = Message(0x77, 512);
  switch (kind) {
    case 0: return wire.Rc(responder, talk.qp(requester), ib::kAcknowledge, psn, {}, {}, 0x1f);
    case 1: return wire.Rc(responder, talk.qp(requester), ib::kAcknowledge, psn, {}, {}, kNakSequence);
    case 2: return wire.Rc(responder, talk.qp(requester), ib::kAcknowledge, psn, {}, {}, kRnr);
    case 3: return wire.Rc(responder, talk.qp(requester), ib::kReadResponseOnly, psn, data, {}, 0x1f);
    case 4: return wire.Rc(requester, talk.qp(responder), ib::kSendOnly, psn, data);
    case 5: return wire.Rc(requester, talk.qp(responder), ib::kWriteOnly, psn, data, {0x5000, 3, 512});
    default: return wire.Rc(requester, talk.qp(responder), ib::kReadRequest, psn, {}, {0x5000, 3, 4096});
  }
}

// No single packet makes a connection skip what both sides still send: it goes on as if that had not been captured.
TEST(IbOrder, AStrayNumberMovesNothing) {
  struct Recoveries : Recorder {
    void OnRecovery(const Recovery&) override { ++recoveries; }
    size_t recoveries = 0;
  };
  // With PSNs that wrap; `stray` is called before each round.
  const auto play = [](auto stray, Recorder& recorder) {
    IbWire wire;
    IbTalk talk(wire, 1, 0xfffff0, 0xfffff0);
    talk.Connect();
    for (uint32_t i = 0; i < 40; ++i) {
      stray(wire, talk, i);
      talk.Send(0, Message(i, 1500));
      talk.Ack(0);
      talk.Write(1, 3, 0x5000, Pattern(2500, i));
      talk.Send(1, Message(i));
      talk.Ack(1);
    }
    return Play(wire, recorder);
  };
  Recorder whole;
  play([](IbWire&, const IbTalk&, uint32_t) {}, whole);
  const std::vector<std::string> expected = Sorted(whole);
  for (const uint32_t distance : {400u, 65'537u, (1u << 23) - 500})
    for (const Side requester : {Side{0}, Side{1}})
      for (unsigned kind = 0; kind < 7; ++kind)
        for (const uint32_t place : {0u, 1u, 15u}) {
          Recoveries got;
          const DecoderStats stats = play(
              [&](IbWire& wire, const IbTalk& talk, uint32_t round) {
                if (round == place) PutStray(wire, talk, requester, kind, ib::PsnAdd(talk.psn(requester), distance));
              },
              got);
          EXPECT_EQ(stats.gaps, 0u);
          std::erase_if(got.events, [](const Recorded& e) { return e.event.kind() == EventKind::kAnomaly; });
          EXPECT_EQ(Sorted(got), expected) << distance << ' ' << kind << ' ' << place;
          EXPECT_EQ(got.recoveries, 0u);
        }
}

// What is far ahead because the capture lost a lot: each packet behind that counts, and the last one alone, too.
TEST(IbOrder, MuchIsLostFromTheCapture) {
  for (const uint32_t left : {1u, 2u, 40u}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.Send(0, Message(1));
    talk.Ack(0);
    talk.set_psn(0, talk.psn(0) + 5000);
    for (uint32_t i = 0; i < left; ++i) talk.Send(0, Message(2 + i));
    Recorder r;
    EXPECT_EQ(Play(wire, r).gaps, 1u);
    EXPECT_EQ(r.Of(EventKind::kGap)[0]->event.gap().size, 5000u);
    EXPECT_EQ(r.Count(EventKind::kSend), 1 + left);
  }
}

// A Read Request that claims more PSNs than its requester then leaves out: the next operation has the PSN behind it.
TEST(IbOrder, AReadThatIsTooLong) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1, 3000));
  talk.Ack(0);
  const uint32_t psn = talk.ReadRequest(0, 7, 0x1000, 0xffffffff);
  talk.set_psn(0, ib::PsnAdd(psn, 1));
  for (uint32_t i = 0; i < 30; ++i) {
    talk.Send(0, Message(2 + i));
    talk.Ack(0);
  }
  Recorder r;
  EXPECT_EQ(Play(wire, r).gaps, 0u);
  EXPECT_EQ(r.Count(EventKind::kSend), 31u);
}

// Where a Send ends that lost its end is not known; its receipt is told before that of the Send behind it.
TEST(IbOrder, SendThatIsGivenUpCountsAsReceived) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  const uint32_t first = talk.psn(0);
  wire.Rc(0, talk.qp(1), ib::kSendFirst, first, Pattern(1024));
  talk.set_psn(0, first + 1);
  talk.Send(0, Message(2));  // another request begins
  talk.Send(0, Message(3));
  talk.Acknowledge(0, first + 1, 0x1f);
  talk.Send(1, Message(4));
  Recorder r;
  Play(wire, r);
  ASSERT_EQ(r.Count(EventKind::kSend), 4u);
  // Of the first side's three Sends the other one has the first two.
  EXPECT_EQ(r.Of(EventKind::kSend).back()->connection.sends_received[1], 2u);
}

TEST(IbOrder, RetransmissionAfterNakDeliversEverything) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  size_t begin = wire.frames().size();
  talk.Write(1, 3, 0x5000, Pattern(10 * 1024, 1));
  talk.Send(1, Message(1));
  std::vector<WireFrame> sent(wire.frames().begin() + static_cast<ptrdiff_t>(begin), wire.frames().end());
  wire.frames().erase(wire.frames().begin() +
                      static_cast<ptrdiff_t>(begin + 4));  // lost on the way to us and to the peer
  talk.Acknowledge(1, 5004, kNakSequence);
  for (size_t i = 0; i < 50; ++i) talk.Send(0, Message(100 + static_cast<uint32_t>(i)));  // the other side goes on
  for (size_t i = 4; i < sent.size(); ++i) wire.frames().push_back(sent[i]);              // go back N
  talk.Ack(1);
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(stats.duplicates, 6u);
  EXPECT_EQ(Collect(r, EventKind::kWrite, 3, 0x5000, 10 * 1024), Pattern(10 * 1024, 1));
  EXPECT_EQ(r.Count(EventKind::kSend), 51u);
  ASSERT_EQ(r.Count(EventKind::kNak), 1u);
  EXPECT_EQ(r.Of(EventKind::kNak)[0]->event.nak().kind, NakKind::kSequence);
  EXPECT_EQ(r.Of(EventKind::kNak)[0]->event.from, 0);
}

TEST(IbOrder, LostFromTheCaptureOnly) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  Buffer write = Pattern(5 * 1024, 1);
  talk.Write(1, 3, 0x5000, write);
  wire.frames().erase(wire.frames().end() - 3);  // the third packet
  talk.Send(1, Message(1, 3000));
  wire.frames().erase(wire.frames().end() - 2);  // the second
  talk.Ack(1);
  for (uint32_t i = 0; i < 60; ++i) talk.Send(0, Message(i + 2));
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 2u);
  for (const Recorded* gap : r.Of(EventKind::kGap)) {
    EXPECT_EQ(gap->event.from, 1);
    EXPECT_EQ(gap->event.gap().size, 1u);
  }
  // The Write's other packets stand where they belong.
  std::fill_n(write.begin() + 2048, 1024, std::byte{0});
  EXPECT_EQ(Collect(r, EventKind::kWrite, 3, 0x5000, write.size()), write);
  auto sends = r.Of(EventKind::kSend);
  ASSERT_EQ(sends.size(), 61u);
  EXPECT_EQ(sends[0]->event.content()->missing, Missing::kLost);
  EXPECT_EQ(sends[0]->bytes.size(), 1024u);
  EXPECT_EQ(sends[0]->event.from, 1);
}

TEST(IbOrder, SendWithoutItsBeginningIsNotDelivered) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1, 3000));
  wire.frames().erase(wire.frames().end() - 3);
  talk.Send(0, Message(2));
  talk.Ack(0);
  Recorder r;
  Play(wire, r);
  ASSERT_EQ(r.Count(EventKind::kSend), 1u);
  EXPECT_EQ(r.Of(EventKind::kSend)[0]->bytes, Message(2));
  EXPECT_EQ(r.Count(EventKind::kGap), 1u);
}

TEST(IbOrder, GapWaitsForTheReceiver) {
  // Nothing proves that the receiver has the packet: it may still come, however many others pass.
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  WireFrame late = wire.frames().back();
  wire.frames().pop_back();
  for (uint32_t i = 0; i < 500; ++i) talk.Send(0, Message(i + 2));
  wire.frames().push_back(late);
  talk.Ack(0);
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  auto sends = r.Of(EventKind::kSend);
  ASSERT_EQ(sends.size(), 501u);
  for (uint32_t i = 0; i < 501; ++i) EXPECT_EQ(LoadBe32(sends[i]->bytes.data()), i + 1);
  EXPECT_EQ(sends[1]->event.now.number, sends[0]->event.frame.number);
}

TEST(IbOrder, TimeAndMemoryLimitTheWait) {
  for (bool by_time : {true, false}) {
    IbWire wire;
    IbTalk talk(wire);
    talk.Connect();
    talk.set_psn(0, 101);
    talk.Send(0, Message(1));
    if (by_time) wire.Wait(60'000'000'000);
    for (uint32_t i = 0; i < (by_time ? 1u : 2000u); ++i) talk.Send(1, Message(9));
    Recorder r;
    DecoderOptions options;
    if (!by_time) options.memory_limit = 40'000;
    DecoderStats stats = Play(wire, r, options);
    EXPECT_EQ(stats.gaps, 1u);
    ASSERT_EQ(r.Count(EventKind::kSend), by_time ? 2u : 2001u);
    EXPECT_LT(r.Of(EventKind::kGap)[0]->event.now.number, 500u);
  }
}

TEST(IbOrder, RnrNakAndRetry) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  WireFrame send = wire.frames().back();
  talk.Acknowledge(0, 100, kRnr);
  wire.frames().push_back(wire.frames().back());  // the NAK captured twice
  wire.frames().push_back(send);
  talk.Acknowledge(0, 100, kRnr);  // refused again
  wire.frames().push_back(send);
  talk.Ack(0);
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(r.Count(EventKind::kSend), 1u);
  EXPECT_EQ(stats.copies, 1u);
  EXPECT_EQ(stats.duplicates, 2u);
  auto naks = r.Of(EventKind::kNak);
  ASSERT_EQ(naks.size(), 2u);
  EXPECT_EQ(naks[0]->event.nak().kind, NakKind::kRnr);
  EXPECT_EQ(naks[0]->event.from, 1);
  EXPECT_EQ(naks[0]->event.nak().refused.number, 4u);
}

TEST(IbOrder, AccessErrorNamesTheOperation) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.ReadRequest(1, 0x77, 0x1234, 3000);
  talk.Acknowledge(1, 5000, kNakAccess);
  talk.Write(1, 0x78, 0x9000, Pattern(3000, 1));
  talk.Acknowledge(1, 5004, kNakAccess);
  Recorder r;
  Play(wire, r);
  auto naks = r.Of(EventKind::kNak);
  ASSERT_EQ(naks.size(), 2u);
  EXPECT_EQ(naks[0]->event.nak().kind, NakKind::kRemoteAccess);
  EXPECT_EQ(naks[0]->event.nak().refused.number, 4u);
  EXPECT_EQ(naks[0]->event.nak().handle, 0x77u);
  EXPECT_EQ(naks[0]->event.nak().offset, 0x1234u);
  EXPECT_EQ(naks[0]->event.nak().length, 3000u);
  EXPECT_EQ(naks[1]->event.nak().handle, 0x78u);
  EXPECT_EQ(naks[1]->event.nak().refused.number, 7u);
}

TEST(IbOrder, ReadRestartsInTheMiddle) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  Buffer data = Pattern(10 * 1024 - 100, 5);
  uint32_t psn = talk.ReadRequest(1, 4, 0x9000, static_cast<uint32_t>(data.size()));
  talk.ReadResponse(1, psn, data, 0, 4);
  // Response 4 is lost on the wire; the rest arrives and is thrown away; the reader asks again from there.
  talk.ReadResponse(1, psn, data, 5, 10);
  talk.Send(1, Message(3));  // already under way
  wire.Rc(1, talk.qp(0), ib::kReadRequest, psn + 4, {}, {0x9000 + 4096, 4, static_cast<uint32_t>(data.size() - 4096)});
  talk.ReadResponse(1, psn, data, 4, 10);
  talk.Ack(1);
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 0u);
  EXPECT_EQ(stats.duplicates, 6u);  // the request, and five responses seen before
  EXPECT_EQ(r.Count(EventKind::kReadRequest), 1u);
  EXPECT_EQ(r.Count(EventKind::kReadResponse), 10u);
  EXPECT_EQ(Collect(r, EventKind::kReadResponse, 4, 0x9000, data.size()), data);
  EXPECT_EQ(r.events[r.events.size() - 2].event.kind(), EventKind::kSend);  // after the data that it waited for
}

TEST(IbOrder, MissingReadResponseIsReportedBeforeTheReply) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1));
  talk.Ack(0);
  Buffer data = Pattern(4096, 5);
  uint32_t psn = talk.ReadRequest(1, 4, 0x9000, 4096);
  talk.ReadResponse(1, psn, data, 0, 2);
  talk.ReadResponse(1, psn, data, 3, 4);
  talk.Send(1, Message(1));
  talk.Ack(1);
  for (uint32_t i = 0; i < 600; ++i) {
    talk.Send(0, Message(2 + i));
    talk.Ack(0);
  }
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_EQ(stats.gaps, 1u);
  size_t gap = 0, reply = 0;
  for (size_t i = 0; i < r.events.size(); ++i) {
    if (r.events[i].event.kind() == EventKind::kGap) gap = i;
    if (r.events[i].event.kind() == EventKind::kSend && r.events[i].event.from == 1) reply = i;
  }
  EXPECT_EQ(r.events[gap].event.from, 0);
  EXPECT_EQ(gap + 1, reply);
  EXPECT_EQ(r.Count(EventKind::kSend), 602u);
}

TEST(IbOrder, MissingReadRequestIsOneGap) {
  for (uint32_t first : {5000u, 0xffffffu, 0xfffff0u, 0u}) {
    IbWire wire;
    IbTalk talk(wire, 1, 100, first);
    talk.Connect();
    uint32_t psn = talk.ReadRequest(1, 4, 0x9000, 40 * 1024);
    wire.frames().pop_back();
    talk.ReadResponse(1, psn, Pattern(40 * 1024, 5), 0, 40);
    talk.Send(1, Message(1));
    talk.Ack(1);
    Recorder r;
    DecoderStats stats = Play(wire, r);
    EXPECT_EQ(stats.gaps, 1u) << first;
    EXPECT_EQ(r.Count(EventKind::kReadResponse), 0u);
    EXPECT_EQ(r.Count(EventKind::kSend), 1u);
  }
}

TEST(IbOrder, WaitingEndsThoughTheConnectionIsSilent) {
  IbWire wire;
  IbTalk talk(wire), other(wire, 2);
  talk.Connect();
  other.Connect();
  talk.set_psn(0, 101);
  talk.Send(0, Message(1));
  wire.Wait(60'000'000'000);
  for (uint32_t i = 0; i < 2000; ++i) other.Send(0, Message(i + 2));
  Recorder r;
  Play(wire, r);
  auto gaps = r.Of(EventKind::kGap);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0]->event.frame.number, 7u);
  EXPECT_LT(gaps[0]->event.now.number, 1500u);
}

TEST(IbOrder, CutBySnapLength) {
  IbWire wire;
  IbTalk talk(wire);
  talk.Connect();
  talk.Send(0, Message(1, 2000));
  talk.Send(0, Message(2, 20));
  talk.Write(1, 3, 0x5000, Pattern(1500, 1));
  talk.Read(1, 4, 0x9000, Pattern(700, 2));
  talk.Ack(0);
  for (size_t snap : {size_t{66}, size_t{70}, size_t{74}, size_t{128}, size_t{400}}) {
    Recorder r;
    DecoderStats stats = Play(wire, r, {}, snap);
    EXPECT_GT(stats.truncated_frames, 0u);
    auto sends = r.Of(EventKind::kSend);
    ASSERT_EQ(sends.size(), 2u) << snap;
    EXPECT_EQ(sends[0]->event.content()->length, 2000u);
    EXPECT_EQ(sends[0]->event.content()->missing, Missing::kTruncatedByCapture);
    Buffer whole = Message(1, 2000);
    EXPECT_EQ(sends[0]->bytes,
              Buffer(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(std::min<size_t>(snap - 54, 1024))));
    EXPECT_EQ(sends[1]->event.content()->length, 20u);
    EXPECT_EQ(sends[1]->event.content()->missing, snap >= 74 ? Missing::kNothing : Missing::kTruncatedByCapture);
    if (snap < 70) continue;  // not even the RETH
    EXPECT_EQ(stats.gaps, 0u);
    auto writes = r.Of(EventKind::kWrite);
    ASSERT_EQ(writes.size(), 2u);
    EXPECT_EQ(writes[1]->event.rdma().offset, 0x5000u + 1024);
    EXPECT_EQ(writes[1]->event.content()->length, 476u);
    ASSERT_EQ(r.Count(EventKind::kReadResponse), 1u);
    EXPECT_EQ(r.Of(EventKind::kReadResponse)[0]->event.content()->length, 700u);
  }
}

TEST(IbOrder, HugeSendKeepsAPrefix) {
  IbWire wire;
  IbTalk talk(wire, 1, 100, 5000, 4096);
  talk.Connect();
  Buffer data = Pattern((1 << 20) + 50000, 3);
  talk.Send(0, data);
  talk.Send(0, Message(2));
  Recorder r;
  DecoderStats stats = Play(wire, r);
  EXPECT_GT(stats.dropped_for_memory, 0u);
  auto sends = r.Of(EventKind::kSend);
  ASSERT_EQ(sends.size(), 2u);
  EXPECT_EQ(sends[0]->event.content()->length, data.size());
  EXPECT_EQ(sends[0]->event.content()->missing, Missing::kLost);
  EXPECT_TRUE(std::equal(sends[0]->bytes.begin(), sends[0]->bytes.end(), data.begin()));
  EXPECT_EQ(sends[1]->event.content()->missing, Missing::kNothing);
}

}  // namespace
}  // namespace stag::fabric
