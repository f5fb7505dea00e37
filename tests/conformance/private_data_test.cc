// SPDX-License-Identifier: GPL-2.0-or-later
//
// PVT and THRESH: private data, remote invalidation, thresholds; and CONN.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

using rpcrdma::PrivateData;

// Ids after a connection request with these bytes of private data.
Id AfterRequest(const Buffer& bytes, bool fixed, bool notes = false) {
  Checker c;
  fabric::ConnectionInfo info;
  info.id = 1;
  info.roles_known = true;
  info.service_port = rpcrdma::kServicePort;
  fabric::Setup setup;
  setup.private_data = bytes;
  setup.private_data_fixed = fixed;
  c.session.OnEvent({info, 0, {}, {1, 0}, setup});
  return c.Ids(notes);
}

Buffer Data(std::initializer_list<uint8_t> bytes) {
  Buffer out;
  for (const uint8_t b : bytes) out.push_back(std::byte{b});
  return out;
}

TEST(Pvt, GoodData) {
  EXPECT_EQ(AfterRequest(Data({0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}), false, true), Id{});
  EXPECT_EQ(AfterRequest(Data({9, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 255, 0, 0, 0}), true, true), Id{});
  EXPECT_EQ(AfterRequest({}, false, true), Id{});
}

TEST(Pvt, Pvt001ByteSwapped) {
  EXPECT_EQ(AfterRequest(Data({0x18, 0x0e, 0xab, 0xf6, 1, 1, 3, 3}), false), Id{"PVT-001"});
}

TEST(Pvt, Pvt002Version) {
  EXPECT_EQ(AfterRequest(Data({0xf6, 0xab, 0x0e, 0x18, 0, 1, 3, 3}), false), Id{"PVT-002"});
  EXPECT_EQ(AfterRequest(Data({0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3, 0}), false, true), Id{"PVT-002"});
}

TEST(Pvt, Pvt003Reserved) {
  EXPECT_EQ(AfterRequest(Data({0xf6, 0xab, 0x0e, 0x18, 1, 0x81, 3, 3}), true), Id{"PVT-003"});
}

TEST(Pvt, Pvt013Truncated) { EXPECT_EQ(AfterRequest(Data({0xf6, 0xab, 0x0e, 0x18, 1, 0}), false), Id{"PVT-013"}); }

void Read(Checker& c, uint32_t xid, uint32_t handle, std::optional<uint32_t> invalidated) {
  rpcrdma::Header header = Msg(xid);
  AddWriteChunk(header, {{handle, 100, 0}});
  c.script.Send(kClient, header, ReadCall(xid, 100));
  c.script.Write(kServer, handle, 0, Pattern(100));
  c.script.Send(kServer, header, ReadReply(xid, 100, true), invalidated);
}

TEST(Pvt, Pvt006NotAgreed) {
  for (const uint8_t flags : {uint8_t{0}, uint8_t{1}}) {
    Checker c;
    c.script.Open(PrivateData{1, 1, 3, 3}, PrivateData{1, flags, 3, 3});
    Greet(c);
    Read(c, 5, 7, 7);
    EXPECT_EQ(c.Ids(), flags ? Id{} : Id{"PVT-006"});
  }
  Checker none;
  none.script.Open(std::nullopt, std::nullopt);
  Greet(none);
  Read(none, 5, 7, 7);
  EXPECT_EQ(none.Ids(), Id{"PVT-006"});
  Checker midstream;
  midstream.script.OpenMidstream();
  Greet(midstream);
  Read(midstream, 5, 7, 7);
  EXPECT_EQ(midstream.Ids(), Id{});
}

TEST(Pvt, Pvt007WrongHandle) {
  Checker c;
  c.script.Open();
  Greet(c);
  Read(c, 5, 7, 8);
  EXPECT_EQ(c.Ids(), Id{"PVT-007"});
}

TEST(Pvt, Pvt007HandleOfTwoCalls) {
  Checker c(Profile::kRfc8166, {"PVT"});
  c.script.Open();
  Greet(c);
  rpcrdma::Header other = Msg(4);
  AddWriteChunk(other, {{7, 100, 0x8000}});
  c.script.Send(kClient, other, ReadCall(4, 100));
  const uint64_t other_frame = c.script.frame();
  Read(c, 5, 7, 7);
  ASSERT_EQ(c.Ids(), Id{"PVT-007"});
  EXPECT_EQ(std::ranges::count(c.findings.all[0].related_frames, other_frame), 1);
}

TEST(Pvt, Pvt018Call) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5), 7);
  EXPECT_EQ(c.Ids(), Id{"PVT-018"});
}

TEST(Pvt, Pvt014StaleSettings) {
  Findings findings;
  conformance::Engine engine({.profile = Profile::kRfc8166, .select = {}, .ignore = {}}, findings);
  session::Session session({}, {&engine});
  EventScript first(session, 1), second(session, 2);
  first.Open();
  first.Close();
  second.Open(PrivateData{1, 1, 0, 0});
  second.Send(kClient, Msg(5), MakeCall(5, 300000, 1, 1, Pattern(2000)));
  const Finding* finding = nullptr;
  for (const Finding& f : findings.all)
    if (f.rule->id == "THRESH-001") finding = &f;
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->connection, 2u);
  EXPECT_EQ(std::ranges::count(finding->see_also, "PVT-014"), 1);
}

TEST(Thresh, Thresholds) {
  const auto ids = [](std::optional<PrivateData> client, std::optional<PrivateData> server, size_t size) {
    Checker c;
    c.script.Open(client, server);
    c.script.Send(kClient, Msg(5), MakeCall(5, 300000, 1, 1, Pattern(size)));
    return c.Ids();
  };
  EXPECT_EQ(ids(PrivateData{1, 1, 3, 3}, PrivateData{1, 1, 3, 3}, 2000), Id{});
  EXPECT_EQ(ids(PrivateData{1, 1, 3, 3}, PrivateData{1, 1, 3, 0}, 2000), Id{"THRESH-001"});
  EXPECT_EQ(ids(std::nullopt, std::nullopt, 2000), Id{"THRESH-001"});
  EXPECT_EQ(ids(std::nullopt, std::nullopt, 900), Id{});
}

TEST(Conn, Conn001ServerCallsFirst) {
  Checker c(Profile::kRfc8166, {"CONN"});
  c.script.Open();
  c.script.Send(kServer, Msg(5), MakeCall(5, 0x40000000, 1, 0));
  Greet(c);
  EXPECT_EQ(c.Ids(), Id{"CONN-001"});
  Checker later(Profile::kRfc8166, {"CONN"});
  later.script.Open();
  Greet(later);
  later.script.Send(kServer, Msg(5), MakeCall(5, 0x40000000, 1, 0));
  EXPECT_EQ(later.Ids(), Id{});
}

}  // namespace
}  // namespace stag::test
