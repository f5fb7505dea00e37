// SPDX-License-Identifier: GPL-2.0-or-later
//
// Callbacks: the answers of a replaying client to the server's Calls (RFC 8167): to CB_NULL success; to each operation
// of a CB_COMPOUND the status that the recorded client gave to the next one of its kind, or else what a client without
// state would say. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "replay/recording/recorded_rpc.h"

namespace stag::replay {

class Callbacks {
 public:
  // A recorded Call of the server, with the answer to it: in recorded order.
  void Add(const recording::RecordedRpc& backward);
  // `call`: an RPC Call as it came. `reply`: the whole RPC Reply; empty when it is no Call that can be answered.
  void Answer(Bytes call, std::vector<std::byte>& reply);

 private:
  uint32_t NextStatus(uint32_t op);
  std::map<uint32_t, std::deque<uint32_t>> recorded_;  // statuses by operation
};

}  // namespace stag::replay
