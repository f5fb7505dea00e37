// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag probe --listen: the run, from listening to the exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/live/live_monitor.h"
#include "replay/probe/client/probe.h"

namespace stag::cli {

struct ClientProbeOptions {
  endpoint::HostPort listen;
  std::optional<uint16_t> mount_port;  // MOUNT on this TCP port; 0: any
  std::string command;                 // empty: a load of our own
  std::chrono::milliseconds timeout{30'000}, quiet{50};
  std::vector<std::string> dangerous;  // ids that may run although they can harm their peer
};

// The probes that run: `selected`, in order.
int RunClientProbes(const LiveOptions& live, ClientProbeOptions options,
                    const std::vector<const probe::client::ClientProbe*>& selected);

}  // namespace stag::cli
