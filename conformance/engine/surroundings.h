// SPDX-License-Identifier: GPL-2.0-or-later
//
// Surroundings: what packets outside of the followed connections told, and what of the connections they may concern:
// hosts that refuse NFS over TCP, hosts that serve NFS with RPCSEC_GSS, rpcbind calls that wait for a reply. Bounded.
// Checks read it; the engine keeps it: Before() runs before the checks of an aside, After() after those of an event.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conformance/engine/recent.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

// netaddr4 or rpcb: views into the message that holds it.
struct NetAddress {
  std::string_view netid, address;
};

class Surroundings {
 public:
  struct Host {
    Address address;
    FrameRef frame;
    session::ConnectionId connection = 0;
  };

  void Before(const fabric::Aside& aside);
  void After(const fabric::Aside& aside);
  void After(const session::Connection& connection, const session::Message& message,
             const session::Transaction* transaction);

  // The newest that is known; nullptr when there is none.
  const Host* RefusesNfs(const Address& address) const { return Find(refusing_, address); }
  const Host* ServesGss(const Address& address) const { return Find(gss_, address); }
  // Of the rpcbind message that is being judged.
  const std::vector<NetAddress>& addresses() const { return addresses_; }

 private:
  using Hosts = Recent<Host, 64>;
  struct RpcbindCall {
    uint32_t xid = 0, procedure = 0;
    Endpoint caller;
    std::array<char, 16> netid{};
    size_t netid_size = 0;
  };
  static const Host* Find(const Hosts& hosts, const Address& address);
  void TakeRpcbind(const fabric::Aside& aside);

  Hosts refusing_, gss_;
  Recent<RpcbindCall, 64> calls_;
  std::vector<NetAddress> addresses_;
};

// Whether a message is an NFS Call of the client under RPCSEC_GSS.
bool IsGssNfsCall(const session::Message& message, const session::Transaction* transaction);

inline constexpr uint32_t kNfsTcpPort = 2049;

}  // namespace stag::conformance
