// SPDX-License-Identifier: GPL-2.0-or-later
//
// MOUNT (RFC 1094 appendix A, RFC 1813 section 5), NLM (RFC 1813 section 6), NSM, NFSACL; and what is no protocol of
// ours.
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

// The reply's status; "-" when it has none.
std::string Reply(const std::vector<std::byte>& call, const Xdr& results, Lines* log = nullptr) {
  Walk walk;
  const Recorder r = WalkReplyToEnd(call, ReplyMessage(results), {}, &walk);
  EXPECT_TRUE(r.items.empty());
  if (log) *log = r.log;
  return walk.has_status ? std::to_string(walk.nfs_status) : "-";
}

TEST(Mount, Versions) {
  for (uint32_t version : {1u, 2u, 3u}) {
    const auto call = [&](uint32_t procedure, const Xdr& arguments = {}) {
      return CallMessage(kMountProgram, version, procedure, arguments);
    };
    WalkCallToEnd(call(0));
    WalkCallToEnd(call(1, O("/export")));
    WalkCallToEnd(call(2));
    WalkCallToEnd(call(3, O("/export")));
    WalkCallToEnd(call(5));
    Lines log;
    if (version == 3) {
      EXPECT_EQ(Reply(call(1), W({0}) + O("root") + W({2, 1, 6}), &log), "0");
      EXPECT_EQ(log, (Lines{"handle 0 root"}));
    } else {
      EXPECT_EQ(Reply(call(1), W({0}) + Fixed(32), &log), "0");
      EXPECT_EQ(log, (Lines{"handle 0 " + Text(Fixed(32).bytes)}));
      EXPECT_EQ(Reply(call(6), W({0})), "-");
      EXPECT_EQ(Reply(call(7), Fixed(40)), "-");
    }
    EXPECT_EQ(Reply(call(1), W({13})), "13");
    EXPECT_EQ(Reply(call(0), {}), "-");
    EXPECT_EQ(Reply(call(2), W({1}) + O("host") + O("/a") + W({1}) + O("h2") + O("/b") + W({0})), "-");
    EXPECT_EQ(Reply(call(3), {}), "-");
    EXPECT_EQ(Reply(call(4), {}), "-");
    EXPECT_EQ(
        Reply(call(5), W({1}) + O("/a") + W({1}) + O("g1") + W({1}) + O("g2") + W({0}) + W({1}) + O("/b") + W({0, 0})),
        "-");
  }
}

TEST(Nlm, Versions) {
  for (uint32_t version : {1u, 3u, 4u}) {
    const size_t range = version == 4 ? 16 : 8;
    const Xdr lock = O("host") + O("handle") + O("owner") + W({77}) + Fixed(range);
    const Xdr holder = W({1, 77}) + O("owner") + Fixed(range);
    const auto call = [&](uint32_t procedure, const Xdr& arguments = {}) {
      return CallMessage(kNlmProgram, version, procedure, arguments);
    };
    for (uint32_t p : {1u, 5u, 6u, 10u}) WalkCallToEnd(call(p, O("ck") + W({1}) + lock));
    for (uint32_t p : {2u, 7u, 22u}) WalkCallToEnd(call(p, O("ck") + W({1, 1}) + lock + W({0, 5})));
    for (uint32_t p : {3u, 8u}) WalkCallToEnd(call(p, O("ck") + W({1, 1}) + lock));
    for (uint32_t p : {4u, 9u}) WalkCallToEnd(call(p, O("ck") + lock));
    for (uint32_t p : {12u, 13u, 14u, 15u}) WalkCallToEnd(call(p, O("ck") + W({1})));
    WalkCallToEnd(call(11, O("ck") + W({1}) + holder));
    WalkCallToEnd(call(11, O("ck") + W({0})));
    for (uint32_t p : {20u, 21u}) WalkCallToEnd(call(p, O("ck") + O("host") + O("fh") + O("oh") + W({1, 1, 0})));
    WalkCallToEnd(call(23, O("host") + W({5})));

    EXPECT_EQ(Reply(call(1), O("cookie") + W({0})), "0");
    EXPECT_EQ(Reply(call(1), O("cookie") + W({1}) + holder), "1");
    for (uint32_t p : {2u, 3u, 4u, 5u, 22u}) EXPECT_EQ(Reply(call(p), O("cookie") + W({1})), "1");
    for (uint32_t p : {20u, 21u}) EXPECT_EQ(Reply(call(p), O("cookie") + W({4, 9})), "4");
    for (uint32_t p : {0u, 6u, 11u, 15u, 23u}) EXPECT_EQ(Reply(call(p), {}), "-");
  }
}

TEST(Nsm, Procedures) {
  const auto call = [](uint32_t procedure, const Xdr& arguments = {}) {
    return CallMessage(kNsmProgram, 1, procedure, arguments);
  };
  const Xdr monitor_id = O("host") + O("me") + W({100021, 4, 16});
  WalkCallToEnd(call(1, O("host")));
  WalkCallToEnd(call(2, monitor_id + Fixed(16)));
  WalkCallToEnd(call(3, monitor_id));
  WalkCallToEnd(call(4, O("me") + W({100021, 4, 16})));
  WalkCallToEnd(call(5));
  WalkCallToEnd(call(6, O("host") + W({3})));
  for (uint32_t p : {1u, 2u}) EXPECT_EQ(Reply(call(p), W({1, 3})), "1");
  for (uint32_t p : {3u, 4u}) EXPECT_EQ(Reply(call(p), W({3})), "-");
  for (uint32_t p : {0u, 5u, 6u}) EXPECT_EQ(Reply(call(p), {}), "-");
}

TEST(NfsAcl, Versions) {
  const Xdr acls = W({0xf, 2, 2}) + Fixed(24) + W({0, 0});
  for (uint32_t version : {2u, 3u}) {
    const Xdr handle = version == 2 ? Fixed(32) : O("handle");
    const Xdr attributes = version == 2 ? Fixed(68) : W({1}) + Fixed(84);
    const Xdr after_failure = version == 2 ? Xdr() : W({0});
    const auto call = [&](uint32_t procedure, const Xdr& arguments = {}) {
      return CallMessage(kNfsAclProgram, version, procedure, arguments);
    };
    WalkCallToEnd(call(0));
    WalkCallToEnd(call(1, handle + W({0xf})));
    WalkCallToEnd(call(2, handle + acls));
    EXPECT_EQ(Reply(call(0), {}), "-");
    EXPECT_EQ(Reply(call(1), W({0}) + attributes + acls), "0");
    EXPECT_EQ(Reply(call(1), W({70}) + after_failure), "70");
    EXPECT_EQ(Reply(call(2), W({0}) + attributes), "0");
    EXPECT_EQ(Reply(call(2), W({13}) + after_failure), "13");
    const uint32_t getxattrdir = version == 2 ? 5 : 3;
    WalkCallToEnd(call(getxattrdir, handle + W({1})));
    EXPECT_EQ(Reply(call(getxattrdir), W({0}) + handle + attributes), "0");
    EXPECT_EQ(Reply(call(getxattrdir), W({2}) + after_failure), "2");
  }
  const auto getattr = CallMessage(kNfsAclProgram, 2, 3, Fixed(32));
  WalkCallToEnd(getattr);
  EXPECT_EQ(Reply(getattr, W({0}) + Fixed(68)), "0");
  const auto access = CallMessage(kNfsAclProgram, 2, 4, Fixed(32) + W({3}));
  WalkCallToEnd(access);
  EXPECT_EQ(Reply(access, W({0}) + Fixed(68) + W({3})), "0");
}

TEST(Unsupported, ProgramsVersionsProcedures) {
  const struct {
    uint32_t program, version, procedure;
  } cases[] = {{100099, 4, 1},        {kNfsProgram, 5, 1},    {kNfsProgram, 4, 2},    {kMountProgram, 4, 1},
               {kMountProgram, 3, 7}, {kNlmProgram, 2, 1},    {kNlmProgram, 4, 16},   {kNlmProgram, 4, 24},
               {kNsmProgram, 1, 7},   {kNfsAclProgram, 3, 4}, {kNfsAclProgram, 2, 6}, {0x40000000, 1, 2},
               {kNfsAclProgram, 4, 1}};
  for (const auto& c : cases) {
    const auto call = CallMessage(c.program, c.version, c.procedure, W({0, 0, 0, 0}));
    const auto reply = ReplyMessage(W({0, 0, 0, 0}));
    Recorder r;
    EXPECT_EQ(WalkCall(Header(call), call, call.size(), r).status, ParseStatus::kUnsupported) << c.program;
    const Walk walk = WalkReply(Header(call), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r);
    EXPECT_EQ(walk.status, ParseStatus::kUnsupported) << c.program;
    EXPECT_FALSE(walk.has_status);
    EXPECT_TRUE(r.items.empty());
  }
  const auto unknown = CallMessage(100099, 4, 1, {});
  EXPECT_FALSE(EligibleItems(Header(unknown), unknown, unknown.size()).known);
  const auto null = CallMessage(100099, 4, 0, {});
  WalkCallToEnd(null);
  EXPECT_FALSE(EligibleItems(Header(null), null, null.size()).known);
  const auto mount = CallMessage(kMountProgram, 3, 1, O("/"));
  EXPECT_TRUE(EligibleItems(Header(mount), mount, mount.size()).known);
}

TEST(Unsupported, WrappedByGss) {
  const Xdr header = W({7, 0, 2, kNfsProgram, 3, 6, 6, 20, 1, 0, 1});
  const auto integrity = (header + W({2, 0, 0, 0}) + O("wrapped")).bytes;
  const auto none = (header + W({1, 0, 0, 0}) + O("handle") + H({0}) + W({100})).bytes;
  const auto reply = ReplyMessage(W({0, 0, 0, 0, 0}));
  Recorder r;
  EXPECT_EQ(WalkCall(Header(integrity), integrity, integrity.size(), r).status, ParseStatus::kUnsupported);
  EXPECT_EQ(WalkReply(Header(integrity), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r).status,
            ParseStatus::kUnsupported);
  EXPECT_FALSE(EligibleItems(Header(integrity), integrity, integrity.size()).known);
  EXPECT_TRUE(r.log.empty());
  EXPECT_EQ(WalkCall(Header(none), none, none.size(), r).status, ParseStatus::kOk);
  EXPECT_EQ(r.log.size(), 1u);
  EXPECT_EQ(EligibleItems(Header(none), none, none.size()).result_items, 1u);
}

TEST(RpcErrors, HaveNoResults) {
  const auto call = CallMessage(kNfsAclProgram, 3, 2, O("handle") + W({0, 0, 0, 0, 0}));
  for (const Xdr& reply : {W({7, 1, 0, 0, 0, 4}), W({7, 1, 0, 0, 0, 2, 3, 4}), W({7, 1, 1, 1, 5})}) {
    Recorder r;
    const Walk walk =
        WalkReply(Header(call), rpc::DecodeReply(reply.bytes, reply.bytes.size()), reply.bytes, reply.bytes.size(), r);
    EXPECT_EQ(walk.status, ParseStatus::kOk);
    EXPECT_EQ(walk.offset, reply.bytes.size());
    EXPECT_FALSE(walk.has_status);
  }
}

}  // namespace
}  // namespace stag::nfs
