// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/network.h"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <poll.h>

#include <cstring>

#include "capture/file/link_types.h"

namespace stag::capture {
namespace {

// libpcap hands packets over this long after they came, at the latest.
constexpr int kBlockMs = 50;

struct ClosePcap {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, ClosePcap>;

class Program {
 public:
  Program() = default;
  ~Program() { pcap_freecode(&code_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  bool Compile(pcap_t* pcap, const std::string& filter) {
    return pcap_compile(pcap, &code_, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0;
  }
  bpf_program* get() { return &code_; }

 private:
  bpf_program code_{};
};

std::string ActivationTrouble(const std::string& device, int status, const std::string& detail) {
  switch (status) {
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return fmt::format("there is no device {}; stag capture --list shows what there is", device);
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      return fmt::format(
          "no permission to capture on {}: run it as root, or give it the capability once: "
          "setcap cap_net_raw,cap_net_admin=eip STAG",
          device);
    case PCAP_ERROR_IFACE_NOT_UP: return fmt::format("{} is down: ip link set {} up", device, device);
    case PCAP_ERROR_TSTAMP_PRECISION_NOTSUP: return fmt::format("{} has no times in nanoseconds", device);
    default: break;
  }
  return fmt::format("cannot capture on {}: {}", device, detail.empty() ? pcap_statustostr(status) : detail);
}

class Network final : public PacketSource {
 public:
  Network(Pcap pcap, const NetworkOptions& options, LinkType link)
      : pcap_(std::move(pcap)),
        name_(options.device),
        link_(link),
        snaplen_(options.snaplen),
        descriptor_(pcap_get_selectable_fd(pcap_.get())) {}

  const std::string& name() const override { return name_; }
  LinkType link() const override { return link_; }
  uint32_t snaplen() const override { return snaplen_; }

  // libpcap's own waiting does not end while nothing comes (TPACKET_V3): so its calls never wait, and we do.
  Result<size_t> Receive(PacketSink& sink, std::chrono::milliseconds wait) override {
    sink_ = &sink;
    pollfd one{descriptor_, POLLIN, 0};
    if (wait.count() > 0) ::poll(&one, 1, static_cast<int>(wait.count()));
    const int got = pcap_dispatch(pcap_.get(), -1, &Network::OnPacket, reinterpret_cast<u_char*>(this));
    if (got < 0 && got != PCAP_ERROR_BREAK)
      return Fail(fmt::format("{}: {}", name_, std::string_view(pcap_geterr(pcap_.get()))));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

  SourceStats stats() override {
    SourceStats stats;
    stats.received = received_;
    pcap_stat counts{};
    if (pcap_stats(pcap_.get(), &counts) == 0) {  // 32 bits that wrap
      dropped_ += static_cast<uint32_t>(counts.ps_drop - static_cast<uint32_t>(dropped_));
      dropped_on_wire_ += static_cast<uint32_t>(counts.ps_ifdrop - static_cast<uint32_t>(dropped_on_wire_));
      stats.dropped = dropped_;
      stats.dropped_on_wire = dropped_on_wire_;
    }
    return stats;
  }

 private:
  static void OnPacket(u_char* self, const pcap_pkthdr* header, const u_char* bytes) {
    auto& network = *reinterpret_cast<Network*>(self);
    ++network.received_;
    network.sink_->OnPacket({int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec, network.link_,
                             Bytes(reinterpret_cast<const std::byte*>(bytes), header->caplen),
                             std::max(header->len, header->caplen)});
  }

  Pcap pcap_;
  std::string name_;
  LinkType link_;
  uint32_t snaplen_;
  int descriptor_;
  PacketSink* sink_ = nullptr;
  uint64_t received_ = 0, dropped_ = 0, dropped_on_wire_ = 0;
};

Result<void> UseHardwareTime(pcap_t* pcap, const std::string& device) {
  int* types = nullptr;
  const int count = pcap_list_tstamp_types(pcap, &types);
  bool found = false;
  for (int i = 0; i < count; ++i) found |= types[i] == PCAP_TSTAMP_ADAPTER;
  if (types) pcap_free_tstamp_types(types);
  if (!found)
    return Fail(device +
                " has no hardware timestamps that are synchronized with the system; leave out --hardware-time");
  pcap_set_tstamp_type(pcap, PCAP_TSTAMP_ADAPTER);
  return {};
}

}  // namespace

Result<std::unique_ptr<PacketSource>> OpenNetwork(const NetworkOptions& options, std::string& warning) {
  char error[PCAP_ERRBUF_SIZE] = "";
  Pcap pcap(pcap_create(options.device.c_str(), error));
  if (!pcap) return Fail(fmt::format("cannot capture on {}: {}", options.device, std::string_view(error)));
  pcap_set_snaplen(pcap.get(), static_cast<int>(options.snaplen));
  pcap_set_promisc(pcap.get(), options.promiscuous);
  pcap_set_timeout(pcap.get(), kBlockMs);
  pcap_set_buffer_size(pcap.get(), static_cast<int>(options.buffer));
  if (pcap_set_tstamp_precision(pcap.get(), PCAP_TSTAMP_PRECISION_NANO) != 0)
    return Fail(ActivationTrouble(options.device, PCAP_ERROR_TSTAMP_PRECISION_NOTSUP, {}));
  if (options.hardware_time)
    if (auto used = UseHardwareTime(pcap.get(), options.device); !used) return Fail(used.error().message);
  const int status = pcap_activate(pcap.get());
  if (status < 0) return Fail(ActivationTrouble(options.device, status, pcap_geterr(pcap.get())));
  if (status > 0) warning = fmt::format("{}: {}", options.device, std::string_view(pcap_statustostr(status)));
  const int datalink = pcap_datalink(pcap.get());
  const LinkType link = LinkTypeFromFile(static_cast<uint32_t>(datalink));
  if (link == LinkType::kUnsupported) {
    const char* const name = pcap_datalink_val_to_name(datalink);
    return Fail(fmt::format("{} has packets of type {}, in which stag does not find RDMA; Ethernet and InfiniBand do",
                            options.device, name ? name : std::to_string(datalink)));
  }
  if (!options.filter.empty()) {
    Program program;
    if (!program.Compile(pcap.get(), options.filter) || pcap_setfilter(pcap.get(), program.get()) != 0)
      return Fail(fmt::format("filter \"{}\": {}", options.filter, std::string_view(pcap_geterr(pcap.get()))));
  }
  if (pcap_setnonblock(pcap.get(), 1, error) != 0)
    return Fail(fmt::format("cannot capture on {}: {}", options.device, std::string_view(error)));
  return std::make_unique<Network>(std::move(pcap), options, link);
}

Result<void> CheckFilter(const std::string& filter, LinkType link) {
  const auto number = LinkTypeToFile(link);
  const Pcap pcap(pcap_open_dead(number.value_or(DLT_EN10MB), 262144));
  Program program;
  if (!pcap || !program.Compile(pcap.get(), filter))
    return Fail(fmt::format("filter \"{}\": {}", filter,
                            pcap ? std::string_view(pcap_geterr(pcap.get())) : std::string_view("no memory")));
  return {};
}

Result<std::vector<NetworkDevice>> ListNetworkDevices() {
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_if_t* first = nullptr;
  if (pcap_findalldevs(&first, error) != 0)
    return Fail(fmt::format("cannot list devices: {}", std::string_view(error)));
  std::vector<NetworkDevice> devices;
  for (const pcap_if_t* device = first; device; device = device->next) {
    devices.push_back({device->name, device->description ? device->description : "", (device->flags & PCAP_IF_UP) != 0,
                       (device->flags & PCAP_IF_RUNNING) != 0, (device->flags & PCAP_IF_LOOPBACK) != 0});
  }
  pcap_freealldevs(first);
  return devices;
}

}  // namespace stag::capture
