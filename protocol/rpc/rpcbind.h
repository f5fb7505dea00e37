// SPDX-License-Identifier: GPL-2.0-or-later
//
// rpcbind versions 3 and 4 (RFC 1833 section 2.2): the netids and universal addresses in its messages. Pure; views
// point into the message.
#pragma once

#include <functional>

#include "protocol/rpc/message.h"

namespace stag::rpc {

inline constexpr uint32_t kRpcbindProgram = 100000;
enum RpcbindProc : uint32_t {
  kRpcbSet = 1,
  kRpcbUnset = 2,
  kRpcbGetaddr = 3,
  kRpcbDump = 4,
  kRpcbGetversaddr = 9,
  kRpcbGetaddrlist = 11
};

// A netid and an address that belong together; either may be empty when the message leaves it out.
using NetAddressFn = std::function<void(Bytes netid, Bytes address)>;

// `message`: captured prefix of the RPC message, `length`: its bytes on the wire. Gives the address of the arguments of
// SET, UNSET, GETADDR, GETVERSADDR and GETADDRLIST; nothing for other calls. kUnsupported: not rpcbind 3 or 4.
ParseStatus VisitRpcbindCall(const CallHeader& header, Bytes message, uint64_t length, const NetAddressFn& fn);

// The addresses in the reply to `procedure`. What a GETADDR or GETVERSADDR returns has the netid of its call: it is
// given with an empty netid.
ParseStatus VisitRpcbindReply(uint32_t procedure, const ReplyHeader& header, Bytes message, uint64_t length,
                              const NetAddressFn& fn);

}  // namespace stag::rpc
