// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED-012: RDMA Reads in flight.
#include "tests/conformance/credit_checker.h"

namespace stag::test {
namespace {

// A Call with a Read chunk of `n` segments of 100 bytes, handles from 1 on.
rpcrdma::Header WithReads(uint32_t xid, uint32_t n) {
  rpcrdma::Header header = Msg(xid);
  for (uint32_t i = 0; i < n; ++i) AddRead(header, 112, {1 + i, 100, 0});
  return header;
}

struct ReadScript : CreditChecker {
  ReadScript() : CreditChecker(Profile::kRfc8166, {"CRED-012"}) {}
  void Open(uint16_t served, uint16_t issued) {
    script.SayReads(kClient, served, 0);
    script.SayReads(kServer, 0, issued);
    script.Open();
    Exchange(0x100, 32);
    script.Send(kClient, WithReads(1, 16), WriteCall(1, 1600));
  }
  void Request(uint32_t first, uint32_t last) {
    for (uint32_t handle = first; handle <= last; ++handle) script.ReadRequest(kServer, handle, 0, 100);
  }
  void Respond(uint32_t first, uint32_t last) {
    for (uint32_t handle = first; handle <= last; ++handle) script.ReadResponse(kClient, handle, 0, Pattern(100));
  }
};

TEST(Cred012, SixteenReadsWhereOneIsServed) {
  ReadScript c;
  c.Open(1, 1);
  c.Request(1, 16);
  EXPECT_EQ(c.Ids(), Id{});  // until the first is answered
  c.Respond(1, 16);
  ASSERT_EQ(c.Ids(), Id{"CRED-012"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_FALSE(c.findings.all[0].client_to_server);
  EXPECT_EQ(c.findings.all[0].expected, "at most 1");
  EXPECT_EQ(c.findings.all[0].actual, "15");  // without the one that was just answered
}

TEST(Cred012, ALongResponseProvesEachOfThem) {
  ReadScript c;
  c.Open(1, 1);
  c.Request(1, 2);
  c.script.ReadResponseBegins(kClient, 1, 0, Pattern(50));
  ASSERT_EQ(c.Ids(), Id{"CRED-012"});
  EXPECT_EQ(c.findings.all[0].actual, "2");
}

TEST(Cred012, AsManyAsAreServed) {
  ReadScript c;
  c.Open(4, 4);
  c.Request(1, 4);
  for (uint32_t handle = 1; handle <= 12; ++handle) c.Respond(handle, handle), c.Request(handle + 4, handle + 4);
  c.Respond(13, 16);
  EXPECT_EQ(c.Ids(), Id{});
}

// The capture shows each request a moment before the end of the response that made room for it.
TEST(Cred012, ARequestThatOvertakesAResponse) {
  ReadScript c;
  c.Open(2, 2);
  c.Request(1, 3);
  for (uint32_t handle = 1; handle <= 13; ++handle) c.Respond(handle, handle), c.Request(handle + 3, handle + 3);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred012, ResponsesThatTheCaptureMissed) {
  ReadScript c;
  c.Open(2, 2);
  c.Request(1, 2);
  c.Request(3, 4);  // the responses to 1 and 2 were lost
  c.Respond(3, 4);
  EXPECT_EQ(c.Ids(), Id{});

  ReadScript gap;
  gap.Open(2, 2);
  gap.Request(1, 2);
  gap.script.Gap(kClient);
  gap.Request(3, 4);
  gap.Respond(3, 4);
  EXPECT_EQ(gap.Ids(), Id{});
}

TEST(Cred012, NotWithoutTheSetUp) {
  ReadScript c;
  c.script.OpenMidstream();
  c.script.Send(kClient, WithReads(1, 16), WriteCall(1, 1600));
  c.Request(1, 16);
  c.Respond(1, 16);
  EXPECT_EQ(c.Ids(), Id{});
}

// RFC 6581: an active peer that goes on after a reply with a larger ORD serves that many.
TEST(Cred012, IwarpTakesTheLargerOrd) {
  for (const bool iwarp : {false, true}) {
    ReadScript c;
    if (iwarp) c.script.info().fabric = fabric::FabricKind::kIwarp;
    c.Open(1, 16);
    c.Request(1, 16);
    c.Respond(1, 16);
    EXPECT_EQ(c.Ids(), iwarp ? Id{} : Id{"CRED-012"});
  }
}

}  // namespace
}  // namespace stag::test
