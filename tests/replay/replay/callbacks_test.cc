// SPDX-License-Identifier: GPL-2.0-or-later
//
// Answers to CB_COMPOUND, in the XDR of RFC 8881 section 20.
#include "replay/replay/callbacks.h"

#include "tests/replay/recording/recorded.h"

namespace stag::replay {
namespace {

using namespace recording::test;

constexpr uint32_t kProgram = 0x40000000;

Buffer CbSequence(uint32_t slot) { return Join({Words({11}), Pattern(16), Words({7, slot, 3, 0, 0})}); }
Buffer CbSequenceResult(uint32_t slot) { return Join({Words({11, 0}), Pattern(16), Words({7, slot, 3, 3})}); }
Buffer Recall() { return Join({Words({4}), Pattern(16, 2), Words({0}), Opaque(Pattern(20))}); }
Buffer Call(uint32_t xid, std::initializer_list<Buffer> operations) {
  return MakeCall(
      xid, kProgram, 1, 1,
      Join({Opaque(Pattern(3)), Words({1, 0, static_cast<uint32_t>(operations.size())}), Join(operations)}));
}
Buffer Results(uint32_t xid, uint32_t status, std::initializer_list<Buffer> results) {
  return MakeReply(
      xid, Join({Words({status}), Opaque(Pattern(3)), Words({static_cast<uint32_t>(results.size())}), Join(results)}));
}
Buffer Answer(Callbacks& callbacks, const Buffer& call) {
  std::vector<std::byte> reply;
  callbacks.Answer(call, reply);
  return reply;
}

TEST(Callbacks, WithoutARecording) {
  Callbacks callbacks;
  EXPECT_EQ(Answer(callbacks, MakeCall(1, kProgram, 1, 0)), MakeReply(1));
  EXPECT_EQ(Answer(callbacks, Call(2, {CbSequence(1), Recall()})), Results(2, 0, {CbSequenceResult(1), Words({4, 0})}));
  // CB_GETATTR of a file that it knows nothing of, which ends the rest.
  const Buffer getattr = Join({Words({3}), Opaque(Pattern(20)), Words({1, 16})});
  EXPECT_EQ(Answer(callbacks, Call(3, {CbSequence(0), getattr, Recall()})),
            Results(3, 10001, {CbSequenceResult(0), Words({3, 10001})}));
  EXPECT_EQ(Answer(callbacks, MakeCall(4, kProgram, 1, 2)), MakeReply(4, {}, rpc::kProcUnavail));
  EXPECT_EQ(Answer(callbacks, MakeCall(5, kNfs, 3, 0)), MakeReply(5, {}, rpc::kProgUnavail));
  EXPECT_EQ(Answer(callbacks, MakeReply(6)), Buffer{});
}

TEST(Callbacks, TheRecordedStatusesInTheirOrder) {
  RecordingMaker maker;
  for (const auto& [xid, status] : {std::pair{1u, 10001u}, std::pair{2u, 0u}}) {
    maker.script.Send(1, MakeHeader(rpcrdma::kMsg, xid), Call(xid, {CbSequence(0), Recall()}));
    maker.script.Send(0, MakeHeader(rpcrdma::kMsg, xid),
                      Results(xid, status, {CbSequenceResult(0), Words({4, status})}));
  }
  const recording::Recording recording = maker.Finish();
  ASSERT_EQ(recording.rpcs.size(), 2u);
  Callbacks callbacks;
  for (const recording::RecordedRpc* rpc : recording.rpcs) callbacks.Add(*rpc);
  for (const uint32_t status : {10001u, 0u, 0u})
    EXPECT_EQ(Answer(callbacks, Call(9, {CbSequence(2), Recall()})),
              Results(9, status, {CbSequenceResult(2), Words({4, status})}));
}

TEST(Callbacks, CutAnywhere) {
  Callbacks callbacks;
  const Buffer call = Call(2, {CbSequence(1), Recall()});
  for (size_t n = 0; n < call.size(); ++n) {
    const Buffer reply = Answer(callbacks, Buffer(call.begin(), call.begin() + static_cast<ptrdiff_t>(n)));
    if (n >= 40) {  // its header is whole: something is wrong with what follows
      EXPECT_EQ(reply, MakeReply(2, {}, rpc::kGarbageArgs)) << n;
    }
  }
}

}  // namespace
}  // namespace stag::replay
