// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS version 3: layouts of RFC 1813 section 3.3.
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

std::vector<std::byte> Call(uint32_t procedure, const Xdr& arguments = {}) {
  return CallMessage(kNfsProgram, 3, procedure, arguments);
}
Xdr Fh() { return O("handle"); }
Xdr NoSetAttributes() { return W({0, 0, 0, 0, 0, 0}); }
Xdr AllSetAttributes() { return W({1, 0644, 1, 7, 1, 8, 1}) + H({9}) + W({2, 1, 2, 2, 3, 4}); }
Xdr PostOp() { return W({1}) + Fixed(84); }
Xdr Wcc() { return W({1}) + Fixed(24) + PostOp(); }
Xdr NoWcc() { return W({0, 0}); }

Recorder Reply(uint32_t procedure, const Xdr& results, const std::set<size_t>& reduced = {}) {
  Walk walk;
  const Recorder r = WalkReplyToEnd(Call(procedure), ReplyMessage(results), reduced, &walk);
  EXPECT_EQ(walk.has_status, procedure != 0);
  return r;
}

TEST(Nfs3, Calls) {
  WalkCallToEnd(Call(0));
  for (uint32_t procedure : {1u, 5u, 18u, 19u, 20u}) WalkCallToEnd(Call(procedure, Fh()));
  WalkCallToEnd(Call(2, Fh() + AllSetAttributes() + W({1, 5, 6})));
  WalkCallToEnd(Call(2, Fh() + NoSetAttributes() + W({0})));
  EXPECT_EQ(WalkCallToEnd(Call(3, Fh() + O("n"))).log, (Lines{"name 0 handle n"}));
  WalkCallToEnd(Call(4, Fh() + W({0x1f})));
  EXPECT_EQ(WalkCallToEnd(Call(6, Fh() + H({1ull << 40}) + W({4096}))).log,
            (Lines{"read 0 handle 1099511627776+4096"}));
  for (uint32_t mode : {0u, 1u})
    EXPECT_EQ(WalkCallToEnd(Call(8, Fh() + O("f") + W({mode}) + AllSetAttributes())).log, (Lines{"name 0 handle f"}));
  WalkCallToEnd(Call(8, Fh() + O("f") + W({2}) + H({1})));
  WalkCallToEnd(Call(9, Fh() + O("d") + NoSetAttributes()));
  for (uint32_t type : {3u, 4u}) WalkCallToEnd(Call(11, Fh() + O("dev") + W({type}) + NoSetAttributes() + W({8, 1})));
  for (uint32_t type : {6u, 7u}) WalkCallToEnd(Call(11, Fh() + O("ff") + W({type}) + NoSetAttributes()));
  WalkCallToEnd(Call(11, Fh() + O("x") + W({1})));
  for (uint32_t procedure : {12u, 13u}) WalkCallToEnd(Call(procedure, Fh() + O("gone")));
  WalkCallToEnd(Call(14, Fh() + O("a") + Fh() + O("b")));
  WalkCallToEnd(Call(15, Fh() + Fh() + O("b")));
  EXPECT_EQ(WalkCallToEnd(Call(16, Fh() + H({1, 2}) + W({4096}))).log, (Lines{"limit 0 16 4096"}));
  EXPECT_EQ(WalkCallToEnd(Call(17, Fh() + H({1, 2}) + W({512, 8192}))).log, (Lines{"limit 0 17 8192"}));
  WalkCallToEnd(Call(21, Fh() + H({0}) + W({0})));
}

TEST(Nfs3, WriteItem) {
  const auto call = Call(7, Fh() + H({4096}) + W({5, 2}) + O("hello"));
  const Recorder r = WalkCallToEnd(call);
  EXPECT_EQ(r.log, (Lines{"write 0 handle 4096+5"}));
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].offset, call.size() - 8);
  EXPECT_EQ(r.items[0].length, 5u);
  WalkCallToEnd(Call(7, Fh() + H({4096}) + W({5, 2, 5})), {0});
}

// RFC 4506 section 4.10: opaque data is followed by zeros.
TEST(Nfs3, PaddingThatIsNotZero) {
  const auto where = [](std::vector<std::byte> call, size_t from_end, bool reduced = false) {
    call[call.size() - from_end] = std::byte{9};
    Recorder recorder(reduced ? std::set<size_t>{0} : std::set<size_t>{});
    return WalkCall(rpc::DecodeCall(call, call.size()), call, call.size(), recorder).nonzero_padding;
  };
  const auto lookup = Call(3, Fh() + O("n"));
  EXPECT_EQ(where(lookup, 1), lookup.size() - 1);  // of the name
  EXPECT_EQ(where(lookup, 3), lookup.size() - 3);
  EXPECT_EQ(where(lookup, 4), 0u);                 // the name itself
  EXPECT_EQ(where(lookup, 9), lookup.size() - 9);  // of the handle
  const auto write = Call(7, Fh() + H({4096}) + W({5, 2}) + O("hello"));
  EXPECT_EQ(where(write, 1), write.size() - 1);  // of the data
  EXPECT_EQ(where(write, 1, true), 0u);          // which is not here
}

TEST(Nfs3, CutWriteDataIsStillAnItem) {
  const auto call = Call(7, Fh() + H({4096}) + W({5, 2}) + O("hello"));
  Recorder r;
  const Walk walk = WalkCall(Header(call), Bytes(call).first(call.size() - 6), call.size(), r);
  EXPECT_EQ(walk.status, ParseStatus::kTruncatedByCapture);
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].length, 5u);
}

TEST(Nfs3, SymlinkItem) {
  const Recorder r = WalkCallToEnd(Call(10, Fh() + O("link") + AllSetAttributes() + O("target")));
  EXPECT_EQ(r.log, (Lines{"name 0 handle link"}));
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].kind, ItemKind::kLinkText);
  WalkCallToEnd(Call(10, Fh() + O("link") + NoSetAttributes() + W({4000})), {0});
}

TEST(Nfs3, BadArguments) {
  const struct {
    uint32_t procedure;
    Xdr arguments;
  } cases[] = {
      {1, W({65}) + Fixed(68)},                               // a handle has at most 64 bytes
      {2, Fh() + W({2, 0, 0, 0, 0, 0, 0})},                   // not a boolean
      {2, Fh() + W({0, 0, 0, 0, 3, 0, 0})},                   // time_how
      {8, Fh() + O("f") + W({3}) + NoSetAttributes()},        // createmode3
      {7, Fh() + H({0}) + W({5, 2, 0xffffffff}) + Fixed(8)},  // more data than there is
      {3, Fh() + W({0xfffffffd}) + Fixed(8)},
  };
  for (const auto& c : cases) {
    const auto call = Call(c.procedure, c.arguments);
    Recorder r;
    EXPECT_EQ(WalkCall(Header(call), call, call.size(), r).status, ParseStatus::kMalformed);
  }
}

TEST(Nfs3, RepliesOfSuccess) {
  Reply(0, {});
  Reply(1, W({0}) + Fixed(84));
  for (uint32_t procedure : {2u, 12u, 13u}) {
    Reply(procedure, W({0}) + Wcc());
    Reply(procedure, W({0}) + NoWcc());
  }
  EXPECT_EQ(Reply(3, W({0}) + O("found") + PostOp() + PostOp()).log, (Lines{"handle 0 found"}));
  Reply(4, W({0}) + PostOp() + W({3}));
  Reply(7, W({0}) + Wcc() + W({4096, 2}) + H({1}));
  for (uint32_t procedure : {8u, 9u, 10u, 11u}) {
    EXPECT_EQ(Reply(procedure, W({0, 1}) + O("made") + PostOp() + Wcc()).log, (Lines{"handle 0 made"}));
    EXPECT_TRUE(Reply(procedure, W({0, 0, 0}) + NoWcc()).log.empty());
  }
  Reply(14, W({0}) + Wcc() + NoWcc());
  Reply(15, W({0}) + PostOp() + Wcc());
  Reply(16, W({0}) + PostOp() + H({1}) + W({1}) + H({5}) + O("one") + H({1}) + W({1}) + H({6}) + O("two!!") + H({2}) +
                W({0, 1}));
  Reply(18, W({0}) + PostOp() + Fixed(52));
  Reply(19, W({0}) + PostOp() + Fixed(48));
  Reply(20, W({0}) + PostOp() + Fixed(24));
  Reply(21, W({0}) + Wcc() + H({1}));
}

TEST(Nfs3, RepliesOfFailure) {
  Reply(1, W({70}));
  for (uint32_t procedure : {2u, 7u, 8u, 9u, 10u, 11u, 12u, 13u, 21u}) Reply(procedure, W({13}) + Wcc());
  for (uint32_t procedure : {3u, 4u, 5u, 6u, 16u, 17u, 18u, 19u, 20u}) {
    EXPECT_TRUE(Reply(procedure, W({2}) + PostOp()).items.empty());
    Reply(procedure, W({2, 0}));
  }
  Reply(14, W({13}) + NoWcc() + Wcc());
  Reply(15, W({13}) + PostOp() + NoWcc());
}

TEST(Nfs3, ReadItem) {
  const Recorder r = Reply(6, W({0}) + PostOp() + W({6, 1}) + O("sixsix"));
  EXPECT_EQ(r.log, (Lines{"result 0 6 eof"}));
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].kind, ItemKind::kReadData);
  EXPECT_EQ(r.items[0].offset, 24u + 4 + 88 + 8 + 4);
  EXPECT_EQ(Reply(6, W({0, 0, 100, 0, 100}), {0}).log, (Lines{"result 0 100 more"}));
  EXPECT_EQ(Reply(6, W({0, 0, 0, 1, 0}), {0}).items[0].length, 0u);
}

TEST(Nfs3, ReadlinkItem) {
  EXPECT_EQ(Reply(5, W({0}) + PostOp() + O("a/path")).items[0].length, 6u);
  Reply(5, W({0, 0, 4000}), {0});
}

TEST(Nfs3, ReaddirplusEntries) {
  const Xdr results = W({0}) + PostOp() + H({1}) + W({1}) + H({5}) + O("one") + H({1}) + PostOp() + W({1}) +
                      O("handle one") + W({1}) + H({6}) + O("two") + H({2}) + W({0, 0}) + W({1}) + H({7}) + O("three") +
                      H({3}) + W({0, 1}) + O("h3") + W({0, 0});
  EXPECT_EQ(Reply(17, results).log, (Lines{"entry one handle one", "entry three h3"}));
}

TEST(Nfs3, WhatFollowsTheResultsIsNotTheirs) {
  const auto reply = ReplyMessage(W({70, 1, 2, 3}));
  Recorder r;
  const Walk walk = WalkReply(Header(Call(1)), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r);
  EXPECT_EQ(walk.status, ParseStatus::kOk);
  EXPECT_EQ(walk.offset, 28u);
}

TEST(Nfs3, ReplyToACallThatTheCaptureCut) {
  const auto call = CallMessage(kNfsProgram, 3, 6, Fh());
  const auto reply = ReplyMessage(W({70, 0}));
  for (size_t n = 0; n < 40; n += 4) {
    Recorder r;
    const rpc::CallHeader cut = rpc::DecodeCall(Bytes(call).first(n), call.size());
    const Walk walk = WalkReply(cut, rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r);
    EXPECT_EQ(walk.has_status, n >= 28) << n;  // with the flavor of the credential
    EXPECT_EQ(walk.status, n >= 28 ? ParseStatus::kOk : ParseStatus::kUnsupported) << n;
    EXPECT_EQ(EligibleItems(cut, Bytes(call).first(n), call.size()).result_items, n >= 28) << n;
  }
  auto gss = call;
  StoreBe32(gss.data() + 24, rpc::kRpcsecGss);
  Recorder r;
  const rpc::CallHeader cut = rpc::DecodeCall(Bytes(gss).first(28), gss.size());
  EXPECT_FALSE(WalkReply(cut, rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r).has_status);
}

TEST(Nfs3, UnknownProcedure) {
  Recorder r;
  EXPECT_EQ(WalkCall(Header(Call(22)), Call(22), 40, r).status, ParseStatus::kUnsupported);
}

TEST(Nfs3, Eligibility) {
  const auto eligible = [](uint32_t procedure) {
    const auto call = Call(procedure, Fixed(4));  // a truncated call tells as much
    return EligibleItems(Header(call), call, 200);
  };
  for (uint32_t procedure = 0; procedure < 22; ++procedure) {
    EXPECT_TRUE(eligible(procedure).known);
    EXPECT_EQ(eligible(procedure).argument_items, procedure == 7 || procedure == 10) << procedure;
    EXPECT_EQ(eligible(procedure).result_items, procedure == 5 || procedure == 6) << procedure;
  }
}

}  // namespace
}  // namespace stag::nfs
