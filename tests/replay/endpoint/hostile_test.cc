// SPDX-License-Identifier: GPL-2.0-or-later
//
// A peer that breaks the rules: each breach is answered by the Terminate that the RFCs ask for (RFC 5040 section 4.8,
// figure 11; RFC 5041 section 7; RFC 5044 section 8), and no memory is touched that was not offered.
#include "replay/endpoint/soft_iwarp_errors.h"
#include "tests/replay/endpoint/raw_peer.h"

namespace stag::replay::test {
namespace {

using iwarp::DdpHeader;
using iwarp::Opcode;
using Kind = Trouble::Kind;

constexpr size_t kRegion = 1000;

struct Offered {
  Region writable, readable, local;
};

// Stag is the responder; the raw peer has asked, and was answered.
class Responder {
 public:
  explicit Responder(bool crc, EndpointOptions options = {}, SoftIwarpOptions kind = {},
                     std::optional<MpaFrame> request = {})
      : raw(RawPeer::ConnectTo(Listen(kind))), says({.crc = crc}) {
    if (!request) {
      request.emplace();
      request->revision = 2;
      request->crc = crc;
      request->enhanced = iwarp::EnhancedSetup{.ird = 16, .ord = 16};
    }
    raw.Write(FrameBytes(*request));
    options.crc = false;
    options.receive_size = 4096;
    auto incoming = listener_->Wait(kPatience);
    EXPECT_TRUE(incoming && *incoming);
    auto accepted = (*incoming)->Accept(options);
    EXPECT_TRUE(accepted);
    peer.endpoint = std::move(*accepted);
    const auto answer = raw.ReadFrame();
    EXPECT_TRUE(answer);
    if (answer) reply = *answer;
    offered = {Registered(peer, Buffer(kRegion), Access::kRemoteWrite),
               Registered(peer, Pattern(kRegion), Access::kRemoteRead),
               Registered(peer, Buffer(kRegion), Access::kLocal)};
  }

  // Polls until the endpoint has ended.
  bool RunToEnd() {
    return RunUntil([&] { return peer.over(); });
  }
  template <typename Done>
  bool RunUntil(Done done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done() && std::chrono::steady_clock::now() < end) peer.Poll(milliseconds(10));
    return done();
  }

 private:
  uint16_t Listen(const SoftIwarpOptions& kind) {
    auto listener = MakeSoftIwarp(kind)->Listen({"127.0.0.1", 0});
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    return listener_->port();
  }
  std::unique_ptr<Listener> listener_;

 public:
  RawPeer raw;
  Conversation says;  // what the raw peer, which is side 0, writes
  MpaFrame reply;
  Peer peer;
  Offered offered;
};

DdpHeader Untagged(Opcode opcode, uint32_t queue, uint32_t sequence) {
  DdpHeader header;
  header.opcode = opcode;
  header.queue = queue;
  header.sequence = sequence;
  header.last = true;
  return header;
}

DdpHeader Tagged(Opcode opcode, uint32_t stag, uint64_t offset) {
  DdpHeader header;
  header.tagged = true;
  header.last = true;
  header.opcode = opcode;
  header.stag = stag;
  header.offset = offset;
  return header;
}

struct Breach {
  const char* name;
  void (*write)(Conversation& says, const Offered& offered);
  unsigned layer, type, code;
  Kind trouble;
  bool names_segment = true, names_read = false;
};

const Breach kBreaches[] = {
    {"WriteToUnknownHandle",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, ~o.writable.handle, o.writable.offset, Pattern(10));
     },
     1, 1, 0x00, Kind::kLocalAccess},
    {"WriteBehindTheEnd",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, o.writable.handle, o.writable.offset + kRegion - 9, Pattern(10));
     },
     1, 1, 0x01, Kind::kLocalAccess},
    {"WriteBeforeTheStart",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, o.writable.handle, o.writable.offset - 1, Pattern(10));
     },
     1, 1, 0x01, Kind::kLocalAccess},
    {"WriteThatWraps",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, o.writable.handle, ~uint64_t{0} - 4, Pattern(10));
     },
     1, 1, 0x03, Kind::kLocalAccess},
    {"WriteToReadableMemory",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, o.readable.handle, o.readable.offset, Pattern(10));
     },
     0, 1, 0x02, Kind::kLocalAccess},
    {"WriteToLocalMemory",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kWrite, o.local.handle, o.local.offset, Pattern(10));
     },
     0, 1, 0x02, Kind::kLocalAccess},
    {"ReadOfUnknownHandle",
     [](Conversation& c, const Offered& o) {
       c.ReadRequest(0, {1, 0, 10, ~o.readable.handle, o.readable.offset});
     },
     0, 1, 0x00, Kind::kLocalAccess, true, true},
    {"ReadBehindTheEnd",
     [](Conversation& c, const Offered& o) {
       c.ReadRequest(0, {1, 0, kRegion + 1, o.readable.handle, o.readable.offset});
     },
     0, 1, 0x01, Kind::kLocalAccess, true, true},
    {"ReadOfFourGigabytes",
     [](Conversation& c, const Offered& o) {
       c.ReadRequest(0, {1, 0, 0xffffffff, o.readable.handle, o.readable.offset});
     },
     0, 1, 0x01, Kind::kLocalAccess, true, true},
    {"ReadOfWritableMemory",
     [](Conversation& c, const Offered& o) {
       c.ReadRequest(0, {1, 0, 10, o.writable.handle, o.writable.offset});
     },
     0, 1, 0x02, Kind::kLocalAccess, true, true},
    {"ReadThatWraps",
     [](Conversation& c, const Offered& o) {
       c.ReadRequest(0, {1, 0, 10, o.readable.handle, ~uint64_t{0}});
     },
     0, 1, 0x04, Kind::kLocalAccess, true, true},
    {"MoreReadsThanIrd",
     [](Conversation& c, const Offered& o) {
       for (int i = 0; i < 17; ++i) c.ReadRequest(0, {1, 0, 10, o.readable.handle, o.readable.offset});
     },
     1, 2, 0x02, Kind::kPeerProtocol},
    {"ReadRequestTooLong",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kReadRequest, 1, 1), Pattern(29)); }, 1, 2, 0x05,
     Kind::kPeerProtocol},
    {"ReadRequestTooShort",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kReadRequest, 1, 1), Pattern(27)); }, 0, 2, 0xff,
     Kind::kPeerProtocol},
    {"ReadRequestSkipsANumber",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kReadRequest, 1, 2), Pattern(28)); }, 1, 2, 0x03,
     Kind::kPeerProtocol},
    {"ReadResponseToNothing",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kReadResponse, o.local.handle, o.local.offset, Pattern(10));
     },
     0, 2, 0x06, Kind::kPeerProtocol},
    {"SendSkipsANumber", [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kSend, 0, 2), Pattern(8)); },
     1, 2, 0x03, Kind::kPeerProtocol},
    {"SendNumberZero", [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kSend, 0, 0), Pattern(8)); }, 1,
     2, 0x03, Kind::kPeerProtocol},
    {"SendFromTheMiddle",
     [](Conversation& c, const Offered&) {
       DdpHeader header = Untagged(Opcode::kSend, 0, 1);
       header.message_offset = 4;
       c.Ddp(0, header, Pattern(8));
     },
     1, 2, 0x04, Kind::kPeerProtocol},
    {"SendTooLong", [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kSend, 0, 1), Pattern(4097)); }, 1,
     2, 0x05, Kind::kPeerProtocol},
    {"SendTooLongInParts", [](Conversation& c, const Offered&) { c.Send(0, Pattern(4097), Opcode::kSend, 0, 1000); }, 1,
     2, 0x05, Kind::kPeerProtocol},
    {"SendWithoutReceive",
     [](Conversation& c, const Offered&) {
       for (int i = 0; i < 5; ++i) c.Send(0, Pattern(8));
     },
     1, 2, 0x02, Kind::kNoReceive},
    {"SendOnTheReadQueue",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kSend, 1, 1), Pattern(28)); }, 0, 2, 0x06,
     Kind::kPeerProtocol},
    {"QueueThree", [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kSend, 3, 1), Pattern(8)); }, 1, 2,
     0x01, Kind::kPeerProtocol},
    {"TaggedSend",
     [](Conversation& c, const Offered& o) {
       c.Tagged(0, Opcode::kSend, o.writable.handle, o.writable.offset, Pattern(10));
     },
     0, 2, 0x06, Kind::kPeerProtocol},
    {"OpcodeTwelve",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(static_cast<Opcode>(12), 0, 1), Pattern(8)); }, 0, 2, 0x06,
     Kind::kPeerProtocol},
    {"TerminateTooLong",
     [](Conversation& c, const Offered&) { c.Ddp(0, Untagged(Opcode::kTerminate, 2, 1), Pattern(53)); }, 1, 2, 0x05,
     Kind::kPeerProtocol},
    {"TaggedOfAnotherDdp",
     [](Conversation& c, const Offered& o) {
       DdpHeader header = Tagged(Opcode::kWrite, o.writable.handle, o.writable.offset);
       header.ddp_version = 2;
       c.Ddp(0, header, Pattern(8));
     },
     1, 1, 0x04, Kind::kPeerProtocol},
    {"UntaggedOfAnotherDdp",
     [](Conversation& c, const Offered&) {
       DdpHeader header = Untagged(Opcode::kSend, 0, 1);
       header.ddp_version = 0;
       c.Ddp(0, header, Pattern(8));
     },
     1, 2, 0x06, Kind::kPeerProtocol},
    {"AnotherRdmap",
     [](Conversation& c, const Offered&) {
       DdpHeader header = Untagged(Opcode::kSend, 0, 1);
       header.rdmap_version = 0;
       c.Ddp(0, header, Pattern(8));
     },
     0, 2, 0x05, Kind::kPeerProtocol},
    {"InvalidatesUnknownHandle",
     [](Conversation& c, const Offered& o) { c.Send(0, Pattern(8), Opcode::kSendInvalidate, ~o.readable.handle); }, 0,
     1, 0x00, Kind::kLocalAccess},
    {"InvalidatesLocalHandle",
     [](Conversation& c, const Offered& o) { c.Send(0, Pattern(8), Opcode::kSendInvalidate, o.local.handle); }, 0, 1,
     0x09, Kind::kLocalAccess},
    {"WritesToWhatItInvalidated",
     [](Conversation& c, const Offered& o) {
       c.Send(0, Pattern(8), Opcode::kSendSolicitedInvalidate, o.writable.handle);
       c.Tagged(0, Opcode::kWrite, o.writable.handle, o.writable.offset, Pattern(8));
     },
     1, 1, 0x00, Kind::kLocalAccess},
    {"TooShortForDdp", [](Conversation& c, const Offered&) { c.Fpdu(0, Pattern(13)); }, 2, 0, 0x03, Kind::kPeerProtocol,
     false},
    {"EmptyFpdu", [](Conversation& c, const Offered&) { c.Fpdu(0, {}); }, 2, 0, 0x03, Kind::kPeerProtocol, false},
};

class Breaches : public testing::TestWithParam<std::tuple<Breach, bool>> {};

TEST_P(Breaches, AreAnsweredByATerminate) {
  const auto& [breach, crc] = GetParam();
  EndpointOptions options;
  options.receives = 4;
  Responder r(crc, options);
  r.peer.hold = true;
  ASSERT_TRUE(Send(r.peer, Pattern(8), 77));  // waits for the peer's first FPDU, or ends with the connection
  breach.write(r.says, r.offered);
  Buffer all;
  for (const auto& written : r.says.Take()) all.insert(all.end(), written.bytes.begin(), written.bytes.end());
  r.raw.Write(all);
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->state(), State::kBroken);
  EXPECT_EQ(r.peer->trouble().kind, breach.trouble) << r.peer->trouble().text;
  EXPECT_EQ(r.peer.work.size(), 1u);
  EXPECT_EQ(Content(r.offered.writable.bytes), Buffer(kRegion));
  EXPECT_EQ(Content(r.offered.local.bytes), Buffer(kRegion));
  const auto terminate = r.raw.ReadTerminate(crc);
  ASSERT_TRUE(terminate);
  EXPECT_EQ(terminate->layer, breach.layer);
  EXPECT_EQ(terminate->type, breach.type);
  EXPECT_EQ(terminate->code, breach.code);
  EXPECT_EQ(terminate->ddp.has_value(), breach.names_segment);
  EXPECT_EQ(terminate->segment_length.has_value(), breach.names_segment);
  EXPECT_EQ(terminate->read_request.has_value(), breach.names_read);
  if (breach.names_segment) {
    EXPECT_EQ(*terminate->ddp, r.says.last(0).header);
    EXPECT_EQ(*terminate->segment_length, r.says.last(0).length);
  }
}

INSTANTIATE_TEST_SUITE_P(Hostile, Breaches, testing::Combine(testing::ValuesIn(kBreaches), testing::Bool()),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param).name) + (std::get<1>(p.param) ? "Crc" : "");
                         });

TEST(Hostile, DamagedFpdu) {
  Responder r(true);
  r.says.Tagged(0, Opcode::kWrite, r.offered.writable.handle, r.offered.writable.offset, Pattern(100));
  r.says.Damage(50);
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunToEnd());
  const auto terminate = r.raw.ReadTerminate(true);
  ASSERT_TRUE(terminate);
  EXPECT_EQ(terminate->layer, 2);
  EXPECT_EQ(terminate->type, 0);
  EXPECT_EQ(terminate->code, 2);
  EXPECT_EQ(Content(r.offered.writable.bytes), Buffer(kRegion));  // nothing damaged was placed
}

// Marker pointers that point elsewhere: MPA error 3.
TEST(Hostile, WrongMarker) {
  SoftIwarpOptions kind;
  kind.markers = true;
  Responder r(false, {}, kind);
  ASSERT_TRUE(r.reply.markers);
  Conversation marked({.markers = true});
  marked.Tagged(0, Opcode::kWrite, r.offered.writable.handle, r.offered.writable.offset, Pattern(900), 900);
  marked.Damage(512 + 3);
  r.raw.Write(marked);
  ASSERT_TRUE(r.RunToEnd());
  const auto terminate = r.raw.ReadTerminate(false);
  ASSERT_TRUE(terminate);
  EXPECT_EQ(terminate->layer, 2);
  EXPECT_EQ(terminate->code, 3);
}

// Everything that is right, a byte at a time.
TEST(Hostile, SlowButRight) {
  for (const bool crc : {false, true}) {
    Responder r(crc);
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
  Responder r(false);
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
    Responder r(crc);
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
  Responder r(false);
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
  EXPECT_EQ(r.peer.Count(Work::kRead, Outcome::kFlushed), 1u);
}

TEST(Hostile, Resets) {
  Responder r(false);
  r.says.Send(0, Pattern(100));
  r.raw.Write(r.says);
  ASSERT_TRUE(r.RunUntil([&] { return r.peer.messages.size() == 1; }));
  ASSERT_TRUE(r.peer->Read(r.offered.local.bytes, 1, 0, 10));
  r.peer->Flush();
  r.raw.Reset();
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished) << r.peer->trouble().text;
  EXPECT_EQ(r.peer.Count(Work::kRead, Outcome::kFlushed), 1u);
}

TEST(Hostile, DoesNotCloseWhenAskedTo) {
  SoftIwarpOptions kind;
  kind.close_timeout = milliseconds(20);
  Responder r(false, {}, kind);
  r.peer->Disconnect();
  ASSERT_TRUE(r.RunToEnd());
  EXPECT_EQ(r.peer->state(), State::kBroken);
  EXPECT_EQ(r.peer->trouble().kind, Kind::kPeerVanished);
}

// It reads nothing, so that not even the Terminate can go out.
TEST(Hostile, NeverReads) {
  SoftIwarpOptions kind;
  kind.close_timeout = milliseconds(20);
  Responder r(false, {}, kind);
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
    Responder r(false);
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
    EXPECT_EQ(r.peer.Count(Work::kSend, Outcome::kFlushed), 1u);
    // A Terminate is not answered.
    r.peer.endpoint.reset();
    EXPECT_TRUE(r.raw.AtEnd());
  }
}

// Of the Reads under way the one that a Terminate names is refused; the others just end.
TEST(Hostile, ATerminateRefusesTheReadThatItNames) {
  Responder r(false);
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
    EXPECT_EQ(c.outcome, c.id == 2 ? Outcome::kRefused : Outcome::kFlushed) << c.id;
}

// Responses that are none: other bytes than those that were asked for.
TEST(Hostile, WrongReadResponses) {
  const auto answer = [](uint32_t handle_change, uint64_t offset_change, size_t length) {
    Responder r(false);
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
    EXPECT_EQ(r.peer.Count(Work::kRead, Outcome::kFlushed), 1u);
    EXPECT_EQ(Content(r.offered.local.bytes), Buffer(kRegion));
    return false;
  };
  EXPECT_TRUE(answer(0, 0, 100));
  EXPECT_FALSE(answer(1, 0, 100));
  EXPECT_FALSE(answer(0, 1, 99));
  EXPECT_FALSE(answer(0, 0, 99));
  EXPECT_FALSE(answer(0, 0, 101));
}

}  // namespace
}  // namespace stag::replay::test
