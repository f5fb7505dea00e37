// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls rewritten with what live replies gave: the expected messages are made with the live values from the start.
#include "replay/replay/live_values.h"

#include <algorithm>

#include "tests/replay/replay/planned.h"

namespace stag::replay {
namespace {

using namespace test;

// A plan and one client that plays it.
class Replay {
 public:
  explicit Replay(PlanMaker& maker) : calls_(Sent(maker.Finish())), values({"/live", 0x1122334455667788}, 1 << 20) {}
  const PlannedCall& call(size_t i) const { return *calls_[i]; }
  // The Call as it would be sent.
  Buffer Call(size_t i) {
    EXPECT_TRUE(values.Rewrite(call(i), rewritten));
    return {rewritten.message.begin(), rewritten.message.end()};
  }
  void Answer(size_t i, const Buffer& reply, std::span<const Bytes> chunks = {}) {
    const Bytes recorded = call(i).rpc.call.bytes;
    Values found;
    found.OfReply(rpc::DecodeCall(recorded, recorded.size()), rpc::DecodeReply(reply, reply.size()), reply, chunks);
    values.Learn(call(i), found);
    values.Release(rewritten.slot, found.sequence_done());
  }

 private:
  std::vector<PlannedCallPtr> calls_;

 public:
  LiveValues values;
  RewrittenCall rewritten;
};

TEST(LiveValues, HandlesOfAnySize) {
  const Buffer root = Handle(1), file = Handle(2, 28), live_root = Handle(11, 8), live_file = Handle(12, 61);
  PlanMaker maker;
  maker.Call(LookupCall(1, root, Name("file"))).Reply(LookupReply(1, file));
  maker.Call(MakeCall(2, kNfs, 3, 15, Join({Opaque(file), Opaque(root), Opaque(Name("link"))})));
  Replay replay(maker);
  replay.values.Set(replay.call(0).root, live_root);
  EXPECT_EQ(replay.Call(0), LookupCall(1, live_root, Name("file")));
  replay.Answer(0, LookupReply(1, live_file));
  EXPECT_EQ(replay.Call(1),
            MakeCall(2, kNfs, 3, 15, Join({Opaque(live_file), Opaque(live_root), Opaque(Name("link"))})));
  EXPECT_EQ(replay.values.unknown(), 0u);
}

TEST(LiveValues, WithoutALiveValueTheRecordedOneStays) {
  PlanMaker maker;
  maker.Call(LookupCall(1, Handle(1), Name("file"))).Reply(LookupReply(1, Handle(2)));
  maker.Call(GetattrOf(2, Handle(2)));
  Replay replay(maker);
  EXPECT_EQ(replay.Call(0), LookupCall(1, Handle(1), Name("file")));
  replay.Answer(0, MakeReply(1, Words({2, 0})));  // NFS3ERR_NOENT
  EXPECT_EQ(replay.Call(1), GetattrOf(2, Handle(2)));
  EXPECT_EQ(replay.values.unknown(), 2u);
}

// The place of data behind a handle of another size moves along. Large ones stay where they are recorded.
TEST(LiveValues, DataBehindAHandle) {
  for (const uint32_t size : {10u, 30'001u}) {
    const Buffer file = Handle(2), live = Handle(12, 40), data = Pattern(size);
    const auto write = [&](const Buffer& handle, const Buffer& payload) {
      return MakeCall(2, kNfs, 3, kWrite, Join({Opaque(handle), Words({0, 0, size, 2}), payload}));
    };
    PlanMaker maker;
    maker.Call(LookupCall(1, Handle(1), Name("f"))).Reply(LookupReply(1, file));
    const Buffer reduced = write(file, Words({size}));
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 2);
    AddRead(header, static_cast<uint32_t>(reduced.size()), {7, size, 0});
    maker.script.Send(0, header, reduced);
    maker.script.Read(1, 7, 0, data);
    maker.Reply(WriteReply(2, size));
    Replay replay(maker);
    replay.Answer(0, LookupReply(1, live));
    const bool apart = size > 10;
    EXPECT_EQ(replay.Call(1), write(live, apart ? Words({size}) : Opaque(data)));
    EXPECT_EQ(replay.rewritten.item_offset, write(live, Opaque(data)).size() - RoundUp4(size));
    EXPECT_TRUE(std::ranges::equal(replay.rewritten.item, apart ? data : Buffer{}));
  }
}

Buffer Readdirplus(uint32_t xid, const Buffer& directory, uint64_t cookie, uint64_t verifier) {
  const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  return MakeCall(
      xid, kNfs, 3, 17,
      Join({Opaque(directory), Words({high(cookie), low(cookie), high(verifier), low(verifier), 512, 4096})}));
}
struct Entry {
  std::string_view name;
  uint32_t cookie;
  Buffer handle;
};
Buffer ReaddirplusReply(uint32_t xid, uint32_t verifier, const std::vector<Entry>& entries) {
  Buffer body = Words({0, 0, 0, verifier});
  for (const Entry& entry : entries)
    body =
        Join({body, Words({1, 0, 9}), Opaque(Name(entry.name)), Words({0, entry.cookie, 0, 1}), Opaque(entry.handle)});
  return MakeReply(xid, Join({body, Words({0, 0})}));
}

// Entries belong together by name, in whatever order the live server lists them; cookies count in their directory only.
TEST(LiveValues, DirectoryEntriesByName) {
  const Buffer a = Handle(1), b = Handle(2);
  PlanMaker maker;
  maker.Call(Readdirplus(1, a, 0, 0)).Reply(ReaddirplusReply(1, 0, {{"x", 1, Handle(21)}, {"y", 2, Handle(22)}}));
  maker.Call(Readdirplus(2, b, 0, 0)).Reply(ReaddirplusReply(2, 0, {{"x", 2, Handle(23)}}));
  maker.Call(Readdirplus(3, a, 2, 0)).Call(Readdirplus(4, b, 2, 0)).Call(GetattrOf(5, Handle(21)));
  maker.Call(GetattrOf(6, Handle(23)));
  Replay replay(maker);
  EXPECT_EQ(replay.Call(0), Readdirplus(1, a, 0, 0)) << "from the start: no cookie, and its verifier as it is";
  replay.Answer(0, ReaddirplusReply(1, 77, {{"new", 300, Handle(30)}, {"y", 301, Handle(31)}, {"x", 302, Handle(32)}}));
  replay.Answer(1, ReaddirplusReply(2, 78, {{"x", 400, Handle(33)}}));
  EXPECT_EQ(replay.Call(2), Readdirplus(3, a, 301, 77)) << "the verifier of 0 was one, too";
  EXPECT_EQ(replay.Call(3), Readdirplus(4, b, 400, 78));
  EXPECT_EQ(replay.Call(4), GetattrOf(5, Handle(32)));
  EXPECT_EQ(replay.Call(5), GetattrOf(6, Handle(33)));
}

// --- NFSv4

Buffer Stateid(uint32_t seqid, uint32_t seed) { return Join({Words({seqid}), Pattern(12, seed)}); }

struct Sessions : testing::Test {
  PlanMaker maker;
  void Establish() {
    maker.Call(Compound(1, {ExchangeId(5, Name("client"))})).Reply(CompoundReply(1, {ExchangeIdResult(7, 1)}));
    maker.Call(Compound(2, {CreateSession(7, 1)})).Reply(CompoundReply(2, {CreateSessionResult(Session(1), 1, 64)}));
  }
  // The live server: client 99 that counts from 40, and a session with `slots`.
  void Answer(Replay& replay, uint32_t slots) {
    replay.Answer(0, CompoundReply(1, {ExchangeIdResult(99, 40)}));
    EXPECT_EQ(replay.Call(1), Compound(2, {CreateSession(99, 40)}));
    replay.Answer(1, CompoundReply(2, {CreateSessionResult(Session(9), 40, slots)}));
  }
};

TEST_F(Sessions, ClientsGetNamesOfTheirOwn) {
  Establish();
  Replay replay(maker);
  EXPECT_EQ(replay.Call(0), Compound(1, {ExchangeId(0x1122334455667788, Name("client/live"))}));
  Answer(replay, 64);
}

TEST_F(Sessions, SlotsCountForThemselves) {
  Establish();
  for (const uint32_t xid : {3u, 4u, 5u})  // the recorded client's session was an old one
    maker.Call(Compound(xid, {Sequence(Session(1), 500 + xid, 2, 2), PutRootFh()}));
  Replay replay(maker);
  Answer(replay, 2);
  EXPECT_EQ(replay.Call(2), Compound(3, {Sequence(Session(9), 1, 0, 0), PutRootFh()})) << "there is no slot 2";
  const HeldSlot first = replay.rewritten.slot;
  EXPECT_EQ(replay.Call(3), Compound(4, {Sequence(Session(9), 1, 1, 1), PutRootFh()}));
  const HeldSlot second = replay.rewritten.slot;
  RewrittenCall none;
  EXPECT_FALSE(replay.values.Rewrite(replay.call(4), none)) << "both slots are taken";
  replay.values.Release(first, true);
  EXPECT_EQ(replay.Call(4), Compound(5, {Sequence(Session(9), 2, 0, 1), PutRootFh()})) << "its second request";
  replay.values.Release(replay.rewritten.slot, false);
  replay.values.Release(second, true);
  EXPECT_EQ(replay.Call(4), Compound(5, {Sequence(Session(9), 2, 0, 0), PutRootFh()})) << "2 was not used up";
}

// RFC 8881 section 2.10.6.2: a slot goes on only when SEQUENCE was done.
TEST_F(Sessions, TheAnswerSaysWhetherASlotGoesOn) {
  Establish();
  for (const uint32_t xid : {3u, 4u, 5u}) maker.Call(Compound(xid, {Sequence(Session(1), xid, 0, 0), PutRootFh()}));
  Replay replay(maker);
  Answer(replay, 1);
  EXPECT_EQ(replay.Call(2), Compound(3, {Sequence(Session(9), 1, 0, 0), PutRootFh()}));
  replay.Answer(2, CompoundReply(3, {SequenceResult(Session(9), 1, 0, 10008)}, 10008));  // NFS4ERR_DELAY
  EXPECT_EQ(replay.Call(3), Compound(4, {Sequence(Session(9), 1, 0, 0), PutRootFh()}));
  replay.Answer(3, CompoundReply(4, {SequenceResult(Session(9), 1, 0), Words({24, 10001})}, 10001));
  EXPECT_EQ(replay.Call(4), Compound(5, {Sequence(Session(9), 2, 0, 0), PutRootFh()}));
}

TEST_F(Sessions, AnUnknownSessionStaysAsItIs) {
  maker.Call(Compound(3, {Sequence(Session(1), 503, 2, 2), PutRootFh()}));
  Replay replay(maker);
  EXPECT_EQ(replay.Call(0), Compound(3, {Sequence(Session(1), 503, 2, 2), PutRootFh()}));
}

Buffer OpenConfirm(const Buffer& stateid) { return Join({Words({20}), stateid, Words({1})}); }
Buffer ReadWith(const Buffer& stateid) { return Join({Words({25}), stateid, Words({0, 0, 512})}); }

// RFC 8881 section 8.2.2: what names the state stays, the seqid counts its changes; 0 means the newest.
TEST(LiveValues, Stateids) {
  PlanMaker maker;
  const auto confirmed = [](uint32_t xid, const Buffer& stateid) {
    return CompoundReply(xid, {PutRootFhResult(), Join({Words({20, 0}), stateid})});
  };
  maker.Call(Compound(1, {PutRootFh(), OpenConfirm(Stateid(1, 1))}, 0)).Reply(confirmed(1, Stateid(2, 1)));
  maker.Call(Compound(2, {PutRootFh(), ReadWith(Stateid(2, 1))}, 0));
  maker.Call(Compound(3, {PutRootFh(), ReadWith(Stateid(0, 1))}, 0));
  maker.Call(Compound(4, {PutRootFh(), ReadWith(Words({0, 0, 0, 0}))}, 0));
  Replay replay(maker);
  replay.Answer(0, confirmed(1, Stateid(6, 8)));
  EXPECT_EQ(replay.Call(1), Compound(2, {PutRootFh(), ReadWith(Stateid(6, 8))}, 0));
  EXPECT_EQ(replay.Call(2), Compound(3, {PutRootFh(), ReadWith(Stateid(0, 8))}, 0));
  EXPECT_EQ(replay.Call(3), Compound(4, {PutRootFh(), ReadWith(Words({0, 0, 0, 0}))}, 0));
  EXPECT_EQ(replay.values.unknown(), 0u);
}

// NFSv4.0: RFC 7530 section 16.33.
TEST(LiveValues, ClientIdsAndTheirConfirmation) {
  PlanMaker maker;
  const auto set = [](uint64_t verifier, const Buffer& owner) {
    return Join({Words({35}), Verifier(verifier), Opaque(owner), Words({0x40000000}), Opaque(Name("tcp")),
                 Opaque(Name("10.0.0.1.8.1")), Words({1})});
  };
  const auto result = [](uint64_t client, uint64_t confirm) {
    return CompoundReply(1, {Join({Words({35, 0}), Verifier(client), Verifier(confirm)})});
  };
  const auto confirm = [](uint64_t client, uint64_t verifier) {
    return Compound(2, {Join({Words({36}), Verifier(client), Verifier(verifier)})}, 0);
  };
  maker.Call(Compound(1, {set(3, Name("me"))}, 0)).Reply(result(1000, 2000)).Call(confirm(1000, 2000));
  maker.Call(Compound(3, {Join({Words({30}), Verifier(1000)})}, 0));  // RENEW
  Replay replay(maker);
  EXPECT_EQ(replay.Call(0), Compound(1, {set(0x1122334455667788, Name("me/live"))}, 0));
  replay.Answer(0, result(5, 6));
  EXPECT_EQ(replay.Call(1), confirm(5, 6));
  EXPECT_EQ(replay.Call(2), Compound(3, {Join({Words({30}), Verifier(5)})}, 0));
  EXPECT_EQ(replay.values.unknown(), 0u);
}

// Where the server is to call back (RFC 7530 section 16.33): the replaying client's own place.
TEST(LiveValues, CallbackAddresses) {
  const auto set = [](const Buffer& owner, uint64_t verifier, std::string_view netid, std::string_view address) {
    return Compound(1,
                    {Join({Words({35}), Verifier(verifier), Opaque(owner), Words({0x40000000}), Opaque(Name(netid)),
                           Opaque(Name(address)), Words({1})})},
                    0);
  };
  PlanMaker maker;
  maker.Call(set(Name("me"), 3, "rdma", "10.0.0.1.8.1"));
  Replay replay(maker);
  EXPECT_TRUE(replay.call(0).calls_back);
  replay.values.SetCallback("tcp", "192.168.100.200.203.17");
  EXPECT_EQ(replay.Call(0), set(Name("me/live"), 0x1122334455667788, "tcp", "192.168.100.200.203.17"));
}

// An OPEN whose recorded answer gave no delegation wants none (RFC 8881 section 18.16.3): the recorded client would not
// return it.
TEST_F(Sessions, ADelegationThatWasNotGivenIsNotWanted) {
  Establish();
  const auto open = [](uint32_t xid, uint32_t access) {
    return Compound(
        xid, {Sequence(Session(1), xid, 0, 0), PutRootFh(),
              Join({Words({18, 0, access, 0, 0, 7}), Opaque(Name("owner")), Words({0, 0}), Opaque(Name("file"))})});
  };
  const auto opened = [](uint32_t xid, const Buffer& delegation) {
    return CompoundReply(xid, {SequenceResult(Session(1), xid, 0), PutRootFhResult(),
                               Join({Words({18, 0}), Stateid(1, 3), Words({0, 0, 0, 0, 0, 0, 0}), delegation})});
  };
  const Buffer none = Words({0});
  const Buffer read = Join({Words({1}), Stateid(1, 4), Words({0, 0, 0, 0}), Opaque(Buffer{})});
  maker.Call(open(3, 1)).Reply(opened(3, none));
  maker.Call(open(4, 1)).Reply(opened(4, read));
  maker.Call(open(5, 0x201)).Reply(opened(5, none));
  maker.Call(open(6, 1))
      .Reply(CompoundReply(6, {SequenceResult(Session(1), 6, 0), PutRootFhResult(), Words({18, 2})}, 2));
  Replay replay(maker);
  Answer(replay, 64);
  const auto access = [&](size_t i) {
    const Buffer sent = replay.Call(i);
    replay.values.Release(replay.rewritten.slot, true);
    const Buffer recorded(replay.call(i).rpc.call.bytes.begin(), replay.call(i).rpc.call.bytes.end());
    EXPECT_EQ(sent.size(), recorded.size());
    // SEQUENCE (36 bytes and its number), PUTROOTFH, OPEN and its seqid.
    const size_t at = rpc::DecodeCall(sent, sent.size()).length + 12 + 36 + 4 + 8;
    return LoadBe32(sent.data() + at);
  };
  EXPECT_EQ(access(2), 0x401u);
  EXPECT_EQ(access(3), 1u) << "one was given";
  EXPECT_EQ(access(4), 0x201u) << "it said what it wants";
  EXPECT_EQ(access(5), 1u) << "it failed";
}

// A live reply whose results came in a Write chunk is walked past them.
TEST(LiveValues, BehindReducedResults) {
  PlanMaker maker;
  const auto confirm_result = [](const Buffer& stateid) { return Join({Words({20, 0}), stateid}); };
  maker.Call(Compound(1, {PutRootFh(), Read4(10), OpenConfirm(Stateid(1, 1))}, 0));
  maker.Reply(CompoundReply(1, {PutRootFhResult(), Read4Result(10, false), confirm_result(Stateid(2, 1))}));
  maker.Call(Compound(2, {PutRootFh(), ReadWith(Stateid(2, 1))}, 0));
  Replay replay(maker);
  const Buffer data = Pattern(10);
  const std::vector<Bytes> chunks = {data};
  replay.Answer(0, CompoundReply(1, {PutRootFhResult(), Read4Result(10, true), confirm_result(Stateid(3, 4))}), chunks);
  EXPECT_EQ(replay.Call(1), Compound(2, {PutRootFh(), ReadWith(Stateid(3, 4))}, 0));
}

}  // namespace
}  // namespace stag::replay
