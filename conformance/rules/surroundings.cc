// SPDX-License-Identifier: GPL-2.0-or-later
//
// What stands beside the connections: netids and service ids, the service that carries them, NFS over TCP.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"
#include "protocol/nfs/nfs4_operations.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpcrdma/header.h"

namespace stag::conformance {

namespace {

using fabric::Aside;

constexpr size_t kLongestShown = 64;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// "rdma" in any case, or it with something behind it.
bool MeansRdma(std::string_view netid) {
  constexpr std::string_view kRdma = "rdma";
  return netid.size() >= kRdma.size() && std::ranges::equal(netid.substr(0, kRdma.size()), kRdma, {}, Lower);
}

std::string Shown(std::string_view text) { return std::string(text.substr(0, kLongestShown)); }

// A universal address (RFC 5665 section 5.2.3) of IPv6 has colons. One that maps IPv4 may go with either netid.
Outcome JudgeAddress(Context& c, const NetAddress& at, std::optional<Side> from, std::optional<uint32_t> xid) {
  if (!MeansRdma(at.netid)) return Outcome::kNotApplicable;
  const bool rdma6 = at.netid == "rdma6";
  if (at.netid != "rdma" && !rdma6)
    return c.Fail({.message = Text("\"", Shown(at.netid), "\" is no netid"),
                   .expected = "\"rdma\" or \"rdma6\"",
                   .actual = Text("\"", Shown(at.netid), "\""),
                   .from = from,
                   .xid = xid});
  const bool has_colon = at.address.find(':') != std::string_view::npos;
  const bool mapped = has_colon && std::ranges::count(at.address, '.') > 2;
  if (at.address.empty() || mapped || has_colon == rdma6) return Outcome::kPass;
  return c.Fail({.message = Text("The netid \"", at.netid, "\" goes with an ", has_colon ? "IPv6" : "IPv4", " address"),
                 .expected = has_colon ? "\"rdma6\"" : "\"rdma\"",
                 .actual = Text("\"", at.netid, "\" and ", Shown(at.address)),
                 .from = from,
                 .xid = xid});
}

class CallbackAddress : public nfs::Visitor {
 public:
  void OnCallbackAddress(uint32_t, Bytes netid, Bytes address) override {
    found = {{reinterpret_cast<const char*>(netid.data()), netid.size()},
             {reinterpret_cast<const char*>(address.data()), address.size()}};
  }
  NetAddress found;
};

Violation NoTcp(const Address& server, const FrameRef& refused, const FrameRef& call) {
  return {.message = "A server that serves NFS with RPCSEC_GSS over RDMA refuses NFS over TCP",
          .expected = "NFS over TCP on port 2049, for setting up contexts",
          .actual = "a RST answers the SYN to port 2049",
          .frames = {call.number},
          .at = refused,
          .from = Side{1},
          .once_for = server};
}

}  // namespace

// NETID-001: "rdma" goes with IPv4 addresses, "rdma6" with IPv6. In rpcbind messages (one packet each) ...
Outcome RpcbindNetids(OutOfBandContext& c) {
  if (c.aside.kind != Aside::Kind::kRpcbind) return Outcome::kNotApplicable;
  Outcome outcome = Outcome::kNotApplicable;
  for (const NetAddress& at : c.hosts.addresses()) {
    const Outcome one = JudgeAddress(c, at, std::nullopt, std::nullopt);
    if (one == Outcome::kFail) return one;
    outcome = std::max(outcome, one);
  }
  return outcome;
}

// ... and in SETCLIENTID, where a client says how to call it back.
Outcome CallbackNetid(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  const auto is_setclientid = [](const session::Operation& o) { return o.op == nfs::kOpSetclientid; };
  if (std::ranges::none_of(t.operations, is_setclientid)) return Outcome::kNotApplicable;
  CallbackAddress address;
  (void)nfs::WalkCall(t.call.rpc, t.call.stream, t.call.stream_length, address);
  return JudgeAddress(c, address.found, t.requester, t.xid);
}

// NETID-003: a service id that translates a port (IBA annex A11). Others may be a translation, too: a note, once for a
// connection.
Outcome ServiceIdHoldsPort(MessageContext& c) {
  const fabric::ConnectionInfo& info = c.connection.info;
  if (info.service_id == 0 || c.state.sends.size() > 0) return Outcome::kNotApplicable;
  if (info.service_port != 0) return Outcome::kPass;
  return c.Fail({.message = Text("RPC-over-RDMA under service id ", Hex{info.service_id}, ", which holds no port"),
                 .expected = "0x0000000001060000 and the port",
                 .actual = Text(Hex{info.service_id}),
                 .at = c.connection.setup[0].seen ? c.connection.setup[0].frame : c.connection.first_frame,
                 .from = Side{0}});
}

// CONN-002: messages come on reliable connections only. Flagged when a Send on an unreliable service holds both a
// version 1 header and the RPC message of its xid; less may be chance.
Outcome ServiceIsReliable(OutOfBandContext& c) {
  const Aside& aside = c.aside;
  if (aside.kind != Aside::Kind::kUnreliable) return Outcome::kNotApplicable;
  Header header;
  if (rpcrdma::Decode(aside.bytes, aside.length, header) != ParseStatus::kOk || header.proc != rpcrdma::kMsg ||
      header.vers != rpcrdma::kVersion1)
    return Outcome::kNotApplicable;
  const Bytes payload = aside.bytes.subspan(header.length);
  const rpc::CallHeader call = rpc::DecodeCall(payload, aside.length - header.length);
  const rpc::ReplyHeader reply = rpc::DecodeReply(payload, aside.length - header.length);
  const bool is_call = call.status == ParseStatus::kOk && call.xid == header.xid;
  const bool is_reply = reply.status == ParseStatus::kOk && reply.xid == header.xid;
  if (!is_call && !is_reply) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("An RPC-over-RDMA ", is_call ? "Call" : "Reply", " on an unreliable service"),
                 .expected = "a Send on a reliable connection",
                 .actual = "a Send of a UD or UC queue pair",
                 .from = is_call ? Side{0} : Side{1},
                 .xid = header.xid});
}

// GSS-006: who serves NFS with RPCSEC_GSS offers it over TCP, too. Flagged when a host of which both were seen refuses;
// that no TCP was tried proves nothing. With the refusal ...
Outcome TcpIsNotRefused(OutOfBandContext& c) {
  const Aside& aside = c.aside;
  if (aside.kind != Aside::Kind::kRefused || aside.from.number != kNfsTcpPort) return Outcome::kNotApplicable;
  const Surroundings::Host* gss = c.hosts.ServesGss(aside.from.address);
  if (!gss || c.hosts.RefusesNfs(aside.from.address)) return Outcome::kNotApplicable;
  return c.Fail(NoTcp(aside.from.address, aside.frame, gss->frame));
}

// ... or with the first such Call after it.
Outcome TcpWasNotRefused(CallContext& c) {
  if (!IsGssNfsCall(c.message, &c.transaction)) return Outcome::kNotApplicable;
  const Address& server = c.connection.info.endpoint[1 - c.message.from].address;
  const Surroundings::Host* refusing = c.hosts.RefusesNfs(server);
  if (!refusing || c.hosts.ServesGss(server)) return Outcome::kNotApplicable;
  return c.Fail(NoTcp(server, refusing->frame, c.message.frame));
}

}  // namespace stag::conformance
