// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rules about what stands beside the connections: NETID, CONN-002, GSS-006.
#include <span>

#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

using fabric::Aside;

Address Ip(uint8_t last) {
  Address a;
  a.kind = Address::Kind::kIpv4;
  a.bytes[0] = std::byte{10};
  a.bytes[3] = std::byte{last};
  return a;
}

Buffer Text(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void Beside(Checker& c, Aside::Kind kind, const Endpoint& from, const Endpoint& to, const Buffer& bytes = {}) {
  Aside aside;
  aside.kind = kind;
  aside.frame = {c.script.frame() + 1, 0};
  aside.from = from;
  aside.to = to;
  aside.bytes = bytes;
  aside.length = bytes.size();
  c.session.OnAside(aside);
}

// --- NETID-001

Buffer Getaddr(std::string_view netid, std::string_view address) {
  return MakeCall(7, 100000, 4, 3, Join({Words({100003, 3}), Opaque(Text(netid)), Opaque(Text(address)), Words({0})}));
}
const Endpoint kAsker{Ip(1), 700}, kRpcbind{Ip(2), 111};

Id AfterRpcbind(std::string_view netid, std::string_view address, std::string_view answer = "") {
  Checker c;
  Beside(c, Aside::Kind::kRpcbind, kAsker, kRpcbind, Getaddr(netid, address));
  Beside(c, Aside::Kind::kRpcbind, kRpcbind, kAsker, MakeReply(7, Opaque(Text(answer))));
  return c.Ids(true);
}

TEST(Netid, RpcbindPairsThatAgree) {
  EXPECT_EQ(AfterRpcbind("rdma", "10.0.0.1.78.81", "10.0.0.2.78.81"), Id{});
  EXPECT_EQ(AfterRpcbind("rdma6", "2001:db8::1.78.81", "2001:db8::2.78.81"), Id{});
  EXPECT_EQ(AfterRpcbind("rdma", ""), Id{});
  EXPECT_EQ(AfterRpcbind("rdma", "::ffff:10.0.0.1.78.81"), Id{});
  EXPECT_EQ(AfterRpcbind("rdma6", "::ffff:10.0.0.1.78.81"), Id{});
  EXPECT_EQ(AfterRpcbind("tcp", "2001:db8::1.8.1"), Id{});
}

TEST(Netid, RpcbindPairsThatDisagree) {
  EXPECT_EQ(AfterRpcbind("rdma", "2001:db8::1.78.81"), Id{"NETID-001"});
  EXPECT_EQ(AfterRpcbind("rdma6", "10.0.0.1.78.81"), Id{"NETID-001"});
  EXPECT_EQ(AfterRpcbind("rdma", "10.0.0.1.78.81", "2001:db8::2.78.81"), Id{"NETID-001"});
}

TEST(Netid, Spellings) {
  for (const char* netid : {"RDMA", "Rdma6", "rdma4", "rdmav6"})
    EXPECT_EQ(AfterRpcbind(netid, ""), Id{"NETID-001"}) << netid;
}

TEST(Netid, RecordMarkedRpcbind) {
  Checker c;
  const Buffer call = Getaddr("rdma6", "10.0.0.1.78.81");
  Beside(c, Aside::Kind::kRpcbind, kAsker, kRpcbind,
         Join({Words({0x80000000u | static_cast<uint32_t>(call.size())}), call}));
  EXPECT_EQ(c.Ids(), Id{"NETID-001"});
  EXPECT_EQ(c.findings.all[0].connection, 0u);
}

TEST(Netid, RepliesOfOthersAreNotTakenForTheCall) {
  Checker c;
  Beside(c, Aside::Kind::kRpcbind, kAsker, kRpcbind, Getaddr("rdma", "10.0.0.1.78.81"));
  Beside(c, Aside::Kind::kRpcbind, kRpcbind, {Ip(3), 700}, MakeReply(7, Opaque(Text("2001:db8::2.78.81"))));
  Beside(c, Aside::Kind::kRpcbind, kRpcbind, kAsker, MakeReply(8, Opaque(Text("2001:db8::2.78.81"))));
  EXPECT_EQ(c.Ids(true), Id{});
}

// SETCLIENTID: verifier, id, callback program, netid, address, ident.
Id AfterSetclientid(std::string_view netid, std::string_view address) {
  Checker c;
  c.script.Open();
  Greet(c);
  const Buffer body = Join({Words({0, 0, 1, 35, 1, 2}), Opaque(Text("me")), Words({0x40000000}), Opaque(Text(netid)),
                            Opaque(Text(address)), Words({1})});
  c.script.Send(kClient, Msg(5), MakeCall(5, kNfs, 4, 1, body));
  return c.Ids(true);
}

TEST(Netid, CallbackAddress) {
  EXPECT_EQ(AfterSetclientid("rdma", "10.0.0.1.78.81"), Id{});
  EXPECT_EQ(AfterSetclientid("tcp6", "::1.78.81"), Id{});
  EXPECT_EQ(AfterSetclientid("rdma", "::1.78.81"), Id{"NETID-001"});
  EXPECT_EQ(AfterSetclientid("rdma6", "10.0.0.1.78.81"), Id{"NETID-001"});
}

// --- CONN-002

Id AfterDatagram(const Buffer& bytes) {
  Checker c;
  Beside(c, Aside::Kind::kUnreliable, {Ip(1), 0}, {Ip(2), 0x55}, bytes);
  return c.Ids(true);
}

Buffer Inline(uint32_t header_xid, const Buffer& rpc) {
  Buffer out;
  rpcrdma::Encode(MakeHeader(rpcrdma::kMsg, header_xid), out);
  return Join({out, rpc});
}

TEST(Conn, Conn002UnreliableService) {
  EXPECT_EQ(AfterDatagram(Inline(7, MakeCall(7, kNfs, 3, 0))), Id{"CONN-002"});
  EXPECT_EQ(AfterDatagram(Inline(7, MakeReply(7))), Id{"CONN-002"});
  EXPECT_EQ(AfterDatagram(Inline(7, MakeCall(8, kNfs, 3, 0))), Id{});
  EXPECT_EQ(AfterDatagram(Inline(7, Pattern(64))), Id{});
  EXPECT_EQ(AfterDatagram(Pattern(64)), Id{});
}

// --- NETID-003

Id AfterServiceId(uint64_t id, uint16_t port) {
  Checker c;
  c.script.info().service_id = id;
  c.script.info().service_port = port;
  c.script.Open();
  Greet(c);
  Greet(c, 0x101);
  return c.Ids(true);
}

TEST(Netid, Netid003ServiceId) {
  EXPECT_EQ(AfterServiceId(0x1064e51, 20049), Id{});
  EXPECT_EQ(AfterServiceId(0, 20049), Id{});  // not seen
  EXPECT_EQ(AfterServiceId(0x1000000000000001, 0), Id{"NETID-003"});
}

// --- GSS-006

constexpr uint32_t kGss = 6;

void GssCall(Checker& c) {
  Buffer call = MakeCall(9, kNfs, 3, 0);
  // Version 1, DATA, sequence 1, service none, no handle.
  const Buffer credential = Join({Words({kGss}), Opaque(Words({1, 0, 1, 1, 0}))});
  call = Join({Buffer(call.begin(), call.begin() + 24), credential, Words({0, 0})});
  c.script.Send(kClient, Msg(9), call);
}

void Open(Checker& c) {
  c.script.info().endpoint = {Endpoint{Ip(1), 17}, Endpoint{Ip(2), 18}};
  c.script.Open();
}
constexpr uint32_t kNfsTcp = 2049;

TEST(Gss, Gss006TcpRefusedBefore) {
  Checker c;
  Open(c);
  Beside(c, Aside::Kind::kRefused, {Ip(2), kNfsTcp}, kAsker);
  GssCall(c);
  EXPECT_EQ(c.Ids(true), Id{"GSS-006"});
}

TEST(Gss, Gss006TcpRefusedAfter) {
  Checker c;
  Open(c);
  GssCall(c);
  Beside(c, Aside::Kind::kRefused, {Ip(2), kNfsTcp}, kAsker);
  Beside(c, Aside::Kind::kRefused, {Ip(2), kNfsTcp}, kAsker);
  EXPECT_EQ(c.Ids(true), Id{"GSS-006"});
}

TEST(Gss, Gss006OthersAreNotMeant) {
  Checker c;
  Open(c);
  Beside(c, Aside::Kind::kRefused, {Ip(77), kNfsTcp}, kAsker);
  Beside(c, Aside::Kind::kRefused, {Ip(2), 22}, kAsker);
  GssCall(c);
  EXPECT_EQ(c.Ids(true), Id{});
  Checker plain;
  Open(plain);
  Beside(plain, Aside::Kind::kRefused, {Ip(2), kNfsTcp}, kAsker);
  Greet(plain);
  EXPECT_EQ(plain.Ids(true), Id{});
}

}  // namespace
}  // namespace stag::test
