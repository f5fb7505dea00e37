// SPDX-License-Identifier: GPL-2.0-or-later
//
// A peer that breaks the rules: each breach is answered by the Terminate that the RFCs ask for (RFC 5040 section 4.8,
// figure 11; RFC 5041 section 7; RFC 5044 section 8), and no memory is touched that was not offered.
#include "tests/replay/endpoint/offering.h"

namespace stag::endpoint::test {
namespace {

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
  Offering r(crc, options);
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
  Offering r(true);
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
  Offering r(false, {}, kind);
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

}  // namespace
}  // namespace stag::endpoint::test
