// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of xids over several connections, and of Calls that are sent again (RFC 8166 sections 4.2.1 and 4.5.5).
#include "replay/probe/bench.h"

namespace stag::probe {
namespace {

void TwoConnections(Bench& bench) {
  Link& first = bench.Connect();
  Link& second = bench.Connect();
  const Call call = bench.Null();
  first.Send(call);
  second.Send(call);
  bench.ExpectNull(second, call, second.Answer(call));
  bench.ExpectNull(first, call, first.Answer(call));
  first.ExpectQuiet("one answer on each connection");
  second.ExpectQuiet("one answer on each connection");
}

void AgainOnOne(Bench& bench) {
  Link& link = bench.Connect();
  const Call call = bench.Null();
  for (int i = 0; i < 3; ++i) bench.AskNull(link, call);
  link.ExpectQuiet("one answer to each Call");
}

void AfterReconnect(Bench& bench) {
  const Call call = bench.Null();
  Link& first = bench.Connect();
  first.Send(call);
  first.Disconnect();  // whatever has come, or comes, of it
  Link& second = bench.Connect();
  bench.AskNull(second, call);
  bench.AskNull(second, call);
}

// After a failed RDMA operation, the same Call again: ERR_CHUNK means that no Reply is possible.
void AfterFailure(Bench& bench) {
  Call call = bench.Null();
  Link& first = bench.Connect();
  Offered& memory = first.Offer({static_cast<uint32_t>(call.rpc.size())}, endpoint::Access::kRemoteRead, call.rpc);
  first.AllowRefusal();
  Call broken = call;
  broken.header.proc = rpcrdma::kNomsg;
  broken.inline_rpc = false;
  AddRead(broken, 0, memory);
  first.Fence(memory);
  first.Send(broken);
  if (const auto answer = first.Next(bench.options().patience.answer); !answer && first.open())
    Inconclusive("an invalid handle brings neither an answer nor the end of the connection");
  Link& second = bench.Connect();
  const Message answer = second.Ask(call, "an RPC Reply or ERR_CHUNK");
  if (answer.header.proc == rpcrdma::kError) return Bench::ExpectError(call, answer, rpcrdma::kErrChunk);
  bench.ExpectNull(second, call, answer);
}

}  // namespace

std::span<const Probe> XidProbes() {
  static const Probe probes[] = {
      {"xid.two-connections", "The same xid on two connections are two Calls",
       "A NULL with the same xid on two connections at once: each gets its own answer.", "RFC 8166 4.2.1",
       "XID-002, XID-004", TwoConnections},
      {"xid.again", "An xid may be used again when it was answered", "The same NULL three times, one after the other.",
       "RFC 8166 4.2.1", "XID-003, XID-004", AgainOnOne},
      {"xid.reconnect", "A Call is answered when it is sent again after a reconnect",
       "A NULL, then the end of the connection, then the same NULL twice on another.", "RFC 8166 4.5.5",
       "CONN-006, XID-004", AfterReconnect},
      {"xid.after-failure", "A Call is answered when it is sent again after a failed RDMA operation",
       "A Long Call with an invalid handle, then the same Call inline on another connection: an RPC Reply, or "
       "ERR_CHUNK.",
       "RFC 8166 4.5.3", "CONN-005, CONN-006", AfterFailure},
  };
  return probes;
}

}  // namespace stag::probe
