// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/connection_head.h"

#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {

void PutConnectionHead(std::string& out, const session::Connection& c, const Style& style) {
  Put(out, "{}{:<3}{} {:<10} {} {} {}", style.bold, c.info.id, style.reset, fabric::FabricName(c.info.fabric),
      fabric::EndpointText(c.info.endpoint[c.client], c.info.fabric), c.client_known ? "->" : "<->",
      fabric::EndpointText(c.info.endpoint[1 - c.client], c.info.fabric));
  if (c.info.service_port != 0 && c.info.fabric != fabric::FabricKind::kIwarp) {
    Put(out, " service port {}", c.info.service_port);
  }
  if (c.proof != session::Proof::kRpcRdma) Put(out, "  {}no RPC-over-RDMA{}", style.yellow, style.reset);
  Put(out, "\n");
}

}  // namespace stag::cli
