// SPDX-License-Identifier: GPL-2.0-or-later
//
// A peer that is slow, ends at the wrong moment, resets, never reads, or answers with what was not asked for.
#include <sys/eventfd.h>

#include <thread>

#include "replay/endpoint/soft_iwarp_errors.h"
#include "tests/replay/endpoint/offering.h"

namespace stag::endpoint::test {
namespace {

// Everything that is right, a byte at a time.
TEST(Hostile, SlowButRight) {
  for (const bool crc : {false, true}) {
    Offering r(crc);
    const auto drip = [&] {
      for (const auto& written : r.says.Take()) {
        for (const std::byte byte : written.bytes) {
          r.raw.Write(Bytes(&byte, 1));
          r.peer.Poll({});
        }
      }
    };
    r.says.Send(0, Pattern(300, 1), Opcode::kSend, 0, 100);
    r.says.Tagged(0, Opcode::kWrite, r.offered.writable.handle, r.offered.writable.offset, Pattern(kRegion, 2), 400);
    r.says.ReadRequest(0, {5, 70, kRegion, r.offered.readable.handle, r.offered.readable.offset});
    r.says.Send(0, {});
    drip();
    ASSERT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 2; }));
    const auto response = r.raw.ReadSegment(crc);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->header.opcode, Opcode::kReadResponse);
    EXPECT_EQ(response->header.stag, 5u);
    EXPECT_EQ(response->header.offset, 70u);
    EXPECT_TRUE(std::ranges::equal(response->payload, Pattern(kRegion)));
    r.says.Send(0, Pattern(10, 3), Opcode::kSendInvalidate, r.offered.readable.handle);
    drip();
    ASSERT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 3; }));
    EXPECT_EQ(r.peer.messages[0], Pattern(300, 1));
    EXPECT_EQ(r.peer.messages[1], Buffer());
    EXPECT_EQ(r.peer.messages[2], Pattern(10, 3));
    EXPECT_EQ(r.peer.receives[2].invalidated, r.offered.readable.handle);
    EXPECT_EQ(Content(r.offered.writable.bytes), Pattern(kRegion, 2));
  }
}

// RFC 5044 section 7.1.2.
TEST(Hostile, TheResponderWaitsForTheFirstFpdu) {
  Offering r(false);
  ASSERT_TRUE(Send(r.peer, Pattern(8)));
  for (int i = 0; i < 5; ++i) r.peer.Poll({});
  EXPECT_TRUE(r.raw.NothingToRead());
  r.says.Tagged(0, Opcode::kWrite, 0, 0, {});  // names no memory: any handle will do
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunUntil([&] { return r.peer.work.size() == 1; }));
  const auto segment = r.raw.ReadSegment(false);
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->header.opcode, Opcode::kSend);
}

TEST(Hostile, EndsInTheMiddleOfAnFpdu) {
  for (const bool crc : {false, true}) {
    Offering r(crc);
    r.says.Send(0, Pattern(100));
    const Buffer bytes = r.says.Take()[0].bytes;
    r.raw.Write(Bytes(bytes).first(50));
    r.raw.FinishSending();
    ASSERT_TRUE(r.RunToEnd());
    EXPECT_EQ(r.peer->state(), State::kBroken);
    EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished);
    EXPECT_TRUE(r.peer.messages.empty());
  }
}

TEST(Hostile, EndsBetweenMessages) {
  Offering r(false);
  r.says.Send(0, Pattern(100));
  r.raw.Write(r.says);
  ASSERT_TRUE(Send(r.peer, Pattern(50), 9));
  ASSERT_TRUE(r.peer->Read(r.offered.local.bytes, 1, 0, 10));
  r.raw.FinishSending();
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->state(), State::kClosed);
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerClosed);
  EXPECT_EQ(r.peer.messages.size(), 1u);
  // What was posted before goes out; what needs an answer will have none.
  EXPECT_EQ(r.peer.Count(Work::kSend), 1u);
  EXPECT_EQ(r.peer.Count(Work::kRead, CompletionStatus::kFlushed), 1u);
}

TEST(Hostile, Resets) {
  Offering r(false);
  r.says.Send(0, Pattern(100));
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 1; }));
  ASSERT_TRUE(r.peer->Read(r.offered.local.bytes, 1, 0, 10));
  r.peer->Flush();
  r.raw.Reset();
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished) << r.peer->trouble().text;
  EXPECT_EQ(r.peer.Count(Work::kRead, CompletionStatus::kFlushed), 1u);
}

TEST(Hostile, DoesNotCloseWhenAskedTo) {
  SoftIwarpOptions kind;
  kind.close_timeout = milliseconds(20);
  Offering r(false, {}, kind);
  r.peer->Disconnect();
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->state(), State::kBroken);
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished);
}

// It reads nothing, so that not even the Terminate can go out.
TEST(Hostile, NeverReads) {
  SoftIwarpOptions kind;
  kind.close_timeout = milliseconds(20);
  Offering r(false, {}, kind);
  Region large = Registered(r.peer, Buffer(64u << 20), Access::kRemoteRead);
  for (int i = 0; i < 16; ++i) r.says.ReadRequest(0, {1, 0, 64u << 20, large.handle, large.offset});
  r.raw.Write(r.says);
  for (int i = 0; i < 50; ++i) r.peer.Poll(milliseconds(1));
  r.says.Ddp(0, Untagged(Opcode::kSend, 3, 1), Pattern(8));
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerProtocol) << r.peer->trouble().text;
}

struct Said {
  TerminateCode code;
  Kind kind;
};

TEST(Hostile, TerminatesAreUnderstood) {
  for (const Said& said : {Said{{0, 1, 0x01}, Kind::kRemoteAccess}, Said{{1, 1, 0x00}, Kind::kRemoteAccess},
                           Said{{1, 2, 0x02}, Kind::kNoReceive}, Said{{0, 2, 0x06}, Kind::kRemoteError},
                           Said{{2, 0, 0x02}, Kind::kRemoteError}, Said{{15, 15, 255}, Kind::kRemoteError}}) {
    Offering r(false);
    ASSERT_TRUE(Send(r.peer, Pattern(8)));
    iwarp::Terminate terminate;
    terminate.layer = said.code.layer;
    terminate.type = said.code.type;
    terminate.code = said.code.code;
    for (int i = 0; i < 1000; ++i) r.says.Terminate(0, terminate);  // one is enough
    Buffer all;
    for (const auto& written : r.says.Take()) all.insert(all.end(), written.bytes.begin(), written.bytes.end());
    r.raw.Write(all);
    ASSERT_TRUE(r.RunToEnd());
    EXPECT_EQ(r.peer->state(), State::kBroken);
    EXPECT_EQ(r.peer->trouble().kind, said.kind) << r.peer->trouble().text;
    EXPECT_NE(r.peer->trouble().text.find(Meaning(said.code)), std::string::npos) << r.peer->trouble().text;
    EXPECT_EQ(r.peer.Count(Work::kSend, CompletionStatus::kFlushed), 1u);
    // A Terminate is not answered.
    r.peer.endpoint.reset();
    EXPECT_TRUE(r.raw.AtEnd());
  }
}

// Of the Reads under way the one that a Terminate names is refused; the others just end.
TEST(Hostile, ATerminateRefusesTheReadThatItNames) {
  Offering r(false);
  r.says.Send(0, {});
  r.raw.Write(r.says);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(r.peer->Read(r.offered.local.bytes, 9, 0, id));
  ASSERT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 1; }));
  r.peer->Flush();
  iwarp::Terminate terminate;
  terminate.type = 1;
  terminate.segment_length = 46;
  terminate.ddp = Untagged(Opcode::kReadRequest, 1, 2);
  r.says.Terminate(0, terminate);
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunToEnd());
  ASSERT_EQ(r.peer.work.size(), 3u);
  for (const Completion& c : r.peer.work)
    EXPECT_EQ(c.outcome, c.id == 2 ? CompletionStatus::kRefused : CompletionStatus::kFlushed) << c.id;
}

// Responses that are none: other bytes than those that were asked for.
TEST(Hostile, WrongReadResponses) {
  const auto answer = [](uint32_t handle_change, uint64_t offset_change, size_t length) {
    Offering r(false);
    r.says.Send(0, {});
    r.raw.Write(r.says);
    EXPECT_TRUE(r.peer->Read(r.offered.local.bytes.first(100), 9, 0, 1));
    EXPECT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 1; }));
    r.peer->Flush();
    r.says.Tagged(0, Opcode::kReadResponse, r.offered.local.handle ^ handle_change,
                  r.offered.local.offset + offset_change, Pattern(length));
    r.raw.Write(r.says);
    EXPECT_TRUE(r.RunUntil([&] { return r.peer.over() || r.peer.Count(Work::kRead) == 1; }));
    if (!r.peer.over()) return true;
    EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerProtocol);
    EXPECT_EQ(r.peer.Count(Work::kRead, CompletionStatus::kFlushed), 1u);
    EXPECT_EQ(Content(r.offered.local.bytes), Buffer(kRegion));
    return false;
  };
  EXPECT_TRUE(answer(0, 0, 100));
  EXPECT_FALSE(answer(1, 0, 100));
  EXPECT_FALSE(answer(0, 1, 99));
  EXPECT_FALSE(answer(0, 0, 99));
  EXPECT_FALSE(answer(0, 0, 101));
}

// What it was asked for stays allocated meanwhile.
TEST(Hostile, NeverAnswersAnRdmaRead) {
  Offering r(false, {}, {.peer_timeout = milliseconds(50)});
  r.says.Tagged(0, Opcode::kWrite, 0, 0, {});  // the first FPDU
  r.raw.Write(r.says);
  ASSERT_TRUE(r.peer->Read(r.offered.local.bytes, 7, 0, 1));
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->state(), State::kBroken);
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished);
  EXPECT_NE(r.peer->trouble().text.find("did not answer an RDMA Read"), std::string::npos);
  ASSERT_EQ(r.peer.work.size(), 1u);
  EXPECT_EQ(r.peer.work[0].outcome, CompletionStatus::kFlushed);
}

TEST(Hostile, HangsUpBeforeItIsAnswered) {
  const auto listener = std::move(*MakeSoftIwarp()->Listen({"127.0.0.1", 0}));
  RawPeer peer = RawPeer::ConnectTo(listener->port());
  peer.Write(FrameBytes({}));
  const auto incoming = std::move(*listener->Wait(kPatience));
  ASSERT_TRUE(incoming);
  EXPECT_FALSE(incoming->gone());
  peer.Close();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!incoming->gone() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(incoming->gone());
}

// An answer that will not come is not waited for once nobody wants it.
TEST(Hostile, ADialIsGivenUp) {
  RawListener silent;
  const Descriptor cancel(::eventfd(1, EFD_CLOEXEC));
  EndpointOptions options;
  options.connect_timeout = std::chrono::hours(10);
  options.cancel = cancel.get();
  const auto connected = MakeSoftIwarp()->Connect({"127.0.0.1", silent.port()}, options);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().message, "interrupted");
}

}  // namespace
}  // namespace stag::endpoint::test
