// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS version 2: layouts of RFC 1094 section 2.2.
#include "tests/protocol/nfs/walk_helper.h"

namespace stag::nfs {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

const std::string kHandle = Text(Fixed(32).bytes);

std::vector<std::byte> Call(uint32_t procedure, const Xdr& arguments = {}) {
  return CallMessage(kNfsProgram, 2, procedure, arguments);
}
Xdr Fh() { return Fixed(32); }
Xdr Attributes() { return Fixed(68); }
Xdr SetAttributes() { return Fixed(32); }

TEST(Nfs2, Calls) {
  for (uint32_t procedure : {0u, 3u, 7u}) WalkCallToEnd(Call(procedure));
  for (uint32_t procedure : {1u, 5u, 17u}) WalkCallToEnd(Call(procedure, Fh()));
  WalkCallToEnd(Call(2, Fh() + SetAttributes()));
  EXPECT_EQ(WalkCallToEnd(Call(4, Fh() + O("name"))).log, (Lines{"name 0 " + kHandle + " name"}));
  EXPECT_EQ(WalkCallToEnd(Call(9, Fh() + O("f") + SetAttributes())).log, (Lines{"name 0 " + kHandle + " f"}));
  EXPECT_EQ(WalkCallToEnd(Call(14, Fh() + O("d") + SetAttributes())).log, (Lines{"name 0 " + kHandle + " d"}));
  WalkCallToEnd(Call(10, Fh() + O("name")));
  WalkCallToEnd(Call(15, Fh() + O("name")));
  WalkCallToEnd(Call(11, Fh() + O("name") + Fh() + O("other")));
  WalkCallToEnd(Call(12, Fh() + Fh() + O("other")));
  EXPECT_EQ(WalkCallToEnd(Call(16, Fh() + W({0, 4096}))).log, (Lines{"limit 0 16 4096"}));
  EXPECT_EQ(WalkCallToEnd(Call(6, Fh() + W({8192, 4096, 0}))).log, (Lines{"read 0 " + kHandle + " 8192+4096"}));
}

TEST(Nfs2, WriteAndSymlinkItems) {
  const auto write = Call(8, Fh() + W({0, 512, 0}) + O("hello"));
  const Recorder inline_data = WalkCallToEnd(write);
  EXPECT_EQ(inline_data.log, (Lines{"write 0 " + kHandle + " 512+5"}));
  ASSERT_EQ(inline_data.items.size(), 1u);
  EXPECT_EQ(inline_data.items[0].kind, ItemKind::kWriteData);
  EXPECT_EQ(inline_data.items[0].offset, write.size() - 8);
  EXPECT_EQ(inline_data.items[0].length, 5u);
  WalkCallToEnd(Call(8, Fh() + W({0, 512, 0, 5})), {0});

  const auto symlink = Call(13, Fh() + O("link") + O("to") + SetAttributes());
  const Recorder link = WalkCallToEnd(symlink);
  ASSERT_EQ(link.items.size(), 1u);
  EXPECT_EQ(link.items[0].kind, ItemKind::kLinkText);
  EXPECT_EQ(link.items[0].length, 2u);
  WalkCallToEnd(Call(13, Fh() + O("link") + W({2}) + SetAttributes()), {0});
}

TEST(Nfs2, Replies) {
  const auto reply = [](uint32_t procedure, const Xdr& results, const std::set<size_t>& reduced = {}) {
    Walk walk;
    const Recorder r = WalkReplyToEnd(Call(procedure), ReplyMessage(results), reduced, &walk);
    EXPECT_EQ(walk.has_status, procedure != 0 && procedure != 3 && procedure != 7);
    return r;
  };
  for (uint32_t procedure : {0u, 3u, 7u}) reply(procedure, {});
  for (uint32_t procedure : {1u, 2u, 8u}) reply(procedure, W({0}) + Attributes());
  for (uint32_t procedure : {4u, 9u, 14u})
    EXPECT_EQ(reply(procedure, W({0}) + Fh() + Attributes()).log, (Lines{"handle 0 " + kHandle}));
  for (uint32_t procedure : {10u, 11u, 12u, 13u, 15u}) reply(procedure, W({0}));
  reply(16, W({0, 1, 77}) + O("entry") + W({5}) + W({0, 1}));
  reply(17, W({0, 1, 2, 3, 4, 5}));
  for (uint32_t procedure = 1; procedure < 18; ++procedure)
    if (procedure != 3 && procedure != 7) reply(procedure, W({70}));

  const Recorder read = reply(6, W({0}) + Attributes() + O("data!"));
  EXPECT_EQ(read.log, (Lines{"result 0 5 more"}));
  ASSERT_EQ(read.items.size(), 1u);
  EXPECT_EQ(read.items[0].kind, ItemKind::kReadData);
  EXPECT_EQ(read.items[0].offset, 24u + 4 + 68 + 4);
  reply(6, W({0}) + Attributes() + W({5}), {0});
  EXPECT_EQ(reply(5, W({0}) + O("path")).items[0].kind, ItemKind::kLinkText);
}

TEST(Nfs2, UnknownProcedure) {
  Recorder r;
  EXPECT_EQ(WalkCall(Header(Call(18)), Call(18), 40, r).status, ParseStatus::kUnsupported);
  const auto reply = ReplyMessage({});
  EXPECT_EQ(WalkReply(Header(Call(18)), rpc::DecodeReply(reply, reply.size()), reply, reply.size(), r).status,
            ParseStatus::kUnsupported);
}

}  // namespace
}  // namespace stag::nfs
