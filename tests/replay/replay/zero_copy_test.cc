// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the processor does with the payload of recorded READs and WRITEs (watched_memory.h), 1 MiB each: `stag replay`
// and `stag serve FILE` as they are. One end is watched at a time.
#include "replay/replay/player.h"
#include "replay/serve/recorded.h"
#include "tests/replay/endpoint/fabric.h"
#include "tests/replay/endpoint/watched_memory.h"
#include "tests/replay/replay/planned.h"
#include "tests/replay/serve/server_thread.h"

#ifndef STAG_SANITIZED

namespace stag::replay {
namespace {

using namespace test;
using namespace endpoint::test;

constexpr uint32_t kSize = 1 << 20, kAtOnce = 4;
constexpr uint64_t kCalls = 32, kWatched = kCalls * 3 / 4, kPayload = kCalls * kSize;
constexpr uint64_t kMemory = 2 * kPayload;  // what is recorded stays in memory

enum class Recorded : uint8_t { kReads, kWrites };
enum class Watch : uint8_t { kClient, kServer };

// The capture: kAtOnce Calls under way at a time.
template <typename Recorder>
void Record(Recorded what, Maker<Recorder>& maker) {
  const Buffer data = Pattern(kSize);
  for (uint32_t first = 1; first <= kCalls; first += kAtOnce) {
    for (uint32_t xid = first; xid < first + kAtOnce; ++xid) {
      rpcrdma::Header header = Msg(xid);
      if (what == Recorded::kReads) {
        AddWriteChunk(header, {{xid, kSize, 0}});
        maker.script.Send(0, header, ReadCall(xid, kSize));
      } else {
        const Buffer call = WriteCall(xid, kSize);
        AddRead(header, static_cast<uint32_t>(call.size()), {xid, kSize, 0});
        maker.script.Send(0, header, call);
      }
    }
    for (uint32_t xid = first; xid < first + kAtOnce; ++xid) {
      rpcrdma::Header header = Msg(xid);
      if (what == Recorded::kReads) {
        maker.script.Write(1, xid, 0, data);
        AddWriteChunk(header, {{xid, kSize, 0}});
        maker.script.Send(1, header, ReadReply(xid, kSize, true));
      } else {
        maker.script.ReadRequest(1, xid, 0, kSize);
        maker.script.ReadResponse(0, xid, 0, data);
        maker.Reply(WriteReply(xid, kSize));
      }
    }
  }
}

// Says that everything was written.
class Written final : public rpcrdma::Service {
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    reply.message = WriteReply(rpc::DecodeCall(call, call.size()).xid, kSize);
  }
};

// `service`: empty, the recording.
void Play(Recorded what, Watch watch, rpcrdma::Service* service = nullptr) {
  PlanMaker planned;
  Record(what, planned);
  const std::vector<PlannedCallPtr> calls = planned.Finish();
  for (const PlannedCallPtr& call : calls)
    if (call->item && watch == Watch::kClient)
      Watched().Add(call->rpc.call.bytes.subspan(static_cast<size_t>(call->item->offset), call->item->length));
  MadePlans plans(calls);
  Maker<recording::RecordingBuilder> recorded(kMemory);
  Record(what, recorded);
  recorded.session.Finish();
  const auto recording = recorded.recorder.Finish();
  ASSERT_TRUE(recording);
  serve::RecordedService answers(*recording);

  FabricUnderTest fabric;
  WatchedTransport client(fabric.client(), watch == Watch::kClient), server(fabric.server(), watch == Watch::kServer);
  serve::ServerOptions serving;
  serving.crc = false;  // with it, software iWARP looks at a whole FPDU before it places a byte of it
  serve::test::ServerThread thread(server, service ? *service : answers, serving);
  PlayOptions playing;
  playing.to = {"127.0.0.1", thread.port()};
  playing.crc = false;
  Player player(plans, client, playing);
  const auto ran = player.Run();
  Watched().Stop();
  ASSERT_TRUE(ran) << ran.error().message;
  const ProcedureReport total = player.report().Total();
  EXPECT_EQ(total.answered, kCalls);
  EXPECT_EQ(total.matched, kCalls);
  thread.Stop();
  EXPECT_EQ(thread.report().stats.copied_bytes, 0u);
}

class ZeroCopy : public WatchedTest {
 protected:
  // Pages of payload that the processor touches in the last kWatched Calls.
  static uint64_t Touched(Recorded what, Watch watch, rpcrdma::Service* service = nullptr) {
    Watched().protect_after = kCalls - kWatched;
    Play(what, watch, service);
    EXPECT_EQ(Watched().rdma, kCalls);
    return Watched().touched;
  }
};
using ZeroCopyVerbs = ZeroCopy;
using ZeroCopyIwarp = ZeroCopy;

// Arguments are named where they were recorded.
TEST_F(ZeroCopyVerbs, ReplayedWrite) {
  Written written;
  EXPECT_EQ(Touched(Recorded::kWrites, Watch::kClient, &written), 0u);
}
// Results go out from where they were recorded, each behind its Reply's header.
TEST_F(ZeroCopyVerbs, RecordedRead) { EXPECT_LE(Touched(Recorded::kReads, Watch::kServer), kWatched); }
// A result is compared with the recorded one where it landed: here they differ in the first page.
TEST_F(ZeroCopyVerbs, ReplayedRead) {
  const uint64_t touched = Touched(Recorded::kReads, Watch::kClient);
  EXPECT_GE(touched, 1u) << "the method sees what is touched";
  EXPECT_LE(touched, kWatched);
}

TEST_F(ZeroCopyIwarp, ReplayedWrite) {
  Written written;
  Play(Recorded::kWrites, Watch::kClient, &written);
  EXPECT_EQ(Watched().sent, kPayload);
}
TEST_F(ZeroCopyIwarp, RecordedRead) {
  Play(Recorded::kReads, Watch::kServer);
  EXPECT_EQ(Watched().sent, kPayload);
}
// But for what comes behind the header of a segment when nothing long was expected.
TEST_F(ZeroCopyIwarp, ReplayedRead) {
  Play(Recorded::kReads, Watch::kClient);
  EXPECT_GE(Watched().received, kPayload - kPayload / 50);
}
TEST_F(ZeroCopyIwarp, RecordedWrite) {
  Play(Recorded::kWrites, Watch::kServer);
  EXPECT_GE(Watched().received, kPayload - kPayload / 50);
}

}  // namespace
}  // namespace stag::replay

#endif
