// SPDX-License-Identifier: GPL-2.0-or-later
//
// NETID: how services are named: netids in rpcbind and in SETCLIENTID, InfiniBand service ids.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"
#include "protocol/link/packet.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr uint32_t kRpcbind = 100000, kGetaddr = 3, kDump = 4;
constexpr Ports kAsk{700, 111}, kAnswer{111, 700};

Buffer TextOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Opaque({bytes.begin(), bytes.end()});
}

// rpcb (RFC 1833 section 2.2.1) of NFS version 3.
Buffer Rpcb(std::string_view netid, std::string_view address) {
  return Join({Words({kNfs, 3}), TextOf(netid), TextOf(address), TextOf("")});
}
Buffer GetaddrCall(std::string_view netid, std::string_view address = "") {
  return MakeCall(kXid, kRpcbind, 4, kGetaddr, Rpcb(netid, address));
}

// RPCBPROC_GETADDR over UDP, and a connection of NFS.
void AskAndConnect(WireScript& s, std::string_view netid, std::string_view answer) {
  s.Udp(kClient, kAsk, GetaddrCall(netid));
  s.Udp(kServer, kAnswer, MakeReply(kXid, TextOf(answer)));
  s.Open();
  Greet(s);
}

// A record-marked message over TCP.
Buffer Record(const Buffer& message) { return Join({Words({0x80000000u | SizeOf(message)}), message}); }

// RPCBPROC_DUMP over TCP, which returns two entries.
void Dump(WireScript& s, const Buffer& first, const Buffer& second) {
  constexpr uint8_t kData = link::kTcpAck | 0x08;
  const Buffer call = Record(MakeCall(kXid, kRpcbind, 4, kDump));
  const Buffer reply = Record(MakeReply(kXid, Join({Words({1}), first, Words({1}), second, Words({0})})));
  s.Tcp(kClient, kAsk, {100, 0, link::kTcpSyn});
  s.Tcp(kServer, kAnswer, {500, 101, link::kTcpSyn | link::kTcpAck});
  s.Tcp(kClient, kAsk, {101, 501, link::kTcpAck});
  s.Tcp(kClient, kAsk, {101, 501, kData}, call);
  s.Tcp(kServer, kAnswer, {501, 101 + SizeOf(call), kData}, reply);
}

// SETCLIENTID (RFC 7530 section 16.33): where the client can be called back.
void SetClientId(WireScript& s, std::string_view netid, std::string_view address) {
  s.Open();
  Greet(s);
  s.Send(kClient, Msg(kXid),
         CompoundCall(kXid, {Join({Words({35, 1, 2}), TextOf("client"), Words({0x40000000}), TextOf(netid),
                                   TextOf(address), Words({1})})}));
}

void ConnectTo(WireScript& s, uint64_t service_id) {
  s.setup.service_id = service_id;
  s.Open();
  Greet(s);
}

constexpr Case kNetidCases[] = {
    {"NETID-001", kBreaks, "", "rpcbind answers for the netid \"rdma\" with an IPv6 address.",
     [](WireScript& s) {
       s.Udp(kClient, kAsk, GetaddrCall("rdma"));
       s.Udp(kServer, kAnswer, MakeReply(kXid, TextOf("2001:db8::1.78.81")));
       s.Expect("NETID-001", Severity::kWarning);
       s.Open();
       Greet(s);
     }},
    {"NETID-001", kBreaks, "tcp", "rpcbind's list, over TCP, has an entry with \"rdma6\" and an IPv4 address.",
     [](WireScript& s) {
       Dump(s, Rpcb("tcp", "0.0.0.0.8.1"), Rpcb("rdma6", "192.0.2.2.78.81"));
       s.Expect("NETID-001", Severity::kWarning);
       s.Open();
       Greet(s);
     },
     Fabric::kIwarp},
    {"NETID-001", kBreaks, "spelling", "A client asks rpcbind for the netid \"RDMA\".",
     [](WireScript& s) {
       s.Udp(kClient, kAsk, GetaddrCall("RDMA"));
       s.Expect("NETID-001", Severity::kWarning);
       s.Open();
       Greet(s);
     }},
    {"NETID-001", kBreaks, "callback", "SETCLIENTID gives \"rdma\" and an IPv6 address for callbacks.",
     [](WireScript& s) {
       SetClientId(s, "rdma", "2001:db8::1.78.81");
       s.Expect("NETID-001", Severity::kWarning);
     }},
    {"NETID-001", kNearMiss, "", "\"rdma\" with an IPv4 address.",
     [](WireScript& s) { AskAndConnect(s, "rdma", "192.0.2.2.78.81"); }},
    {"NETID-001", kNearMiss, "mapped", "\"rdma\" with an IPv6 address that maps an IPv4 address.",
     [](WireScript& s) { AskAndConnect(s, "rdma", "::ffff:192.0.2.2.78.81"); }},
    {"NETID-001", kNearMiss, "tcp", "\"rdma6\" with an IPv6 address, and \"tcp6\" with another.",
     [](WireScript& s) {
       Dump(s, Rpcb("tcp6", "::.8.1"), Rpcb("rdma6", "2001:db8::2.78.81"));
       s.Open();
       Greet(s);
     },
     Fabric::kIwarp},
    {"NETID-001", kNearMiss, "callback", "SETCLIENTID gives \"rdma\" and an IPv4 address.",
     [](WireScript& s) { SetClientId(s, "rdma", "192.0.2.1.78.81"); }},

    {"NETID-003", kBreaks, "", "RPC-over-RDMA under service id 0x1000000000000001. It is known with the first message.",
     [](WireScript& s) {
       s.setup.service_id = 0x1000000000000001;
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.ExpectOf(1, "NETID-003", Severity::kNote);
     }},
    {"NETID-003", kNearMiss, "", "Service id 0x0000000001064e52: port 20050, which is not NFS's own.",
     [](WireScript& s) { ConnectTo(s, 0x0000000001064e52); }},
    {"NETID-003", kNearMiss, "other", "The service id 0x1000000000000001 of a connection that is not RPC-over-RDMA.",
     [](WireScript& s) {
       s.setup.service_id = 0x1000000000000001;
       s.Open(std::nullopt, std::nullopt);
       s.SendBytes(kClient, Pattern(64));
       s.SendBytes(kServer, Pattern(64, 2));
     }},
};

}  // namespace

std::span<const Case> NetidCases() { return kNetidCases; }

}  // namespace stag::evidence
