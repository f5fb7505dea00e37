// SPDX-License-Identifier: GPL-2.0-or-later
//
// Replies laid out into Write chunks, the Send and the Reply chunk; the expected places follow from RFC 8166 sections
// 3.5.3, 4.3.2 and 4.3.3 by hand.
#include "replay/rpcrdma/reply_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/messages.h"

namespace stag::rpcrdma {
namespace {

using stag::test::AddWriteChunk;
using stag::test::Buffer;
using stag::test::MakeHeader;
using stag::test::Pattern;
using stag::test::SetReplyChunk;

using Segments = std::vector<Segment>;

Header Call(std::initializer_list<Segments> write_chunks, const Segments& reply_chunk = {}) {
  Header header = MakeHeader(kMsg, 5);
  for (const Segments& chunk : write_chunks) AddWriteChunk(header, chunk);
  if (!reply_chunk.empty()) SetReplyChunk(header, reply_chunk);
  return header;
}

// A Reply of `size` bytes with these items.
struct Made {
  Made(size_t size, std::vector<ResultItem> items) {
    reply.message = Pattern(size);
    reply.items = std::move(items);
  }
  // "write 7+0: 100+7, inline 0+100": where which bytes of the Reply go; "nothing fits".
  std::string Laid(const Header& call, const ReplyLimits& limits = {.credit = 9, .send_size = 4096, .pieces = 4}) {
    const Buffer whole = reply.message;
    if (!LayOut(call, reply, limits, layout)) return "nothing fits";
    std::string out;
    const auto add = [&](const std::string& where, Bytes bytes) {
      const auto found = std::search(whole.begin(), whole.end(), bytes.begin(), bytes.end());
      EXPECT_NE(found, whole.end());
      out += (out.empty() ? "" : ", ") + where + std::to_string(found - whole.begin()) + '+' +
             std::to_string(bytes.size());
    };
    for (const ReplyWrite& w : layout.writes)
      add("write " + std::to_string(w.handle) + '+' + std::to_string(w.offset) + ": ", w.from);
    for (const Bytes piece : layout.pieces) add("inline ", piece);
    Header decoded;
    Decode(layout.encoded, layout.encoded.size(), decoded);
    EXPECT_EQ(decoded.status, ParseStatus::kOk);
    EXPECT_EQ(decoded.xid, call.xid);
    EXPECT_EQ(decoded.credit, limits.credit);
    EXPECT_EQ(decoded.proc, layout.pieces.empty() ? kNomsg : kMsg);
    EXPECT_EQ(decoded.segments, layout.header.segments);
    return out;
  }
  // Lengths of all segments, as the Reply reports them.
  std::string Lengths() const {
    std::string out;
    for (const Segment& s : layout.header.segments) out += (out.empty() ? "" : " ") + std::to_string(s.length);
    return out;
  }

  ServiceReply reply;
  ReplyLayout layout;
};

TEST(ReplyLayout, Short) {
  Made made(100, {});
  EXPECT_EQ(made.Laid(Call({})), "inline 0+100");
  EXPECT_EQ(made.Laid(Call({{{7, 64, 0}}}, {{8, 4096, 0}})), "inline 0+100");
  EXPECT_EQ(made.Lengths(), "0 0");
}

TEST(ReplyLayout, AnItemGoesToItsChunkWithoutPadding) {
  Made made(128, {{100, 13}});
  EXPECT_EQ(made.Laid(Call({{{7, 64, 0x1000}}})), "write 7+4096: 100+13, inline 0+100, inline 116+12");
  EXPECT_EQ(made.Lengths(), "13");
}

TEST(ReplyLayout, SegmentsAreFilledInTurn) {
  Made made(160, {{100, 40}});
  EXPECT_EQ(made.Laid(Call({{{7, 16, 0}, {8, 20, 4}, {9, 16, 0}, {10, 8, 0}}})),
            "write 7+0: 100+16, write 8+4: 116+20, write 9+0: 136+4, inline 0+100, inline 140+20");
  EXPECT_EQ(made.Lengths(), "16 20 4 0");
}

TEST(ReplyLayout, ChunksBelongToItemsInOrder) {
  Made made(200, {{20, 8}, {40, 8}, {60, 0}, {80, 8}});
  // The second chunk is empty: its item stays inline. The third item has no bytes, and a chunk all the same.
  EXPECT_EQ(made.Laid(Call({{{7, 8, 0}}, {}, {{8, 8, 0}}, {{9, 8, 0}}})),
            "write 7+0: 20+8, write 9+0: 80+8, inline 0+20, inline 28+52, inline 88+112");
  EXPECT_EQ(made.Lengths(), "8 0 8");
  // Fewer chunks than items.
  EXPECT_EQ(made.Laid(Call({{{7, 8, 0}}})), "write 7+0: 20+8, inline 0+20, inline 28+172");
}

TEST(ReplyLayout, WhatDoesNotFitTheChunkIsRefused) {
  Made made(128, {{100, 13}});
  EXPECT_EQ(made.Laid(Call({{{7, 12, 0}}}, {{8, 4096, 0}})), "nothing fits");
}

TEST(ReplyLayout, LongRepliesGoToTheReplyChunk) {
  Made made(200, {});
  const ReplyLimits limits{.credit = 1, .send_size = 150, .pieces = 4};
  EXPECT_EQ(made.Laid(Call({}), limits), "nothing fits");
  EXPECT_EQ(made.Laid(Call({}, {{8, 199, 0}}), limits), "nothing fits");
  EXPECT_EQ(made.Laid(Call({}, {{8, 150, 0}, {9, 60, 64}}), limits), "write 8+0: 0+150, write 9+64: 150+50");
  EXPECT_EQ(made.Lengths(), "150 50");
  // A header that is larger than a Send.
  EXPECT_EQ(
      made.Laid(Call({{{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}, {5, 0, 0}, {6, 0, 0}}}, {{8, 200, 0}}), limits),
      "nothing fits");
}

// The Reply chunk reports what is left, not the item that went to the Write chunk.
TEST(ReplyLayout, BothKindsOfChunks) {
  Made made(300, {{100, 150}});
  const ReplyLimits limits{.credit = 1, .send_size = 150, .pieces = 4};
  const Buffer whole = made.reply.message;
  ASSERT_TRUE(LayOut(Call({{{7, 150, 0}}}, {{8, 300, 0}}), made.reply, limits, made.layout));
  ASSERT_EQ(made.layout.writes.size(), 2u);
  EXPECT_TRUE(made.layout.pieces.empty());
  EXPECT_EQ(made.layout.header.proc, kNomsg);
  EXPECT_EQ(made.Lengths(), "150 148");
  Buffer rest(whole.begin(), whole.begin() + 100);
  rest.insert(rest.end(), whole.begin() + 252, whole.end());
  EXPECT_TRUE(std::ranges::equal(made.layout.writes[1].from, rest));
}

TEST(ReplyLayout, MorePiecesThanASendGathers) {
  Made made(200, {{20, 8}, {40, 8}, {60, 8}});
  const Header without = Call({{{7, 8, 0}}, {{8, 8, 0}}, {{9, 8, 0}}});
  EXPECT_EQ(made.Laid(without, {.credit = 1, .send_size = 4096, .pieces = 4}), "nothing fits");
  EXPECT_EQ(
      made.Laid(without, {.credit = 1, .send_size = 4096, .pieces = 5}),
      "write 7+0: 20+8, write 8+0: 40+8, write 9+0: 60+8, inline 0+20, inline 28+12, inline 48+12, inline 68+132");
}

TEST(ReplyLayout, ViewsGoFromWhereTheyLie) {
  const Buffer data = Pattern(64);
  Made made(100, {{60, 64}});
  made.reply.views = {{.at = 60, .bytes = data, .memory = {}}};
  ASSERT_TRUE(LayOut(Call({{{7, 64, 0}}}), made.reply, {.credit = 1, .send_size = 4096, .pieces = 4}, made.layout));
  ASSERT_EQ(made.layout.writes.size(), 1u);
  EXPECT_EQ(made.layout.writes[0].from.data(), data.data());
  ASSERT_EQ(made.layout.pieces.size(), 2u);
  EXPECT_EQ(made.layout.pieces[1].data(), made.reply.message.data() + 60);
  made.reply.views.clear();  // it lent nothing
}

}  // namespace
}  // namespace stag::rpcrdma
