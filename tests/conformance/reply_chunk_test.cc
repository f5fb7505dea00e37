// SPDX-License-Identifier: GPL-2.0-or-later
//
// REPLY: the Reply chunk.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

using rpcrdma::Segment;
using Segments = std::vector<Segment>;

rpcrdma::Header WithReplyChunk(rpcrdma::Header header, const std::optional<Segments>& segments) {
  if (segments) SetReplyChunk(header, *segments);
  return header;
}

const Buffer kLink = MakeReply(5, Join({Words({0, 0}), Opaque(Pattern(100))}));  // READLINK result
const auto kLinkSize = static_cast<uint32_t>(kLink.size());

// Ids of a READLINK with this Reply chunk offered and returned; a Long Reply unless `inline_reply`.
Id After(const std::optional<Segments>& offered, const std::optional<Segments>& returned, bool inline_reply = false) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReplyChunk(Msg(5), offered), MakeCall(5, kNfs, 3, kReadlink, FileHandle()));
  if (!inline_reply && offered) c.script.Write(kServer, (*offered)[0].handle, (*offered)[0].offset, kLink);
  c.script.Send(kServer, WithReplyChunk(inline_reply ? Msg(5) : Nomsg(5), returned), inline_reply ? kLink : Buffer{});
  return c.Ids();
}

TEST(Reply, Good) {
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, kLinkSize, 0}}), Id{});
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, 0, 0}}, true), Id{});  // Short, though a Reply chunk was there
  EXPECT_EQ(After(std::nullopt, std::nullopt, true), Id{});
}

TEST(Reply, Reply001And002Readdir) {
  const auto readdir = [](uint32_t count, const std::optional<Segments>& offered) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReplyChunk(Msg(5), offered),
                  MakeCall(5, kNfs, 3, kReaddir, Join({FileHandle(), Words({0, 0, 0, 0, count})})));
    return c.Ids();
  };
  EXPECT_EQ(readdir(2048, std::nullopt), Id{});
  EXPECT_EQ(readdir(32768, std::nullopt), Id{"REPLY-001"});
  EXPECT_EQ(readdir(32768, Segments{{7, 32768, 0}}), Id{});
  EXPECT_EQ(readdir(32768, Segments{{7, 4096, 0}}), Id{"REPLY-002"});
}

TEST(Reply, Reply003NotNeeded) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReplyChunk(Msg(5), Segments{{7, 4096, 0}}), GetattrCall(5));
  ASSERT_NE(c.Find("REPLY-003"), nullptr);
  EXPECT_EQ(c.Find("REPLY-003")->severity, Severity::kNote);
}

TEST(Reply, Reply004NotReturned) {
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, std::nullopt, true), Id{"REPLY-004"});
  EXPECT_EQ(After(Segments{{7, 4096, 0}, {8, 4096, 0}}, Segments{{7, kLinkSize, 0}}), Id{"REPLY-004"});
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, 0, 4}}, true), Id{"REPLY-004"});
}

TEST(Reply, Reply005Lengths) {
  EXPECT_EQ(After(Segments{{7, 64, 0}}, Segments{{7, kLinkSize, 0}}), (Id{"MEM-003", "REPLY-005"}));
  EXPECT_EQ(After(Segments{{7, 4096, 0}, {8, 4096, 0}}, Segments{{7, 100, 0}, {8, 100, 0}}).front(), "REPLY-005");
}

TEST(Reply, Reply006Invented) { EXPECT_EQ(After(std::nullopt, Segments{{7, 0, 0}}, true), Id{"REPLY-006"}); }

TEST(Reply, Reply007Oversized) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReplyChunk(Msg(5), Segments{{7, 65536, 0}}),
                MakeCall(5, kNfs, 3, kReadlink, FileHandle()));
  c.script.Send(kServer, WithReplyChunk(Msg(5), Segments{{7, 0, 0}}),
                MakeReply(5, Join({Words({0, 0}), Opaque(Pattern(5000))})));
  const Finding* finding = c.Find("REPLY-007");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->see_also.front(), "THRESH-002");
}

TEST(Reply, Reply008ShortWithLengths) {
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, 100, 0}}, true), Id{"REPLY-008"});
}

TEST(Reply, Reply010Padding) {
  EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, kLinkSize - 1, 0}}).front(), "REPLY-010");
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Nomsg(5);
  AddRead(header, 0, {7, 1021, 0});
  c.script.Send(kClient, header);
  EXPECT_EQ(c.Ids(), Id{"REPLY-010"});
}

// Room for the largest verifier (RFC 5531 section 8.2): its lack alone is a note.
TEST(Reply, Gss005VerifierRoom) {
  const auto ids = [](bool gss, uint32_t count, const std::optional<Segments>& offered, bool notes) {
    rpc::CallHeader header;
    header.xid = 5;
    header.rpc_version = 2;
    header.program = kNfs;
    header.version = 3;
    header.procedure = kReaddir;
    Buffer credential, call;
    rpc::EncodeGssCredential(rpc::kGssData, 1, rpc::kGssNone, Pattern(8), credential);
    if (gss) header.credential = {rpc::kRpcsecGss, credential};
    rpc::Encode(header, call);
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReplyChunk(Msg(5), offered), Join({call, FileHandle(), Words({0, 0, 0, 0, count})}));
    return c.Ids(notes);
  };
  EXPECT_EQ(ids(false, 4000, std::nullopt, true), Id{});  // 28 + 24 + 4000 fit into 4096
  EXPECT_EQ(ids(true, 4000, std::nullopt, true), Id{"REPLY-001"});
  EXPECT_EQ(ids(true, 4000, std::nullopt, false), Id{});
  EXPECT_EQ(ids(true, 3600, std::nullopt, true), Id{});
  EXPECT_EQ(ids(true, 8192, std::nullopt, false), Id{"REPLY-001"});  // for itself
  EXPECT_EQ(ids(false, 8192, Segments{{7, 8300, 0}}, true), Id{});
  EXPECT_EQ(ids(true, 8192, Segments{{7, 8300, 0}}, true), Id{"REPLY-002"});
  EXPECT_EQ(ids(true, 8192, Segments{{7, 8300, 0}}, false), Id{});
  EXPECT_EQ(ids(true, 8192, Segments{{7, 8592, 0}}, true), Id{});
  EXPECT_EQ(ids(true, 8192, Segments{{7, 8000, 0}}, false), Id{"REPLY-002"});
}

TEST(Reply, Reply011Empty) { EXPECT_EQ(After(Segments{{7, 4096, 0}}, Segments{{7, 0, 0}}), Id{"REPLY-011"}); }

// A Reply of kLinkSize bytes, of which RDMA Writes bring `written`; with `loss` the capture lacks a packet behind them.
Id Partly(uint32_t written, bool loss) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReplyChunk(Msg(5), Segments{{7, 4096, 0}}), MakeCall(5, kNfs, 3, kReadlink, FileHandle()));
  if (written > 0) c.script.Write(kServer, 7, 0, {kLink.begin(), kLink.begin() + written});
  if (loss) c.script.Gap(kServer);
  c.script.Send(kServer, WithReplyChunk(Nomsg(5), Segments{{7, kLinkSize, 0}}));
  return c.Ids();
}

// The capture has the Call for the first time when it is sent again, behind the RDMA Write for it.
TEST(Reply, Reply014WrittenBeforeTheCallCame) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Write(kServer, 7, 0, kLink);
  c.script.Send(kClient, WithReplyChunk(Msg(5), Segments{{7, 4096, 0}}), MakeCall(5, kNfs, 3, kReadlink, FileHandle()));
  c.script.Send(kServer, WithReplyChunk(Nomsg(5), Segments{{7, kLinkSize, 0}}));
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Reply, Reply014PartlyWritten) {
  EXPECT_EQ(Partly(kLinkSize, false), Id{});
  for (const uint32_t written : {0u, 4u, 100u, kLinkSize - 1}) {
    EXPECT_EQ(Partly(written, false), Id{"REPLY-014"}) << written;
    EXPECT_EQ(Partly(written, true), Id{}) << written;
  }
}

}  // namespace
}  // namespace stag::test
