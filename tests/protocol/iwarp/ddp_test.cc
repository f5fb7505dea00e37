// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP and RDMAP headers, Read Requests and Terminates: known bytes both ways, every field, every truncation.
#include "protocol/iwarp/ddp.h"

#include <gtest/gtest.h>

#include "tests/protocol/iwarp/hex.h"

namespace stag::iwarp {
namespace {

using test::Hex;

TEST(Ddp, UntaggedHeader) {
  const auto bytes = Hex("41 46 01020304 00000000 00000005 00000600 aabb");
  DdpSegment segment;
  ASSERT_EQ(DecodeDdpSegment(bytes, bytes.size(), segment), ParseStatus::kOk);
  const DdpHeader& h = segment.header;
  EXPECT_FALSE(h.tagged);
  EXPECT_TRUE(h.last);
  EXPECT_EQ(h.opcode, Opcode::kSendSolicitedInvalidate);
  EXPECT_TRUE(IsSend(h.opcode) && IsSolicited(h.opcode) && IsInvalidate(h.opcode));
  EXPECT_EQ(h.invalidate_stag, 0x01020304u);
  EXPECT_EQ(h.queue, 0u);
  EXPECT_EQ(h.sequence, 5u);
  EXPECT_EQ(h.message_offset, 0x600u);
  EXPECT_EQ(segment.payload_length, 2u);
  EXPECT_EQ(segment.payload.size(), 2u);
  std::vector<std::byte> again;
  EncodeDdpSegment(h, segment.payload, again);
  EXPECT_EQ(again, bytes);
}

TEST(Ddp, TaggedHeader) {
  const auto bytes = Hex("81 42 a1b2c3d4 0102030405060708 00");
  DdpSegment segment;
  ASSERT_EQ(DecodeDdpSegment(bytes, bytes.size(), segment), ParseStatus::kOk);
  EXPECT_TRUE(segment.header.tagged);
  EXPECT_FALSE(segment.header.last);
  EXPECT_EQ(segment.header.opcode, Opcode::kReadResponse);
  EXPECT_EQ(segment.header.stag, 0xa1b2c3d4u);
  EXPECT_EQ(segment.header.offset, 0x0102030405060708u);
  std::vector<std::byte> again;
  EncodeDdpSegment(segment.header, segment.payload, again);
  EXPECT_EQ(again, bytes);
}

TEST(Ddp, EveryControlByteComesBack) {
  for (unsigned ddp = 0; ddp < 256; ++ddp) {
    for (unsigned rdmap = 0; rdmap < 256; ++rdmap) {
      std::vector<std::byte> bytes = Hex("0000 11223344 5566778899aabbcc ddeeff00");
      bytes[0] = std::byte(ddp);
      bytes[1] = std::byte(rdmap);
      DdpSegment segment;
      const ParseStatus status = DecodeDdpSegment(bytes, bytes.size(), segment);
      EXPECT_EQ(status, (ddp & 3) == 1 && rdmap >> 6 == 1 ? ParseStatus::kOk : ParseStatus::kUnsupported);
      std::vector<std::byte> again;
      EncodeDdpSegment(segment.header, segment.payload, again);
      ASSERT_EQ(again, bytes);
    }
  }
}

TEST(Ddp, TruncationAtEveryByte) {
  for (const auto& bytes :
       {Hex("41 43 00000000 00000000 00000001 00000000 aabbccdd"), Hex("c1 40 00000001 0000000000000000 aabbccdd")}) {
    const size_t header = bytes.size() - 4;
    for (size_t n = 0; n < bytes.size(); ++n) {
      DdpSegment segment;
      const ParseStatus cut = DecodeDdpSegment(Bytes(bytes).first(n), bytes.size(), segment);
      EXPECT_EQ(cut, n < header ? ParseStatus::kTruncatedByCapture : ParseStatus::kOk);
      if (n >= header) {
        EXPECT_EQ(segment.payload_length, 4u);
        EXPECT_EQ(segment.payload.size(), n - header);
      }
      const ParseStatus all = DecodeDdpSegment(Bytes(bytes).first(n), n, segment);
      EXPECT_EQ(all, n < header ? ParseStatus::kMalformed : ParseStatus::kOk);
    }
  }
}

// RFC 5040 section 4.2, figure 4: which opcode goes with which model and queue.
TEST(Ddp, Plausible) {
  const auto header = [](bool tagged, Opcode opcode, uint32_t queue) {
    DdpHeader h;
    h.tagged = tagged;
    h.opcode = opcode;
    h.queue = queue;
    h.last = true;
    h.sequence = 1;
    return h;
  };
  for (uint8_t o = 0; o < 16; ++o) {
    const Opcode opcode{o};
    EXPECT_EQ(IsPlausible(header(true, opcode, 0), 28), o == 0 || o == 2) << int{o};
    for (uint32_t queue = 0; queue < 4; ++queue) {
      const bool right = (o >= 3 && o <= 6 && queue == 0) || (o == 1 && queue == 1) || (o == 7 && queue == 2);
      EXPECT_EQ(IsPlausible(header(false, opcode, queue), 28), right) << int{o} << ' ' << queue;
    }
  }
  EXPECT_FALSE(IsPlausible(header(false, Opcode::kReadRequest, 1), 27));
  DdpHeader h = header(true, Opcode::kWrite, 0);
  h.ddp_reserved = 1;
  EXPECT_FALSE(IsPlausible(h, 28));
  h = header(true, Opcode::kWrite, 0);
  h.rdmap_version = 0;
  EXPECT_FALSE(IsPlausible(h, 28));
  h = header(false, Opcode::kSend, 0);
  h.sequence = 0;
  EXPECT_FALSE(IsPlausible(h, 28));
}

TEST(Rdmap, ReadRequest) {
  const auto bytes = Hex("11223344 0000000000001000 00002000 55667788 00000000deadbeef");
  ReadRequest request;
  ASSERT_EQ(DecodeReadRequest(bytes, bytes.size(), request), ParseStatus::kOk);
  EXPECT_EQ(request, (ReadRequest{0x11223344, 0x1000, 0x2000, 0x55667788, 0xdeadbeef}));
  std::vector<std::byte> again;
  EncodeReadRequest(request, again);
  EXPECT_EQ(again, bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(DecodeReadRequest(Bytes(bytes).first(n), bytes.size(), request), ParseStatus::kTruncatedByCapture);
    EXPECT_EQ(DecodeReadRequest(Bytes(bytes).first(n), n, request), ParseStatus::kMalformed);
  }
}

// RFC 5040 section 4.8: layer, type, code, the M, D and R flags, then length, DDP header, Read Request.
TEST(Rdmap, TerminateOfARead) {
  const auto bytes =
      Hex("0100 e000 002e  4141 00000000 00000001 00000007 00000000  11223344 0000000000001000 00002000 55667788 "
          "00000000deadbeef");
  Terminate terminate;
  ASSERT_EQ(DecodeTerminate(bytes, bytes.size(), terminate), ParseStatus::kOk);
  EXPECT_EQ(terminate.layer, 0);
  EXPECT_EQ(terminate.type, 1);
  EXPECT_EQ(terminate.code, 0);
  EXPECT_EQ(terminate.segment_length, 46);
  ASSERT_TRUE(terminate.ddp && terminate.read_request);
  EXPECT_EQ(terminate.ddp->queue, 1u);
  EXPECT_EQ(terminate.ddp->sequence, 7u);
  EXPECT_EQ(terminate.read_request->source_offset, 0xdeadbeefu);
  std::vector<std::byte> again;
  EncodeTerminate(terminate, again);
  EXPECT_EQ(again, bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(DecodeTerminate(Bytes(bytes).first(n), bytes.size(), terminate), ParseStatus::kTruncatedByCapture) << n;
    EXPECT_EQ(terminate.segment_length.has_value(), n >= 6);
    EXPECT_EQ(terminate.ddp.has_value(), n >= 24);
    EXPECT_FALSE(terminate.read_request);
    EXPECT_EQ(DecodeTerminate(Bytes(bytes).first(n), n, terminate), ParseStatus::kMalformed) << n;
  }
}

// As siw on a little-endian machine says that no receive was posted for Send 3: struct iwarp_terminate of its iwarp.h,
// whose bit fields put the layer (1, DDP) in the low half of the first byte, the type (2, untagged buffer) in the high
// one, and M and D in the low bits of the third.
TEST(Rdmap, TerminateOfSiw) {
  const auto bytes = Hex("2102 0300 0076  4143 00000000 00000000 00000003 00000000");
  Terminate terminate;
  ASSERT_EQ(DecodeTerminate(bytes, bytes.size(), terminate), ParseStatus::kOk);
  EXPECT_TRUE(terminate.little_endian);
  EXPECT_EQ(terminate.layer, 1);
  EXPECT_EQ(terminate.type, 2);
  EXPECT_EQ(terminate.code, 2);
  EXPECT_EQ(terminate.segment_length, 0x76);
  ASSERT_TRUE(terminate.ddp);
  EXPECT_EQ(terminate.ddp->sequence, 3u);
  EXPECT_FALSE(terminate.read_request);
  std::vector<std::byte> again;
  EncodeTerminate(terminate, again);
  EXPECT_EQ(again, bytes);
}

TEST(Rdmap, TerminateComesBack) {
  DdpHeader tagged;
  tagged.tagged = true;
  tagged.stag = 77;
  tagged.offset = 0x123456789a;
  for (unsigned bits = 0; bits < 8; ++bits) {
    Terminate terminate;
    terminate.layer = 1;
    terminate.type = 2;
    terminate.code = 5;
    terminate.reserved = 0x1abc;
    if (bits & 1) {
      terminate.segment_length = 1014;
      if (bits & 2) terminate.ddp = tagged;
      if (bits & 4) terminate.read_request = ReadRequest{1, 2, 3, 4, 5};
    }
    std::vector<std::byte> bytes;
    EncodeTerminate(terminate, bytes);
    Terminate back;
    ASSERT_EQ(DecodeTerminate(bytes, bytes.size(), back), ParseStatus::kOk);
    EXPECT_EQ(back, terminate);
  }
}

}  // namespace
}  // namespace stag::iwarp
