// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transport headers: layouts of RFC 8166 section 4, and messages of a Linux client and server.
#include "protocol/rpcrdma/header.h"

#include <gtest/gtest.h>

#include "tests/protocol/rpcrdma/words.h"

namespace stag::rpcrdma {
namespace {

using test::Hex;
using test::Words;

Header DecodeAll(Bytes bytes) {
  Header header;
  EXPECT_EQ(Decode(bytes, bytes.size(), header), header.status);
  return header;
}

// Of a Linux 6.1 client and server; the payload after the header is left out.
const char* const kCallNoChunks = "8751f12e 00000001 00000080 00000000 00000000 00000000 00000000";
const char* const kCallReplyChunk =
    "8f51f12e 00000001 00000080 00000000 00000000 00000000 00000001 00000003 0000238e 00000100 8f51f12e103e6000 "
    "000022e9 00007000 8f51f12e7facf000 00002187 00000004 8f51f12e103e6100";
const char* const kReplyWithReplyChunk =
    "8f51f12e 00000001 00000040 00000001 00000000 00000000 00000001 00000003 0000238e 000000b8 8f51f12e103e6000 "
    "000022e9 00000000 8f51f12e7facf000 00002187 00000000 8f51f12e103e6100";
const char* const kCallWriteChunk =
    "4353f12e 00000001 00000080 00000000 00000000 00000001 00000001 00002321 00001000 4353f12e0422e000 00000000 "
    "00000000";
const char* const kCallReadChunk =
    "6753f12e 00000001 00000080 00000000 00000001 00000070 00001aa5 00020000 6753f12e03101000 00000001 00000070 "
    "00002fe3 "
    "00020000 6753f12e030ad000 00000000 00000000 00000000";
const char* const kCallPositionZero =
    "bd53f12e 00000001 00000080 00000001 00000001 00000000 00002049 00000060 bd53f12e103e5000 00000001 00000000 "
    "00001f4b "
    "00001030 bd53f12e7f718000 00000000 00000000 00000000";
const char* const kErrVersReply = "00001003 00000063 00000040 00000004 00000001 00000001 00000001";
const char* const kErrChunkReply = "00001005 00000001 00000040 00000004 00000002";

TEST(Header, FixedWords) {
  const Header h = DecodeAll(Hex(kCallNoChunks));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.words, 4);
  EXPECT_EQ(h.xid, 0x8751f12eu);
  EXPECT_EQ(h.vers, 1u);
  EXPECT_EQ(h.credit, 128u);
  EXPECT_EQ(h.proc, kMsg);
  EXPECT_EQ(h.length, kMinimumHeader);
  EXPECT_FALSE(h.has_chunks());
}

TEST(Header, ReplyChunk) {
  const Header h = DecodeAll(Hex(kCallReplyChunk));
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 80u);
  ASSERT_TRUE(h.reply_chunk);
  const auto segments = h.Of(*h.reply_chunk);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0], (Segment{0x238e, 256, 0x8f51f12e103e6000}));
  EXPECT_EQ(segments[1], (Segment{0x22e9, 28672, 0x8f51f12e7facf000}));
  EXPECT_EQ(segments[2], (Segment{0x2187, 4, 0x8f51f12e103e6100}));
  EXPECT_TRUE(h.write_chunks.empty());
}

TEST(Header, NomsgReply) {
  const Header h = DecodeAll(Hex(kReplyWithReplyChunk));
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.proc, kNomsg);
  ASSERT_TRUE(h.reply_chunk);
  EXPECT_EQ(h.Of(*h.reply_chunk)[0].length, 184u);
  EXPECT_EQ(h.Of(*h.reply_chunk)[1].length, 0u);
}

TEST(Header, WriteChunk) {
  const Header h = DecodeAll(Hex(kCallWriteChunk));
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 52u);
  ASSERT_EQ(h.write_chunks.size(), 1u);
  ASSERT_EQ(h.Of(h.write_chunks[0]).size(), 1u);
  EXPECT_EQ(h.Of(h.write_chunks[0])[0], (Segment{0x2321, 4096, 0x4353f12e0422e000}));
  EXPECT_FALSE(h.reply_chunk);
}

TEST(Header, ReadChunk) {
  const Header h = DecodeAll(Hex(kCallReadChunk));
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 76u);
  ASSERT_EQ(h.reads.size(), 2u);
  EXPECT_EQ(h.reads[0], (ReadSegment{112, {0x1aa5, 131072, 0x6753f12e03101000}}));
  EXPECT_EQ(h.reads[1], (ReadSegment{112, {0x2fe3, 131072, 0x6753f12e030ad000}}));
}

TEST(Header, PositionZero) {
  const Header h = DecodeAll(Hex(kCallPositionZero));
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.proc, kNomsg);
  ASSERT_EQ(h.reads.size(), 2u);
  EXPECT_EQ(h.reads[0].position, 0u);
  EXPECT_EQ(h.reads[1].target.length, 0x1030u);
}

TEST(Header, SeveralWriteChunksAndAnEmptyOne) {
  // RFC 8166 section 4.3.2: three segments, none, two segments; and a Reply chunk of one.
  const auto bytes = Words({7, 1, 32, 0, 0,  1,   3, 10, 100, 0,   1, 11, 101, 0, 2, 12, 102, 0, 3,
                            1, 0, 1,  2, 20, 200, 0, 4,  21,  201, 0, 5,  0,   1, 1, 30, 300, 0, 6});
  const Header h = DecodeAll(bytes);
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, bytes.size());
  ASSERT_EQ(h.write_chunks.size(), 3u);
  EXPECT_EQ(h.Of(h.write_chunks[0])[2], (Segment{12, 102, 3}));
  EXPECT_EQ(h.write_chunks[1].count, 0u);
  EXPECT_TRUE(h.Of(h.write_chunks[1]).empty());
  EXPECT_EQ(h.Of(h.write_chunks[2])[0], (Segment{20, 200, 4}));
  ASSERT_TRUE(h.reply_chunk);
  EXPECT_EQ(h.Of(*h.reply_chunk)[0], (Segment{30, 300, 6}));
}

TEST(Header, LengthLeavesThePayload) {
  auto bytes = Hex(kCallWriteChunk);
  bytes.resize(bytes.size() + 40);
  EXPECT_EQ(DecodeAll(bytes).length, 52u);
}

TEST(Header, Msgp) {
  const auto bytes = Words({1, 1, 8, 2, 4096, 512, 0, 0, 0, 0xffffffff});
  const Header h = DecodeAll(bytes);
  ASSERT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.align, 4096u);
  EXPECT_EQ(h.thresh, 512u);
  EXPECT_EQ(h.length, 36u);
  EXPECT_EQ(DecodeAll(Bytes(bytes).first(32)).defect, Defect::kTooShort);
}

TEST(Header, Done) {
  const Header h = DecodeAll(Words({1, 1, 8, 3}));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 16u);
  EXPECT_FALSE(h.has_lists());
}

TEST(Header, ErrVersEchoesTheVersion) {
  const Header h = DecodeAll(Hex(kErrVersReply));
  EXPECT_EQ(h.status, ParseStatus::kUnsupported);
  EXPECT_EQ(h.vers, 99u);
  EXPECT_EQ(h.proc, kError);
  EXPECT_EQ(h.err, kErrVers);
  EXPECT_TRUE(h.error_range);
  EXPECT_EQ(h.vers_low, 1u);
  EXPECT_EQ(h.vers_high, 1u);
}

TEST(Header, ErrVersOfVersionOne) {
  const Header h = DecodeAll(Words({5, 1, 1, 4, 1, 2, 3}));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 28u);
  EXPECT_TRUE(h.error_range);
  EXPECT_EQ(h.vers_low, 2u);
  EXPECT_EQ(h.vers_high, 3u);
}

TEST(Header, ErrChunk) {
  const Header h = DecodeAll(Hex(kErrChunkReply));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 20u);
  EXPECT_EQ(h.err, kErrChunk);
  EXPECT_FALSE(h.error_range);
}

TEST(Header, UnknownErrorCodeEndsAfterTheCode) {
  const Header h = DecodeAll(Words({5, 1, 1, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(h.status, ParseStatus::kOk);
  EXPECT_EQ(h.length, 20u);
  EXPECT_EQ(h.err, 9u);
}

TEST(Header, ErrorBodyOverrun) {
  for (const auto& bytes : {Words({5, 1, 1, 4}), Words({5, 1, 1, 4, 1}), Words({5, 1, 1, 4, 1, 1})}) {
    const Header h = DecodeAll(bytes);
    EXPECT_EQ(h.status, ParseStatus::kMalformed);
    EXPECT_EQ(h.defect, Defect::kErrorBodyOverrun);
    EXPECT_EQ(h.defect_offset, bytes.size());
    EXPECT_FALSE(h.error_range);
  }
}

TEST(Header, OtherVersionStopsAfterTheFixedWords) {
  const Header h = DecodeAll(Words({5, 2, 1, 0, 77, 77, 77}));
  EXPECT_EQ(h.status, ParseStatus::kUnsupported);
  EXPECT_EQ(h.words, 4);
  EXPECT_EQ(h.credit, 1u);
  EXPECT_EQ(h.defect, Defect::kNone);
  EXPECT_FALSE(h.has_chunks());
}

TEST(Header, BadProc) {
  const Header h = DecodeAll(Words({5, 1, 1, 5, 0, 0, 0}));
  EXPECT_EQ(h.status, ParseStatus::kMalformed);
  EXPECT_EQ(h.defect, Defect::kBadProc);
  EXPECT_EQ(h.defect_offset, 12u);
}

TEST(Header, TooShort) {
  const auto bytes = Words({5, 1, 1, 0, 0, 0, 0});
  for (size_t n = 0; n < bytes.size(); ++n) {
    const Header h = DecodeAll(Bytes(bytes).first(n));
    EXPECT_EQ(h.status, ParseStatus::kMalformed) << n;
    EXPECT_EQ(h.defect, Defect::kTooShort) << n;
    EXPECT_EQ(h.defect_offset, n);
    EXPECT_EQ(h.words, std::min<size_t>(n / 4, 4)) << n;
  }
}

TEST(Header, BadDiscriminators) {
  const struct {
    std::vector<std::byte> bytes;
    uint32_t offset, value;
  } cases[] = {
      {Words({5, 1, 1, 0, 2, 0, 0}), 16, 2},
      {Words({5, 1, 1, 0, 0, 0xffffffff, 0}), 20, 0xffffffff},
      {Words({5, 1, 1, 0, 0, 0, 256}), 24, 256},
      {Words({5, 1, 1, 0, 1, 0, 9, 9, 9, 9, 3, 0, 0}), 40, 3},
  };
  for (const auto& c : cases) {
    const Header h = DecodeAll(c.bytes);
    EXPECT_EQ(h.status, ParseStatus::kMalformed);
    EXPECT_EQ(h.defect, Defect::kBadDiscriminator);
    EXPECT_EQ(h.defect_offset, c.offset);
    EXPECT_EQ(h.bad_discriminator, c.value);
  }
  EXPECT_EQ(DecodeAll(cases[3].bytes).reads.size(), 1u);
}

TEST(Header, ListsRunOffTheEnd) {
  const struct {
    std::vector<std::byte> bytes;
    Defect defect;
    uint32_t offset;
  } cases[] = {
      {Words({5, 1, 1, 0, 1, 0, 9}), Defect::kReadListOverrun, 28},
      {Words({5, 1, 1, 0, 1, 0, 9, 9, 9, 9}), Defect::kReadListOverrun, 40},
      {Words({5, 1, 1, 0, 1, 0, 9, 9, 9, 9, 0}), Defect::kWriteListOverrun, 44},
      {Words({5, 1, 1, 0, 0, 1, 1, 9, 9, 9}), Defect::kWriteListOverrun, 24},              // the count does not fit
      {Words({5, 1, 1, 0, 0, 1, 0x10000000, 9, 9, 9, 9}), Defect::kWriteListOverrun, 24},  // 16 times it is 2^32
      {Words({5, 1, 1, 0, 0, 0, 1}), Defect::kReplyChunkOverrun, 28},
      {Words({5, 1, 1, 0, 0, 0, 1, 2, 9, 9, 9, 9}), Defect::kReplyChunkOverrun, 28},
  };
  for (const auto& c : cases) {
    const Header h = DecodeAll(c.bytes);
    EXPECT_EQ(h.status, ParseStatus::kMalformed);
    EXPECT_EQ(h.defect, c.defect);
    EXPECT_EQ(h.defect_offset, c.offset);
    EXPECT_TRUE(h.write_chunks.empty());
    EXPECT_FALSE(h.reply_chunk);
  }
}

TEST(Header, CutByTheCapture) {
  for (const char* text : {kCallNoChunks, kCallReplyChunk, kReplyWithReplyChunk, kCallWriteChunk, kCallReadChunk,
                           kCallPositionZero, kErrChunkReply}) {
    const auto bytes = Hex(text);
    const Header whole = DecodeAll(bytes);
    Header h;
    for (size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_EQ(Decode(Bytes(bytes).first(n), bytes.size(), h), ParseStatus::kTruncatedByCapture) << n;
      EXPECT_EQ(h.defect, Defect::kNone);
      EXPECT_EQ(h.defect_offset, n);
      EXPECT_EQ(h.words, std::min<size_t>(n / 4, 4));
      // What there is is a prefix of the whole.
      ASSERT_LE(h.reads.size(), whole.reads.size());
      EXPECT_TRUE(std::equal(h.reads.begin(), h.reads.end(), whole.reads.begin()));
      ASSERT_LE(h.segments.size(), whole.segments.size());
      EXPECT_TRUE(std::equal(h.segments.begin(), h.segments.end(), whole.segments.begin()));
      for (const Chunk& chunk : h.write_chunks) EXPECT_GT(chunk.count, 0u);
    }
  }
  const auto bytes = Hex(kCallReplyChunk);
  Header h;
  Decode(Bytes(bytes).first(64), bytes.size(), h);
  ASSERT_TRUE(h.reply_chunk);
  EXPECT_EQ(h.reply_chunk->count, 2u);
}

TEST(Header, CutOnTheWire) {
  // Every proper prefix, as a whole Send, is malformed and says where.
  for (const char* text : {kCallReplyChunk, kCallWriteChunk, kCallReadChunk}) {
    const auto bytes = Hex(text);
    for (size_t n = 0; n < bytes.size(); ++n) {
      const Header h = DecodeAll(Bytes(bytes).first(n));
      EXPECT_EQ(h.status, ParseStatus::kMalformed) << n;
      EXPECT_NE(h.defect, Defect::kNone);
      EXPECT_LE(h.defect_offset, n);
    }
  }
}

TEST(Header, EncodeIsTheInverse) {
  for (const char* text : {kCallNoChunks, kCallReplyChunk, kReplyWithReplyChunk, kCallWriteChunk, kCallReadChunk,
                           kCallPositionZero, kErrVersReply, kErrChunkReply}) {
    const auto bytes = Hex(text);
    std::vector<std::byte> out;
    Encode(DecodeAll(bytes), out);
    EXPECT_EQ(out, bytes);
  }
  for (const auto& bytes : {Words({1, 1, 8, 2, 4096, 512, 0, 0, 0}), Words({1, 1, 8, 3}), Words({5, 1, 1, 4, 9}),
                            Words({7, 1, 32, 0, 0, 1, 0, 1, 1, 20, 200, 0, 4, 0, 0})}) {
    std::vector<std::byte> out;
    Encode(DecodeAll(bytes), out);
    EXPECT_EQ(out, bytes);
  }
}

TEST(Header, ReuseKeepsNothingButStorage) {
  Header h;
  const auto with_lists = Hex(kCallReadChunk);
  Decode(with_lists, with_lists.size(), h);
  const ReadSegment* storage = h.reads.data();
  const auto without = Hex(kErrChunkReply);
  Decode(without, without.size(), h);
  EXPECT_FALSE(h.has_chunks());
  EXPECT_EQ(h.err, kErrChunk);
  Decode(with_lists, with_lists.size(), h);
  EXPECT_EQ(h.reads.data(), storage);
  EXPECT_EQ(h.reads.size(), 2u);
  EXPECT_EQ(h.err, 0u);
}

TEST(Header, Names) {
  EXPECT_STREQ(ProcName(0), "RDMA_MSG");
  EXPECT_STREQ(ProcName(1), "RDMA_NOMSG");
  EXPECT_STREQ(ProcName(2), "RDMA_MSGP");
  EXPECT_STREQ(ProcName(3), "RDMA_DONE");
  EXPECT_STREQ(ProcName(4), "RDMA_ERROR");
  EXPECT_STREQ(ProcName(5), "unknown");
  EXPECT_STREQ(ErrorName(1), "ERR_VERS");
  EXPECT_STREQ(ErrorName(2), "ERR_CHUNK");
  EXPECT_STREQ(ErrorName(3), "unknown");
}

}  // namespace
}  // namespace stag::rpcrdma
