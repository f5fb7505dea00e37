// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/connection_history.h"

#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

using conformance::ConnectionHistory;
using conformance::DiagramRow;
using conformance::Engine;
using conformance::EventDetail;
using conformance::EventTitle;
using conformance::FindingSink;
using conformance::Ladder;
using conformance::Mark;

class Teller : public FindingSink {
 public:
  explicit Teller(const conformance::ConnectionHistoryOptions& options = {}, std::vector<std::string> select = {})
      : history(options),
        engine({.profile = Profile::kRfc8166, .select = std::move(select), .ignore = {}}, *this),
        session({}, {&history, &engine}),
        script(session) {}

  void OnFinding(const Finding& finding) override { ladders.emplace_back(finding, history.LadderOf(finding)); }
  const Ladder& Of(std::string_view id) const {
    for (const auto& [finding, ladder] : ladders)
      if (finding.rule->id == id && ladder) return *ladder;
    ADD_FAILURE() << "no ladder for " << id;
    static const Ladder kNone;
    return kNone;
  }

  ConnectionHistory history;
  Engine engine;
  session::Session session;
  EventScript script;
  std::vector<std::pair<Finding, std::shared_ptr<const Ladder>>> ladders;
};

// "12 c2s Call NFSv3 READ", with ! for the offending entry, ? for the proof and * for related ones.
Id Lines(const Ladder& ladder) {
  Id out;
  for (const DiagramRow& row : ladder.rows()) {
    const char* mark = row.mark == Mark::kOffending ? "! "
                       : row.mark == Mark::kProof   ? "? "
                       : row.mark == Mark::kRelated ? "* "
                                                    : "";
    out.push_back(mark + std::to_string(row.event.frame.number) + (row.event.client_to_server ? " c2s " : " s2c ") +
                  EventTitle(row.event));
  }
  return out;
}

void Null(Teller& t, uint32_t xid) {
  t.script.Send(kClient, Msg(xid), MakeCall(xid, kNfs, 3, 0));
  t.script.Send(kServer, Msg(xid), MakeReply(xid));
}

rpcrdma::Header Offering(uint32_t xid, uint32_t handle, uint32_t length) {
  rpcrdma::Header header = Msg(xid);
  AddWriteChunk(header, {{handle, length, 0x1000}});
  return header;
}

TEST(ConnectionHistory, TheTransactionAndTheOffendingEvent) {
  Teller t;
  t.script.Open();  // frames 1 to 4
  const uint64_t opened = t.script.frame();
  Null(t, 1);
  const auto frame = [&](uint64_t n) { return std::to_string(opened + n); };
  t.script.Send(kClient, Offering(2, 7, 4096), ReadCall(2, 4096));  // 3
  t.script.Write(kServer, 7, 0x1000, Pattern(4096));                // 4
  Null(t, 3);                                                       // 5, 6
  rpcrdma::Header reply = Msg(2);
  AddWriteChunk(reply, {{7, 4096, 0x1000}});
  t.script.Send(kServer, reply, ReadReply(2, 4096, true));  // 7
  t.script.Write(kServer, 7, 0x1000, Pattern(4096));        // 8: after the Reply
  Null(t, 4);                                               // 9, 10
  t.script.Close();                                         // 11
  const Ladder& ladder = t.Of("WRLIST-017");
  EXPECT_EQ(Lines(ladder),
            (Id{"* " + frame(3) + " c2s Call NFSv3 READ", frame(4) + " s2c RDMA Write, 4,096 bytes",
                "* " + frame(7) + " s2c Reply NFSv3 READ", "! " + frame(8) + " s2c RDMA Write, 4,096 bytes",
                frame(11) + " c2s End of the connection: disconnect"}));
  EXPECT_EQ(ladder.beginning, Ladder::Beginning::kWhole);
  EXPECT_EQ(EventDetail(ladder.rows()[0].event),
            "xid 0x00000002, RDMA_MSG, " +
                std::to_string(MessageBytes(Offering(2, 7, 4096), ReadCall(2, 4096)).size()) +
                " bytes, credits 32, Write list: 1 chunk of 4,096 bytes");
  EXPECT_EQ(EventDetail(ladder.rows()[1].event),
            "handle 0x00000007, byte 0 of a segment of Write chunk 1, xid 0x00000002");
}

TEST(ConnectionHistory, GoesOnUntilTheAnswer) {
  Teller t;
  t.script.Open();
  Null(t, 1);
  t.script.Send(kClient, Offering(2, 7, 4096), GetattrCall(2));  // nothing of it can be reduced
  const uint64_t call = t.script.frame();
  Null(t, 3);
  t.script.Send(kServer, Msg(2), GetattrReply(2));
  EXPECT_EQ(Lines(t.Of("WRLIST-013")), (Id{"! " + std::to_string(call) + " c2s Call NFSv3 GETATTR",
                                           std::to_string(call + 3) + " s2c Reply NFSv3 GETATTR"}));
  for (uint32_t xid = 10; xid < 20; ++xid) Null(t, xid);
  t.script.Close();  // too late to have to do with it
  EXPECT_EQ(t.Of("WRLIST-013").rows().size(), 2u);
}

TEST(ConnectionHistory, TheSetUp) {
  Teller t;
  t.script.Open(rpcrdma::PrivateData{1, 0xff, 3, 3});  // reserved bits are set
  Null(t, 1);
  const Ladder& ladder = t.Of("PVT-003");
  ASSERT_GE(ladder.rows().size(), 2u);
  EXPECT_EQ(EventTitle(ladder.rows()[0].event), "Connection request");
  EXPECT_EQ(EventDetail(ladder.rows()[0].event),
            "sends up to 4,096 bytes, receives up to 4,096 bytes, remote invalidation");
  EXPECT_EQ(ladder.rows()[0].mark, Mark::kOffending);
  EXPECT_EQ(EventTitle(ladder.rows()[1].event), "Connection reply");
  for (const DiagramRow& row : ladder.rows()) EXPECT_EQ(row.event.kind, conformance::DiagramEvent::Kind::kSetup);
}

TEST(ConnectionHistory, WhatWasForgottenIsSaid) {
  Teller t({.entries_per_connection = 4, .entries = 1000}, {"WRLIST-017", "MEM-004"});
  t.script.Open();
  Null(t, 1);
  t.script.Send(kClient, Offering(2, 7, 4096), ReadCall(2, 4096));
  rpcrdma::Header reply = Msg(2);
  AddWriteChunk(reply, {{7, 4096, 0x1000}});
  t.script.Write(kServer, 7, 0x1000, Pattern(4096));
  t.script.Send(kServer, reply, ReadReply(2, 4096, true));
  Null(t, 3);
  t.script.Write(kServer, 7, 0x1000, Pattern(4096));
  ASSERT_EQ(t.ladders.size(), 1u);
  EXPECT_EQ(t.ladders[0].second->beginning, Ladder::Beginning::kForgotten);
  EXPECT_EQ(t.ladders[0].second->rows().back().mark, Mark::kOffending);
}

TEST(ConnectionHistory, ACallThatWasNotCaptured) {
  Teller t;
  t.script.Open();
  Null(t, 1);
  t.script.Send(kServer, Msg(9), MakeReply(9));
  const uint64_t reply = t.script.frame();
  for (uint32_t xid = 10; xid < 20; ++xid) Null(t, xid);
  const Ladder& ladder = t.Of("XID-002");
  EXPECT_EQ(ladder.beginning, Ladder::Beginning::kNotCaptured);
  ASSERT_EQ(ladder.rows().size(), 2u);
  EXPECT_EQ(Lines(ladder)[0], "! " + std::to_string(reply) + " s2c Reply");
  // That no Call of it was lost is proven only when the client is heard again.
  EXPECT_EQ(ladder.rows()[1].mark, Mark::kProof);
  EXPECT_TRUE(ladder.rows()[1].event.client_to_server);
}

TEST(ConnectionHistory, PacketsOfOneOperationAreOneEvent) {
  Teller t;
  t.script.Open();
  Null(t, 1);
  rpcrdma::Header call = Msg(2);
  AddRead(call, 100, {7, 2048, 0x1000});  // no place for data: RDLIST-004
  t.script.Send(kClient, call, WriteCall(2, 2048));
  t.script.ReadRequest(kServer, 7, 0x1000, 2048);
  t.script.ReadResponseBegins(kClient, 7, 0x1000, Pattern(1024));
  t.script.ReadResponse(kClient, 7, 0x1400, Pattern(1024));
  t.script.Send(kServer, Msg(2), WriteReply(2, 2048));
  ASSERT_FALSE(t.ladders.empty());
  Id titles;
  for (const DiagramRow& row : t.ladders.back().second->rows()) titles.push_back(EventTitle(row.event));
  EXPECT_EQ(titles, (Id{"Call NFSv3 WRITE", "RDMA Read request, 2,048 bytes", "RDMA Read response, 2,048 bytes",
                        "Reply NFSv3 WRITE"}));
}

TEST(ConnectionHistory, MemoryIsBoundedOverAllConnections) {
  ConnectionHistory history({.entries_per_connection = 100, .entries = 200});
  session::Session session({}, {&history});
  Finding finding;
  finding.rule = conformance::FindRule("XID-002");
  finding.xid = 1;
  for (fabric::ConnectionId id = 1; id <= 300; ++id) {
    EventScript script(session, id);
    script.Open();
    script.Send(kClient, Msg(1), MakeCall(1, kNfs, 3, 0));
    finding.connection = id;
    finding.frame.number = script.frame();
    ASSERT_NE(history.LadderOf(finding), nullptr);
    finding.connection = 1;
    if (id <= 30) {
      EXPECT_NE(history.LadderOf(finding), nullptr);
    }
    if (id > 100) {
      EXPECT_EQ(history.LadderOf(finding), nullptr);
    }
  }
  finding.connection = 0;  // beside all connections
  EXPECT_EQ(history.LadderOf(finding), nullptr);
}

}  // namespace
}  // namespace stag::test
