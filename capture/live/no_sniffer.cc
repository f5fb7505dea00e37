// SPDX-License-Identifier: GPL-2.0-or-later
//
// In place of verbs_sniffer.cc where libibverbs is not installed when building.
#include "capture/live/sniffer_device.h"

namespace stag::capture {

Result<std::unique_ptr<SnifferDevice>> OpenVerbsSniffer(const SnifferOptions& options) {
  return Fail(options.device +
              ": this stag was built without libibverbs (Debian: libibverbs-dev), so it cannot sniff on RDMA devices");
}

std::vector<SniffableDevice> ListSniffableDevices() { return {}; }

}  // namespace stag::capture
