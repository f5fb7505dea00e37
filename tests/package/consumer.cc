// SPDX-License-Identifier: GPL-2.0-or-later
//
// A program of somebody else: decodes an RPC-over-RDMA header with the installed libraries, and lists a rule.
#include <array>
#include <cstdio>
#include <span>

#include "conformance/engine/engine.h"
#include "protocol/rpcrdma/header.h"
#include "session/rpcrdma/session.h"

int main() {
  // RFC 8166 section 4: xid, version 1, 32 credits, RDMA_MSG, and three empty lists.
  constexpr std::array<unsigned char, 28> kHeader = {0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 32};
  stag::rpcrdma::Header header;
  stag::rpcrdma::Decode(std::as_bytes(std::span(kHeader)), kHeader.size(), header);
  stag::session::Session session({}, {});
  session.Finish();
  const stag::conformance::RuleInfo* rule = stag::conformance::FindRule("HDR-001");
  std::printf("%08x %u %u %s\n", header.xid, header.vers, header.credit, rule ? rule->id.data() : "none");
}
