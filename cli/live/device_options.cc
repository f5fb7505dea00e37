// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/device_options.h"

#include "capture/live/rdma_filter.h"
#include "capture/live/rdma_sniffer.h"
#include "cli/base/options.h"
#include "cli/live/capture_devices.h"

namespace stag::cli {

Result<std::unique_ptr<capture::PacketSource>> OpenSource(const DeviceOptions& options,
                                                          const std::vector<std::string>& filter,
                                                          std::string& warning) {
  if (!IsRdmaDevice(options.network.device)) {
    capture::NetworkOptions network = options.network;
    std::string words;
    for (const std::string& word : filter) words += (words.empty() ? "" : " ") + word;
    network.filter = words;
    if (options.rdma) {
      const std::string rdma = capture::RdmaFilter(options.ports, network.device != "any");
      network.filter = words.empty() ? rdma : "(" + words + ") and (" + rdma + ")";
    }
    return capture::OpenNetwork(network, warning);
  }
  if (!filter.empty())
    return Fail(options.network.device + " is an RDMA device, whose sniffer has no filters: leave out " +
                filter.front());
  capture::SnifferOptions sniffer;
  sniffer.device = options.network.device;
  sniffer.snaplen = options.network.snaplen;
  sniffer.buffer = options.network.buffer;
  auto device = capture::OpenVerbsSniffer(sniffer);
  if (device) return capture::RdmaSniffer::Open(std::move(*device), sniffer);
  // libpcap may have been built with a sniffer of its own.
  capture::NetworkOptions network = options.network;
  network.hardware_time = false;
  if (auto source = capture::OpenNetwork(network, warning)) {
    warning = device.error().message + "; libpcap's sniffer is used, which does not count losses";
    return source;
  }
  return tl::unexpected(device.error());
}

void AddDeviceOptions(CLI::App& command, DeviceOptions& o) {
  command.add_option("-i,--interface", o.network.device, "Network device (any: all of them) or RDMA device")
      ->type_name("DEVICE");
  command.add_flag("--rdma", o.rdma, "Only RoCE, iWARP on --port, and rpcbind");
  command.add_option("--port", o.ports, "TCP ports of iWARP for --rdma (default: 20049)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 65535))
      ->type_name("N[,N]");
  AddSize(command, "--snaplen", o.network.snaplen, 64, 262144,
          "Bytes to keep of a packet (default: 256K); 256 or more keep the headers of RPC-over-RDMA");
  AddSize(command, "--buffer", o.network.buffer, 1u << 20, 1u << 30,
          "Buffer between the device and stag, in the kernel or pinned (default: 64M)");
  AddSize(command, "--queue", o.live.queue, 1u << 20, uint64_t{64} << 30,
          "Queue between receiving and writing, in memory (default: 64M)");
  command.add_flag_callback(
      "--no-promiscuous", [&o] { o.network.promiscuous = false; }, "Not what is for other hosts");
  command.add_flag("--hardware-time", o.network.hardware_time,
                   "Times from the network device's clock (RDMA devices: always, where there is one)");
}

}  // namespace stag::cli
