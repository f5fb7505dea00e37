// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/capture_devices.h"

#include <net/if.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "capture/live/network.h"
#include "capture/live/sniffer_device.h"
#include "cli/base/row_output.h"
#include "cli/live/device_rows.h"
#include "replay/endpoint/transports.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using Row = CaptureDeviceRow;

bool IsSoftware(const std::string& rdma_device) {
  // Drivers without hardware have no device behind them.
  return !std::filesystem::exists("/sys/class/infiniband/" + rdma_device + "/device");
}

// What an RDMA device on this network device means for captures there.
std::string RemarkOn(const capture::NetworkDevice& device, const std::vector<endpoint::TransportInfo>& rdma) {
  for (const endpoint::TransportInfo& info : rdma) {
    if (info.netdev != device.name) continue;
    if (!IsSoftware(info.name))
      return fmt::format("what {} offloads does not pass here: capture on {}", info.name, info.name);
    return info.kind == "iWARP" ? fmt::format("iWARP of {}", info.name)
                                : fmt::format("RoCEv2 of {}, but not from this host to itself", info.name);
  }
  return device.loopback ? "iWARP from this host to itself" : "";
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  const std::vector<endpoint::TransportInfo> rdma = endpoint::ListTransports().all;
  if (const auto devices = capture::ListNetworkDevices()) {
    for (const capture::NetworkDevice& device : *devices) {
      // libpcap lists other things, too: USB, the netfilter log, RDMA devices by its own sniffer.
      const bool any = device.name == "any";
      if (!any && ::if_nametoindex(device.name.c_str()) == 0) continue;
      rows.push_back({device.name, "network",
                      !device.up              ? "down"
                      : device.running || any ? "up"
                                              : "no carrier",
                      device.up, device.up ? RemarkOn(device, rdma) : "ip link set " + device.name + " up"});
    }
  } else {
    rows.push_back({"-", "network", "unknown", false, devices.error().message});
  }
  for (const capture::SniffableDevice& device : capture::ListSniffableDevices())
    rows.push_back({device.name, device.link.empty() ? "RDMA" : "RDMA, " + device.link,
                    device.active ? "active" : "down", device.usable, device.reason});
  return rows;
}

}  // namespace

bool IsRdmaDevice(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos &&
         std::filesystem::exists("/sys/class/infiniband/" + name);
}

int ListCaptureDevices(const CommonOptions& options) {
  return WriteList(options, Rows(), [](std::string& out, const std::vector<Row>& rows, const Style& style) {
    size_t name = 0, kind = 0, state = 0;
    for (const Row& row : rows) {
      name = std::max(name, row.name.size());
      kind = std::max(kind, row.kind.size());
      state = std::max(state, row.state.size());
    }
    for (const Row& row : rows) {
      Put(out, "{}{:{}}{}  {:{}}  {:{}}  {}{}\n", style.bold, row.name, name, style.reset, row.kind, kind, row.state,
          state, row.usable ? "" : "cannot be captured: ", row.remark);
    }
  });
}

}  // namespace stag::cli
