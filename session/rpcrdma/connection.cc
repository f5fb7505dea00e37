// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/connection.h"

#include <algorithm>

namespace stag::session {

std::optional<uint32_t> Connection::threshold(Side side) const {
  const SetupData& sender = setup[side];
  const SetupData& receiver = setup[1 - side];
  if (!sender.known() || !receiver.known()) return std::nullopt;
  return std::min(sender.send_bytes(), receiver.receive_bytes());
}

std::optional<bool> Connection::remote_invalidation() const {
  // One side that is known not to support it settles the matter.
  for (const SetupData& side : setup)
    if (side.known() && !side.remote_invalidation()) return false;
  if (!setup[0].known() || !setup[1].known()) return std::nullopt;
  return true;
}

}  // namespace stag::session
