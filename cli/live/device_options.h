// SPDX-License-Identifier: GPL-2.0-or-later
//
// The device that a command captures from: a network device, or an RDMA device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/live/live_reader.h"
#include "capture/live/network.h"
#include "protocol/base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of the library
class App;
}

namespace stag::cli {

struct DeviceOptions {
  capture::NetworkOptions network;
  bool rdma = false;
  std::vector<uint16_t> ports{20049};
  capture::LiveOptions live;
};

// Adds --interface, --rdma, --port and what there is to say of how packets are received.
void AddDeviceOptions(CLI::App& command, DeviceOptions& options);

// `filter`: words in the language of tcpdump. `warning`: something to say though it was opened; empty: nothing.
Result<std::unique_ptr<capture::PacketSource>> OpenSource(const DeviceOptions& options,
                                                          const std::vector<std::string>& filter, std::string& warning);

}  // namespace stag::cli
