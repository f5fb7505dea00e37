// SPDX-License-Identifier: GPL-2.0-or-later
//
// Each test writes down an unreduced RPC message, takes items out of it as RFC 8166 section 3.4 says, plays the pieces
// and expects the very same bytes back.
#include "session/rpcrdma/rebuild.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "session/rpcrdma/session.h"
#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using namespace test;

constexpr uint32_t kNfs = nfs::kNfsProgram;

class Rebuild : public testing::Test {
 protected:
  Recorder recorder;
  Session session{SessionOptions{}, {&recorder}};
  EventScript script{session};

  void SetUp() override { script.Open(); }
  const Ended& Last() { return recorder.ended.back(); }
  void EasyReply(uint32_t xid) { script.Send(1, MakeHeader(rpcrdma::kMsg, xid), MakeReply(xid, Words({70}))); }
};

// NFSv3 WRITE: handle, offset, count, stable, data count; then the data.
Buffer Write3Head(uint32_t length) { return Join({Opaque(Pattern(32, 9)), Words({0, 4096, length, 2, length})}); }
Buffer Sliced(const Buffer& b, size_t from, size_t n) {
  return Buffer(b.begin() + static_cast<ptrdiff_t>(from), b.begin() + static_cast<ptrdiff_t>(from + n));
}

// Every length around the XDR unit, padding sent or not, in one segment or three.
TEST_F(Rebuild, WriteCallWithReadChunk) {
  uint32_t xid = 100;
  for (uint32_t length : {1u, 2u, 3u, 4u, 5u, 4096u, 4097u}) {
    for (bool pad : {false, true}) {
      for (bool split : {false, true}) {
        ++xid;
        const Buffer data = Pattern(length, static_cast<uint8_t>(xid));
        const Buffer reduced = MakeCall(xid, kNfs, 3, 7, Write3Head(length));
        const Buffer expected =
            Join({MakeCall(xid, kNfs, 3, 7, Write3Head(length)), data, Buffer(RoundUp4(length) - length)});
        Buffer moved = data;
        if (pad) moved.resize(RoundUp4(length), std::byte{0xee});  // padding need not be zero (RFC 8166 section 8.2.2)

        rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid);
        const auto position = static_cast<uint32_t>(reduced.size());
        const size_t first = split ? moved.size() / 3 : moved.size();
        const size_t second = split ? (moved.size() - first) / 2 : 0;
        AddRead(header, position, {11, static_cast<uint32_t>(first), 1000});
        if (split) {
          AddRead(header, position, {11, static_cast<uint32_t>(second), 70000});
          AddRead(header, position, {12, static_cast<uint32_t>(moved.size() - first - second), 5});
        }
        script.Send(0, header, reduced);
        // One segment in two RDMA Reads, later bytes first.
        if (first > 1) script.Read(1, 11, 1001, Sliced(moved, 1, first - 1));
        if (first > 0) script.Read(1, 11, 1000, Sliced(moved, 0, 1));
        if (split && second > 0) script.Read(1, 11, 70000, Sliced(moved, first, second));
        if (split) script.Read(1, 12, 5, Sliced(moved, first + second, moved.size() - first - second));
        EasyReply(xid);
        EXPECT_EQ(Last().call_form, CallForm::kChunked);
        ASSERT_TRUE(Last().call_complete) << length << pad << split;
        EXPECT_EQ(Last().call, expected) << length << pad << split;
        EXPECT_EQ(Last().data, data);
        EXPECT_EQ(recorder.completed.back(), xid);
      }
    }
  }
}

TEST_F(Rebuild, PaddingNeedNotBeRead) {
  const Buffer data = Pattern(5);
  const Buffer reduced = MakeCall(1, kNfs, 3, 7, Write3Head(5));
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
  AddRead(header, static_cast<uint32_t>(reduced.size()), {3, 8, 0});
  script.Send(0, header, reduced);
  script.Read(1, 3, 0, data);
  EasyReply(1);
  ASSERT_TRUE(Last().call_complete);
  EXPECT_EQ(Last().data, data);
}

TEST_F(Rebuild, MissingByteMakesItIncomplete) {
  const Buffer reduced = MakeCall(1, kNfs, 3, 7, Write3Head(100));
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
  AddRead(header, static_cast<uint32_t>(reduced.size()), {3, 100, 0});
  script.Send(0, header, reduced);
  script.Read(1, 3, 0, Pattern(50));
  script.Read(1, 3, 51, Pattern(49));
  EasyReply(1);
  EXPECT_FALSE(Last().call_complete);
  EXPECT_FALSE(Last().data_complete);
  EXPECT_TRUE(Last().call.empty());
  EXPECT_TRUE(Last().reply_complete);
}

// NFSv4 COMPOUND with two WRITEs: two Positions, both counted in the unreduced stream.
TEST_F(Rebuild, TwoPositions) {
  const Buffer a = Pattern(7, 1), b = Pattern(1026, 2);
  const Buffer stateid(16);
  const Buffer head = Join({Words({0, 1, 3, 22}), Opaque(Pattern(20)), Words({38}), stateid, Words({0, 0, 2, 7})});
  const Buffer middle = Join({Words({38}), stateid, Words({0, 4096, 2, 1026})});
  const Buffer reduced = MakeCall(1, kNfs, 4, 1, Join({head, middle}));
  const Buffer expected = MakeCall(1, kNfs, 4, 1, Join({head, a, Buffer(1), middle, b, Buffer(2)}));
  const auto p1 = static_cast<uint32_t>(40 + head.size());
  const auto p2 = static_cast<uint32_t>(p1 + 8 + middle.size());
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
  // The list need not be in order of Position (RFC 8166 section 3.4.5).
  AddRead(header, p2, {21, 1026, 0});
  AddRead(header, p1, {20, 7, 0});
  script.Send(0, header, reduced);
  script.Read(1, 20, 0, a);
  script.Read(1, 21, 0, b);
  EasyReply(1);
  ASSERT_TRUE(Last().call_complete);
  EXPECT_EQ(Last().call, expected);
  EXPECT_EQ(Last().data, Join({a, b}));
  ASSERT_EQ(Last().operations.size(), 3u);
  EXPECT_EQ(Last().operations[2].op, 38u);
}

TEST_F(Rebuild, PositionZeroAloneAndWithAFurtherChunk) {
  const Buffer data = Pattern(10);
  const Buffer reduced = MakeCall(1, kNfs, 3, 7, Write3Head(10));
  rpcrdma::Header header = MakeHeader(rpcrdma::kNomsg, 1);
  AddRead(header, 0, {7, 50, 0});
  AddRead(header, 0, {8, static_cast<uint32_t>(reduced.size() - 50), 0});
  AddRead(header, static_cast<uint32_t>(reduced.size()), {9, 10, 0});
  script.Send(0, header);
  script.Read(1, 7, 0, Sliced(reduced, 0, 50));
  script.Read(1, 8, 0, Sliced(reduced, 50, reduced.size() - 50));
  EXPECT_TRUE(recorder.completed.empty());
  script.Read(1, 9, 0, data);
  EXPECT_EQ(recorder.completed, std::vector<uint32_t>{1});
  EasyReply(1);
  EXPECT_EQ(Last().call_form, CallForm::kLongChunked);
  ASSERT_TRUE(Last().call_complete);
  EXPECT_EQ(Last().call, Join({reduced, data, Buffer(2)}));

  const Buffer whole = Join({MakeCall(2, kNfs, 3, 7, Write3Head(10)), data, Buffer(2)});
  header = MakeHeader(rpcrdma::kNomsg, 2);
  AddRead(header, 0, {7, static_cast<uint32_t>(whole.size()), 0});
  script.Send(0, header);
  script.Read(1, 7, 0, whole);
  EasyReply(2);
  EXPECT_EQ(Last().call_form, CallForm::kLong);
  EXPECT_EQ(Last().call, whole);
  EXPECT_EQ(Last().data, data);
}

TEST_F(Rebuild, BadPositionsGiveNoBytes) {
  const Buffer reduced = MakeCall(1, kNfs, 3, 7, Write3Head(8));
  struct Case {
    uint32_t position, length;
    RebuildDefect defect;
  };
  uint32_t xid = 1;
  for (const Case& c : {Case{static_cast<uint32_t>(reduced.size() + 4), 8, RebuildDefect::kPositionOutside},
                        Case{0xfffffffc, 8, RebuildDefect::kPositionOutside},
                        Case{static_cast<uint32_t>(reduced.size()), 12, RebuildDefect::kLengthMismatch},
                        Case{static_cast<uint32_t>(reduced.size()), 4, RebuildDefect::kLengthMismatch}}) {
    ++xid;
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid);
    AddRead(header, c.position, {3, c.length, 0});
    script.Send(0, header, MakeCall(xid, kNfs, 3, 7, Write3Head(8)));
    script.Read(1, 3, 0, Pattern(c.length));
    EasyReply(xid);
    EXPECT_FALSE(Last().call_complete);
    EXPECT_EQ(Last().call_defect, c.defect);
  }
}

// NFSv3 READ results: status, no attributes, count, eof, data count; then the data.
Buffer Read3Head(uint32_t length) { return Words({0, 0, length, 1, length}); }
Buffer Read3Call(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, 6, Join({Opaque(Pattern(32)), Words({0, 0, count})}));
}

TEST_F(Rebuild, ReadReplyWithWriteChunk) {
  uint32_t xid = 0;
  for (uint32_t length : {0u, 1u, 3u, 4u, 1001u}) {
    for (bool split : {false, true}) {
      ++xid;
      const Buffer data = Pattern(length, static_cast<uint8_t>(xid));
      rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, xid);
      if (split) {
        AddWriteChunk(call, {{5, 1, 100}, {5, 500, 200}, {6, 3000, 0}});
      } else {
        AddWriteChunk(call, {{5, 4096, 100}});
      }
      script.Send(0, call, Read3Call(xid, 4096));
      rpcrdma::Header reply = call;
      uint32_t at = 0;
      for (rpcrdma::Segment& segment : reply.segments) {
        segment.length = std::min(segment.length, length - at);
        if (segment.length > 0) script.Write(1, segment.handle, segment.offset, Sliced(data, at, segment.length));
        at += segment.length;
      }
      script.Send(1, reply, MakeReply(xid, Read3Head(length)));
      ASSERT_TRUE(Last().reply_complete) << length << split;
      EXPECT_EQ(Last().reply_form, length ? ReplyForm::kChunked : ReplyForm::kShort);
      EXPECT_EQ(Last().reply, Join({MakeReply(xid, Read3Head(length)), data, Buffer(RoundUp4(length) - length)}));
      EXPECT_EQ(Last().data, data);
    }
  }
}

TEST_F(Rebuild, UnusedWriteChunkLeavesTheReplyAlone) {
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{5, 4096, 100}});
  script.Send(0, call, Read3Call(1, 4096));
  rpcrdma::Header reply = call;
  reply.segments[0].length = 0;
  script.Send(1, reply, MakeReply(1, Words({70, 0})));  // NFS3ERR_STALE
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply_form, ReplyForm::kShort);
  EXPECT_EQ(Last().reply, MakeReply(1, Words({70, 0})));
}

TEST_F(Rebuild, EmptyWriteChunkKeepsTheItemInline) {
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {});
  script.Send(0, call, Read3Call(1, 4));
  const Buffer message = MakeReply(1, Join({Read3Head(4), Pattern(4)}));
  script.Send(1, call, message);
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply, message);
  EXPECT_EQ(Last().data, Pattern(4));
}

// NFSv4: three READs; the second chunk is empty, so the second item stays inline (RFC 8166 section 4.3.2).
TEST_F(Rebuild, WriteChunksPairInOrder) {
  const auto read_op = [](uint32_t count) { return Join({Words({25}), Buffer(16), Words({0, 0, count})}); };
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{1, 16, 0}});
  AddWriteChunk(call, {});
  AddWriteChunk(call, {{2, 2, 0}, {3, 16, 0}});
  script.Send(
      0, call,
      MakeCall(1, kNfs, 4, 1, Join({Words({0, 1, 4, 22}), Opaque(Pattern(8)), read_op(16), read_op(16), read_op(16)})));
  const Buffer a = Pattern(13, 1), b = Pattern(6, 2), c = Pattern(9, 3);
  script.Write(1, 1, 0, a);
  script.Write(1, 2, 0, Sliced(c, 0, 2));
  script.Write(1, 3, 0, Sliced(c, 2, 7));
  rpcrdma::Header reply = call;
  reply.segments[0].length = 13;
  reply.segments[2].length = 7;
  const auto result = [](uint32_t count) { return Words({25, 0, 1, count}); };
  const Buffer start = Words({0, 0, 4, 22, 0});
  script.Send(1, reply, MakeReply(1, Join({start, result(13), result(6), b, Buffer(2), result(9)})));
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply,
            MakeReply(1, Join({start, result(13), a, Buffer(3), result(6), b, Buffer(2), result(9), c, Buffer(3)})));
  EXPECT_EQ(Last().data, Join({a, b, c}));
  ASSERT_EQ(Last().operations.size(), 4u);
  EXPECT_TRUE(Last().operations[3].has_status);
}

TEST_F(Rebuild, ReplyChunkTogetherWithAWriteChunk) {
  const Buffer data = Pattern(30);
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{1, 64, 0}});
  SetReplyChunk(call, {{2, 20, 0}, {2, 100, 512}});
  script.Send(0, call, Read3Call(1, 64));
  const Buffer reduced = MakeReply(1, Read3Head(30));
  script.Write(1, 1, 0, data);
  script.Write(1, 2, 0, Sliced(reduced, 0, 20));
  script.Write(1, 2, 512, Sliced(reduced, 20, reduced.size() - 20));
  rpcrdma::Header reply = call;
  reply.proc = rpcrdma::kNomsg;
  reply.segments[0].length = 30;
  reply.segments[1].length = 20;
  reply.segments[2].length = static_cast<uint32_t>(reduced.size() - 20);
  script.Send(1, reply);
  EXPECT_EQ(Last().reply_form, ReplyForm::kLongChunked);
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply, Join({reduced, data, Buffer(2)}));
}

// In whichever order a Reply chunk is written, in one part or several, with parts again and parts too early: what the
// Reply says is in it. A segment that is used in part ends what can be one piece.
TEST_F(Rebuild, ReplyChunkInEveryOrder) {
  const Buffer message = MakeReply(1, Join({Read3Head(60), Pattern(60)}));
  const uint32_t size = static_cast<uint32_t>(message.size());
  struct Part {
    uint32_t begin, end;
  };
  const Part parts[] = {{0, 24}, {24, 40}, {40, 64}, {64, size}};  // {24, 40} and {40, 64} are of one segment
  std::vector<size_t> order = {0, 1, 2, 3};
  uint32_t xid = 0;
  const auto offer = [&](uint32_t second) {
    rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, ++xid);
    SetReplyChunk(call, {{1, 24, 1000}, {2, second, 2000}, {3, 500, 3000}});
    script.Send(0, call, Read3Call(xid, 64));
    return call;
  };
  const auto write = [&](const Part& part) {
    const uint32_t segment = part.begin < 24 ? 1 : part.begin < 64 ? 2 : 3;
    const uint32_t begin = segment == 1 ? 0 : segment == 2 ? 24 : 64;
    script.Write(1, segment, 1000 * segment + part.begin - begin, Sliced(message, part.begin, part.end - part.begin));
  };
  const auto answer = [&](rpcrdma::Header call) {
    call.proc = rpcrdma::kNomsg;
    call.segments[0].length = 24;
    call.segments[1].length = 40;
    call.segments[2].length = size - 64;
    script.Send(1, call);
    EXPECT_TRUE(Last().reply_complete);
    EXPECT_EQ(Last().reply, message);
  };
  for (const uint32_t second : {40u, 48u}) {
    do {
      for (const bool again : {false, true}) {
        const rpcrdma::Header call = offer(second);
        for (const size_t part : order) {
          write(parts[part]);
          if (again) write(parts[order.front()]);
        }
        answer(call);
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

// Legacy peers report the padded length of a Write chunk (draft-08 section 3.7): the inline count rules.
TEST_F(Rebuild, LegacyRoundedUpLength) {
  const Buffer data = Pattern(5);
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{1, 64, 0}});
  script.Send(0, call, Read3Call(1, 64));
  script.Write(1, 1, 0, Join({data, Buffer(3)}));
  rpcrdma::Header reply = call;
  reply.segments[0].length = 8;
  script.Send(1, reply, MakeReply(1, Read3Head(5)));
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply, Join({MakeReply(1, Read3Head(5)), data, Buffer(3)}));
}

TEST_F(Rebuild, ReturnedLengthThatFitsNothing) {
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{1, 64, 0}});
  script.Send(0, call, Read3Call(1, 64));
  script.Write(1, 1, 0, Pattern(20));
  rpcrdma::Header reply = call;
  reply.segments[0].length = 20;
  script.Send(1, reply, MakeReply(1, Read3Head(12)));
  EXPECT_FALSE(Last().reply_complete);
  EXPECT_EQ(Last().reply_defect, RebuildDefect::kLengthMismatch);
}

TEST_F(Rebuild, WriteChunkOfAnUnknownProgramHasNoPlace) {
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{1, 64, 0}});
  script.Send(0, call, MakeCall(1, 0x20000001, 1, 5));
  script.Write(1, 1, 0, Pattern(20));
  rpcrdma::Header reply = call;
  reply.segments[0].length = 20;
  script.Send(1, reply, MakeReply(1, Words({20})));
  EXPECT_FALSE(Last().reply_complete);
  EXPECT_EQ(Last().reply_defect, RebuildDefect::kUndecodable);
}

// Read-Read (draft-08 section 3.5): the reply's data is read by the client, then RDMA_DONE.
TEST_F(Rebuild, LegacyReadReadReply) {
  const Buffer data = Pattern(6);
  script.Send(0, MakeHeader(rpcrdma::kMsg, 1), Read3Call(1, 64));
  const Buffer reduced = MakeReply(1, Read3Head(6));
  rpcrdma::Header reply = MakeHeader(rpcrdma::kMsg, 1);
  AddRead(reply, static_cast<uint32_t>(reduced.size()), {77, 6, 0});
  script.Send(1, reply, reduced);
  EXPECT_TRUE(recorder.ended.empty());
  script.Read(0, 77, 0, data);
  script.Send(0, MakeHeader(rpcrdma::kDone, 1));
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_TRUE(Last().done_seen);
  EXPECT_EQ(Last().outcome, Outcome::kReplied);
  ASSERT_TRUE(Last().reply_complete);
  EXPECT_EQ(Last().reply, Join({reduced, data, Buffer(2)}));
  EXPECT_EQ(Last().data, data);
}

// RDMA_MSGP with padding before the data (draft-08 section 3.9), counted from the payload's start.
TEST_F(Rebuild, MsgpPaddingIsTakenOut) {
  const Buffer data = Pattern(64);
  const Buffer head = MakeCall(1, kNfs, 3, 7, Write3Head(64));
  const size_t pad = (128 - head.size() % 128) % 128;
  ASSERT_GT(pad, 0u);
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, 1);
  header.align = 128;
  header.thresh = 32;
  script.Send(0, header, Join({head, Buffer(pad), data}));
  EasyReply(1);
  EXPECT_EQ(Last().call_form, CallForm::kMsgp);
  ASSERT_TRUE(Last().call_complete);
  EXPECT_EQ(Last().call, Join({head, data}));
}

TEST_F(Rebuild, TruncationSaysIncompleteAndKeepsWhatIsVisible) {
  const Buffer body = Write3Head(16);
  const Buffer whole = Join({MakeCall(1, kNfs, 3, 7, body), Pattern(16)});
  for (size_t cut = 0; cut < 28 + whole.size(); ++cut) {
    const auto xid = static_cast<uint32_t>(1000 + cut);
    script.SendTruncated(0, MakeHeader(rpcrdma::kMsg, xid), Join({MakeCall(xid, kNfs, 3, 7, body), Pattern(16)}), cut);
    EasyReply(xid);
    if (cut >= 28 + 8) {
      ASSERT_EQ(Last().xid, xid) << cut;
      EXPECT_FALSE(Last().call_complete);
      EXPECT_EQ(Last().call_defect, RebuildDefect::kNone);
    }
  }
}

// A Reply chunk of two segments whose second entry was cut off: what the first holds is not the reply.
TEST_F(Rebuild, CutListsGiveNothing) {
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  SetReplyChunk(call, {{5, 24, 0}, {6, 24, 0}});
  script.Send(0, call, MakeCall(1, 0x20000001, 1, 5));
  const Buffer message = MakeReply(1, Pattern(24));
  script.Write(1, 5, 0, Sliced(message, 0, 24));
  script.Write(1, 6, 0, Sliced(message, 24, 24));
  call.proc = rpcrdma::kNomsg;
  script.SendTruncated(1, call, {}, 50);
  EXPECT_EQ(Last().outcome, Outcome::kReplied);
  EXPECT_FALSE(Last().reply_complete);

  call = MakeHeader(rpcrdma::kNomsg, 2);
  AddRead(call, 0, {7, 40, 0});
  AddRead(call, 0, {8, 40, 0});
  script.SendTruncated(0, call, {}, 60);
  script.Read(1, 7, 0, MakeCall(2, 0x20000001, 1, 5));
  script.Close();
  EXPECT_EQ(Last().xid, 2u);
  EXPECT_FALSE(Last().call_complete);
}

// Whatever of a Send is known, without its end it is no complete message, and no malformed one either.
TEST_F(Rebuild, LostEndOfASendIsNeverComplete) {
  for (size_t cut = 0; cut < 28 + 112; ++cut) {
    const auto xid = static_cast<uint32_t>(1000 + cut);
    const Buffer call = Join({MakeCall(xid, kNfs, 3, 7, Write3Head(16)), Pattern(16)});  // 112 bytes
    script.SendLost(0, MakeHeader(rpcrdma::kMsg, xid), call, cut);
    EasyReply(xid);
    if (cut < 36) continue;
    ASSERT_EQ(Last().xid, xid) << cut;
    EXPECT_FALSE(Last().call_complete) << cut;
    EXPECT_EQ(Last().call_defect, RebuildDefect::kNone) << cut;
  }
}

}  // namespace
}  // namespace stag::session
