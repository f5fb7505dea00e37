// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/answer_status.h"

#include "protocol/base/writer.h"
#include "tests/replay/recording/recorded.h"

namespace stag::replay {
namespace {

using namespace recording::test;
using Kind = AnswerStatus::Kind;

TEST(AnswerStatus, OfRecordings) {
  RecordingMaker maker;
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1));
  maker.Call(ReadCall(2, 9)).Reply(FailedReply(2, 70));
  maker.Call(GetattrCall(3)).Reply(MakeReply(3, {}, rpc::kProcUnavail));
  maker.Call(GetattrCall(4));
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 4);
  error.err = rpcrdma::kErrChunk;
  maker.script.Send(1, error);
  maker.Call(GetattrCall(5));
  const recording::Recording recording = maker.Finish();
  const auto of = [&](size_t i) { return StatusOf(*recording.rpcs[i]); };
  EXPECT_EQ(of(0), (AnswerStatus{Kind::kStatus, 0}));
  EXPECT_EQ(of(1), (AnswerStatus{Kind::kStatus, 70}));
  EXPECT_EQ(of(2), (AnswerStatus{Kind::kAccepted, rpc::kProcUnavail}));
  EXPECT_EQ(of(3), (AnswerStatus{Kind::kRdmaError, rpcrdma::kErrChunk}));
  EXPECT_EQ(of(4).kind, Kind::kNone);
  const auto text = [&](size_t i) { return Describe(of(i), {100003, 3, recording.rpcs[i]->procedure, 0}); };
  EXPECT_EQ(text(0), "NFS3_OK");
  EXPECT_EQ(text(1), "NFS3ERR_STALE");
  EXPECT_EQ(text(2), "PROC_UNAVAIL");
  EXPECT_EQ(text(3), "ERR_CHUNK");
}

// --- Whether a live reply is the recorded one.

bool Same(const Buffer& recorded, const Buffer& live, const std::vector<Bytes>& chunks = {}) {
  const Buffer call = ReadCall(1, 100);
  Values values;
  values.OfReply(rpc::DecodeCall(call, call.size()), rpc::DecodeReply(live, live.size()), live, chunks);
  recording::RecordedRpc rpc;
  rpc.program = nfs::kNfsProgram;
  rpc.version = 3;
  rpc.reply.bytes = recorded;
  return IsRecordedReply(rpc, values, live, chunks);
}

TEST(IsRecordedReply, TheXidDoesNotMatter) {
  EXPECT_TRUE(Same(ReadReply(1, 10, false), ReadReply(2, 10, false)));
  EXPECT_FALSE(Same(ReadReply(1, 10, false), ReadReply(1, 11, false)));
  EXPECT_FALSE(Same(ReadReply(1, 10, false), FailedReply(1, 70)));
  EXPECT_FALSE(Same({}, ReadReply(1, 10, false)));
}

TEST(IsRecordedReply, DataFromAWriteChunk) {
  const Buffer recorded = ReadReply(1, 10, false);
  const Buffer data = Pattern(10), padded = Join({data, Buffer(2)}), other = Pattern(10, 2), shorter = Pattern(9);
  EXPECT_TRUE(Same(recorded, ReadReply(1, 10, true), {data}));
  EXPECT_TRUE(Same(recorded, ReadReply(1, 10, true), {padded}));
  EXPECT_FALSE(Same(recorded, ReadReply(1, 10, true), {other}));
  EXPECT_FALSE(Same(recorded, ReadReply(1, 10, true), {shorter}));
  EXPECT_TRUE(Same(recorded, ReadReply(1, 10, false), {Bytes{}})) << "a chunk that came back unused";
}

// RFC 8881 section 18.46: SEQUENCE's result repeats the slot, which the client chose.
TEST(IsRecordedReply, TheSlotOfASequenceDoesNotMatter) {
  const auto reply = [](uint32_t slot, uint32_t target) {
    Buffer message = MakeReply(1, {});
    Writer out(message);
    for (const uint32_t word : {0u, 0u, 1u, 53u, 0u}) out.U32(word);  // status, tag, count, SEQUENCE, its status
    out.Zeros(16);                                                    // session
    for (const uint32_t word : {7 + slot, slot, 63u, target, 0u}) out.U32(word);
    return message;
  };
  const auto same = [](uint32_t version, const Buffer& recorded, const Buffer& live) {
    recording::RecordedRpc rpc;
    rpc.program = nfs::kNfsProgram;
    rpc.version = version;
    rpc.reply.bytes = recorded;
    return IsRecordedReply(rpc, Values(), live, {});
  };
  EXPECT_TRUE(same(4, reply(0, 63), reply(1, 63)));
  EXPECT_FALSE(same(4, reply(0, 63), reply(0, 62))) << "the server names the target slot";
  EXPECT_FALSE(same(3, reply(0, 63), reply(1, 63))) << "no COMPOUND";
}

}  // namespace
}  // namespace stag::replay
