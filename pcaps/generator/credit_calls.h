// SPDX-License-Identifier: GPL-2.0-or-later
//
// GETATTRs that request credits, and Replies that grant them.
#pragma once

#include "pcaps/generator/traffic.h"

namespace stag::evidence {

inline void CallFor(WireScript& s, uint32_t xid, uint32_t requested = 32) {
  s.Send(test::kClient, test::MakeHeader(rpcrdma::kMsg, xid, requested), test::GetattrCall(xid));
}
inline void Calls(WireScript& s, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) CallFor(s, first + i);
}
inline void Grant(WireScript& s, uint32_t xid, uint32_t granted) {
  s.Send(test::kServer, test::MakeHeader(rpcrdma::kMsg, xid, granted), test::GetattrReply(xid));
}

// The first exchange, with this request and grant.
inline void BeginWith(WireScript& s, uint32_t granted, uint32_t requested = 32) {
  s.Open();
  CallFor(s, kEarlierXid, requested);
  Grant(s, kEarlierXid, granted);
}

}  // namespace stag::evidence
