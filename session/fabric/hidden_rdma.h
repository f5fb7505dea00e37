// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a recording says of a connection of which one side's RDMA is not in it (ConnectionInfo::rdma_hidden): a comment
// of the first frame that was made of the connection. So that a capture file can tell what a live end knows.
#pragma once

#include <optional>
#include <string_view>

#include "session/fabric/fabric_event.h"

namespace stag::fabric {

// By the hidden side.
inline constexpr std::array<std::string_view, 2> kHiddenRdma = {
    "RDMA by the active side of the connection that begins here is hidden: an adapter did it",
    "RDMA by the passive side of the connection that begins here is hidden: an adapter did it"};

// The side that a comment names, in whatever else it says.
inline std::optional<Side> HiddenRdmaIn(std::string_view comment) {
  for (const Side side : {Side{0}, Side{1}})
    if (comment.find(kHiddenRdma[side]) != std::string_view::npos) return side;
  return {};
}

}  // namespace stag::fabric
