// SPDX-License-Identifier: GPL-2.0-or-later
//
// COMPOUND as a whole: items, current handles, what is reported of broken and unknown operations.
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

std::vector<std::byte> Compound(uint32_t count, const Xdr& operations) {
  return CallMessage(kNfsProgram, 4, 1, O("tag") + W({1, count}) + operations);
}
std::vector<std::byte> Results(uint32_t status, uint32_t count, const Xdr& results) {
  return ReplyMessage(W({status}) + O("tag") + W({count}) + results);
}
const std::vector<std::byte>& AnyCall() {
  static const auto call = Compound(0, {});
  return call;
}
Xdr Putfh(std::string_view handle) { return W({22}) + O(handle); }
Xdr Read(uint64_t offset, uint32_t count) { return W({25}) + S() + H({offset}) + W({count}); }
Xdr WriteStart(uint64_t offset) { return W({38}) + S() + H({offset}) + W({2}); }

TEST(Nfs4, ReducedAndInlineWrites) {
  const auto call =
      Compound(4, Putfh("fh") + WriteStart(0) + W({1000}) + WriteStart(1000) + O("inline") + W({9}) + Bitmap());
  const Recorder r = WalkCallToEnd(call, {0});
  EXPECT_EQ(r.ops, (std::vector<uint32_t>{22, 38, 38, 9}));
  EXPECT_EQ(r.log, (Lines{"current 0 fh", "write 1 fh 0+1000", "write 2 fh 1000+6"}));
  ASSERT_EQ(r.items.size(), 2u);
  EXPECT_EQ(r.items[0].length, 1000u);
  EXPECT_EQ(r.items[0].op_index, 1u);
  EXPECT_EQ(r.items[1].offset, r.items[0].offset + 32 + 4);
  EXPECT_EQ(r.items[1].op_index, 2u);

  struct First : Visitor {
    bool IsReduced(const Item& item) override { return item.op_index == 1; }
  } first;
  EXPECT_EQ(EligibleItems(Header(call), call, call.size(), &first).argument_items, 2u);
  EXPECT_FALSE(EligibleItems(Header(call), call, call.size()).known);  // it cannot be walked as if nothing were reduced
}

TEST(Nfs4, LinkTextOfCreate) {
  const Recorder r = WalkCallToEnd(Compound(2, Putfh("dir") + W({6, 5}) + O("to/there") + O("link") + Fattr()));
  EXPECT_EQ(r.log, (Lines{"current 0 dir", "name 1 dir link"}));
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].kind, ItemKind::kLinkText);
  EXPECT_EQ(r.items[0].length, 8u);
  WalkCallToEnd(Compound(1, W({6, 5, 4000}) + O("link") + Fattr()), {0});
}

TEST(Nfs4, CurrentHandle) {
  const Xdr open = W({18, 1, 1, 0}) + H({9}) + O("owner") + W({0});
  EXPECT_EQ(WalkCallToEnd(Compound(3, Putfh("a") + W({15}) + O("x") + Read(0, 1))).log,
            (Lines{"current 0 a", "name 1 a x", "read 2  0+1"}));
  EXPECT_EQ(WalkCallToEnd(Compound(3, Putfh("a") + open + W({0}) + O("x") + Read(0, 1))).log,
            (Lines{"current 0 a", "name 1 a x", "read 2  0+1"}));
  EXPECT_EQ(WalkCallToEnd(Compound(3, Putfh("a") + open + W({4}) + Read(0, 1))).log,
            (Lines{"current 0 a", "read 2 a 0+1"}));
  EXPECT_EQ(WalkCallToEnd(Compound(6, Putfh("a") + W({32}) + Putfh("b") + Read(0, 1) + W({31}) + Read(0, 1))).log,
            (Lines{"current 0 a", "current 2 b", "read 3 b 0+1", "read 5 a 0+1"}));
  for (uint32_t op : {16u, 23u, 24u})
    EXPECT_EQ(WalkCallToEnd(Compound(3, Putfh("a") + W({op}) + Read(0, 1))).log, (Lines{"current 0 a", "read 2  0+1"}));
  EXPECT_EQ(WalkCallToEnd(Compound(3, Putfh("a") + W({9}) + Bitmap() + Read(0, 1))).log,
            (Lines{"current 0 a", "read 2 a 0+1"}));
}

struct States final : Visitor {
  void OnStatusFlags(uint32_t index, uint32_t flags) override { log.push_back({index, flags}); }
  void OnState(uint32_t index, uint32_t op, Bytes stateid) override {
    EXPECT_EQ(stateid.size(), 16u);
    EXPECT_EQ(stateid[0], std::byte{0xa0});
    log.push_back({index, op});
  }
  std::vector<std::pair<uint32_t, uint32_t>> log;
};
using Said = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(Nfs4, StatesThatCallsName) {
  const auto said = [](const std::vector<std::byte>& call) {
    States states;
    EXPECT_EQ(WalkCall(Header(call), call, call.size(), states).status, ParseStatus::kOk);
    return states.log;
  };
  EXPECT_EQ(said(Compound(5, W({8}) + S() + W({45}) + S() + W({66}) + S() + W({67}) + S() + W({4, 1}) + S())),
            (Said{{0, 8}, {1, 45}, {2, 66}, {3, 67}}));
  const Xdr callbacks = W({4}) + S() + W({0}) + O("fh") + W({15}) + O("fh") + S() + W({10099}) + H({0});
  EXPECT_EQ(said(CallMessage(0x40000000, 1, 1, O("tag") + W({2, 0, 2}) + callbacks)), (Said{{0, 4}, {1, 15}}));
}

TEST(Nfs4, FlagsAndStatesOfResults) {
  const auto said = [](const Xdr& results, uint32_t count) {
    const auto reply = Results(0, count, results);
    States states;
    const auto& call = AnyCall();
    EXPECT_EQ(WalkReply(Header(call), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), states).status,
              ParseStatus::kOk);
    return states.log;
  };
  const Xdr response = H({4096}) + W({2}) + H({77});
  EXPECT_EQ(said(W({53, 0}) + S() + W({1, 2, 3, 4, 0x400}) + W({60, 0, 1}) + S() + response + W({1, 0}), 2),
            (Said{{0, 0x400}, {1, 60}}));
  EXPECT_EQ(said(W({60, 0, 0}) + response + W({1, 1}) + W({70, 0, 1}) + S() + response, 2), (Said{{1, 70}}));
}

TEST(Nfs4, ReaddirLimit) {
  EXPECT_EQ(WalkCallToEnd(Compound(1, W({26}) + H({0, 0}) + W({100, 8192}) + Bitmap())).log,
            (Lines{"limit 0 26 8192"}));
}

TEST(Nfs4, ReadResults) {
  const auto reply =
      Results(0, 4, W({25, 0, 0, 4096}) + W({25, 0, 1}) + O("inline") + W({27, 0, 3000}) + W({10, 0}) + O("fh"));
  const Recorder r = WalkReplyToEnd(AnyCall(), reply, {0, 2});
  EXPECT_EQ(r.log, (Lines{"result 0 4096 more", "result 1 6 eof", "handle 3 fh"}));
  ASSERT_EQ(r.items.size(), 3u);
  EXPECT_EQ(r.items[0].length, 4096u);
  EXPECT_EQ(r.items[1].kind, ItemKind::kReadData);
  EXPECT_EQ(r.items[1].offset, r.items[0].offset + 16);
  EXPECT_EQ(r.items[2].kind, ItemKind::kLinkText);
  EXPECT_EQ(r.items[2].length, 3000u);
}

TEST(Nfs4, FailedReadHasNoItem) {
  const Recorder r = WalkReplyToEnd(AnyCall(), Results(70, 2, W({22, 0, 25, 70})));
  EXPECT_TRUE(r.items.empty());
  EXPECT_EQ(r.results, (std::vector<Recorder::Result>{{22, 0}, {25, 70}}));
}

TEST(Nfs4, StatusAloneCounts) {
  const auto reply = Results(70, 2, W({22, 0, 25, 70}));
  Recorder r;
  const Walk walk =
      WalkReply(Header(AnyCall()), rpc::DecodeReply(reply, reply.size()), Bytes(reply).first(28), reply.size(), r);
  EXPECT_EQ(walk.status, ParseStatus::kTruncatedByCapture);
  EXPECT_TRUE(walk.has_status);
  EXPECT_EQ(walk.nfs_status, 70u);
}

TEST(Nfs4, UnknownOperationsAreReportedAndEndTheWalk) {
  const auto call = Compound(3, Putfh("a") + W({76}) + Fixed(40));
  Recorder r;
  const Walk walk = WalkCall(Header(call), call, call.size(), r);
  EXPECT_EQ(walk.status, ParseStatus::kUnsupported);
  EXPECT_EQ(walk.offset, call.size() - 40);
  EXPECT_EQ(r.ops, (std::vector<uint32_t>{22, 76}));
  EXPECT_FALSE(EligibleItems(Header(call), call, call.size()).known);

  const auto reply = Results(0, 2, W({22, 0, 76, 0}) + Fixed(8));
  const Walk results = WalkReply(Header(call), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r);
  EXPECT_EQ(results.status, ParseStatus::kUnsupported);
  EXPECT_TRUE(results.has_status);
}

TEST(Nfs4, BrokenArguments) {
  const Xdr cases[] = {
      W({22, 129}) + Fixed(132),                                   // a handle has at most 128 bytes
      W({9, 0x40000000}) + Fixed(16),                              // a bitmap of 2^32 bytes
      W({55, 0x10000000}) + Fixed(16),                             // stateids
      W({58, 2}),                                                  // not a boolean
      W({18, 1, 1, 0}) + H({9}) + O("o") + W({2}) + Fixed(32),     // opentype4
      W({18, 1, 1, 0}) + H({9}) + O("o") + W({1, 4}) + Fixed(32),  // createmode4
      W({42}) + H({1}) + O("o") + W({0, 0, 2}) + O("a") + O("b") + Time() + O("a") + O("b") + Time(),  // at most one
  };
  for (const Xdr& operation : cases) {
    const auto call = Compound(1, operation);
    Recorder r;
    EXPECT_EQ(WalkCall(Header(call), call, call.size(), r).status, ParseStatus::kMalformed);
  }
  const auto too_many = Compound(0x40000000, W({24, 24}));
  Recorder r;
  EXPECT_EQ(WalkCall(Header(too_many), too_many, too_many.size(), r).status, ParseStatus::kMalformed);
  EXPECT_TRUE(r.ops.empty());
}

TEST(Nfs4, CountBeyondTheOperations) {
  const auto call = Compound(3, W({24, 24}));  // three announced, two there: the count does not fit
  Recorder r;
  EXPECT_EQ(WalkCall(Header(call), call, call.size(), r).status, ParseStatus::kMalformed);
}

TEST(Nfs4, Backchannels) {
  const Xdr channel = W({0, 65536, 65536, 4096, 16, 64, 0});
  const auto created = [&](uint32_t flags) { return W({43, 0}) + S() + W({1, flags}) + channel + channel; };
  const auto bound = [](uint32_t direction) { return W({41, 0}) + S() + W({direction, 0}); };
  const auto log = [](const Xdr& result) { return WalkReplyToEnd(AnyCall(), Results(0, 1, result)).log; };
  EXPECT_EQ(log(created(1)), Lines{});                     // persistent
  EXPECT_EQ(log(created(3)), Lines{"backchannel 0 set"});  // CREATE_SESSION4_FLAG_CONN_BACK_CHAN, too
  EXPECT_EQ(log(bound(1)), Lines{});                       // CDFS4_FORE
  EXPECT_EQ(log(bound(2)), Lines{"backchannel 0 set"});    // CDFS4_BACK
  EXPECT_EQ(log(bound(3)), Lines{"backchannel 0 set"});    // CDFS4_BOTH
  EXPECT_EQ(WalkReplyToEnd(AnyCall(), Results(10006, 1, W({43, 10006}))).log, Lines{});
}

TEST(Nfs4, EmptyCompound) {
  EXPECT_TRUE(WalkCallToEnd(AnyCall()).ops.empty());
  EXPECT_TRUE(WalkReplyToEnd(AnyCall(), Results(0, 0, {})).results.empty());
}

}  // namespace
}  // namespace stag::nfs
